"""The translation by a bias on the CPU, in C++. All functions take a batch, the first axis: one network is a batch of one."""

from ctypes import c_float, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from qgcn.kernels.compiled import Library, threads_for
from qgcn.numerics import limits

__all__ = ["MOST_COORDINATES", "obstacle", "takes", "translate", "translate_gradient"]

MOST_COORDINATES: Final = 64
"""Coordinates that a point may have: those of sixteen points are kept at hand."""

_BLOCK: Final = 128  # as in the source: rows of points whose sums are added up together
_LIBRARY: Final = Library(
    Path(__file__).with_name("translation.cpp"),
    "-fopenmp",
    f"-DMOST_COORDINATES={MOST_COORDINATES}",
    translate=[
        *[c_void_p] * 2,
        *[c_int64] * 2,
        *[c_int32] * 2,
        *[c_void_p] * 3,
        *[c_float] * 2,
        c_int32,
        *[c_void_p] * 2,
    ],
)
obstacle, takes = _LIBRARY.obstacle, _LIBRARY.takes


def translate(u: Tensor, step: Tensor, ahead: Tensor, size: Tensor, time_dim: int) -> Tensor:
    r"""Translate points in tangent coordinates; see :func:`qgcn.geometry.translate0`.

    Args:
        u: Tangent vectors, shape ``(K, N, d)``, contiguous, as everything that is given.
        step: The bias times :math:`S`, shape ``(K, d)``, its first coordinate 0.
        ahead: The factor :math:`C`, shape ``(K,)``.
        size: :math:`|\beta|`, shape ``(K,)``.
        time_dim: Number of leading negative coordinates.
    """
    out = torch.empty_like(u)
    _translate(u, None, step, ahead, size, time_dim, out, None)
    return out


def translate_gradient(
    u: Tensor, grad: Tensor, step: Tensor, ahead: Tensor, size: Tensor, time_dim: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients with respect to the first four arguments of :func:`translate`, given that of its result."""
    batch, rows, dim = u.shape
    to_u, to_rest = torch.empty_like(u), u.new_empty(batch, -(-rows // _BLOCK), dim + 2)
    _translate(u, grad, step, ahead, size, time_dim, to_u, to_rest)
    total = to_rest.sum(1)
    return to_u, total[:, :dim], total[:, dim], total[:, dim + 1]


def _translate(
    u: Tensor,
    grad: Tensor | None,
    step: Tensor,
    ahead: Tensor,
    size: Tensor,
    time_dim: int,
    out: Tensor,
    to_rest: Tensor | None,
) -> None:
    batch, rows, dim = u.shape
    known = limits(u.dtype)
    _LIBRARY.call(
        "translate",
        u.data_ptr(),
        None if grad is None else grad.data_ptr(),
        batch,
        rows,
        dim,
        time_dim,
        step.data_ptr(),
        ahead.data_ptr(),
        size.data_ptr(),
        known.antipode,
        known.norm,
        threads_for(batch * rows * (16 if time_dim == 1 else 64)),
        out.data_ptr(),
        None if to_rest is None else to_rest.data_ptr(),
    )
