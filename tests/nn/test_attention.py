"""Shares of attention: a weighted softmax over the edges of each target."""

import torch

from cases import generator
from qgcn.nn.attention import weighted_softmax

TARGET = torch.tensor([0, 0, 1, 1, 1, 3])


def test_shares_equal_the_formula_and_sum_to_one():
    score = torch.randn(6, 1, dtype=torch.float64, generator=generator(0)) * 50
    weight = torch.tensor([1.0, 2.0, 0.5, 0.0, 3.0, 0.0], dtype=torch.float64)
    found = weighted_softmax(score, weight, TARGET, 4).squeeze(-1)
    for target in range(4):
        here = torch.eq(TARGET, target)
        own = weight[here] * (score.squeeze(-1)[here] - score.max()).exp()
        expected = own / own.sum() if (weight[here] > 0).any() else torch.zeros_like(own)
        torch.testing.assert_close(found[here], expected)


def test_an_edge_of_weight_two_counts_as_two_edges():
    score = torch.randn(2, 1, generator=generator(0))
    doubled = weighted_softmax(score, torch.tensor([2.0, 1.0]), torch.tensor([0, 0]), 1)
    repeated = weighted_softmax(score[[0, 0, 1]], torch.ones(3), torch.tensor([0, 0, 0]), 1)
    torch.testing.assert_close(doubled.flatten(), torch.stack((repeated[:2].sum(), repeated[2, 0])))


def test_gradients_pass_gradcheck_in_a_batch():
    score = torch.randn(2, 6, 1, dtype=torch.float64, generator=generator(0)).requires_grad_()
    weight = (torch.rand(6, dtype=torch.float64, generator=generator(1)) + 0.1).requires_grad_()
    assert torch.autograd.gradcheck(lambda s, w: weighted_softmax(s, w, TARGET, 4), (score, weight))
