"""The chord to the nearer of a point and its antipode."""

import math
import subprocess
import sys

import pytest
import torch

from cases import SIGNATURES, generator, points_at_radius
from qgcn import geometry
from qgcn.geometry.chord import chord, chord_between_all
from qgcn.kernels import use_backend
from qgcn.kernels.separation import cpu
from qgcn.numerics import limits
from tolerance import DTYPES

ONE = torch.tensor(1.0, dtype=torch.float64)


def points(s, t, n=30, seed=0, dtype=torch.float64, beta=-1.0):
    return geometry.sample((n, s + t), beta=beta, time_dim=t, dtype=dtype, generator=generator(seed))


@pytest.mark.parametrize("beta", [-0.05, -1.0, -20.0])
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_the_square_is_that_of_the_difference_or_of_the_sum(s, t, beta):
    x, y = (points(s, t, seed=seed, beta=beta) for seed in (1, 2))
    cosine = geometry.inner(x, y, time_dim=t, keepdim=True) / beta
    found = chord(x, y, torch.tensor(-beta, dtype=x.dtype), time_dim=t)
    assert torch.equal(found.far, cosine < 0)
    torch.testing.assert_close(found.square, 2 * (cosine.abs() - 1), rtol=1e-9, atol=1e-9)
    assert torch.equal(found.connected, cosine > -1)


@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_all_pairs_are_the_pairs(s, t):
    x, y = points(s, t, 9, 1), points(s, t, 7, 2)
    one = chord(x[:, None], y[None], ONE, time_dim=t)
    every = chord_between_all(x, y, ONE, time_dim=t)
    assert every.square.shape == (9, 7)
    assert torch.equal(every.far, one.far.squeeze(-1))
    torch.testing.assert_close(every.square, one.square.squeeze(-1), rtol=1e-7, atol=1e-9)


def test_squares_known_by_hand():
    x = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)  # two time dimensions
    y = torch.stack(
        [
            x,
            -x,
            torch.tensor([math.cos(0.3), math.sin(0.3), 0.0], dtype=torch.float64),
            torch.tensor([math.cosh(2.0), 0.0, math.sinh(2.0)], dtype=torch.float64),
            torch.tensor([1.0, 1.0, 1.0], dtype=torch.float64),
            torch.tensor([-math.cosh(2.0), 0.0, math.sinh(2.0)], dtype=torch.float64),
        ]
    )
    found = chord(x, y, ONE, time_dim=2)
    expected = [0, 0, 2 * math.cos(0.3) - 2, 2 * math.cosh(2.0) - 2, 0, 2 * math.cosh(2.0) - 2]
    torch.testing.assert_close(found.square.squeeze(-1), torch.tensor(expected, dtype=torch.float64))
    assert found.far.squeeze(-1).tolist() == [False, True, False, False, False, True]
    assert found.connected.squeeze(-1).tolist() == [True, False, True, True, True, False]


@pytest.mark.parametrize("dtype", DTYPES)
def test_points_next_to_the_antipode_count_as_disconnected_within_rounding_alone(dtype):
    limit = limits(dtype).antipode
    x = torch.tensor([1.0, 0.0, 0.0], dtype=dtype)
    for step, connected in ((10 * math.sqrt(limit), True), (0.1 * math.sqrt(limit), False)):
        y = torch.tensor([-1.0, step, 0.0], dtype=dtype)
        assert bool(chord(x, y, torch.tensor(1.0, dtype=dtype), time_dim=2).connected) == connected


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_point_far_out_is_not_swamped_by_its_length(dtype):
    far = points_at_radius(20, 4, 2, -1.0, 12.0, dtype)
    pole = torch.tensor([1.0, 0, 0, 0, 0, 0], dtype=dtype)
    found = chord(far, pole, torch.tensor(1.0, dtype=dtype), time_dim=2)
    expected = 2 * far[:, :1].double().abs() - 2
    torch.testing.assert_close(found.square.double(), expected, rtol=1e-5 if dtype == torch.float32 else 1e-12, atol=1e-4)


@pytest.mark.parametrize(("s", "t"), [(4, 2), (15, 1), (3, 7)])
@pytest.mark.parametrize("radius", [8.0, 15.0, 20.0])
def test_a_point_far_out_is_not_taken_for_its_own_antipode(s, t, radius):
    x = points_at_radius(200, s, t, -1.0, radius, torch.float32)
    size = torch.tensor(1.0)
    for y, far in ((x, False), (-x, True)):
        found = chord(x, y, size, time_dim=t)
        assert bool((found.far == far).all())
        assert not found.square.any()
        every = chord_between_all(x, y, size, time_dim=t)
        assert bool((every.far.diagonal() == far).all())


def test_the_gradient_is_that_of_the_inner_product_along_the_manifold():
    x, y = points(3, 2, seed=1), points(3, 2, seed=2)
    x.requires_grad_()
    found = chord(x, y, ONE, time_dim=2)
    (gradient,) = torch.autograd.grad(found.square.sum(), x)
    sign = torch.where(found.far, 2.0, -2.0)  # of 2 (|c| - 1), c = -<x, y>
    expected = geometry.flip_time(sign * y, time_dim=2)
    along = geometry.project_tangent(
        x.detach(), torch.randn(x.shape, dtype=x.dtype, generator=generator(3)), beta=-1.0, time_dim=2
    )
    torch.testing.assert_close((gradient * along).sum(-1), (expected * along).sum(-1))


@pytest.mark.parametrize("first", ["qgcn.geometry", "qgcn.kernels"])
def test_results_do_not_depend_on_who_is_imported_first(first):
    """In a process of its own: the compiled function is used if it can be, whether or not anyone has imported it."""
    code = f"""
import {first}
import torch
from qgcn import geometry
source = torch.Generator().manual_seed(0)
x, y = (geometry.project(3 * torch.randn(500, 9, generator=source), beta=-0.7, time_dim=3) for _ in range(2))
found = geometry.dist(x, y, beta=-0.7, time_dim=3)
print(found.view(torch.int32).tolist())
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    source = generator(0)
    x, y = (geometry.project(3 * torch.randn(500, 9, generator=source), beta=-0.7, time_dim=3) for _ in range(2))
    with use_backend("eager"):
        plain = geometry.dist(x, y, beta=-0.7, time_dim=3)
    found = geometry.dist(x, y, beta=-0.7, time_dim=3)
    assert result.stdout.strip() == str(found.view(torch.int32).tolist())
    assert cpu.obstacle() is not None or not torch.equal(found, plain)  # otherwise this test could not fail


@pytest.mark.parametrize("name", ["signed_sqdist", "logmap"])
def test_spheres_of_several_curvatures_are_taken_as_one_batch(name):
    x, y = (points_at_radius(6, 0, 5, -1.0, 1.0, torch.float64, seed) for seed in (0, 1))
    betas = torch.tensor([-1.0, -2.0], dtype=torch.float64)
    found = torch.vmap(lambda beta: getattr(geometry, name)(x, y, beta=beta, time_dim=5))(betas)
    for k, beta in enumerate(betas):
        torch.testing.assert_close(found[k], getattr(geometry, name)(x, y, beta=float(beta), time_dim=5))
