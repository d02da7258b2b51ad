"""Sums over edges in plain PyTorch: against dense matrices, and differentiable in everything."""

import pytest
import torch

from cases import generator
from qgcn.kernels.edges import reference

EDGES = torch.tensor([[0, 1, 1, 2, 0, 3, 2, 2], [1, 0, 2, 1, 3, 3, 2, 2]])  # loops at 3 and, twice, at 2; node 4 has none


def dense(of_edges, edges, size):
    matrix = torch.zeros(size[1], size[0], dtype=of_edges.dtype)
    return matrix.index_put((edges[1], edges[0]), of_edges, accumulate=True)


def by_hand(weight, kind, same, loops):
    """Normalise as the formulas say."""
    n = 5
    given, own = torch.zeros(n, n, dtype=weight.dtype), torch.ones(n, dtype=weight.dtype)
    for (source, target), value in zip(EDGES.t().tolist(), weight, strict=True):
        if source == target and same and loops:
            own[target] = value
        else:
            given[target, source] += value
    into = given.sum(1) + (own if loops else 0)
    leaving = into if same else given.sum(0) + (1 if loops else 0)
    into, leaving = (torch.where(each > 0, each, 1) for each in (into, leaving))
    if kind == "sum":
        return given, own
    if kind == "mean":
        return given / into.unsqueeze(1), own / into
    return given / (into.unsqueeze(1) * leaving).sqrt(), own / into


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("kind", ["sum", "mean", "sym"])
def test_coefficients_equal_the_formula(kind, same, loops):
    weight = torch.rand(8, dtype=torch.float64, generator=generator(0)) + 0.1
    of_edges, of_loops = reference.coefficients(EDGES, weight, (5, 5), kind, same, loops)
    expected, own = by_hand(weight, kind, same, loops)
    torch.testing.assert_close(dense(of_edges, EDGES, (5, 5)), expected)
    if loops:
        torch.testing.assert_close(of_loops, own)
    else:
        assert of_loops is None


def test_the_last_loop_of_several_counts():
    weight = torch.arange(1.0, 9.0)
    found = reference.last_loops(EDGES, weight, torch.full((5,), 0.5))
    assert found.tolist() == [0.5, 0.5, 8.0, 6.0, 0.5]
    first = torch.tensor([[2, 0], [2, 1]])
    assert reference.last_loops(first, torch.tensor([3.0, 4.0]), torch.ones(3)).tolist() == [1, 1, 3]
    none = torch.zeros(2, 0, dtype=torch.int64)
    assert reference.last_loops(none, torch.zeros(0), torch.ones(3)).tolist() == [1, 1, 1]


def test_gathered_equals_a_dense_product_with_gradients():
    v = torch.randn(2, 5, 3, dtype=torch.float64, generator=generator(0)).requires_grad_()
    weight = torch.rand(8, dtype=torch.float64, generator=generator(1)).requires_grad_()
    torch.testing.assert_close(reference.gathered(v, EDGES, weight, 5), dense(weight, EDGES, (5, 5)) @ v)
    assert torch.autograd.gradcheck(lambda *given: reference.gathered(given[0], EDGES, given[1], 5), (v, weight))


@pytest.mark.parametrize("kind", ["sum", "mean", "sym"])
def test_coefficients_pass_gradcheck(kind):
    weight = (torch.rand(8, dtype=torch.float64, generator=generator(1)) + 0.1).requires_grad_()
    assert torch.autograd.gradcheck(lambda w: reference.coefficients(EDGES, w, (5, 5), kind, True, True), (weight,))
