import math

import pytest
import torch

from cases import BETAS, SIGNATURES, generator, points_at_radius, tangent
from qgcn import geometry
from tolerance import DTYPES, ROUNDING

RADII = (0.0, 1.0, 4.0)


def euclidean(x, seed=7):
    return torch.randn(x.shape, dtype=x.dtype, generator=generator(seed))


def positive_form(x, beta, time_dim):
    """The positive metric as a matrix on the ambient space: minus one along the time direction, one elsewhere."""
    unit = torch.cat((x[:time_dim] / x[:time_dim].norm(), torch.zeros_like(x[time_dim:])))
    return torch.eye(len(x), dtype=x.dtype) - 2 * torch.outer(unit, unit)


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_descent_direction_represents_the_gradient_under_the_positive_metric(s, t, beta, radius):
    x = points_at_radius(20, s, t, beta, radius, torch.float64)
    g, v = euclidean(x), tangent(x, beta, t, seed=3)
    chi = geometry.descent_direction(x, g, beta=beta, time_dim=t)
    scale = (x.norm(dim=-1) * chi.norm(dim=-1)).clamp_min(1)
    assert (geometry.inner(x, chi, time_dim=t).abs() <= 1e-13 * scale).all()
    slope = (g * v).sum(-1, keepdim=True)
    found = geometry.definite_inner(x, chi, v, beta=beta, time_dim=t)
    torch.testing.assert_close(found, slope, rtol=1e-9, atol=1e-9 * float(v.norm(dim=-1).max().clamp_min(1)))
    assert ((g * chi).sum(-1) >= -1e-12).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", BETAS)
def test_descent_direction_is_the_riemannian_gradient_where_the_metric_is_definite(beta, dtype):
    close = {"rtol": 100 * ROUNDING[dtype], "atol": 1000 * ROUNDING[dtype]}
    x = points_at_radius(20, 4, 1, beta, 1.5, dtype)
    g = euclidean(x)
    hyperbolic = geometry.project_tangent(x, geometry.flip_time(g, time_dim=1), beta=beta, time_dim=1)
    torch.testing.assert_close(geometry.descent_direction(x, g, beta=beta, time_dim=1), hyperbolic, **close)
    x = points_at_radius(20, 0, 5, beta, 0.0, dtype)
    g = euclidean(x)
    spherical = geometry.project_tangent(x, g, beta=beta, time_dim=5)
    torch.testing.assert_close(geometry.descent_direction(x, g, beta=beta, time_dim=5), spherical, **close)


def test_descent_direction_of_a_hand_computed_point():
    """x = (r n, s) with n the first time axis, s = 3/4, r = 5/4: the turn keeps its length, the boost is hyperbolic."""
    x = torch.tensor([1.25, 0.0, 0.75], dtype=torch.float64)
    g = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    along = 1.25 + 2.25
    expected = torch.tensor([-1 + along * 1.25, 2.0, 3 + along * 0.75], dtype=torch.float64)
    torch.testing.assert_close(geometry.descent_direction(x, g, beta=-1.0, time_dim=2), expected)


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_definite_inner_is_the_metric_with_the_sign_of_turns_reversed(s, t, radius):
    x = points_at_radius(10, s, t, -1.0, radius, torch.float64)
    u, v = (tangent(x, -1.0, t, seed=seed) for seed in (3, 4))
    found = geometry.definite_inner(x, u, v, beta=-1.0, time_dim=t).squeeze(-1)
    expected = torch.stack([a @ positive_form(p, -1.0, t) @ b for p, a, b in zip(x, u, v, strict=True)])
    slack = 1e-12 * float((u.norm(dim=-1) * v.norm(dim=-1)).max().clamp_min(1))
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=slack)
    square = geometry.definite_inner(x, u, u, beta=-1.0, time_dim=t).squeeze(-1)
    assert (square >= 0).all()
    assert (geometry.inner(u, u, time_dim=t).abs() <= square + slack).all()
    if t == 1 or s == 0:
        torch.testing.assert_close(square, geometry.inner(u, u, time_dim=t).abs(), rtol=1e-6, atol=slack)


def test_definite_inner_is_positive_far_out_in_float32_where_the_difference_of_squares_is_not():
    x = points_at_radius(500, 3, 3, -1.0, 12.0, torch.float32)
    u = geometry.descent_direction(x, euclidean(x), beta=-1.0, time_dim=3)
    square = geometry.definite_inner(x, u, u, beta=-1.0, time_dim=3)
    assert square.isfinite().all()
    assert (square > 0).all()


@pytest.mark.parametrize(("s", "t"), [(3, 1), (3, 3), (0, 4)])
def test_the_positive_metric_and_its_gradients_are_equivariant_under_rotations_of_time_and_space(s, t):
    turn = geometry.random_isometry(s, t, max_rapidity=0.0, dtype=torch.float64, generator=generator(0))
    x = points_at_radius(10, s, t, -1.0, 1.5 if s else 0.0, torch.float64)
    u, g = tangent(x, -1.0, t), euclidean(x)
    form = {"beta": -1.0, "time_dim": t}
    torch.testing.assert_close(
        geometry.definite_inner(x @ turn.T, u @ turn.T, u @ turn.T, **form), geometry.definite_inner(x, u, u, **form)
    )
    torch.testing.assert_close(
        geometry.descent_direction(x @ turn.T, g @ turn.T, **form), geometry.descent_direction(x, g, **form) @ turn.T
    )


def test_no_positive_metric_is_invariant_under_boosts():
    """A boost that fixes the pole lengthens a null vector there: no positive form can give both the same length."""
    pole = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    null = torch.tensor([0.0, 1.0, 1.0], dtype=torch.float64)
    boost = torch.eye(3, dtype=torch.float64)
    boost[1, 1] = boost[2, 2] = math.cosh(1.0)
    boost[1, 2] = boost[2, 1] = math.sinh(1.0)
    torch.testing.assert_close(boost @ pole, pole)
    torch.testing.assert_close(boost @ null, math.e * null)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("s", "t"), [(4, 1), (3, 3), (0, 4)])
def test_step_share_is_one_for_ordinary_steps_and_bounds_the_others(s, t, beta):
    x = points_at_radius(20, s, t, beta, 2.0 if s else 0.0, torch.float64)
    u = tangent(x, beta, t)
    form = {"beta": beta, "time_dim": t}
    length = geometry.definite_inner(x, u, u, **form).sqrt()
    root = math.sqrt(-beta)
    torch.testing.assert_close(geometry.step_share(x, 0.499 * root / length * u, **form), torch.ones_like(length))
    torch.testing.assert_close(geometry.step_share(x, 5 * root / length * u, **form), torch.full_like(length, 0.1))
    torch.testing.assert_close(geometry.step_share(x, torch.zeros_like(u), **form), torch.ones_like(length))


@pytest.mark.parametrize("size", [1e-30, 1e5, 1e25, 3e38])
def test_step_share_is_finite_for_every_finite_step_in_float32(size):
    x = points_at_radius(20, 3, 3, -1.0, 2.0, torch.float32)
    share = geometry.step_share(x, size * torch.ones_like(x), beta=-1.0, time_dim=3)
    assert share.isfinite().all()
    assert ((share > 0) | (size == 3e38)).all()  # so long a step is not taken at all


def test_gradients_pass_through():
    x = points_at_radius(3, 2, 2, -1.0, 1.0, torch.float64).requires_grad_()
    u = tangent(x.detach(), -1.0, 2).requires_grad_()
    for function in (
        lambda x, u: geometry.definite_inner(x, u, u, beta=-1.0, time_dim=2),
        lambda x, u: geometry.descent_direction(x, u, beta=-1.0, time_dim=2),
    ):
        assert torch.autograd.gradcheck(function, (x, u))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_carried_share_makes_a_vector_no_longer_than_it_was(s, t, dtype):
    form = {"beta": -0.7, "time_dim": t}
    x, y = (points_at_radius(40, s, t, -0.7, 1.5, dtype, seed) for seed in (0, 1))
    u = tangent(x, -0.7, t, seed=5)
    v = geometry.transport(x, y, u, **form)
    share = geometry.carried_share(x, u, y, v, **form)
    before, after, kept = (
        geometry.definite_inner(*each, **form).sqrt() for each in ((x, u, u), (y, v, v), (y, share * v, share * v))
    )
    loose = 1e-4 if dtype == torch.float32 else 1e-12
    torch.testing.assert_close(kept, torch.minimum(before, after), rtol=loose, atol=loose)
    if s and t > 1 and s + t > 2:
        assert (after > 1.1 * before).any()  # a boost
    else:
        torch.testing.assert_close(share, torch.ones_like(share), rtol=loose, atol=loose)
    assert (geometry.carried_share(x, u, y, 0 * v, **form) == 1).all()
    assert (geometry.carried_share(x, 0 * u, y, v, **form)[after > loose] == 0).all()
