"""Attention to all points: neighbours, extremes, the dot product it becomes, and what is refused."""

import pytest
import torch

from attending import EDGES, TAU, case, close, energy, solved
from cases import generator
from qgcn import parse_space
from qgcn.kernels.attention import attend, attend_with_edges


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_large_energies_neither_overflow_nor_vanish(dtype):
    x = torch.tensor([[0.0], [200.0], [-3.0]], dtype=dtype)
    mean, log = attend(x, x[:2] + 1000, torch.eye(2, dtype=dtype), parse_space("E1"), torch.tensor(0.01, dtype=dtype))
    torch.testing.assert_close(mean, torch.tensor([[1.0, 0], [1, 0], [1, 0]], dtype=dtype))
    torch.testing.assert_close(log, -(x.squeeze(1) - 1000).square() * 100)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["E4", "Q2,2", "H2xS2"])
def test_neighbours_count_more_often(name, dtype):
    extra = (torch.rand(EDGES.shape[1], dtype=torch.float64, generator=generator(3)) * 5).requires_grad_()

    def with_edges(x, y, v, space, tau):
        return attend_with_edges(x, y, v, space, tau, EDGES, extra.to(x.dtype)), x.new_zeros(45)

    def expected(x, y, v, space, tau):
        counts = 1 + torch.zeros(45, 70, dtype=x.dtype).index_put((EDGES[1], EDGES[0]), extra, accumulate=True)
        return (counts.log() - energy(x, y, space) / tau).softmax(-1) @ v, x.new_zeros(45)

    tolerance = {torch.float32: 1e-3, torch.float64: 1e-6}[dtype]
    close(solved(with_edges, *case(name, dtype)), solved(expected, *case(name)), tolerance)
    back = []
    for function, given in ((with_edges, case(name, dtype)), (expected, case(name))):
        space, (u, w, v, tau), (grad, _) = given
        mean, _ = function(space.expmap0(space.fold0(u)), space.expmap0(space.fold0(w)), v, space, tau)
        back.append(torch.autograd.grad((mean * grad).sum(), extra)[0])
    close([back[0]], [back[1]], tolerance)


def test_by_the_chord_it_is_dot_product_attention():
    space, (u, w, v, _), _ = case("Q2,2", torch.float32)
    x, y = (space.expmap0(space.fold0(each)) for each in (u, w))
    found, _ = attend(x, y, v, space, torch.tensor(TAU), energy="chord")
    signs = torch.tensor([-1.0, -1, 1, 1])
    expected = torch.nn.functional.scaled_dot_product_attention((2 / TAU * signs * x)[None], y[None], v[None], scale=1.0)[0]
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


def test_points_that_are_no_numbers_make_none():
    x = torch.zeros(3, 2)
    x[1, 0] = torch.nan
    mean, _ = attend(x, torch.zeros(4, 2), torch.ones(4, 1), parse_space("E2"), torch.tensor(1.0))
    assert mean.isnan().flatten().tolist() == [False, True, False]


def test_bad_input_is_named():
    space, tau = parse_space("E2"), torch.tensor(1.0)
    x = torch.zeros(3, 2)
    with pytest.raises(ValueError, match=r"queries and keys must have shapes \(N, d\) and \(M, d\), got \(3, 2\), \(3, 1\)"):
        attend(x, x[:, :1], x, space, tau)
    with pytest.raises(ValueError, match=r"values must have shape \(3, n\), got \(2, 2\)"):
        attend(x, x, x[:2], space, tau)
    with pytest.raises(ValueError, match="attention needs at least one key, got none"):
        attend(x, x[:0], x[:0], space, tau)
    with pytest.raises(ValueError, match=r"x must have 3 coordinates in E3, got shape \(3, 2\)"):
        attend(x, x, x, parse_space("E3"), tau)
