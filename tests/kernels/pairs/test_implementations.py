import pytest
import torch

from cases import settled_points
from qgcn import parse_space
from qgcn.kernels import backend, reconstruction_loss, use_backend
from qgcn.kernels.pairs import cpu, implementations
from qgcn.manifolds import Product

EDGES = torch.tensor([[0, 1, 2], [1, 2, 3]])


def test_more_factors_than_the_compiled_code_has_room_for_are_eager():
    space = Product(*(parse_space("E1") for _ in range(cpu.MOST_FACTORS + 1)))
    x = torch.randn(8, space.ambient_dim)
    reconstruction_loss(x, EDGES, space)
    assert backend() == "eager"
    with use_backend("native"), pytest.raises(ValueError, match="has 65 factors, expected at most 64"):
        reconstruction_loss(x, EDGES, space)
    most = Product(*(parse_space("E1") for _ in range(cpu.MOST_FACTORS)))
    found = reconstruction_loss(x[:, :64], EDGES, most)
    assert backend() == "native"
    torch.testing.assert_close(found, reconstruction_loss(x[:, :64], EDGES, parse_space("E64")))


def test_points_with_too_few_coordinates_are_refused_before_they_are_read():
    x = settled_points(parse_space("Q7,3"), 8)
    for path in ("native", "eager"):
        with use_backend(path), pytest.raises(ValueError, match=r"10 coordinates in Q7,3, got shape \(8, 9\)"):
            reconstruction_loss(x[:, :9].contiguous(), EDGES, parse_space("Q7,3"))


def test_obstacles_are_those_of_the_choice():
    space = parse_space("Q7,3")
    x = settled_points(space, 8)
    for points in (x, x.double()):
        found = implementations.obstacles(points, space, space.factors)
        assert list(found) == ["triton", "native", "eager"]
        assert found["eager"] is None
        chosen = implementations.choose(points, space, space.factors).name
        assert chosen == next(name for name, obstacle in found.items() if obstacle is None)
    assert found["native"] == "points are torch.float64, expected torch.float32"
