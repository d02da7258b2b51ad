import math

import pytest
import torch

from cases import generator
from qgcn.manifolds import Euclidean, Hyperboloid, Sphere, Stereographic


@pytest.mark.parametrize("kappa", [-2.0, -1e-3, 0.0, 1e-3, 1.5])
def test_stereographic_pairwise_dist_equals_dist(kappa):
    space = Stereographic(3, kappa)
    x, y = (space.random(20, 3, std=0.4, dtype=torch.float64, generator=generator(i)) for i in range(2))
    table = space.dist(x.unsqueeze(1), y.unsqueeze(0))
    torch.testing.assert_close(space.pairwise_dist(x, y), table, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("kappa", "other"), [(-0.5, Hyperboloid(3, beta=-2.0)), (0.5, Sphere(3, beta=-2.0))])
def test_stereographic_is_a_picture_of_the_hyperboloid_and_of_the_sphere(kappa, other):
    """Stereographic projection from the far pole keeps distances: x = R s / (R + t)."""
    points = [other.random(20, 4, std=0.5, dtype=torch.float64, generator=generator(i)) for i in range(2)]
    radius = math.sqrt(2.0)
    pictures = [radius * p[:, 1:] / (radius + p[:, :1]) for p in points]
    space = Stereographic(3, kappa)
    torch.testing.assert_close(space.dist(*pictures), other.dist(*points), rtol=1e-5, atol=1e-5)


def test_stereographic_pairwise_dist_at_antipodes_is_finite():
    space = Stereographic(2, 1.0)
    x = space.random(200, 2, generator=generator(0)).as_subclass(torch.Tensor)
    antipode = -x / x.square().sum(-1, keepdim=True)
    distance = space.pairwise_dist(x, antipode).diagonal()
    torch.testing.assert_close(distance, torch.full((200,), math.pi), rtol=1e-2, atol=0)


def test_euclidean_is_flat():
    space = Euclidean(2)
    x, y = torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]])
    assert space.dist(x, y) == space.pairwise_dist(x, y) == 5
    assert (space.logmap(x, y) == y).all()
    assert (space.transp0(y, y) == y).all()


@pytest.mark.parametrize("kind", [Euclidean, Stereographic, Hyperboloid, Sphere])
@pytest.mark.parametrize(("dim", "error"), [(0, ValueError), (-1, ValueError), (2.5, TypeError), (True, TypeError)])
def test_impossible_sizes_are_refused(kind, dim, error):
    with pytest.raises(error, match="dim must be"):
        kind(dim)


def test_kappa_must_be_finite():
    with pytest.raises(ValueError, match="kappa must be finite, got nan"):
        Stereographic(2, math.nan)


@pytest.mark.parametrize("space", [Euclidean(3), Stereographic(3, -1.0)])
def test_a_distance_keeps_its_axis_if_asked_to(space):
    x, y = (0.1 * torch.rand(5, 3, generator=generator(i)) for i in range(2))
    assert space.dist(x, y).shape == (5,)
    assert space.dist(x, y, keepdim=True).shape == (5, 1)
