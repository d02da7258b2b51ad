"""Shares of attention: a weighted softmax over the edges of each target."""

import pytest
import torch

from cases import generator
from qgcn import parse_space
from qgcn.kernels.attention import pair_energies
from qgcn.nn import QGCNConv
from qgcn.nn.attention import DistanceScore, weighted_softmax

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


def test_heads_are_softmaxes_of_their_own():
    score = torch.randn(6, 3, dtype=torch.float64, generator=generator(0))
    weight = torch.rand(6, dtype=torch.float64, generator=generator(1)) + 0.1
    found = weighted_softmax(score, weight, TARGET, 4)
    torch.testing.assert_close(found[:, 1:2], weighted_softmax(score[:, 1:2], weight, TARGET, 4))


# --- by distance -----------------------------------------------------------------------------------------------------------


def ends(space, seed=0):
    return torch.randn(5, space.ambient_dim, dtype=torch.float64, generator=generator(seed))


@pytest.mark.parametrize("name", ["E3", "H3", "S3", "K3", "Q2,2", "Q2,2xE2"])
@pytest.mark.parametrize("heads", [1, 3])
def test_scores_are_minus_energies_over_temperatures(name, heads):
    space = parse_space(name)
    score = DistanceScore(space, heads).double()
    with torch.no_grad():
        score.temperature.copy_(torch.linspace(-1, 1, heads))
        score.loop.fill_(0.25)
    v, w, loops = space.fold0(ends(space)), space.fold0(ends(space, 1)), torch.arange(5) == 2
    found = score(score.points(v), score.points(w), loops)
    assert found.shape == (5, heads)
    for h in range(heads):
        a, b = (each if heads == 1 else space.fold0(each @ score.maps[h]) for each in (v, w))
        expected = -pair_energies(space.expmap0(a), space.expmap0(b), space) / score.temperature[h].exp() + 0.25 * loops
        torch.testing.assert_close(found[:, h], expected)


def test_features_of_edges_add_to_the_score():
    space = parse_space("Q2,2")
    score = DistanceScore(space, 2, features=3).double()
    points, features = score.points(space.fold0(ends(space))), torch.randn(5, 3, dtype=torch.float64, generator=generator(2))
    loops = torch.zeros(5, dtype=torch.bool)
    difference = score(points, points, loops, features) - score(points, points, loops)
    torch.testing.assert_close(difference, features @ score.edge_direction)


def test_near_neighbours_are_heard_and_far_ones_are_not():
    conv = QGCNConv(2, parse_space("E2"), attention="distance", self_loops=False, bias=False)
    with torch.no_grad():
        conv.linear.weight.copy_(torch.eye(2))
        conv.distance.temperature.fill_(-4)
    x = torch.tensor([[0.0, 0.0], [0.1, 0.0], [3.0, 0.0]])
    found = conv(x, torch.tensor([[1, 2], [0, 0]]))
    torch.testing.assert_close(found[0], x[1])


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="heads must be at least 1, got 0"):
        DistanceScore(parse_space("E2"), 0)
    with pytest.raises(ValueError, match="several heads are for attention by distance, got heads=2 and attention='gat'"):
        QGCNConv(3, parse_space("E2"), attention="gat", heads=2)


def test_targets_without_features_listen_from_the_origin():
    conv = QGCNConv((2, 2), parse_space("E2"), attention="distance", bias=False)
    with torch.no_grad():
        conv.linear.weight.copy_(torch.eye(2))
        conv.distance.temperature.fill_(-4)
    x = torch.tensor([[0.1, 0.0], [3.0, 0.0]])
    torch.testing.assert_close(conv((x, None), torch.tensor([[0, 1], [0, 0]]), size=(2, 1)), x[:1])
