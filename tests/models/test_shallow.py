"""Coordinates learned as they are."""

import pytest
import torch

from qgcn import parse_space
from qgcn.models import Coordinates, build

N = 35
SPACES = ("E4", "H3", "S3", "K4", "Q3,1", "Q0,4", "Q5,3", "Q2,4", "Q3,3", "H2xS2", "Q3,2xE2", "Q1,3xQ3,2")


def model(space, **options):
    torch.manual_seed(0)
    return Coordinates(N, space, **options)


@pytest.mark.parametrize("space", SPACES)
def test_points_are_on_the_manifold_and_all_learn(space):
    net = model(space)
    points = net()
    assert points.shape == (N, net.space.ambient_dim)
    net.space.assert_check_point_on_manifold(points, atol=1e-4, rtol=1e-4)
    net.space.dist2(points[1:], points[:-1]).sum().backward()
    assert net.coordinates.grad.isfinite().all()
    assert (net.coordinates.grad != 0).any(1).all()


@pytest.mark.parametrize("space", [space for space in SPACES if space != "Q3,1"])
def test_points_come_from_the_pole(space):
    net = model(space)
    torch.testing.assert_close(net(), net.space.expmap0(net.tangent()))


@pytest.mark.parametrize(
    ("space", "same"), [("Q3,1", "H3"), ("Q0,4", "S3"), ("Q3,1xE2", "H3xE2"), ("Q0,3xQ2,1", "S2xH2"), ("Q2,1xQ2,2", "H2xQ2,2")]
)
def test_a_riemannian_pseudo_hyperboloid_is_the_model_of_its_name(space, same):
    ours, theirs = model(space, beta=-0.7), model(same, beta=-0.7)
    with torch.no_grad():  # as if an optimiser had moved every coordinate, those that no point depends on as well
        theirs.coordinates.copy_(ours.coordinates.add_(0.3))
    points = [net.double()() for net in (ours, theirs)]
    torch.testing.assert_close(*points)
    for net, each in zip((ours, theirs), points, strict=True):
        net.space.dist2(each[1:], each[:-1]).sum().backward()
    for (name, one), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        if other.grad is not None:
            torch.testing.assert_close(one.grad, other.grad, msg=name)


@pytest.mark.parametrize(
    ("space", "confined"),
    [
        ("Q5,3", [1, 2]),  # more space than time: starts as hyperbolic space
        ("Q3,3", [1, 2]),
        ("Q2,4", [4, 5]),  # more time than space: starts as a sphere
        ("Q3,1", []),
        ("Q0,4", []),
        ("E4", []),
        ("H3", []),
        ("K4", []),
        ("Q3,2xE2", [1]),
        ("Q1,3xQ3,2", [3, 5]),
    ],
)
def test_an_indefinite_space_starts_in_its_larger_riemannian_part(space, confined):
    net = model(space)
    assert net.free.eq(0).nonzero().flatten().tolist() == confined
    assert (net.tangent()[:, confined] == 0).all()
    assert model(space, confine=0.0).free.all()


@pytest.mark.parametrize(("space", "sign"), [("Q5,3", 1), ("Q2,4", -1)])
def test_chords_of_the_confined_part_are_all_space_like_or_all_time_like(space, sign):
    points = model(space)()
    chord = points[1:] - points[:-1]
    assert (sign * parse_space(space).inner(points[1:], chord) > 0).all()


def test_time_brings_freedom_and_moves_little():
    net = model("Q5,3", confine=0.2)
    for epoch in range(10):
        before = net()
        net.advance(epoch, 10)
        after = net()
        assert net.free.all() == (epoch >= 2)
        assert torch.equal(after, before) == (epoch != 2)  # what is released then starts small, but not at nothing
        assert (after - before).norm() < 0.1 * before.norm()
    assert (net.tangent()[:, [1, 2]] != 0).all()
    assert net.settled(10) == 2
    assert model("Q5,3", confine=1.0).settled(10) == 0  # never released
    assert model("Q5,1", confine=0.2).settled(10) == 0  # nothing to release


def test_what_a_model_is_can_be_saved():
    net, other = model("Q5,3"), model("Q5,3", confine=0.0)
    assert not torch.equal(other(), net())
    other.load_state_dict(net.state_dict())
    torch.testing.assert_close(other(), net())


def test_it_is_built_by_name_and_refuses_what_it_has_not():
    net = build("shallow", N, "Q5,3", confine=0.5)
    assert "Q5,3" in repr(net)
    with pytest.raises(ValueError, match="shallow has no option 'dropout'"):
        build("shallow", N, "Q5,3", dropout=0.5)
