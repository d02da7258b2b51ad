import pytest
import torch

from cases import BETAS, SIGNATURES, generator, points_at_radius, tangent
from qgcn import geometry


@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_random_isometry_keeps_the_inner_product(s, t):
    matrix = geometry.random_isometry(s, t, dtype=torch.float64, generator=generator(0))
    j = torch.diag(geometry.flip_time(torch.ones(s + t, dtype=torch.float64), time_dim=t))
    torch.testing.assert_close(matrix.T @ j @ matrix, j, rtol=0, atol=1e-12)
    if s and t:
        assert (matrix[:t, t:].abs() > 0).any()  # it mixes space and time


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("s", "t"), [each for each in SIGNATURES if sum(each) > 1])  # Q0,1 is two points
def test_maps_commute_with_isometries(s, t, beta):
    form = {"beta": beta, "time_dim": t}
    isometry = geometry.random_isometry(s, t, dtype=torch.float64, generator=generator(1))

    def act(x):
        return geometry.apply_isometry(isometry, x, time_dim=t)

    x, y = (points_at_radius(100, s, t, beta, 1.0, torch.float64, seed) for seed in (0, 1))
    u = tangent(x, beta, t)
    c = -geometry.inner(x, y, time_dim=t) / -beta
    keep = (c.abs() - 1).abs() > 1e-3  # the distance has an infinite slope at c = 1 and c = -1
    assert keep.sum() > 30
    x, y, u = x[keep], y[keep], u[keep]
    close = {"rtol": 1e-8, "atol": 1e-8}
    torch.testing.assert_close(geometry.dist(act(x), act(y), **form), geometry.dist(x, y, **form), **close)
    assert (geometry.is_connected(act(x), act(y), **form) == geometry.is_connected(x, y, **form)).all()
    connected = geometry.is_connected(x, y, **form)
    v, moved = (geometry.logmap(a, b, **form)[connected] for a, b in ((x, y), (act(x), act(y))))
    torch.testing.assert_close(moved, act(v), **close)
    far, near = geometry.expmap(act(x), act(u), **form), act(geometry.expmap(x, u, **form))
    torch.testing.assert_close(far, near, rtol=1e-7, atol=1e-7 * float(near.abs().max()))
    far, near = geometry.transport(act(x), act(y), act(u), **form), act(geometry.transport(x, y, u, **form))
    torch.testing.assert_close(far, near, rtol=1e-6, atol=1e-8 * float(near.abs().max()))


@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_rescale_lands_on_the_other_manifold_and_scales_distances(s, t):
    x, y = (points_at_radius(50, s, t, -0.5, 1.0, torch.float64, seed) for seed in (0, 1))
    there, other = (geometry.rescale(z, beta=-0.5, new_beta=-8.0) for z in (x, y))
    square = geometry.inner(there, there, time_dim=t)
    torch.testing.assert_close(square, torch.full_like(square, -8.0), rtol=1e-10, atol=0)
    product = 16 * geometry.inner(x, y, time_dim=t)  # beta' / beta; the paper's Corollary 1 has it the other way round
    torch.testing.assert_close(geometry.inner(there, other, time_dim=t), product, rtol=1e-10, atol=1e-10)
    ratio = 4 * geometry.dist(x, y, beta=-0.5, time_dim=t)
    torch.testing.assert_close(geometry.dist(there, other, beta=-8.0, time_dim=t), ratio, rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(geometry.rescale(there, beta=-8.0, new_beta=-0.5), x)


def test_bad_isometries_are_refused():
    with pytest.raises(ValueError, match="space_dim >= 0 and time_dim >= 1, got 3 and 0"):
        geometry.random_isometry(3, 0)
    with pytest.raises(ValueError, match=r"isometry must be square, got shape \(2, 3\)"):
        geometry.apply_isometry(torch.ones(2, 3), torch.ones(3), time_dim=1)


@pytest.mark.parametrize(("s", "t"), [(3, 1), (2, 3), (0, 4)])
def test_transvection_carries_x_to_y_keeps_the_inner_product_and_transports(s, t):
    form = {"beta": -0.6, "time_dim": t}
    x, y = (geometry.sample((30, s + t), std=0.3, dtype=torch.float64, generator=generator(k), **form) for k in (0, 1))
    u, v = (torch.randn(30, s + t, dtype=torch.float64, generator=generator(k)) for k in (2, 3))
    torch.testing.assert_close(geometry.transvection(x, y, x, **form), y)
    moved, other = (geometry.transvection(x, y, w, **form) for w in (u, v))
    torch.testing.assert_close(geometry.inner(moved, other, time_dim=t), geometry.inner(u, v, time_dim=t))
    torch.testing.assert_close(geometry.transvection(y, x, moved, **form), u)
    tangent = geometry.project_tangent(x, u, **form)
    torch.testing.assert_close(geometry.transvection(x, y, tangent, **form), geometry.transport(x, y, tangent, **form))
