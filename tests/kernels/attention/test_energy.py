"""The energy of a pair: against the formula, across the antipode, and the gradients."""

import math

import pytest
import torch

from cases import generator
from qgcn import geometry, parse_space
from qgcn.kernels.attention import all_energies, pair_energies
from tolerance import DTYPES

SPACES = ("E4", "H3", "S3", "K4", "Q3,1", "Q2,2", "Q0,4", "Q2,3", "H2xS2", "Q2,2xE2")
BETA = -1.5


def points(space, n=12, seed=0, dtype=torch.float64):
    u = torch.randn(n, space.ambient_dim, dtype=torch.float64, generator=generator(seed))
    return space.expmap0(space.fold0(2 * u)).detach().to(dtype)


def formula(x, y, time_dim, beta=BETA):
    """Return the energy on a quadric from ``c``, as it is written down."""
    size = -beta
    c = -geometry.inner(x, y, time_dim=time_dim) / size
    if time_dim == x.shape[-1]:
        return size * c.clamp(-1, 1).arccos().square()
    like = c.clamp_min(1).arccosh().square() - c.clamp(-1, 1).arccos().square()
    return size * (like + (-c).clamp_min(1).arccosh().square())


@pytest.mark.parametrize("name", ["Q3,1", "Q2,2", "Q2,3", "Q0,4", "H3", "S3"])
def test_energy_is_the_formula(name):
    space = parse_space(name, beta=BETA)
    x, y = points(space, 60), points(space, 60, seed=1)
    assert name in ("Q3,1", "Q0,4", "H3", "S3") or (geometry.inner(x, y, time_dim=space.time_dim) > -BETA).any()  # past it
    torch.testing.assert_close(pair_energies(x, y, space), formula(x, y, space.time_dim), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["Q2,2", "Q2,3"])
def test_connected_points_have_the_signed_squared_distance(name):
    space = parse_space(name, beta=BETA)
    x, y = points(space, 60), points(space, 60, seed=1)
    joined = space.is_connected(x, y)
    assert 0 < joined.sum() < 60
    expected = geometry.signed_sqdist(x, y, beta=BETA, time_dim=space.time_dim)
    torch.testing.assert_close(pair_energies(x, y, space)[joined], expected[joined])
    assert (expected[joined] < 0).any()


def test_energy_is_continuous_past_the_antipode():
    space = parse_space("Q2,2")
    x = space.origin(4, dtype=torch.float64).as_subclass(torch.Tensor)
    near = torch.tensor([[-math.sqrt(1 + s * s), 0.0, s, 0.0] for s in (0.0, 1e-8, 1e-4)], dtype=torch.float64)
    before = torch.tensor([-math.cos(1e-4), math.sin(1e-4), 0.0, 0.0], dtype=torch.float64)
    found = pair_energies(x.expand(4, -1), torch.cat((near, before.unsqueeze(0))), space)
    torch.testing.assert_close(found, torch.full((4,), -(math.pi**2), dtype=torch.float64), rtol=0, atol=1e-3)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_pairs_are_pairs(name, dtype):
    space = parse_space(name, beta=BETA)
    x, y = points(space, 9, dtype=dtype), points(space, 7, seed=1, dtype=dtype)
    for kind in ("distance", "chord") if name != "K4" else ("distance",):
        each = pair_energies(x.unsqueeze(1).expand(-1, 7, -1), y.expand(9, -1, -1), space, kind)
        close = {torch.float32: 1e-4, torch.float64: 1e-9}[dtype]
        torch.testing.assert_close(all_energies(x, y, space, kind), each, rtol=close, atol=close * 100)


@pytest.mark.parametrize("name", [name for name in SPACES if name != "K4"])
def test_chord_is_the_inner_product_of_the_difference(name):
    space = parse_space(name, beta=BETA)
    x, y = points(space), points(space, seed=1)
    expected = torch.zeros(len(x), dtype=torch.float64)
    first = 0
    for factor in space.factors:
        here = slice(first, first + factor.size)
        square = (x[:, here] - y[:, here]).square()
        signs = torch.ones(factor.size)
        signs[: factor.time_dim] = -1 if 0 < factor.time_dim < factor.size else 1
        expected += (square * signs).sum(-1)
        first += factor.size
    torch.testing.assert_close(pair_energies(x, y, space, "chord"), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["distance", "chord"])
@pytest.mark.parametrize("name", ["E4", "H3", "S3", "Q2,2", "Q2,3", "Q2,2xE2"])
def test_gradients_are_those_of_the_function(name, kind):
    space = parse_space(name, beta=BETA, learnable=True)
    u, v = (torch.randn(8, space.ambient_dim, dtype=torch.float64, generator=generator(s)).requires_grad_() for s in (0, 1))

    def energies(u, v, *_):
        return pair_energies(space.expmap0(space.fold0(u)), space.expmap0(space.fold0(v)), space, kind)

    betas = list(space.parameters())
    assert torch.autograd.gradcheck(energies, (u, v, *betas), atol=1e-4)


def test_bad_input_is_named():
    x = torch.zeros(2, 4)
    with pytest.raises(ValueError, match="energy must be one of distance, chord, got 'length'"):
        pair_energies(x, x, parse_space("E4"), "length")
    with pytest.raises(ValueError, match="K4 has a factor without chords"):
        pair_energies(x, x, parse_space("K4"), "chord")
