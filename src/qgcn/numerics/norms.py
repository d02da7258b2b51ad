"""Roots, norms and directions that stay finite at zero, gradients included."""

import torch
from torch import Tensor

from qgcn.numerics.floats import limits

__all__ = ["apart_or_zero", "at_least_tiny", "difference_or_zero", "safe_norm", "safe_sqrt", "unit_or_axis"]


def safe_sqrt(x: Tensor) -> Tensor:
    """Square root of numbers that are not negative; at 0, where its slope is infinite, derivatives are zero."""
    positive = x > 0
    return torch.where(positive, torch.where(positive, x, 1).sqrt(), 0)


def safe_norm(x: Tensor) -> Tensor:
    """Euclidean norm over the last axis, kept, shape ``(..., 1)``; at the zero vector derivatives are zero."""
    return safe_sqrt((x * x).sum(-1, keepdim=True))


def at_least_tiny(x: Tensor) -> Tensor:
    """Raise to the smallest normal number what rounding has pushed to zero or below, where it stands under a root."""
    return x.clamp_min(torch.finfo(x.dtype).tiny)


def difference_or_zero(a: Tensor, b: Tensor) -> Tensor:
    """Subtract numbers that are not negative; a difference within their rounding errors, whose sign means nothing, is zero."""
    difference = a - b
    return torch.where(difference.abs() <= limits(a.dtype).cancelled * (a + b), 0, difference)


def apart_or_zero(difference: Tensor, scale: Tensor | float) -> Tensor:
    """Return differences of numbers of size ``scale``; one within their rounding errors, whose sign means nothing, is zero."""
    return torch.where(difference.abs() <= limits(difference.dtype).cancelled * scale, 0, difference)


def unit_or_axis(x: Tensor) -> Tensor:
    """Divide by the norm; a vector too short to have a direction becomes the first axis, with zero gradient.

    Args:
        x: Shape ``(..., n)``, ``n >= 1``.
    """
    axis = torch.zeros(x.shape[-1], dtype=x.dtype, device=x.device)
    axis[:1].fill_(1)  # assigning to axis[0] would wait for the device
    square = (x * x).sum(-1, keepdim=True)
    short = square < limits(x.dtype).norm ** 2
    return torch.where(short, axis, x) / torch.where(short, 1, square).sqrt()
