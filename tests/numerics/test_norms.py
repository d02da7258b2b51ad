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
