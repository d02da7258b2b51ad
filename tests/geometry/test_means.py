import pytest
import torch

from cases import generator
from qgcn import geometry
from tolerance import DTYPES, ROUNDING

NEAR = 0.3


def cloud(s, t, n=7, dtype=torch.float64, seed=0, batch=(3,), beta=-1.0):
    return geometry.sample((*batch, n, s + t), beta=beta, time_dim=t, std=NEAR, dtype=dtype, generator=generator(seed))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", [-0.3, -1.0, -4.0])
@pytest.mark.parametrize(("s", "t"), [(3, 1), (2, 2), (0, 4), (4, 3)])
def test_centroid_is_on_the_manifold_and_ignores_order_and_the_scale_of_weights(s, t, beta, dtype):
    x = cloud(s, t, dtype=dtype, beta=beta)
    weights = torch.rand(3, 7, dtype=dtype, generator=generator(1))
    form = {"beta": beta, "time_dim": t}
    mean = geometry.centroid(x, weights, **form)
    close = {"rtol": 100 * ROUNDING[dtype], "atol": 100 * ROUNDING[dtype]}
    square = geometry.inner(mean, mean, time_dim=t)
    torch.testing.assert_close(square, torch.full_like(square, beta), **close)
    torch.testing.assert_close(geometry.centroid(x.flip(-2), 3 * weights.flip(-1), **form), mean, **close)
    torch.testing.assert_close(geometry.centroid(x[..., :1, :], **form), x[..., 0, :], **close)


def test_centroid_is_where_the_sum_of_squared_chords_is_stationary():
    x = cloud(3, 3)
    weights = torch.rand(3, 7, dtype=torch.float64, generator=generator(1))
    mean = geometry.centroid(x, weights, beta=-1.0, time_dim=3).requires_grad_()
    gap = x - mean.unsqueeze(-2)
    loss = (weights * geometry.inner(gap, gap, time_dim=3)).sum()
    (gradient,) = torch.autograd.grad(loss, mean)
    tangent = geometry.project_tangent(mean, geometry.flip_time(gradient, time_dim=3), beta=-1.0, time_dim=3)
    assert tangent.abs().max() < 1e-12


def test_centroid_moves_with_isometries():
    turn = geometry.random_isometry(3, 3, dtype=torch.float64, generator=generator(3))
    x = cloud(3, 3)
    moved = geometry.centroid(x @ turn.T, beta=-1.0, time_dim=3)
    torch.testing.assert_close(moved, geometry.centroid(x, beta=-1.0, time_dim=3) @ turn.T)


def test_centroid_of_two_points_is_the_middle_of_their_geodesic():
    x = cloud(3, 3, n=2)
    form = {"beta": -1.0, "time_dim": 3}
    velocity = geometry.logmap(x[..., 0, :], x[..., 1, :], **form)
    torch.testing.assert_close(geometry.centroid(x, **form), geometry.expmap(x[..., 0, :], velocity / 2, **form))


def test_centroid_is_nan_where_there_is_none():
    pole = torch.tensor([1.0, 0.0, 0.0])
    across = torch.tensor([-(2.0**0.5), 0.0, 1.0])  # no geodesic joins it to the pole
    for pair in ((pole, -pole), (pole, across)):
        assert geometry.centroid(torch.stack(pair), beta=-1.0, time_dim=2).isnan().all()
