import math

import pytest
import torch

import oracle
from cases import BETAS, SIGNATURES, awkward_pairs, generator, points_at_radius, tangent
from qgcn import geometry
from tolerance import DTYPES, ROUNDING


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_expmap0_and_logmap0_undo_each_other_and_equal_mpmath(s, t, beta, dtype):
    form = {"beta": beta, "time_dim": t}
    B = oracle.mp.mpf(torch.tensor(-beta, dtype=dtype).item())
    x, _ = awkward_pairs(100, s, t, beta, dtype)
    if t == 1:
        x = torch.where(x[:, :1] < 0, -x, x)  # the pole's sheet
    u = geometry.logmap0(x, **form)
    assert (u[:, 0] == 0).all()
    assert (u[:, 1:t].norm(dim=-1) <= math.pi * (-beta) ** 0.5 * (1 + ROUNDING[dtype])).all()
    back = geometry.expmap0(u, **form)
    assert ((back - x).norm(dim=-1) <= 20 * ROUNDING[dtype] * x.norm(dim=-1)).all()
    sample = slice(0, len(x), 7)
    behind = x[sample, 0] < 0
    directed = ~(behind & (x[sample, 1:t].norm(dim=-1) == 0)) if t > 1 else torch.ones_like(behind)
    limit = 10 * ROUNDING[dtype]
    rows = oracle.vectors(x[sample][directed])
    assert oracle.worst_error(u[sample][directed], [oracle.logmap0(row, B, t) for row in rows]) < limit
    assert oracle.worst_error(back[sample], [oracle.expmap0(row, B, t) for row in oracle.vectors(u[sample])]) < limit


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_expmap0_stays_on_the_manifold_keeps_space_and_does_not_read_the_first_coordinate(s, t, dtype):
    form = {"beta": -0.7, "time_dim": t}
    u = 2 * torch.randn(50, s + t, dtype=dtype, generator=generator(0))
    x = geometry.expmap0(u, **form)
    assert (x[:, t:] == u[:, t:]).all()
    assert ((geometry.inner(x, x, time_dim=t) + 0.7).abs() <= 20 * ROUNDING[dtype] * x.square().sum(-1)).all()
    changed = u.clone()
    changed[:, 0] = 1e6
    assert (geometry.expmap0(changed, **form) == x).all()
    assert (geometry.expmap0(torch.zeros_like(u), **form) == geometry.pole(s + t, beta=-0.7, like=u)).all()


def test_expmap0_hand_computed_value():
    u = torch.tensor([0.0, math.pi, 0.0, 3.0], dtype=torch.float64)
    expected = torch.tensor([0.0, math.sqrt(13), 0.0, 3.0], dtype=torch.float64)
    torch.testing.assert_close(geometry.expmap0(u, beta=-4.0, time_dim=3), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES)
def test_logmap0_of_the_antipode_takes_a_fixed_direction_with_finite_gradient(dtype):
    x = torch.tensor([[-2.0, 0.0, 0.0, 0.0]], dtype=dtype, requires_grad=True)
    u = geometry.logmap0(x, beta=-4.0, time_dim=3)
    torch.testing.assert_close(u, torch.tensor([[0.0, 2 * math.pi, 0.0, 0.0]], dtype=dtype))
    (gradient,) = torch.autograd.grad(u[0, 1:3].sum(), x)
    assert (gradient == 0).all()


@pytest.mark.parametrize("beta", [-0.3, -4.0])
@pytest.mark.parametrize(("s", "t"), [(3, 2), (0, 4), (2, 5)])
def test_maps_at_a_reference_reduce_to_those_at_the_pole(s, t, beta):
    form = {"beta": beta, "time_dim": t}
    x, _ = awkward_pairs(100, s, t, beta, torch.float64)
    o = geometry.pole(s + t, beta=beta, like=x)
    u = geometry.logmap0(x, **form)
    torch.testing.assert_close(geometry.logmap_flat(o, x, **form), u, rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(geometry.expmap_flat(o, u, **form), geometry.expmap0(u, **form), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("s", "t"), [(3, 2), (0, 4), (2, 5), (7, 3)])
def test_maps_at_any_reference_without_space_undo_each_other(s, t):
    form = {"beta": -2.0, "time_dim": t}
    reference = points_at_radius(40, s, t, -2.0, 0.0, torch.float64, 0)
    y = points_at_radius(40, s, t, -2.0, 1.5, torch.float64, 1)
    v = geometry.logmap_flat(reference, y, **form)
    assert (geometry.inner(reference, v, time_dim=t).abs() < 1e-12).all()
    torch.testing.assert_close(geometry.expmap_flat(reference, v, **form), y)
    small = 0.1 * tangent(reference, -2.0, t)
    torch.testing.assert_close(geometry.logmap_flat(reference, geometry.expmap_flat(reference, small, **form), **form), small)


def test_logmap_flat_of_the_opposite_point_has_the_right_length_and_comes_back():
    form = {"beta": -2.0, "time_dim": 3}
    reference = points_at_radius(10, 2, 3, -2.0, 0.0, torch.float64)
    v = geometry.logmap_flat(reference, -reference, **form)
    torch.testing.assert_close(v.norm(dim=-1), torch.full((10,), math.pi * math.sqrt(2), dtype=torch.float64))
    torch.testing.assert_close(geometry.expmap_flat(reference, v, **form), -reference)


def test_logmap_flat_refuses_one_time_dimension():
    with pytest.raises(ValueError, match="time_dim must be at least 2"):
        geometry.logmap_flat(torch.ones(2), torch.ones(2), beta=-1.0, time_dim=1)
