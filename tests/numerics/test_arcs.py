"""Arcs, F and A: derivatives of every order, laws, gradients at the joint."""

import math

import pytest
import torch

from analytic import exact_arc_squared, families_agree
from qgcn import numerics
from qgcn.numerics.arcs import _ArcSquared
from tolerance import DTYPES, ROUNDING


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
def test_arc_squared_equals_its_derivatives_of_every_order(order, dtype):
    families_agree(_ArcSquared, exact_arc_squared, 2.0, order, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arc_squared_inverts_cosh_root(dtype):
    q = torch.linspace(-2, 50, 1001, dtype=dtype)
    torch.testing.assert_close(numerics.cosh_root(numerics.arc_squared(q)), 1 + q / 2, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arc_over_sine_inverts_sinhc_root(dtype):
    q = torch.linspace(-2, 50, 1001, dtype=dtype)
    product = numerics.sinhc_root(numerics.arc_squared(q)) * numerics.arc_over_sine(q)
    torch.testing.assert_close(product, torch.ones_like(q), rtol=0, atol=20 * ROUNDING[dtype])


def test_values_known_by_hand():
    q = torch.tensor([0.0, -2.0, -1.0, 2 * math.cosh(1) - 2], dtype=torch.float64)
    expected = torch.tensor([0, -math.pi / 2, -math.pi / 3, 1], dtype=q.dtype)
    torch.testing.assert_close(numerics.arc(q), expected, rtol=1e-15, atol=0)


@pytest.mark.parametrize("function", [numerics.arc_squared, numerics.arc_over_sine])
def test_first_and_second_derivatives_pass_gradcheck_through_the_joint(function):
    x = torch.tensor([-1.9, -0.6, -0.5, -1e-4, 0.0, 1e-4, 0.5, 0.6, 8.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function, x)
    assert torch.autograd.gradgradcheck(function, x)


@pytest.mark.parametrize("space_like", [False, True])
def test_arc_passes_gradcheck_on_each_side(space_like):
    values = [0.3, 5.0, 100.0] if space_like else [-1.9, -0.3, 0.3, 5.0, 100.0]
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda r: numerics.arc(r, space_like=space_like), x)
    assert torch.autograd.gradgradcheck(lambda r: numerics.arc(r, space_like=space_like), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arc_has_zero_gradient_at_zero_and_finite_gradient_beside_it(dtype):
    r = torch.tensor([0.0, 1e-37, -1e-37], dtype=dtype, requires_grad=True)
    (gradient,) = torch.autograd.grad(numerics.arc(r).sum(), r)
    assert gradient[0] == 0
    assert torch.isfinite(gradient).all()
    assert (gradient[1:] > 1e17).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_arc_space_like_equals_arc_where_no_chord_is_time_like(dtype):
    r = torch.logspace(-30, 20, 200, dtype=dtype)
    torch.testing.assert_close(numerics.arc(r, space_like=True), numerics.arc(r), rtol=0, atol=0)


def test_arc_polynomial_equals_arc_over_sine_to_the_rounding_of_float32():
    q = torch.linspace(-2, numerics.ARC_LIMIT, 1001, dtype=torch.float64)
    value = torch.zeros_like(q)
    for coefficient in reversed(numerics.arc_polynomial()):
        value = value * q + coefficient
    torch.testing.assert_close(value, numerics.arc_over_sine(q), rtol=0, atol=2e-8)
    assert len(numerics.arc_polynomial()) == 11  # as many as compiled loops read


@pytest.mark.parametrize("function", [numerics.arc, numerics.arc_squared, numerics.arc_over_sine])
def test_slopes_are_the_same_under_vmap(function):
    q = torch.tensor([-1.9, -0.3, 0.2, 0.7, 8.0], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(function(q).sum(), q)
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(function))(q.detach()), slope)
