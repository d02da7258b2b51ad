"""Spaces say what they are."""

import pytest
import torch

from cases import generator
from qgcn import parse_space
from qgcn.manifolds import Product

NAMES = ("E5", "H5", "S5", "K5", "Q7,3", "Q3,7", "Q0,6", "Q5,1", "H3xS3", "Q4,2xE4", "K3xH2")


@pytest.mark.parametrize(
    ("name", "kind", "family"),
    [
        ("Q3,2", "Q", "indefinite"),
        ("Q4,1", "Q", "hyperbolic"),
        ("Q0,4", "Q", "spherical"),
        ("H4", "H", "hyperbolic"),
        ("S4", "S", "spherical"),
        ("E4", "E", "flat"),
        ("K4", "K", "stereographic"),
        ("H2xS2", "product", "product"),
    ],
)
def test_kind_is_the_name_and_family_the_geometry(name, kind, family):
    space = parse_space(name)
    assert (space.kind, space.family) == (kind, family)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Q7,3", "a pseudo-hyperboloid with 7 space and 3 time dimensions, which has room for trees and for cycles"),
        ("Q7,1", "hyperbolic space (7 dimensions), which has room for trees"),
        ("Q0,4", "a sphere (3 dimensions)"),
        ("H5", "hyperbolic space (5 dimensions)"),
        ("S5", "a sphere (5 dimensions)"),
        ("E5", "flat space (5 dimensions)"),
        ("K5", "a space of constant curvature (5 dimensions)"),
        ("H2xE3", "a product of hyperbolic space (2 dimensions) and flat space (3 dimensions)"),
    ],
)
def test_every_space_is_described(name, expected):
    assert parse_space(name).describe() == expected


@pytest.mark.parametrize("name", NAMES)
def test_parts_make_up_the_space(name):
    space = parse_space(name)
    assert "x".join(str(part) for part in space.parts) == name
    assert sum(part.ambient_dim for part in space.parts) == space.ambient_dim
    assert len(space.curvatures) == len(space.parts)
    assert all(part.parts == (part,) for part in space.parts)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Q3,2", (-0.25,)), ("H3", (-0.25,)), ("S3", (0.25,)), ("E4", (0.0,)), ("K3", (0.0,)), ("H2xS2", (-0.25, 0.25))],
)
def test_curvatures_are_sectional(name, expected):
    assert parse_space(name, beta=-4.0).curvatures == expected


@pytest.mark.parametrize("name", NAMES)
def test_with_curvatures_is_the_inverse_of_curvatures(name):
    space = parse_space(name, beta=-2.7, learnable=True)
    for parameter_name, parameter in space.named_parameters():
        if parameter_name.endswith("k"):
            parameter.data.fill_(-0.3)
    again = space.with_curvatures(space.curvatures)
    x, y = (space.random(6, space.ambient_dim, dtype=torch.float64, generator=generator(k)).detach() for k in range(2))
    torch.testing.assert_close(again.dist(x, y), space.dist(x, y).detach())
    assert (str(again), again.curvatures) == (name, pytest.approx(space.curvatures))
    assert not any(parameter.requires_grad for parameter in again.parameters())


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("H3", (1.0,), "the curvature of H3 must be negative, got 1"),
        ("S3", (-1.0,), "the curvature of S3 must be positive, got -1"),
        ("Q3,2", (0.0,), "must be negative, got 0"),
        ("E3", (0.5,), "E3 has curvature 0, got 0.5"),
        ("H2xS2", (-1.0,), "H2xS2 has 2 curvatures, got 1"),
    ],
)
def test_impossible_curvatures_are_refused(name, values, message):
    with pytest.raises(ValueError, match=message):
        parse_space(name).with_curvatures(values)


@pytest.mark.parametrize("name", NAMES)
def test_the_origin_is_at_distance_0_from_itself(name):
    space = parse_space(name)
    origin = space.origin(space.ambient_dim).as_subclass(torch.Tensor)
    assert space.from_origin(origin) == 0
    assert (space.from_origin(space.random(4, space.ambient_dim)) > 0).all()


def test_what_cannot_be_traced_says_so():
    traced = [parse_space(name).traceable for name in ("Q3,2", "H2xS2", "K3", "H2xK2")]
    assert traced == [True, True, False, False]


def test_straight_coordinates_are_the_space_of_one_time_dimension():
    assert parse_space("Q3,1xE2").straight().tolist() == [False, True, True, True, False, False]
    assert not any(parse_space(name).straight().any() for name in ("Q3,2", "H3", "S3", "E3", "K3"))


def test_confined_coordinates_leave_the_larger_riemannian_part():
    assert parse_space("Q2,3").confined().tolist() == [False] * 3 + [True] * 2
    assert parse_space("Q3,2xE1").confined().tolist() == [False, True] + [False] * 4
    assert not parse_space("Q3,2xK1").confined().any()


def test_as_dict_is_plain_data():
    assert parse_space("S2", beta=-4.0).as_dict() == {"name": "S2", "kind": "S", "size": 3, "time": 3, "beta": -4.0}
    product = Product(parse_space("E2"), parse_space("K3"))
    assert product.as_dict()["parts"] == [
        {"name": "E2", "kind": "E", "size": 2, "time": 0},
        {"name": "K3", "kind": "K", "size": 3, "time": 0, "kappa": 0.0},
    ]


@pytest.mark.parametrize("name", ["E3", "H3", "S3", "K3", "Q2,2"])
def test_a_distance_to_a_hyperplane_is_scaled_by_the_length_of_its_normal_if_asked_to(name):
    space = parse_space(name)
    x, p = (space.random(6, space.ambient_dim, dtype=torch.float64, std=0.3).as_subclass(torch.Tensor) for _ in range(2))
    a = space.proju(p, torch.full((space.ambient_dim,), 3.0, dtype=torch.float64))
    plain, scaled = (space.dist2plane(x, p, a, scaled=each) for each in (False, True))
    torch.testing.assert_close(scaled, plain * space.norm(p, a))
    assert not torch.allclose(scaled, plain)
