import pytest

from qgcn.manifolds import parse_space
from qgcn.viz.words import describe_space


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
    assert describe_space(parse_space(name)) == expected
