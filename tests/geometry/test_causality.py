"""The order of time: laws of the causal order, and its margins and times against 50-digit arithmetic."""

import math

import mpmath as mp
import pytest
import torch

from cases import BETAS, generator
from oracle import vectors
from qgcn import geometry
from qgcn.geometry.causality import angle_between, interval_time
from tolerance import DTYPES, ROUNDING

F64 = torch.float64


def cover(n, s, beta, dtype=F64, seed=0, spread=1.0):
    """Return events of the universal cover of anti-de Sitter space, several turns of time."""
    root = math.sqrt(-beta)
    drawn = torch.randn(n, s + 1, dtype=F64, generator=generator(seed)) * root
    return (drawn * torch.tensor([2.0] + [spread] * s, dtype=F64)).to(dtype)


def de_sitter(n, s, beta, dtype=F64, seed=0):
    return geometry.sample((n, s + 1), beta=beta, time_dim=s, dtype=F64, generator=generator(seed)).to(dtype)


def optical(p, B):
    ends = [mp.sqrt(B), *p[1:]]
    size = mp.sqrt(mp.fsum(a * a for a in ends))
    return [a / size for a in ends]


def angle(u, v):
    c = mp.fsum(a * b for a, b in zip(u, v, strict=True))
    return mp.acos(max(-1, min(1, c)))


def oracle_ads(p, q, B):
    return mp.sqrt(B) * angle(optical(p, B), optical(q, B)) - (q[0] - p[0])


def oracle_ds(x, y, B):
    def ball(z):
        size = mp.sqrt(mp.fsum(a * a for a in z[:-1]))
        return [a / size for a in z[:-1]], mp.pi / 2 - mp.atan(z[-1] / mp.sqrt(B))

    (n, near), (m, far) = ball(x), ball(y)
    return mp.sqrt(B) * mp.log((angle(n, m) + far) / near)


def oracle_flat(x, y, _):
    return mp.sqrt(mp.fsum((a - b) ** 2 for a, b in zip(x[1:], y[1:], strict=True))) - (y[0] - x[0])


MARGINS = {
    "flat": (lambda x, y, beta: geometry.flat_margin(x, y), oracle_flat, cover),
    "anti-de Sitter": (lambda x, y, beta: geometry.anti_de_sitter_margin(x, y, beta=beta), oracle_ads, cover),
    "de Sitter": (lambda x, y, beta: geometry.de_sitter_margin(x, y, beta=beta), oracle_ds, de_sitter),
}
TIMES = {
    "flat": lambda x, y, beta: geometry.flat_time(x, y),
    "anti-de Sitter": lambda x, y, beta: geometry.anti_de_sitter_time(x, y, beta=beta),
    "de Sitter": lambda x, y, beta: geometry.de_sitter_time(x, y, beta=beta),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("s", [1, 2, 9])
@pytest.mark.parametrize("spacetime", MARGINS)
def test_margins_are_those_of_fifty_digits(spacetime, s, beta, dtype):
    margin, oracle, draw = MARGINS[spacetime]
    x, y = draw(40, s, beta, dtype, seed=1), draw(40, s, beta, dtype, seed=2)
    found = margin(x, y, beta)
    B = mp.mpf(-beta)
    expected = torch.tensor([float(oracle(p, q, B)) for p, q in zip(vectors(x), vectors(y), strict=True)], dtype=F64)
    size = float(x.abs().amax() + math.sqrt(-beta))
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), expected, rtol=8 * ROUNDING[dtype], atol=8 * ROUNDING[dtype] * size)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", BETAS)
def test_de_sitter_orders_by_the_invariant(beta, dtype):
    """The margin is negative exactly where c > 1 and the second point is later."""
    x, y = de_sitter(4000, 3, beta, dtype, 1), de_sitter(4000, 3, beta, dtype, 2)
    c = geometry.inner(x.double(), y.double(), time_dim=3) / beta
    clear = (c - 1).abs() > 1e-3
    expected = (c > 1) & (y[:, -1] > x[:, -1])
    assert expected.sum() > 100
    assert torch.equal((geometry.de_sitter_margin(x, y, beta=beta) < 0)[clear], expected[clear])


@pytest.mark.parametrize("beta", BETAS)
def test_anti_de_sitter_orders_by_the_invariant_within_half_a_turn(beta):
    """Within half a turn the rays of light are the pairs with c = 1: later and c < 1 is the future."""
    root = math.sqrt(-beta)
    p = cover(4000, 3, beta, seed=1)
    q = torch.cat(
        (
            p[:, :1] + root * math.pi * torch.rand(4000, 1, dtype=F64, generator=generator(3)),
            cover(4000, 3, beta, seed=2)[:, 1:],
        ),
        -1,
    )
    x, y = (geometry.roll_up(each, beta=beta) for each in (p, q))
    c = geometry.inner(x, y, time_dim=2) / beta
    clear = (c - 1).abs() > 1e-9
    found = geometry.anti_de_sitter_margin(p, q, beta=beta) < 0
    assert 100 < found.sum() < 3900
    assert torch.equal(found[clear], (c < 1)[clear])


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("spacetime", MARGINS)
def test_the_order_is_transitive_and_antisymmetric(spacetime, beta):
    margin, _, draw = MARGINS[spacetime]
    n = 120
    x = draw(n, 2, beta, seed=4)
    below = margin(x[:, None], x[None], beta) <= 0
    assert bool(below.diagonal().all())  # reflexive
    strict = below & ~torch.eye(n, dtype=torch.bool)
    assert strict.sum() > 200
    assert not bool((strict & strict.T).any())
    chains = (strict.double() @ strict.double()) > 0
    assert chains.sum() > 50
    assert bool((strict | ~chains).all())


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("spacetime", MARGINS)
def test_a_detour_takes_less_time(spacetime, beta):
    time, draw = TIMES[spacetime], MARGINS[spacetime][2]
    x = draw(60, 2, beta, seed=5)
    table = time(x[:, None], x[None], beta)
    later = MARGINS[spacetime][0](x[:, None], x[None], beta) < 0
    assert torch.equal(table > 0, later)
    whole, parts = table[:, None, :], table[:, :, None] + table[None]
    chain = later[:, :, None] & later[None]
    assert chain.sum() > 50
    assert bool(
        (whole[chain.nonzero(as_tuple=True)[0], 0, chain.nonzero(as_tuple=True)[2]] >= parts[chain] * (1 - 1e-12)).all()
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_time_is_the_length_of_the_geodesic(dtype):
    beta = -2.0
    p = cover(200, 3, beta, seed=6)
    x = geometry.roll_up(p, beta=beta)
    ahead = geometry.future_field(x)
    length = 0.1 + 4 * torch.rand(200, 1, dtype=F64, generator=generator(7))  # short of half a turn, 4.44
    y = geometry.expmap(x, length * ahead, beta=beta, time_dim=2)
    turned = torch.atan2(x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0], (x[:, :2] * y[:, :2]).sum(-1)) % (2 * math.pi)
    q = torch.cat((p[:, :1] + math.sqrt(2) * turned[:, None], y[:, 2:]), -1)
    assert bool((geometry.time_sense(x, ahead) == 1).all())
    assert bool((geometry.time_sense(x, -ahead) == -1).all())
    found = geometry.anti_de_sitter_time(p.to(dtype), q.to(dtype), beta=beta)
    torch.testing.assert_close(
        found.double(),
        length.squeeze(1),
        rtol=2e-3 if dtype == torch.float32 else 1e-9,
        atol=2e-3 if dtype == torch.float32 else 1e-9,
    )


def test_beyond_the_antipode_time_is_infinite():
    p = torch.tensor([0.0, 0.3], dtype=F64)
    antipode = torch.tensor([math.pi, -0.3], dtype=F64)
    nearly, beyond = antipode - torch.tensor([0.1, 0.0], dtype=F64), antipode + torch.tensor([0.1, 0.0], dtype=F64)
    aside = antipode + torch.tensor([-0.1, 5.0], dtype=F64)  # in the future of p, but no geodesic leads there
    time = geometry.anti_de_sitter_time(p, torch.stack((nearly, beyond, aside)), beta=-1.0)
    assert 3.0 < time[0] < math.pi
    assert torch.isinf(time[1:]).all()
    assert not bool(
        geometry.is_connected(geometry.roll_up(p, beta=-1.0), geometry.roll_up(aside, beta=-1.0), beta=-1.0, time_dim=2)
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", [-0.3, -1.0, -4.0])
def test_half_a_turn_passes_until_the_antipode(beta, dtype):
    root = math.sqrt(-beta)
    p = torch.randn(2000, 3, dtype=dtype, generator=generator(8))
    early = 1e-3 * torch.rand(2000, 1, dtype=dtype, generator=generator(9)).square()
    early[:20] = 0
    q = torch.cat((p[:, :1] + math.pi * root * (1 - early), -p[:, 1:]), dim=-1).requires_grad_()
    time = geometry.anti_de_sitter_time(p, q, beta=beta)
    torch.testing.assert_close(time, torch.full_like(time, math.pi * root), rtol=2e-2, atol=0)  # clocks run fast far out
    (slope,) = torch.autograd.grad(time.sum(), q)
    assert slope.isfinite().all()


@pytest.mark.parametrize("spacetime", MARGINS)
def test_derivatives_are_finite_everywhere(spacetime):
    margin, _, draw = MARGINS[spacetime]
    beta = -1.0
    x = draw(30, 3, beta, seed=8)
    far = x.clone()
    far[:, -1] += 1e4
    if spacetime == "de Sitter":
        far = geometry.project(torch.cat((x[:, :-1], x[:, -1:] + 1e4), -1), beta=beta, time_dim=3)
    for y in (x.clone(), far, x.flip(0), torch.cat((-x[:, :-1], x[:, -1:]), -1)):  # the same, far out, ordinary, opposite
        for dtype in DTYPES:
            a, b = (each.to(dtype).requires_grad_() for each in (x, y))
            value = margin(a, b, beta)
            slopes = torch.autograd.grad(value.sum(), (a, b))
            assert bool(value.isfinite().all())
            assert all(bool(each.isfinite().all()) for each in slopes)
    a, b = x[:4].requires_grad_(), draw(4, 3, beta, seed=9).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: margin(a, b, beta), (a, b))


@pytest.mark.parametrize("dtype", DTYPES)
def test_unrolling_and_rolling_up_undo_each_other(dtype):
    beta = -3.0
    x = geometry.sample((50, 5), beta=beta, time_dim=2, dtype=dtype, generator=generator(1))
    p = geometry.unroll(x, beta=beta, turns=2)
    torch.testing.assert_close(geometry.roll_up(p, beta=beta), x, rtol=1e-4, atol=1e-4)
    lap = 2 * math.pi * math.sqrt(3.0)
    torch.testing.assert_close(p[:, 0] - geometry.unroll(x, beta=beta, turns=1)[:, 0], torch.full((50,), lap, dtype=dtype))


def test_the_field_of_time_is_tangent_and_of_square_minus_one():
    x = geometry.sample((50, 5), beta=-2.0, time_dim=2, dtype=F64, generator=generator(1))
    ahead = geometry.future_field(x)
    torch.testing.assert_close(geometry.inner(x, ahead, time_dim=2), torch.zeros(50, dtype=F64), rtol=0, atol=1e-12)
    torch.testing.assert_close(geometry.inner(ahead, ahead, time_dim=2), -torch.ones(50, dtype=F64))
    assert geometry.time_sense(x[0], torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0], dtype=F64)) == 0


@pytest.mark.parametrize(("time_dim", "why"), [(1, "Riemannian"), (3, "2 directions of time"), (4, "3 directions of time")])
def test_only_two_time_dimensions_are_oriented(time_dim, why):
    with pytest.raises(ValueError, match=why):
        geometry.check_oriented(time_dim)
    with pytest.raises(ValueError, match=why):
        geometry.future_field(torch.ones(5), time_dim=time_dim)


def test_near_the_axis_anti_de_sitter_space_is_flat():
    p, q = (1e-3 * torch.randn(20, 4, dtype=F64, generator=generator(seed)) for seed in (1, 2))
    torch.testing.assert_close(geometry.anti_de_sitter_margin(p, q, beta=-1.0), geometry.flat_margin(p, q), rtol=0, atol=1e-7)


def test_orders_known_by_hand():
    x = torch.zeros(5, 3)
    y = torch.tensor([[1.0, 0.5, 0.0], [1.0, 1.0, 0.0], [-1.0, 0.5, 0.0], [0.5, 0.0, 1.0], [0.0, 0.0, 0.0]])
    forth, back = geometry.flat_margin(x, y), geometry.flat_margin(y, x)
    assert geometry.causal_order(forth, back).tolist() == [1, 1, -1, 0, 1]
    torch.testing.assert_close(geometry.flat_time(x, y), torch.tensor([0.75**0.5, 0, 0, 0, 0]))
    assert interval_time(torch.tensor(5.0), torch.tensor(3.0)) == 4


def test_angles_are_exact_from_zero_to_pi():
    true = torch.tensor([0.0, 1e-6, 0.5, math.pi / 2, math.pi - 1e-6, math.pi], dtype=F64)
    u = torch.tensor([1.0, 0.0], dtype=F64).expand(6, 2)
    torch.testing.assert_close(angle_between(u, torch.stack((true.cos(), true.sin()), -1)), true, rtol=1e-9, atol=1e-15)
