import math

import geoopt
import pytest
import torch

from cases import generator
from qgcn import parse_space
from qgcn.manifolds import Hyperboloid, PseudoHyperboloid, Sphere, Stereographic, WrappedNormal
from qgcn.manifolds.wrapped import ball_radii, unit_vectors


def around(count):
    return 2 * math.pi * (torch.arange(count, dtype=torch.float64) + 0.5) / count


def middles(low, high, count):
    return low + (high - low) * (torch.arange(count, dtype=torch.float64) + 0.5) / count


def hyperboloid(space, sheet=1.0):
    """Points of a hyperboloid and the volume of their cells, from geodesic polar coordinates."""
    root = math.sqrt(-space.beta.item())
    rho, phi = (each.flatten() for each in torch.meshgrid(middles(0, 7, 700), around(160), indexing="ij"))
    x = root * torch.stack((sheet * rho.cosh(), rho.sinh() * phi.cos(), rho.sinh() * phi.sin()), dim=-1)
    return x, root**2 * rho.sinh() * (7 / 700) * (2 * math.pi / 160)


def sphere(space):
    root = math.sqrt(-space.beta.item())
    theta, phi = (each.flatten() for each in torch.meshgrid(middles(0, math.pi, 700), around(200), indexing="ij"))
    x = root * torch.stack((theta.cos(), theta.sin() * phi.cos(), theta.sin() * phi.sin()), dim=-1)
    return x, root**2 * theta.sin() * (math.pi / 700) * (2 * math.pi / 200)


def cylinder(space):
    """Q1,2: an angle of time and one space coordinate; the volume is sqrt|beta| times both."""
    size = -space.beta.item()
    phi, s = (each.flatten() for each in torch.meshgrid(around(240), middles(-40, 40, 4000), indexing="ij"))
    r = (size + s * s).sqrt()
    x = torch.stack((r * phi.cos(), r * phi.sin(), s), dim=-1)
    return x, torch.full_like(s, math.sqrt(size) * (2 * math.pi / 240) * (80 / 4000))


def plane(space):
    side = 0.999 if space.k < 0 else 60.0
    a, b = (each.flatten() for each in torch.meshgrid(middles(-side, side, 900), middles(-side, side, 900), indexing="ij"))
    x = torch.stack((a, b), dim=-1)
    inside = (x.square().sum(-1) < side**2).double()
    stretch = 2 / (1 + space.k * x.square().sum(-1)).clamp_min(1e-6)
    return x * inside.unsqueeze(-1), inside * stretch.square() * (2 * side / 900) ** 2


GRIDS = {
    "H2": (Hyperboloid(2), hyperboloid, 0.7),
    "H2 curved": (Hyperboloid(2, beta=-0.4), hyperboloid, 0.5),
    "Q2,1": (PseudoHyperboloid(2, 1), hyperboloid, 0.7),
    "S2": (Sphere(2), sphere, 0.8),
    "S2 wrapped": (Sphere(2, beta=-0.5), sphere, 1.5),
    "Q0,3": (PseudoHyperboloid(0, 3), sphere, 0.8),
    "Q1,2": (PseudoHyperboloid(1, 2), cylinder, 0.6),
    "Q1,2 wrapped": (PseudoHyperboloid(1, 2, beta=-0.7), cylinder, 2.0),
    "K2 hyperbolic": (Stereographic(2, kappa=-1.0), plane, 0.4),
}


def means(space):
    """The origin, and a point away from it."""
    away = space.random(1, space.ambient_dim, std=0.4, dtype=torch.float64, generator=generator(3)).as_subclass(torch.Tensor)[0]
    return space.origin(space.ambient_dim, dtype=torch.float64).as_subclass(torch.Tensor), away


@pytest.mark.parametrize("name", GRIDS)
def test_densities_integrate_to_one_and_to_the_mean_of_samples(name):
    space, grid, scale = GRIDS[name]
    x, cells = grid(space)
    torch.manual_seed(0)
    for mean in means(space):
        normal = space.wrapped_normal(mean, scale)
        mass = normal.log_prob(x).exp() * cells
        assert mass.sum().item() == pytest.approx(1, abs=5e-3)
        drawn = normal.sample((20_000,))
        space.assert_check_point_on_manifold(drawn, atol=1e-6, rtol=1e-6)
        bounded = [torch.tanh(points[..., -1]) for points in (x, drawn)]
        assert (mass * bounded[0]).sum().item() == pytest.approx(bounded[1].mean().item(), abs=0.02)


def test_the_other_sheet_of_hyperbolic_space_is_never_reached():
    space = PseudoHyperboloid(2, 1)
    x, _ = hyperboloid(space, sheet=-1.0)
    origin, _ = means(space)
    assert (space.wrapped_normal(origin).log_prob(x) == -torch.inf).all()
    assert (space.wrapped_normal(-origin).log_prob(x) > -torch.inf).all()


def test_flat_space_has_the_ordinary_normal_distribution_and_products_that_of_their_factors():
    torch.manual_seed(0)
    flat, mean = parse_space("E3"), torch.randn(4, 3)
    scale = torch.rand(4, 3) + 0.5
    x = torch.randn(7, 4, 3)
    expected = torch.distributions.Normal(mean, scale).log_prob(x).sum(-1)
    torch.testing.assert_close(flat.wrapped_normal(mean, scale).log_prob(x), expected)
    product = parse_space("H2xQ1,2")
    points = product.random(5, 6).as_subclass(torch.Tensor)
    joint = product.wrapped_normal(product.origin(6), 0.7)
    parts = zip(product.parts, (points[:, :3], points[:, 3:]), strict=True)
    alone = sum(part.wrapped_normal(part.origin(3), 0.7).log_prob(share) for part, share in parts)
    torch.testing.assert_close(joint.log_prob(points), alone)
    assert joint.sample((2,)).shape == (2, 6)


def test_hyperbolic_densities_agree_with_the_ball_under_the_isometry_between_them():
    space, ball = Hyperboloid(3), Stereographic(3, kappa=-1.0)
    lorentz = geoopt.Lorentz()
    x, mean = (
        space.random(6, 4, dtype=torch.float64, std=0.5, generator=generator(k)).as_subclass(torch.Tensor) for k in (0, 1)
    )
    inside = [geoopt.manifolds.lorentz.math.lorentz_to_poincare(each, k=lorentz.k.double()) for each in (x, mean)]
    ours = space.wrapped_normal(mean, 0.6).log_prob(x)
    torch.testing.assert_close(ball.double().wrapped_normal(inside[1], 0.6).log_prob(inside[0]), ours, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["E3", "H3", "S3", "K3", "Q2,2", "Q3,1", "H2xS2"])
def test_samples_are_differentiable_by_mean_and_scale_and_far_densities_finite(name):
    space = parse_space(name)
    mean = space.random(2, space.ambient_dim, std=0.3).as_subclass(torch.Tensor).requires_grad_()
    scale = torch.tensor(0.5, requires_grad=True)
    normal = WrappedNormal(space, mean, scale)
    x = normal.rsample((3,))
    assert x.shape == (3, 2, space.ambient_dim)
    (x.sum() + normal.log_prob(x.detach()).sum()).backward()
    assert mean.grad.isfinite().all()
    assert scale.grad.isfinite()


def test_impossible_distributions_are_refused():
    space = parse_space("H2")
    for scale in (0.0, -1.0):
        with pytest.raises(ValueError, match="scale must be positive"):
            space.wrapped_normal(space.origin(3), scale)
    with pytest.raises(ValueError, match=r"scale must be a number or have 2 entries in H2, got shape \(3,\)"):
        space.wrapped_normal(space.origin(3), torch.ones(3))


@pytest.mark.parametrize("name", ["E3", "H3", "S3", "K3", "Q3,1", "Q0,4"])
def test_balls_are_filled_uniformly(name):
    """The share of points within half the radius is the share of its volume."""
    space = parse_space(name)
    x = space.random_ball(20_000, space.ambient_dim, radius=1.5, dtype=torch.float64, generator=generator(0))
    space.assert_check_point_on_manifold(x)
    length = space.dist0(x)
    assert length.max() <= 1.5 + 1e-9
    volume = {
        "E3": lambda r: r**3,
        "K3": lambda r: r**3,
        "H3": lambda r: math.sinh(2 * r) / 4 - r / 2,
        "S3": lambda r: r / 2 - math.sin(2 * r) / 4,
    }[{"Q3,1": "H3", "Q0,4": "S3"}.get(name, name)]
    assert (length < 0.75).double().mean().item() == pytest.approx(volume(0.75) / volume(1.5), abs=0.01)
    assert space.logmap0(x).mean(0).abs().max() < 0.05


@pytest.mark.parametrize(("name", "radius"), [("Q2,2", 1.0), ("H2xS2", 1.0), ("S2", 4.0), ("H2", 0.0), ("E2", math.inf)])
def test_balls_that_do_not_exist_are_refused(name, radius):
    space = parse_space(name)
    with pytest.raises(ValueError, match=r"no ball|radius must"):
        space.random_ball(3, space.ambient_dim, radius=radius)


def test_radii_and_directions_are_drawn_by_a_generator():
    options = {"dtype": torch.float32, "generator": generator(0)}
    radii = ball_radii(1000, 2.0, 0.0, 1, **options)
    assert radii.shape == (1000, 1)
    assert radii.mean().item() == pytest.approx(1, abs=0.1)
    directions = unit_vectors((1000, 3), **options)
    torch.testing.assert_close(directions.norm(dim=-1), torch.ones(1000))


@pytest.mark.parametrize("dim", [2, 3, 8])
def test_radii_of_a_flat_ball_are_roots_of_the_share_of_its_volume(dim):
    share = torch.rand(5000, dtype=torch.float64, generator=generator(0))
    found = ball_radii(5000, 2.0, 0.0, dim, dtype=torch.float64, generator=generator(0)).squeeze(-1)
    torch.testing.assert_close(found, 2 * share ** (1 / dim), rtol=0, atol=2e-6)  # the table's error
