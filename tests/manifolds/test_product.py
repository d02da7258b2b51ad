import geoopt
import pytest
import torch

from cases import generator
from qgcn.manifolds import Euclidean, Hyperboloid, Product, PseudoHyperboloid


def test_distances_of_the_factors_add_up_in_squares():
    space = Product(Hyperboloid(2), PseudoHyperboloid(1, 2))
    x, y = (space.random(10, 6, dtype=torch.float64, generator=generator(i)) for i in range(2))
    parts = [factor.dist2(x[:, a:b], y[:, a:b]) for factor, a, b in zip(space.manifolds, (0, 3), (3, 6), strict=True)]
    torch.testing.assert_close(space.dist2(x, y), sum(parts))


def test_length_of_time_like_vectors_is_positive():
    space = Product(PseudoHyperboloid(2, 2), Euclidean(2))
    x = space.origin(6)
    u = torch.tensor([0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    assert space.norm(x, u) == 1
    assert space.component_inner(x, u).tolist() == [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]


def test_random_takes_the_options_of_its_factors():
    space = Product(PseudoHyperboloid(2, 2), Euclidean(2))
    x, again = (space.random(5, 6, std=0.1, generator=generator(0), dtype=torch.float64) for _ in range(2))
    assert (x == again).all()
    assert isinstance(x, geoopt.ManifoldTensor)


def test_bad_factors_are_refused():
    with pytest.raises(ValueError, match="at least two spaces, got 1"):
        Product(Euclidean(2))
    with pytest.raises(TypeError, match="must be spaces of this package, got Sphere"):
        Product(geoopt.Sphere(), Euclidean(2))
