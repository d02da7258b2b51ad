"""Coordinates learned as they are."""

import pytest
import torch

from qgcn import data, parse_space
from qgcn.models import Coordinates, build
from qgcn.nn import adjacency

EDGES = data.ring_of_trees(5, 2, 2)
N = int(EDGES.max()) + 1
GRAPH = adjacency(EDGES, N, aggregation="sym").float()
SPACES = ("E4", "H3", "S3", "K4", "Q3,1", "Q0,4", "Q5,3", "Q2,4", "Q3,3", "H2xS2", "Q3,2xE2", "Q1,3xQ3,2")


def model(space, **options):
    torch.manual_seed(0)
    return Coordinates(N, space, **options)


@pytest.mark.parametrize("space", SPACES)
def test_points_are_on_the_manifold_and_all_learn(space):
    net = model(space)
    points = net(None, GRAPH)
    assert points.shape == (N, net.space.ambient_dim)
    net.space.assert_check_point_on_manifold(points, atol=1e-4, rtol=1e-4)
    net.space.dist2(points[1:], points[:-1]).sum().backward()
    assert net.coordinates.grad.isfinite().all()
    assert (net.coordinates.grad != 0).any(1).all()


@pytest.mark.parametrize("space", [space for space in SPACES if space != "Q3,1"])
def test_points_come_from_the_pole(space):
    net = model(space)
    torch.testing.assert_close(net(None, GRAPH), net.space.expmap0(net.tangent(None, GRAPH)))


@pytest.mark.parametrize(
    ("space", "same"), [("Q3,1", "H3"), ("Q0,4", "S3"), ("Q3,1xE2", "H3xE2"), ("Q0,3xQ2,1", "S2xH2"), ("Q2,1xQ2,2", "H2xQ2,2")]
)
def test_a_riemannian_pseudo_hyperboloid_is_the_model_of_its_name(space, same):
    ours, theirs = model(space, beta=-0.7), model(same, beta=-0.7)
    points = [net.double()(None, GRAPH.double()) for net in (ours, theirs)]
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
    assert (net.tangent(None, GRAPH)[:, confined] == 0).all()
    assert model(space, confine=0.0).free.all()


@pytest.mark.parametrize(("space", "sign"), [("Q5,3", 1), ("Q2,4", -1)])
def test_chords_of_the_confined_part_are_all_space_like_or_all_time_like(space, sign):
    points = model(space)(None, GRAPH)
    chord = points[1:] - points[:-1]
    assert (sign * parse_space(space).inner(points[1:], chord) > 0).all()


def test_time_brings_freedom_and_moves_nothing():
    net = model("Q5,3", confine=0.2, convolve=0.7)
    for epoch in range(10):
        before = net(None, GRAPH)
        net.advance(epoch, 10, GRAPH)
        after = net(None, GRAPH)
        assert net.free.all() == (epoch >= 2)
        assert bool(net.smoothing == 0) == (epoch >= 7)
        if epoch != 2:  # what is released then starts small, but not at nothing
            torch.testing.assert_close(after, before)
        assert (after - before).norm() < 0.1 * before.norm()


def test_what_is_confined_is_hidden_not_lost_if_smoothing_ends_first():
    net = model("Q5,3", confine=0.5, convolve=0.1)
    for epoch in range(10):
        net.advance(epoch, 10, GRAPH)
    assert (net.tangent(None, GRAPH)[:, [1, 2]] != 0).all()
    assert net.settled(10) == 5


def test_smoothing_ends_once_even_if_the_training_grows_longer():
    net = model("Q5,3", convolve=0.5)
    net.advance(5, 10, GRAPH)
    settled = net.coordinates.clone()
    net.advance(10, 20, GRAPH)  # resumed with more epochs
    assert torch.equal(net.coordinates, settled)


def test_without_smoothing_coordinates_are_the_tangent_vectors():
    net = model("H3", convolve=0.0)
    torch.testing.assert_close(net.tangent(None, GRAPH), net.coordinates)


def test_what_a_model_is_can_be_saved():
    net, other = model("Q5,3"), model("Q5,3", confine=0.0, convolve=0.0)
    net.advance(7, 10, GRAPH)
    other.load_state_dict(net.state_dict())
    torch.testing.assert_close(other(None, GRAPH), net(None, GRAPH))


def test_it_is_built_by_name_and_refuses_what_it_has_not():
    net = build("shallow", N, "Q5,3", confine=0.5, layers=1, aggregation="mean", dropout=0.0)
    assert "Q5,3" in repr(net)
    with pytest.raises(ValueError, match="shallow has no option 'dropout'"):
        build("shallow", N, "Q5,3", dropout=0.5)
