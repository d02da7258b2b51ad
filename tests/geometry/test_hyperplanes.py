import math

import pytest
import torch

from cases import generator, points_at_radius, tangent
from qgcn import geometry

SIGNATURES = ((3, 1), (2, 2), (0, 4), (2, 5))


@pytest.mark.parametrize("beta", [-0.3, -1.0, -4.0])
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_distance_to_a_plane_grows_along_its_normal_as_the_length_travelled(s, t, beta):
    p = points_at_radius(20, s, t, beta, 0.7 if s else 0.0, torch.float64)
    a = tangent(p, beta, t, seed=5)
    form = {"beta": beta, "time_dim": t}
    square = geometry.inner(a, a, time_dim=t, keepdim=True)
    unit = a / square.abs().sqrt()
    torch.testing.assert_close(geometry.plane_dist(p, a, **form), torch.zeros(20, dtype=torch.float64))
    for length in (0.3, -0.7):
        x = geometry.expmap(p, length * math.sqrt(-beta) * unit, **form)
        found = geometry.plane_dist(x, a, **form)
        torch.testing.assert_close(found, torch.full_like(found, length * math.sqrt(-beta)), rtol=1e-8, atol=1e-8)
        torch.testing.assert_close(geometry.plane_dist(x, -3 * a, **form), -found)


@pytest.mark.parametrize(("s", "t"), [(3, 1), (0, 4)])
def test_distance_to_a_plane_is_the_least_distance_to_its_points(s, t):
    form = {"beta": -1.0, "time_dim": t}
    p = points_at_radius(1, s, t, -1.0, 0.7 if s else 0.0, torch.float64)
    a = tangent(p, -1.0, t, seed=5)
    x = geometry.sample((5, s + t), std=0.5, dtype=torch.float64, generator=generator(2), **form)
    square = geometry.inner(a, a, time_dim=t, keepdim=True)
    inside = geometry.sample((4000, s + t), std=1.0, dtype=torch.float64, generator=generator(3), **form)
    inside = inside - geometry.inner(inside, a, time_dim=t, keepdim=True) / square * a  # into the plane through the centre
    inside = inside * (-1 / geometry.inner(inside, inside, time_dim=t, keepdim=True)).sqrt()
    nearest = geometry.pairwise_dist(x, inside, **form).min(dim=1).values
    found = geometry.plane_dist(x, a, **form).abs()
    assert (found <= nearest + 1e-12).all()
    torch.testing.assert_close(found, nearest, rtol=0.1, atol=0.15)


def test_distance_to_a_plane_is_invariant_continuous_and_differentiable():
    turn = geometry.random_isometry(2, 3, dtype=torch.float64, generator=generator(3))
    form = {"beta": -1.0, "time_dim": 3}
    x = geometry.sample((50, 5), dtype=torch.float64, generator=generator(0), **form)
    a = torch.randn(50, 5, dtype=torch.float64, generator=generator(1))
    found = geometry.plane_dist(x, a, **form)
    torch.testing.assert_close(geometry.plane_dist(x @ turn.T, a @ turn.T, **form), found, rtol=1e-8, atol=1e-8)
    normal = torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    edge = torch.tensor([[0.0, 1.0 - 1e-12, 0, 0, 0], [0.0, 1.0 + 1e-12, 0, 0, 0]], dtype=torch.float64)
    torch.testing.assert_close(*geometry.plane_dist(edge, normal, **form).abs(), rtol=0, atol=1e-5)
    leaf = torch.tensor([[0.0, 1.0, 0.0, 0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(geometry.plane_dist(leaf, normal, **form).sum(), leaf)
    assert gradient.isfinite().all()
