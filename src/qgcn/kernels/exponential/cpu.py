"""The exponential at the pole on the CPU, in C++."""

from ctypes import c_float, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from qgcn.kernels.compiled import Library, threads_for
from qgcn.numerics import limits

__all__ = ["MOST_COORDINATES", "exponential", "exponential_gradient", "obstacle", "takes"]

MOST_COORDINATES: Final = 64
"""Coordinates that a point may have: those of sixteen points are kept at hand."""

_BLOCK: Final = 128  # as in the source: rows of points whose sums are added up together
_LIBRARY: Final = Library(
    Path(__file__).with_name("exponential.cpp"),
    "-fopenmp",
    f"-DMOST_COORDINATES={MOST_COORDINATES}",
    exponential=[*[c_void_p] * 2, c_int64, *[c_int32] * 2, c_void_p, c_float, c_int32, *[c_void_p] * 2],
)
obstacle, takes = _LIBRARY.obstacle, _LIBRARY.takes


def exponential(u: Tensor, size: Tensor, time_dim: int) -> Tensor:
    r"""Map tangent vectors at the pole to points; see :func:`qgcn.geometry.expmap0`.

    Args:
        u: Tangent vectors, shape ``(..., d)``, contiguous.
        size: :math:`|\beta|`, one number.
        time_dim: Number of leading negative coordinates.
    """
    out = torch.empty_like(u)
    _exponential(u, None, size, time_dim, out, None)
    return out


def exponential_gradient(u: Tensor, grad: Tensor, size: Tensor, time_dim: int) -> tuple[Tensor, Tensor]:
    """Return the gradients with respect to the vectors and the size, given that of the points, contiguous."""
    to_u, to_size = torch.empty_like(u), u.new_empty(-(-(u.numel() // u.shape[-1]) // _BLOCK))
    _exponential(u, grad, size, time_dim, to_u, to_size)
    return to_u, to_size.sum().reshape(size.shape)


def _exponential(u: Tensor, grad: Tensor | None, size: Tensor, time_dim: int, out: Tensor, to_size: Tensor | None) -> None:
    dim = u.shape[-1]
    rows = u.numel() // dim
    _LIBRARY.call(
        "exponential",
        u.data_ptr(),
        None if grad is None else grad.data_ptr(),
        rows,
        dim,
        time_dim,
        size.data_ptr(),
        limits(u.dtype).norm,
        threads_for(rows * (4 if time_dim == 1 else 16)),
        out.data_ptr(),
        None if to_size is None else to_size.data_ptr(),
    )
