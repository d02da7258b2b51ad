"""The laws that geoopt's own test files state, and those of the maps that its Lorentz model has, for every space.

The laws of its optimisers and samplers are in ``test_descent.py``; ``docs/laws.md`` lists what cannot hold in an indefinite
metric.
"""

import io
import pickle

import geoopt
import pytest
import torch

from cases import generator
from qgcn import parse_space
from tolerance import DTYPES

NAMES = ("E5", "H5", "S5", "K5", "Q7,3", "Q3,7", "Q0,6", "Q5,1", "H3xS3", "Q4,2xE4", "Q4,2xQ1,4", "K3xH2")
CLOSE = {torch.float32: {"rtol": 2e-3, "atol": 2e-3}, torch.float64: {"rtol": 1e-7, "atol": 1e-8}}
RIEMANNIAN = ("E5", "H5", "S5", "K5", "H3xS3", "K3xH2")


def draw(space, n=12, seed=0, std=0.25, dtype=torch.float64):
    x = space.random(n, space.ambient_dim, dtype=dtype, std=std, generator=generator(seed))
    return x.as_subclass(torch.Tensor)


def tangent(space, x, seed=3, size=0.3):
    u = torch.randn(x.shape, dtype=x.dtype, generator=generator(seed))
    return size * space.proju(x, u)


def origin_of(space, x):
    return space.origin(x.shape, dtype=x.dtype).as_subclass(torch.Tensor)


@pytest.fixture(params=NAMES)
def space(request):
    return parse_space(request.param)


@pytest.fixture(params=[False, True], ids=["plain", "scaled"])
def either(request, space):
    """The space itself, and geoopt's copy of it in which every length is doubled."""
    return geoopt.Scaled(space, 2.0) if request.param else space


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_batch_is_mapped_as_its_points_are(either, dtype):
    space = geoopt.utils.canonical_manifold(either)
    x, y = draw(space, n=4, dtype=dtype), draw(space, n=4, seed=1, dtype=dtype)
    u, v = tangent(space, x), tangent(space, x, seed=4)
    calls = {
        "projx": (x,),
        "proju": (x, y),
        "retr": (x, u),
        "expmap": (x, u),
        "logmap": (x, y),
        "transp": (x, y, v),
        "transp_follow_retr": (x, u, v),
        "transp_follow_expmap": (x, u, v),
        "dist": (x, y),
        "dist0": (x,),
        "transp0": (y, u),
        "transp0back": (y, u),
        "midpoint": (x, y),
    }
    for name, arguments in calls.items():
        together = getattr(either, name)(*arguments)
        alone = torch.stack([getattr(either, name)(*each) for each in zip(*arguments, strict=True)])
        torch.testing.assert_close(together, alone, **CLOSE[dtype])


def test_steps_lead_to_points_and_carry_tangent_vectors(either):
    space = geoopt.utils.canonical_manifold(either)
    x = draw(space)
    u, v = tangent(space, x), tangent(space, x, seed=4)
    for step, follow, both in (
        ("retr", "transp_follow_retr", "retr_transp"),
        ("expmap", "transp_follow_expmap", "expmap_transp"),
    ):
        y = getattr(either, step)(x, u)
        either.assert_check_point_on_manifold(y)
        moved = getattr(either, follow)(x, u, v)
        either.assert_check_vector_on_tangent(y, moved)
        torch.testing.assert_close(getattr(either, both)(x, u, v), (y, moved))


def test_exponential_steps_can_be_undone(space):
    x = draw(space)
    u = tangent(space, x)
    y, moved = space.expmap_transp(x, u, u)
    back, returned = space.expmap_transp(y, -moved, moved)
    torch.testing.assert_close(back, x, rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(returned, u, rtol=1e-7, atol=1e-7)


def test_retraction_is_the_exponential_map_to_first_order(space):
    x = draw(space)
    u = tangent(space, x)
    gaps = [(space.retr(x, h * u) - space.expmap(x, h * u)).abs().max().item() for h in (1e-2, 1e-3)]
    assert gaps[1] < 0.02 * gaps[0] + 1e-12


@pytest.mark.parametrize("size", [1.0, 1e5, 1e25, 1e38])
def test_retraction_of_any_finite_step_is_a_point(space, size):
    x = draw(space, dtype=torch.float32)
    y = space.retr(x, size * torch.ones_like(x))
    if "E" in str(space) or "K" in str(space):
        assert not y.isnan().any()  # flat space goes as far as it is told
    else:
        assert y.isfinite().all()
        space.assert_check_point_on_manifold(y, atol=1e-3, rtol=1e-3)


def test_logarithms_invert_and_vanish_at_the_point_itself(either):
    space = geoopt.utils.canonical_manifold(either)
    x = draw(space)
    y = either.expmap(x, tangent(space, x))
    torch.testing.assert_close(either.expmap(x, either.logmap(x, y)), y, rtol=1e-7, atol=1e-8)
    torch.testing.assert_close(either.logmap(x, x), torch.zeros_like(x), rtol=0, atol=1e-6)


def test_the_length_of_a_step_is_the_distance_it_leads(either):
    space = geoopt.utils.canonical_manifold(either)
    x = draw(space)
    u = tangent(space, x)
    torch.testing.assert_close(either.dist(x, either.expmap(x, u)), either.norm(x, u), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("std", [0.2, 1.0])
def test_the_norm_of_the_logarithm_is_the_distance_wherever_it_is_defined(space, std):
    x, y = draw(space, n=60, std=std), draw(space, n=60, seed=1, std=std)
    velocity = space.logmap(x, y)
    defined = ~velocity.isnan().any(-1)
    assert defined.sum() > 10
    found = space.norm(x, torch.where(defined.unsqueeze(-1), velocity, 0))
    torch.testing.assert_close(found[defined], space.dist(x, y)[defined], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(space.norm(x, tangent(space, x), keepdim=True).squeeze(-1), space.norm(x, tangent(space, x)))


def test_lengths_of_factors_do_not_cancel():
    """A space-like step in one factor and a time-like one in the other: null for ``inner``, long for ``norm`` and ``dist``."""
    space = parse_space("Q4,2xQ1,4")
    x = origin_of(space, torch.zeros(1, 11, dtype=torch.float64))
    u = torch.zeros_like(x)
    u[0, 2] = u[0, 7] = 0.5  # space of the first factor, time of the second
    assert space.inner(x, u).item() == 0
    assert space.norm(x, u).item() == pytest.approx(0.5**0.5)
    assert space.dist(x, space.expmap(x, u)).item() == pytest.approx(0.5**0.5)


def test_points_of_a_geodesic_are_evenly_spaced(space):
    x, y = draw(space), draw(space, seed=1)
    times = torch.linspace(0, 1, 7, dtype=torch.float64).view(7, 1, 1)
    path = space.geodesic(times, x, y)
    torch.testing.assert_close(path[0], x, rtol=1e-7, atol=1e-8)
    torch.testing.assert_close(path[-1], y, rtol=1e-7, atol=1e-8)
    whole = space.dist(x, y)
    torch.testing.assert_close(space.dist(path[:-1], path[1:]), (whole / 6).expand(6, -1), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(space.midpoint(x, y), path[3], rtol=1e-7, atol=1e-8)


def test_unit_speed_is_kept_along_a_geodesic(space):
    x = draw(space)
    u = tangent(space, x)
    u = u / space.norm(x, u, keepdim=True)
    times = torch.linspace(0, 0.5, 7, dtype=torch.float64).view(7, 1, 1)
    travelled = space.dist(x.expand(7, -1, -1), space.geodesic_unit(times, x, u), keepdim=True)
    torch.testing.assert_close(travelled, times.expand_as(travelled), rtol=1e-5, atol=1e-6)


def test_maps_at_the_origin_are_those_of_any_point_taken_there(space):
    y = draw(space)
    origin = origin_of(space, y)
    u, v = tangent(space, origin), tangent(space, y, seed=5)
    torch.testing.assert_close(space.projx(torch.zeros_like(y)), origin)
    torch.testing.assert_close(space.dist0(y), space.dist(origin, y))
    torch.testing.assert_close(space.dist0(y, keepdim=True).squeeze(-1), space.dist0(y))
    torch.testing.assert_close(space.proju0(y), space.proju(origin, y))
    torch.testing.assert_close(space.transp0(y, u), space.transp(origin, y, u), **CLOSE[torch.float64])
    torch.testing.assert_close(space.transp0back(y, v), space.transp(y, origin, v), **CLOSE[torch.float64])
    torch.testing.assert_close(space.transp0back(y, space.transp0(y, u)), u, **CLOSE[torch.float64])
    torch.testing.assert_close(space.logmap0back(y), space.logmap(y, origin), **CLOSE[torch.float64])


@pytest.mark.parametrize("name", RIEMANNIAN)
def test_the_distance_from_the_origin_is_the_length_of_the_logarithm_there(name):
    """Not on ``Q``: its maps at the origin are diffeomorphic, not geodesic."""
    space = parse_space(name)
    x = draw(space)
    torch.testing.assert_close(space.dist0(x), space.norm(origin_of(space, x), space.logmap0(x)), rtol=1e-7, atol=1e-8)


def test_transport_keeps_inner_products_between_any_points(space):
    x, y = draw(space), draw(space, seed=1)
    u, v = tangent(space, x), tangent(space, x, seed=4)
    moved = space.inner(y, space.transp(x, y, u), space.transp(x, y, v))
    torch.testing.assert_close(moved, space.inner(x, u, v), rtol=1e-6, atol=1e-8)


def test_random_points_are_centred_at_the_origin(space):
    u = space.logmap0(draw(space, n=2000, std=0.3))
    assert u.mean(0).abs().max() < 0.05


def test_distances_from_the_origin_have_a_gradient_by_the_curvature(space):
    learnable = parse_space(str(space), learnable=True)
    x = draw(space)
    loss = learnable.dist0(x).sum()
    if list(learnable.parameters()):
        assert all(each.isfinite() for each in torch.autograd.grad(loss, list(learnable.parameters())))


def test_points_and_spaces_are_stored_and_read(space):
    points = geoopt.ManifoldParameter(draw(space, n=3), manifold=space)
    file = io.BytesIO()
    torch.save(points, file)
    file.seek(0)
    for found in (pickle.loads(pickle.dumps(points)), torch.load(file, weights_only=False)):  # noqa: S301
        assert isinstance(found, geoopt.ManifoldParameter)
        assert str(found.manifold) == str(space)
        torch.testing.assert_close(found.manifold.dist0(found), space.dist0(points), rtol=0, atol=0)


# --- geoopt's Scaled -----------------------------------------------------------------------------------------------------


def test_a_scaled_space_is_a_space(space):
    """``norm`` is in the units of ``Scaled``: lengths of steps, of which a doubled space makes half as long ones."""
    scaled = geoopt.Scaled(space, 2.0).double()
    x, y = draw(space), draw(space, seed=1)
    origin = origin_of(space, x)
    u, b = tangent(space, x), tangent(space, origin, seed=4)
    unit = u / scaled.norm(x, u, keepdim=True)
    close = CLOSE[torch.float64]
    torch.testing.assert_close(scaled.dist(x, scaled.geodesic_unit(0.5, x, unit)), torch.full_like(x[:, 0], 0.5), **close)
    torch.testing.assert_close(scaled.geodesic(0.3, x, y), scaled.geodesic_unit(0.3, x, scaled.logmap(x, y)), **close)
    torch.testing.assert_close(scaled.transp0back(x, scaled.transp0(x, b)), b, **close)
    torch.testing.assert_close(scaled.translate(x, b), scaled.expmap(x, scaled.transp0(x, b)), **close)
    torch.testing.assert_close(scaled.fold0(b), scaled.logmap0(scaled.expmap0(b)), **close)
    torch.testing.assert_close(scaled.translate0(b, b), scaled.logmap0(scaled.translate(scaled.expmap0(b), b)), **close)
    torch.testing.assert_close(scaled.from_origin(x), 2 * space.from_origin(x), **close)
    torch.testing.assert_close(scaled.interval(x, y), 4 * space.interval(x, y), **close)
    with pytest.raises(NotImplementedError):  # the density would be that of another volume
        scaled.wrapped_normal(x, 0.5)


@pytest.mark.parametrize("name", ["E3", "H3", "S3", "K3", "Q2,2"])
def test_hyperplanes_are_further_away_in_a_scaled_space(name):
    space = parse_space(name)
    x, p = draw(space), draw(space, seed=1)
    a = tangent(space, p)
    torch.testing.assert_close(geoopt.Scaled(space, 2.0).dist2plane(x, p, a), 2 * space.dist2plane(x, p, a))


@pytest.mark.parametrize("name", ["E3", "H3", "S3", "K3"])
def test_the_radius_of_a_ball_is_that_of_the_scaled_space(name):
    scaled = geoopt.Scaled(parse_space(name), 2.0)
    x = scaled.random_ball(500, scaled.base.ambient_dim, radius=1.5, generator=generator(0))
    assert 1.4 < scaled.dist0(x).max() <= 1.5 + 1e-5


# --- means ---------------------------------------------------------------------------------------------------------------


def test_means_lie_on_the_space_and_do_not_depend_on_order_or_scale(space):
    x = draw(space, n=15).view(3, 5, -1)
    weights = torch.rand(3, 5, dtype=torch.float64, generator=generator(1)) + 0.1
    for mean in (space.centroid, space.frechet_mean):
        found = mean(x, weights)
        assert found.shape == (3, space.ambient_dim)
        space.assert_check_point_on_manifold(found)
        torch.testing.assert_close(mean(x.flip(1), 5 * weights.flip(1)), found, rtol=1e-6, atol=1e-7)
        torch.testing.assert_close(mean(x), mean(x, torch.ones(3, 5, dtype=torch.float64)), rtol=1e-7, atol=1e-8)
        torch.testing.assert_close(mean(x[:, :1]), x[:, 0], rtol=1e-7, atol=1e-7)


def test_the_mean_of_two_points_is_on_their_geodesic(space):
    x, y = draw(space), draw(space, seed=1)
    pair = torch.stack((x, y), dim=-2)
    middle = space.midpoint(x, y)
    torch.testing.assert_close(space.frechet_mean(pair), middle, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(space.centroid(pair), middle, rtol=1e-6, atol=1e-6)
    quarter = space.frechet_mean(pair, torch.tensor([0.75, 0.25], dtype=torch.float64))
    torch.testing.assert_close(quarter, space.geodesic(0.25, x, y), rtol=1e-5, atol=1e-6)


def test_logarithms_to_the_points_cancel_at_the_frechet_mean(space):
    x = draw(space, n=15).view(3, 5, -1)
    weights = torch.rand(3, 5, dtype=torch.float64, generator=generator(1)) + 0.1
    mean = space.frechet_mean(x, weights)
    pull = (weights.unsqueeze(-1) * space.logmap(mean.unsqueeze(1).expand_as(x), x)).sum(1)
    assert pull.abs().max() < 1e-9


@pytest.mark.parametrize("name", RIEMANNIAN)
def test_the_frechet_mean_minimises_squared_distances_where_the_metric_is_positive(name):
    space = parse_space(name)
    x = draw(space, n=8, std=0.5)
    mean = space.frechet_mean(x)
    best = space.dist2(mean.expand_as(x), x).sum()
    for seed in range(10):
        other = space.expmap(mean, tangent(space, mean, seed=seed, size=0.1))
        assert space.dist2(other.expand_as(x), x).sum() > best


def test_in_an_indefinite_metric_the_mean_is_a_saddle_of_the_signed_squares():
    """Space-like steps away from it raise the sum, time-like steps lower it: there is no minimum to be found."""
    space = parse_space("Q3,3")
    x = draw(space, n=8, std=0.1)
    mean = space.frechet_mean(x)

    def total(y):
        velocity = space.logmap(y.expand_as(x), x)
        return space.inner(y, velocity).sum()

    rise = torch.zeros(6, dtype=torch.float64)
    rise[3] = 0.1
    turn = torch.zeros(6, dtype=torch.float64)
    turn[1] = 0.1
    assert total(space.expmap(mean, space.proju(mean, rise))) > total(mean)
    assert total(space.expmap(mean, space.proju(mean, turn))) < total(mean)


def test_means_and_geodesics_that_do_not_exist_are_nan():
    space = parse_space("Q1,2")
    pole = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)
    apart = torch.tensor([-(2.0**0.5), 0.0, 1.0], dtype=torch.float64)
    assert not space.is_connected(pole, apart)
    assert space.midpoint(pole, apart).isnan().all()
    assert space.centroid(torch.stack((pole, apart))).isnan().all()
    assert space.frechet_mean(torch.stack((pole, apart))).isnan().all()
