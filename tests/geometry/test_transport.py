import pytest
import torch

import oracle
from cases import BETAS, SIGNATURES, awkward_pairs, generator, points_at_radius, tangent
from qgcn import geometry
from qgcn.numerics import cosh_root, sinhc_root
from tolerance import DTYPES, ROUNDING


def moderate_pairs(s, t, beta, dtype, n=200):
    """Return pairs that are not next to the antipode's cone, where transport stretches without bound."""
    x, y = (points_at_radius(n, s, t, beta, 1.2, dtype, seed) for seed in (0, 1))
    c = -geometry.inner(x, y, time_dim=t) / -beta
    keep = (c + 1).abs() > 0.05
    return x[keep], y[keep]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("s", "t"), [each for each in SIGNATURES if sum(each) > 1])  # Q0,1 is two points
def test_transport_is_an_isometry_onto_the_tangent_space_and_undone_by_the_way_back(s, t, beta, dtype):
    form = {"beta": beta, "time_dim": t}
    x, y = moderate_pairs(s, t, beta, dtype)
    u, v = (tangent(x, beta, t, seed) for seed in (2, 3))
    moved, other = geometry.transport(x, y, u, **form), geometry.transport(x, y, v, **form)
    size = moved.norm(dim=-1) * other.norm(dim=-1) + u.norm(dim=-1) * v.norm(dim=-1)
    gap = geometry.inner(moved, other, time_dim=t) - geometry.inner(u, v, time_dim=t)
    assert (gap.abs() <= 2e3 * ROUNDING[dtype] * size).all()
    assert (geometry.inner(y, moved, time_dim=t).abs() <= 2e3 * ROUNDING[dtype] * y.norm(dim=-1) * moved.norm(dim=-1)).all()
    back = geometry.transport(y, x, moved, **form)
    assert ((back - u).norm(dim=-1) <= 2e3 * ROUNDING[dtype] * (moved.norm(dim=-1) + u.norm(dim=-1))).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_transport_from_a_point_to_itself_changes_nothing(s, t, dtype):
    x, _ = awkward_pairs(200, s, t, -0.7, dtype)
    u = tangent(x, -0.7, t)
    assert (geometry.transport(x, x, u, beta=-0.7, time_dim=t) == u).all()
    assert (geometry.transport(x, -x, u, beta=-0.7, time_dim=t) == u).all()  # broken: towards -(-x)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("s", "t"), [(3, 1), (7, 3), (3, 7), (0, 4), (1, 2)])
def test_transport_carries_the_velocity_of_a_geodesic_to_its_velocity(s, t, beta):
    form = {"beta": beta, "time_dim": t}
    x = points_at_radius(30, s, t, beta, 1.0, torch.float64)
    v = 0.5 * tangent(x, beta, t) * (-beta) ** 0.5
    square = geometry.inner(v, v, time_dim=t) / -beta
    v = v[square > -(3.0**2)]  # before the antipode, where the geodesic is no longer the shortest
    x = x[square > -(3.0**2)]
    tau = torch.ones(len(x), 1, dtype=torch.float64, requires_grad=True)
    y = geometry.geodesic(x, v, tau, **form)
    arrival = torch.stack([torch.autograd.grad(y[:, i].sum(), tau, retain_graph=True)[0][:, 0] for i in range(s + t)], dim=-1)
    torch.testing.assert_close(geometry.transport(x, y.detach(), v, **form), arrival, rtol=1e-8, atol=1e-9)
    torch.testing.assert_close(geometry.logmap(y.detach(), x, **form), -arrival, rtol=1e-6, atol=1e-7)


def test_transport_agrees_with_a_chain_of_small_steps():
    """Parallel transport solves a differential equation; many small projections solve it too, to first order."""
    form = {"beta": -2.0, "time_dim": 3}
    x = points_at_radius(10, 3, 3, -2.0, 0.5, torch.float64)
    v, u = (0.7 * tangent(x, -2.0, 3, seed) for seed in (0, 1))
    steps = 4000
    moved = u
    for k in range(1, steps + 1):
        moved = geometry.project_tangent(geometry.geodesic(x, v, k / steps, **form), moved, **form)
    y = geometry.expmap(x, v, **form)
    torch.testing.assert_close(geometry.transport(x, y, u, **form), moved, rtol=5e-3, atol=5e-3)


def test_transport_hand_computed_value():
    x = torch.tensor([1.0, 0.0, 0.0])
    y = torch.tensor([0.0, 1.0, 0.0])
    u = torch.tensor([0.0, 1.0, 2.0])
    assert geometry.transport(x, y, u, beta=-1.0, time_dim=2).tolist() == [-1.0, 0.0, 2.0]


def test_transport_of_disconnected_points_goes_towards_the_antipode():
    form = {"beta": -0.7, "time_dim": 3}
    x, y = (points_at_radius(300, 4, 3, -0.7, 1.5, torch.float64, seed) for seed in (0, 1))
    broken = ~geometry.is_connected(x, y, **form)
    assert broken.sum() > 10
    u = tangent(x, -0.7, 3)
    there = geometry.transport(x, y, u, **form)[broken]
    torch.testing.assert_close(there, geometry.transport(x, -y, u, **form)[broken])
    rows = zip(*map(oracle.vectors, (x[broken][:5], y[broken][:5], u[broken][:5])), strict=True)
    assert oracle.worst_error(there[:5], [oracle.transport(*row, oracle.mp.mpf(0.7), 3) for row in rows]) < 1e-12


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_translate_follows_its_definition_connected_or_not(s, t, beta, dtype):
    form = {"beta": beta, "time_dim": t}
    _, x = moderate_pairs(s, t, beta, dtype)
    o = geometry.pole(s + t, beta=beta, like=x)
    away = (-geometry.inner(o, x, time_dim=t) / -beta + 1).abs() > 0.05
    x = x[away]
    b = 0.3 * (-beta) ** 0.5 * torch.randn(s + t, dtype=dtype, generator=generator(5))
    b[0] = 0
    connected = geometry.is_connected(o, x, **form).unsqueeze(-1)
    target = torch.where(connected, x, -x)
    expected = geometry.expmap(target, geometry.transport(o, target, b, **form), **form)
    expected = torch.where(connected, expected, -expected)
    least = (-beta) ** 0.5 * (x[..., :t].norm(dim=-1, keepdim=True) - (-beta) ** 0.5)
    bounded = -beta - geometry.inner(o, target, time_dim=t, keepdim=True) < least
    carried = b + geometry.inner(b, target, time_dim=t, keepdim=True) / least.where(bounded, 1) * (o + target)
    z = geometry.inner(b, b, time_dim=t, keepdim=True) / -beta
    kept = geometry.project(cosh_root(z) * target + sinhc_root(z) * carried, **form)
    kept = torch.where(connected, kept, -kept)
    expected = torch.where(bounded, kept, expected)
    assert 1 < t < s + t or not bounded.any()
    result = geometry.translate(x, b, **form)
    assert ((result - expected).norm(dim=-1) <= 3e3 * ROUNDING[dtype] * expected.norm(dim=-1)).all()
    slack = 3e3 * ROUNDING[dtype] * result.square().sum(-1)
    assert ((geometry.inner(result, result, time_dim=t) - beta).abs() <= slack).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), [(1, 2), (7, 3), (3, 7), (2, 2), (1, 15)])
def test_translate_stays_bounded_at_the_cone_of_the_antipode(s, t, dtype):
    """Transport alone lengthens a vector there by the inverse of the distance to the cone."""
    form = {"beta": -1.0, "time_dim": t}
    n, source = 400, generator(11)
    space = torch.randn(n, s, dtype=torch.float64, generator=source) * torch.logspace(-3, 2, n).unsqueeze(1)
    radius = (1 + space.square().sum(-1, keepdim=True)).sqrt()
    off = torch.logspace(-9, -1, n, dtype=torch.float64)[torch.randperm(n, generator=source)].unsqueeze(1)
    ahead = -1 + off * torch.where(torch.arange(n).unsqueeze(1) % 2 == 0, 1, -1)  # both sides of the cone: x_0 = -1
    ahead = ahead.maximum(-radius)
    turn = torch.nn.functional.normalize(torch.randn(n, t - 1, dtype=torch.float64, generator=source), dim=-1)
    x = torch.cat((ahead, (radius.square() - ahead.square()).sqrt() * turn, space), dim=-1).to(dtype).requires_grad_()
    b = torch.randn(s + t, dtype=dtype, generator=source)
    b = (0.3 * b / b.norm()).requires_grad_()
    moved = geometry.translate(x, b, **form)
    assert ((moved - x).norm(dim=-1) <= 2 * radius.squeeze(-1)).all()
    slack = 3e3 * ROUNDING[dtype] * moved.square().sum(-1)
    assert ((geometry.inner(moved, moved, time_dim=t) + 1).abs() <= slack).all()
    assert all(each.isfinite().all() for each in torch.autograd.grad(moved.sum(), (x, b)))
    u = geometry.logmap0(x.detach(), **form).requires_grad_()
    found = geometry.translate0(u, b, **form)
    assert (found[:, t:].norm(dim=-1) <= 3 * radius.squeeze(-1)).all()
    assert all(each.isfinite().all() for each in torch.autograd.grad(found.sum(), (u, b)))


def test_translate_by_nothing_and_of_the_pole():
    form = {"beta": -2.0, "time_dim": 2}
    x = points_at_radius(20, 3, 2, -2.0, 1.0, torch.float64)
    torch.testing.assert_close(geometry.translate(x, torch.zeros(5, dtype=x.dtype), **form), x, rtol=1e-15, atol=1e-15)
    b = torch.tensor([0.0, 0.3, -0.2, 0.5, 0.1], dtype=torch.float64)
    o = geometry.pole(5, beta=-2.0, like=b)
    torch.testing.assert_close(geometry.translate(o, b, **form), geometry.expmap(o, b, **form))
    torch.testing.assert_close(geometry.translate(-o, b, **form), -geometry.expmap(o, b, **form))
    off = b + torch.tensor([3.0, 0.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    assert (geometry.translate(x, off, **form) == geometry.translate(x, b, **form)).all()
