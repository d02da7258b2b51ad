"""Translation in the tangent coordinates of hyperbolic space: against mpmath, at the pole, and as far out as one likes."""

import math

import mpmath
import pytest
import torch

import oracle
from cases import generator
from qgcn import geometry, parse_space
from tolerance import DTYPES

RADII = (0.0, 1e-6, 1e-3, 0.5, 3.0, 11.0, 30.0, 95.0)
STEPS = (0.0, 1e-6, 1e-2, 1.0, 5.0)
WAYS = ("any", "same", "opposite")
CLOSE = {torch.float32: 1e-5, torch.float64: 1e-13}
"""Largest error, relative to both radii and that of the result."""
DIGITS = 250  # a point at radius 95 has coordinates of 1e41, and the oracle subtracts their squares


def pairs(way, dtype, beta, dim=3, seed=0):
    """Return vectors at the pole of all radii, with biases of all lengths that point some way."""
    both = torch.randn(2, len(RADII), len(STEPS), dim, dtype=torch.float64, generator=generator(seed))
    along, step = both / both.norm(dim=-1, keepdim=True)
    step = {"any": step, "same": along, "opposite": -along}[way]
    root = math.sqrt(-beta)
    radii, steps = torch.tensor(RADII).double(), torch.tensor(STEPS).double()
    u, b = root * radii.reshape(-1, 1, 1) * along, root * steps.reshape(1, -1, 1) * step
    return tuple(torch.nn.functional.pad(each, (1, 0)).reshape(-1, dim + 1).to(dtype) for each in (u, b))


def truth_of(u, b, beta):
    with mpmath.workdps(DIGITS):
        B = mpmath.mpf(-beta)
        pole = [mpmath.sqrt(B)] + [mpmath.mpf(0)] * (u.shape[-1] - 1)
        rows = []
        for tangent, bias in zip(oracle.vectors(u), oracle.vectors(b), strict=True):
            x = oracle.expmap(pole, tangent, B, 1)
            moved = oracle.expmap(x, oracle.transport(pole, x, bias, B, 1), B, 1)
            rows.append(oracle.logmap(pole, moved, B, 1) if any(bias) or any(tangent) else tangent)
        return torch.tensor([[float(each) for each in row] for row in rows], dtype=torch.float64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("beta", [-1.0, -4.0, -0.3])
def test_hyperbolic_translate0_agrees_with_mpmath_at_all_radii(beta, way, dtype):
    u, b = pairs(way, dtype, beta)
    found, truth = geometry.hyperbolic_translate0(u, b, beta=beta).double(), truth_of(u, b, beta)
    scale = truth.norm(dim=-1) + u.double().norm(dim=-1) + b.double().norm(dim=-1)
    assert ((found - truth).norm(dim=-1) <= CLOSE[dtype] * scale).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_hyperbolic_translate0_leaves_u_without_a_bias_and_gives_the_bias_at_the_pole(dtype):
    u, b = pairs("any", dtype, -2.0)
    zero = torch.zeros_like(u)
    for form in ({"beta": -2.0}, {"beta": torch.tensor(-2.0, dtype=torch.float64)}):
        torch.testing.assert_close(geometry.hyperbolic_translate0(u, zero, **form), u, rtol=CLOSE[dtype], atol=0)
        torch.testing.assert_close(geometry.hyperbolic_translate0(zero, b, **form), b, rtol=CLOSE[dtype], atol=0)


def test_hyperbolic_translate0_equals_the_composition_it_replaces():
    space = parse_space("H3", beta=-1.7)
    u, b = pairs("any", torch.float64, -1.7)
    near = u.norm(dim=-1) < 10
    composed = space.logmap0(space.translate(space.expmap0(u[near]), b[near]))
    torch.testing.assert_close(space.translate0(u[near], b[near]), composed, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("radius", "step"), [(0, 0), (0, 1), (1, 0), (1e-8, 1e-8), (3, 2), (18, 2.5), (40, 3), (40, 0)])
def test_hyperbolic_translate0_has_the_gradient_of_its_differences(radius, step):
    along, turned = torch.tensor([0.0, 0.6, 0.8]).double(), torch.tensor([0.0, -0.8, 0.6]).double()
    beta = torch.tensor(-1.7, dtype=torch.float64, requires_grad=True)
    u, b = ((length * way).requires_grad_() for length, way in ((radius, along), (step, turned)))
    assert torch.autograd.gradcheck(lambda u, b, beta: geometry.hyperbolic_translate0(u, b, beta=beta), (u, b, beta), atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("radius", [0, 1e-30, 1, 44, 88, 200, 1e4])
def test_hyperbolic_translate0_and_its_gradient_are_finite_however_far_out(radius, dtype):
    for bias in ((0.0, 0.0, 0.0), (0.0, 0.5, -0.3), (0.0, -radius, 0.0)):
        u = torch.tensor([0.0, radius, 0.0], dtype=dtype, requires_grad=True)
        b = torch.tensor(bias, dtype=dtype, requires_grad=True)
        beta = torch.tensor(-1.0, dtype=torch.float64, requires_grad=True)
        moved = geometry.hyperbolic_translate0(u, b, beta=beta)
        found = torch.autograd.grad(moved.sum(), (u, b, beta))
        assert all(torch.isfinite(each).all() for each in (moved, *found))


def test_hyperbolic_translate0_takes_a_batch_of_curvatures():
    u, b = pairs("any", torch.float64, -1.0)
    betas = torch.tensor([-1.0, -4.0], dtype=torch.float64)
    each = torch.stack([geometry.hyperbolic_translate0(u, b, beta=beta) for beta in betas])
    both = geometry.hyperbolic_translate0(u, b, beta=betas.reshape(2, 1, 1))
    torch.testing.assert_close(both, each)
    mapped = torch.func.vmap(lambda beta: geometry.hyperbolic_translate0(u, b, beta=beta))(betas)
    torch.testing.assert_close(mapped, each)


def test_hyperbolic_translate0_compiles_to_the_same_values_and_gradients():
    u, b = (each.requires_grad_() for each in pairs("any", torch.float64, -1.0))
    beta = torch.tensor(-1.0, dtype=torch.float64, requires_grad=True)
    found = []
    for function in (geometry.hyperbolic_translate0, torch.compile(geometry.hyperbolic_translate0, fullgraph=True)):
        moved = function(u, b, beta=beta)
        found.append((moved, *torch.autograd.grad(moved.square().sum(), (u, b, beta))))
    for plain, compiled in zip(*found, strict=True):
        torch.testing.assert_close(compiled, plain, rtol=1e-9, atol=1e-9)
