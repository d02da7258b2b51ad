"""C and S: derivatives of every order, laws, values known by hand."""

import math

import pytest
import torch

from analytic import exact_cosh_root, families_agree
from qgcn import numerics
from qgcn.numerics.roots import _CoshRoot
from tolerance import DTYPES, ROUNDING


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
def test_cosh_root_equals_its_derivatives_of_every_order(order, dtype):
    families_agree(_CoshRoot, exact_cosh_root, 9.0, order, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cosh_root_and_sinhc_root_lie_on_the_unit_hyperbola(dtype):
    z = torch.linspace(-9, 9, 1001, dtype=dtype)
    c, s = numerics.cosh_root(z), numerics.sinhc_root(z)
    scale = c.square() + z.abs() * s.square()
    assert ((c.square() - z * s.square() - 1).abs() <= 4 * ROUNDING[dtype] * scale).all()


def test_values_known_by_hand():
    z = torch.tensor([1.0, 0.0, -(math.pi**2), -(math.pi**2) / 4], dtype=torch.float64)
    torch.testing.assert_close(numerics.cosh_root(z), torch.tensor([math.cosh(1), 1, -1, 0], dtype=z.dtype), rtol=0, atol=1e-15)
    expected = torch.tensor([math.sinh(1), 1, 0, 2 / math.pi], dtype=z.dtype)
    torch.testing.assert_close(numerics.sinhc_root(z), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("function", [numerics.cosh_root, numerics.sinhc_root])
def test_first_and_second_derivatives_pass_gradcheck_through_the_joint(function):
    x = torch.tensor([-1.9, -0.6, -0.5, -1e-4, 0.0, 1e-4, 0.5, 0.6, 8.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function, x)
    assert torch.autograd.gradgradcheck(function, x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_circle_root_equals_both_functions_and_their_slopes(dtype):
    z = torch.cat((-torch.linspace(0, 90, 1001, dtype=dtype), torch.tensor([-0.0, -1e-30, -4.0], dtype=dtype))).requires_grad_()
    for mine, function in zip(numerics.circle_root(z), (numerics.cosh_root, numerics.sinhc_root), strict=True):
        expected = function(z)
        assert torch.equal(mine, expected)
        slopes = (torch.autograd.grad(each.sum(), z, retain_graph=True)[0] for each in (mine, expected))
        torch.testing.assert_close(*slopes, rtol=8 * ROUNDING[dtype], atol=ROUNDING[dtype])


def test_circle_root_has_derivatives_of_every_order():
    z = torch.tensor([-30.0, -4.1, -3.9, -0.5, -1e-4], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(numerics.circle_root, z)
    assert torch.autograd.gradgradcheck(numerics.circle_root, z)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cosh_sinhc_root_equals_both_functions_and_their_slopes(dtype):
    z = torch.linspace(-90, 90, 1001, dtype=dtype)
    z = torch.cat((z, torch.tensor([0.0, -0.0, 1e-30, -1e-30, 4.0, -4.0], dtype=dtype))).requires_grad_()
    for mine, function in zip(numerics.cosh_sinhc_root(z), (numerics.cosh_root, numerics.sinhc_root), strict=True):
        expected = function(z)
        assert torch.equal(mine, expected)
        slopes = (torch.autograd.grad(each.sum(), z, retain_graph=True)[0] for each in (mine, expected))
        torch.testing.assert_close(*slopes, rtol=8 * ROUNDING[dtype], atol=ROUNDING[dtype])


def test_cosh_sinhc_root_has_derivatives_of_every_order():
    z = torch.tensor([-30.0, -4.1, -3.9, -0.5, -1e-4, 0.0, 1e-4, 0.5, 3.9, 4.1, 30.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(numerics.cosh_sinhc_root, z)
    assert torch.autograd.gradgradcheck(numerics.cosh_sinhc_root, z)


@pytest.mark.parametrize("function", [numerics.circle_root, numerics.cosh_sinhc_root])
def test_slopes_are_the_same_where_second_derivatives_are_wanted(function):
    """They are computed in another way then, which ``gradgradcheck`` compares with its own slope alone."""
    z = torch.tensor([-30.0, -4.1, -3.9, -0.5, -1e-4, 0.0], dtype=torch.float64, requires_grad=True)
    for value in function(z):
        slopes = [torch.autograd.grad(value.sum(), z, retain_graph=True, create_graph=create)[0] for create in (False, True)]
        torch.testing.assert_close(*slopes, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("function", [numerics.cosh_root, numerics.sinhc_root])
def test_slopes_are_the_same_under_vmap(function):
    z = torch.tensor([-8.0, -0.3, 0.2, 5.0], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(function(z).sum(), z)
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(function))(z.detach()), slope)
