"""Spacetimes: names, the order of their points, and the maps of anti-de Sitter space."""

import math

import pytest
import torch

from cases import generator
from qgcn import parse_space
from qgcn.manifolds import AntiDeSitter, DeSitter, Minkowski

NAMES = ("M4", "M1", "AdS4", "dS4", "M1xH3", "M1xS3", "M2xH2", "E2xM2", "M1xH2xS2")
F64 = torch.float64


def draw(name, n=80, seed=0, beta=-1.0):
    space = parse_space(name, beta=beta)
    return space, space.random(n, space.ambient_dim, dtype=F64, generator=generator(seed)).detach().as_subclass(torch.Tensor)


@pytest.mark.parametrize("name", NAMES)
def test_names_are_read_back(name):
    space = parse_space(name)
    assert str(space) == name
    assert str(parse_space(name.upper())) == name
    assert space.is_spacetime
    assert "time" in space.describe() or "M1" in name


@pytest.mark.parametrize("name", ["M1", "M4", "AdS4", "dS4", "M1xH3", "M1xS3", "M2xH2", "E2xM2"])
def test_points_are_ordered(name):
    space, x = draw(name)
    margin = space.light_margin(x[:, None], x[None])
    below = margin <= 0
    strict = below & ~torch.eye(len(x), dtype=torch.bool)
    assert bool(below.diagonal().all())
    assert strict.sum() > 30
    assert not bool((strict & strict.T).any())
    chains = (strict.double() @ strict.double()) > 0
    assert bool((strict | ~chains).all())
    time = space.time_of(x)
    assert bool((time[None] - time[:, None])[strict].gt(0).all())
    assert torch.equal(space.time_separation(x[:, None], x[None]) > 0, margin < 0)
    order = space.causal_order(x[:, None], x[None])
    assert torch.equal(order, below.to(torch.int8) - (strict.T).to(torch.int8))


@pytest.mark.parametrize("dtype", [torch.float32, F64])
@pytest.mark.parametrize("size", [3.0, 6.0, 10.0])
@pytest.mark.parametrize("name", ["M4", "AdS4", "dS4", "M1xH3", "M1xS3", "M2xH2", "M1xH2xS2"])
def test_the_order_is_transitive_and_antisymmetric_far_out(name, size, dtype):
    space = parse_space(name)
    u = size * torch.randn(60, space.ambient_dim, dtype=dtype, generator=generator(1))
    x = space.expmap0(space.proju0(u))
    order = space.causal_order(x[:, None], x[None])
    assert torch.equal(order - torch.eye(60, dtype=torch.int8), (torch.eye(60, dtype=torch.int8) - order).T)
    below = order == 1
    assert below.sum() > 80
    assert bool((below | ((below.double() @ below.double()) == 0)).all())
    assert bool((space.light_margin(x[:, None], x[None])[below] < 1e-4).all())


@pytest.mark.parametrize("radius", [8.0, 11.0, 14.0])
def test_events_beside_each_other_far_out_in_hyperbolic_space_are_in_no_order(radius):
    space, gap, wait = parse_space("M1xH2"), 0.2, 0.18
    turn = 2 * math.asin(math.sinh(gap / 2) / math.sinh(radius))
    x, y = torch.tensor([[0, 0, radius, 0], [wait, 0, radius * math.cos(turn), radius * math.sin(turn)]])
    x, y = space.expmap0(x), space.expmap0(y)
    torch.testing.assert_close(space.light_margin(x, y), torch.tensor(gap - wait), rtol=0, atol=1e-3)
    assert space.causal_order(x, y) == space.causal_order(y, x) == 0


@pytest.mark.parametrize("late", [1e2, 1e4, 1e6])
def test_late_events_beside_each_other_in_de_sitter_space_are_in_no_order(late):
    turn, radius = 0.01 / late, math.hypot(1, late)
    x, y = torch.tensor([[radius, 0, late], [radius * math.cos(turn), radius * math.sin(turn), late]])
    space = DeSitter(2)
    assert space.light_margin(x, y) > 0.009
    assert space.causal_order(x, y) == space.causal_order(y, x) == 0


@pytest.mark.parametrize("name", ["M3", "AdS3", "M1xH2", "M1xS2"])
def test_rounding_does_not_break_rays_of_light_from_the_origin(name):
    space, angle = parse_space(name), torch.linspace(0, 6, 50)
    for length in (1e-3, 0.1, 1.0, 1.5):
        place = length * torch.stack((angle.cos(), angle.sin()), dim=-1)
        if name == "AdS3":
            place = place * math.tan(length) / length
        if space.ambient_dim > 3:  # the pole of the place stands before it, or after
            place = torch.nn.functional.pad(place, (1, 0) if name == "M1xH2" else (0, 1))
        ends = space.expmap0(torch.cat((torch.full((50, 1), length), place), dim=-1))
        assert bool((space.causal_order(space.expmap0(torch.zeros_like(ends)), ends) == 1).all())


@pytest.mark.parametrize(
    "name", ["E4", "H4", "S4", "K4", "Q3,1", "Q3,2", "Q2,3", "H2xS2", "M2xM2", "M2xQ3,2", "AdS3xE2", "dS3xE2"]
)
def test_other_spaces_have_no_order(name):
    space, x = draw(name, 4)
    assert not space.is_spacetime
    for ask in (space.light_margin, space.time_separation, lambda x, _: space.time_of(x)):
        with pytest.raises(ValueError, match="has no order of time: expected a spacetime such as M10"):
            ask(x, x)


def test_flat_spacetime_measures_intervals():
    space = Minkowski(3)
    x, y = torch.zeros(3), torch.tensor([[5.0, 3.0, 0.0], [3.0, 0.0, 5.0], [1.0, 1.0, 0.0]])
    torch.testing.assert_close(space.dist(x, y), torch.tensor([4.0, 4.0, 0.0]))
    torch.testing.assert_close(space.dist2(x, y), torch.tensor([16.0, 16.0, 0.0]))
    torch.testing.assert_close(space.inner(x, y), torch.tensor([-16.0, 16.0, 0.0]))
    torch.testing.assert_close(space.pairwise_dist(y).diagonal(), torch.zeros(3))
    assert space.factors is None


@pytest.mark.parametrize("beta", [-0.3, -4.0])
def test_a_cylinder_is_time_beside_a_sphere(beta):
    space, x = draw("M1xS2", beta=beta)
    _, y = draw("M1xS2", seed=1, beta=beta)
    sphere = parse_space("S2", beta=beta)
    torch.testing.assert_close(space.light_margin(x, y), sphere.dist(x[:, 1:], y[:, 1:]) - (y - x)[:, 0])


@pytest.mark.parametrize("beta", [-0.3, -1.0, -4.0])
def test_geodesics_of_anti_de_sitter_space_keep_their_time(beta):
    """Followed in many small steps or in one, a geodesic arrives at the same time, turns included."""
    space, x = draw("AdS4", 60, beta=beta)
    u = 6 * math.sqrt(-beta) * torch.randn(60, 4, dtype=F64, generator=generator(3))
    u[:, 1:] *= 0.1  # most of them time-like, some turns long
    x[:, 1:] *= 0.3
    end, at, velocity = space.expmap(x, u), x, u / 400
    for _ in range(400):
        nxt = space.expmap(at, velocity)
        velocity = space.transp(at, nxt, velocity)
        at = nxt
    assert (end - x)[:, 0].abs().max() > 2 * math.pi * math.sqrt(-beta)
    torch.testing.assert_close(at, end, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(space.inner(end, velocity), space.inner(x, u / 400), rtol=1e-6, atol=1e-6)


def test_anti_de_sitter_logarithm_undoes_the_exponential():
    space, x = draw("AdS4", 60)
    u = 0.4 * torch.randn(60, 4, dtype=F64, generator=generator(3))
    torch.testing.assert_close(space.logmap(x, space.expmap(x, u)), u, rtol=1e-6, atol=1e-6)
    assert space.logmap(x, x + torch.tensor([4.0, 0, 0, 0], dtype=F64)).isnan().all()


def test_anti_de_sitter_distance_is_continuous_at_half_a_turn():
    space = AntiDeSitter(3, beta=-2.0)
    x = torch.tensor([0.0, 0.4, -0.2], dtype=F64)
    half = math.pi * math.sqrt(2)
    before, after = (torch.tensor([half + step, 0.1, 0.3], dtype=F64) for step in (-1e-9, 1e-9))
    torch.testing.assert_close(space.dist(x, before), space.dist(x, after), rtol=0, atol=1e-3)
    far = torch.tensor([10 * half, -0.4, 0.2], dtype=F64)
    torch.testing.assert_close(space.dist(x, far), torch.tensor(10 * half, dtype=F64))
    assert space.pairwise_dist(torch.stack((x, far))).shape == (2, 2)


def test_curvatures():
    assert AntiDeSitter(3, beta=-4.0).curvatures == (-0.25,)
    assert DeSitter(3, beta=-4.0).curvatures == (0.25,)
    assert AntiDeSitter(3).with_curvatures((-0.25,)).beta == -4
    assert DeSitter(3).with_curvatures((0.25,)).beta == -4
    with pytest.raises(ValueError, match="must be negative"):
        AntiDeSitter(3).with_curvatures((1.0,))


def test_de_sitter_time_counts_like_a_clock():
    space = DeSitter(3, beta=-4.0)
    start = torch.tensor([2.0, 0.0, 0.0, 0.0], dtype=F64)
    later = space.expmap(start, torch.tensor([0.0, 0.0, 0.0, 3.0], dtype=F64))
    torch.testing.assert_close(space.time_of(later), torch.tensor(3.0, dtype=F64))
    torch.testing.assert_close(space.time_separation(start, later), torch.tensor(3.0, dtype=F64))
    torch.testing.assert_close(space.inner(start, later - start) < 0, torch.tensor(True))


@pytest.mark.parametrize("name", ["AdS1", "dS1", "M0"])
def test_there_must_be_room(name):
    with pytest.raises(ValueError, match="at least"):
        parse_space(name)


@pytest.mark.parametrize(
    ("name", "spatial"),
    [("M4", "E3"), ("M1xH3", "H3"), ("M1xS3", "S3"), ("M2xH2", "E1xH2"), ("E2xM2", "E2xE1"), ("M1xH2xS2", "H2xS2")],
)
def test_a_static_spacetime_is_time_beside_a_space(name, spatial):
    space, x = draw(name, beta=-0.7)
    assert str(space.spatial) == spatial
    times, places = space.times_and_places(x)
    assert torch.equal(times, space.time_of(x))
    dist = space.spatial.dist(places[:, None], places[None])
    torch.testing.assert_close(dist - (times[None] - times[:, None]), space.light_margin(x[:, None], x[None]))


@pytest.mark.parametrize("name", ["M1", "AdS4", "dS4", "E4", "H4", "Q3,2", "M2xM2", "M2xQ3,2"])
def test_other_spaces_are_not_time_beside_a_space(name):
    space, x = draw(name, 4)
    assert space.spatial is None
    with pytest.raises(ValueError, match=f"{name} is not time beside a space: expected a static spacetime such as M10"):
        space.times_and_places(x)


def test_a_curvature_is_learned_through_the_space_beside_time():
    space = parse_space("M1xH3", learnable=True)
    assert space.spatial is space.parts[1]
