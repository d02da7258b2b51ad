import math

import geoopt
import pytest
import torch

from cases import generator, points_at_radius, tangent
from qgcn import PseudoHyperboloid, parse_space
from qgcn.manifolds import Hyperboloid, Sphere


def test_hyperboloid_maps_at_the_pole_are_the_ordinary_ones():
    space = Hyperboloid(4, beta=-2.0)
    u = torch.nn.functional.pad(torch.randn(20, 4, dtype=torch.float64, generator=generator(0)), (1, 0))
    pole = space.origin(5, dtype=torch.float64)
    torch.testing.assert_close(space.expmap0(u), space.expmap(pole, u))
    torch.testing.assert_close(space.dist(pole, space.expmap0(u)), u.norm(dim=-1))
    different = PseudoHyperboloid(4, 1, beta=-2.0).expmap0(u)
    assert not torch.allclose(space.expmap0(u), different)


def test_hyperboloid_stays_on_its_sheet_and_knows_the_other_one_is_none_of_it():
    space = Hyperboloid(3)
    x = space.random(10, 4)
    assert (space.projx(-x)[:, 0] > 0).all()
    assert (space.retr(x, -5 * x)[:, 0] > 0).all()
    ok, reason = space.check_point_on_manifold(-x.as_subclass(torch.Tensor), explain=True)
    assert not ok
    assert "upper sheet" in reason


@pytest.mark.parametrize("radius", [1.0, 5.0, 9.0, 12.0])
def test_hyperboloid_squares_of_tangent_vectors_are_positive_far_out(radius):
    space = Hyperboloid(5)
    x = points_at_radius(200, 5, 1, -1.0, radius, torch.float32).abs()
    x = space.projx(x)
    y = space.projx(points_at_radius(200, 5, 1, -1.0, radius, torch.float32, 1).abs())
    leaf = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(space.dist(leaf, y).sum(), leaf)
    square = space.component_inner(x, space.egrad2rgrad(x, gradient))
    assert (square > 0).all()
    if radius < 8:  # further out, float32 cannot hold the gradient itself
        torch.testing.assert_close(square, torch.ones_like(square), rtol=0.2, atol=0)  # a distance has a unit gradient


def test_sphere_has_a_positive_metric_and_the_radius_of_beta():
    space = Sphere(3, beta=-9.0)
    x, y = (space.random(20, 4, dtype=torch.float64) for _ in range(2))
    torch.testing.assert_close(x.norm(dim=-1), torch.full((20,), 3.0, dtype=torch.float64))
    u = tangent(x.as_subclass(torch.Tensor), -9.0, 4)
    assert (space.inner(x, u) > 0).all()
    assert (space.dist(x, y) <= 3 * math.pi).all()
    unit = geoopt.SphereExact()
    torch.testing.assert_close(space.dist(x, y), 3 * unit.dist(x / 3, y / 3))


@pytest.mark.parametrize("name", ["H3", "S3"])
@pytest.mark.parametrize("more", [(), (6,), (2, 6)])
def test_fold0_is_the_logarithm_of_the_exponential_of_one_vector_and_of_many(name, more):
    space = parse_space(name)
    u = torch.nn.functional.pad(torch.randn(*more, 3, dtype=torch.float64, generator=generator(0)), (1, 0))
    torch.testing.assert_close(space.fold0(u), space.logmap0(space.expmap0(u)), rtol=1e-8, atol=1e-8)
