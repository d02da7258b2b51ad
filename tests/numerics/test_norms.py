"""Roots, norms and directions at zero."""

import pytest
import torch

from qgcn import numerics
from tolerance import DTYPES


@pytest.mark.parametrize("dtype", DTYPES)
def test_unit_or_axis_gives_the_first_axis_for_a_zero_vector_with_zero_gradient(dtype):
    x = torch.tensor([[0.0, 0.0], [3.0, 4.0], [1e-30 if dtype == torch.float32 else 1e-200, 0.0]], dtype=dtype)
    x.requires_grad_()
    unit = numerics.unit_or_axis(x)
    torch.testing.assert_close(unit[:2], torch.tensor([[1.0, 0.0], [0.6, 0.8]], dtype=dtype))
    (gradient,) = torch.autograd.grad(unit.sum(), x)
    assert torch.isfinite(gradient).all()
    assert (gradient[0] == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_safe_norm_is_the_norm_with_zero_gradient_at_zero(dtype):
    x = torch.tensor([[0.0, 0.0], [3.0, -4.0]], dtype=dtype, requires_grad=True)
    norm = numerics.safe_norm(x)
    assert norm.tolist() == [[0.0], [5.0]]
    (gradient,) = torch.autograd.grad(norm.sum(), x)
    torch.testing.assert_close(gradient, torch.tensor([[0.0, 0.0], [0.6, -0.8]], dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_at_least_tiny_raises_what_is_not_positive_alone(dtype):
    tiny = torch.finfo(dtype).tiny
    assert numerics.at_least_tiny(torch.tensor([-1.0, 0.0, 2.0], dtype=dtype)).tolist() == [tiny, tiny, 2.0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_difference_or_zero_is_zero_within_the_rounding_of_both_and_exact_elsewhere(dtype):
    eps = torch.finfo(dtype).eps
    one = torch.ones((), dtype=dtype)
    # the bound is 8 eps of the sum, which is about 16 eps here
    for steps, zero in ((1, True), (8, True), (15, True), (18, False), (64, False)):
        other = one * (1 + steps * eps)
        for a, b in ((one, other), (other, one)):
            found = numerics.difference_or_zero(a, b)
            assert found == (0 if zero else a - b), steps
    assert numerics.difference_or_zero(one * (1 + 8 * eps), one * (1 - 8 * eps)) == 0  # the bound itself
    given = torch.tensor([0.0, 3.0, 1e-20], dtype=dtype)
    assert torch.equal(numerics.difference_or_zero(given, torch.zeros_like(given)), given)
    assert torch.equal(numerics.difference_or_zero(torch.zeros_like(given), given), -given)
    leaf = torch.tensor(5.0, dtype=dtype, requires_grad=True)
    assert torch.autograd.grad(numerics.difference_or_zero(leaf, one), leaf)[0] == 1


@pytest.mark.parametrize("dtype", DTYPES)
def test_unit_or_axis_divides_every_vector_that_has_a_direction(dtype):
    limit = numerics.limits(dtype).norm
    x = torch.tensor([[0.0, 2 * limit], [0.0, limit], [0.0, 0.5 * limit]], dtype=dtype)
    assert numerics.unit_or_axis(x).tolist() == [[0, 1], [0, 1], [1, 0]]  # below the limit there is none


def test_safe_sqrt_is_zero_with_zero_slope_at_zero():
    x = torch.tensor([0.0, 1e-30, 4.0], dtype=torch.float64, requires_grad=True)
    value = numerics.safe_sqrt(x)
    torch.testing.assert_close(value, torch.tensor([0.0, 1e-15, 2.0], dtype=torch.float64))
    (slope,) = torch.autograd.grad(value.sum(), x)
    torch.testing.assert_close(slope, torch.tensor([0.0, 5e14, 0.25], dtype=torch.float64))


def test_norms_and_directions_are_taken_over_the_last_axis():
    x = torch.arange(24.0).reshape(2, 3, 4) + 1
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    torch.testing.assert_close(numerics.safe_norm(x), norm)
    torch.testing.assert_close(numerics.unit_or_axis(x), x / norm)
    assert numerics.unit_or_axis(torch.zeros(2, 3, 4)).tolist() == [[[1.0, 0.0, 0.0, 0.0]] * 3] * 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_apart_or_zero_drops_what_rounding_alone_can_make(dtype):
    rounding = torch.finfo(dtype).eps
    difference = torch.tensor([0.0, rounding / 4, -rounding / 4, 1e-2, -1e-2, 3.0], dtype=dtype)
    assert numerics.apart_or_zero(difference, 1.0).tolist() == [0.0, 0.0, 0.0, *difference[3:].tolist()]
    assert numerics.apart_or_zero(difference, torch.tensor(1e9, dtype=dtype))[1:3].tolist() == [0.0, 0.0]
    bound = torch.tensor([8 * rounding, 16 * rounding], dtype=dtype)
    assert numerics.apart_or_zero(bound, 1.0).tolist() == [0.0, bound[1].item()]
