"""How pairs of points are separated on the CPU, in C++."""

from ctypes import c_double, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from qgcn.kernels.backends import forced
from qgcn.kernels.compiled import Library, threads_for
from qgcn.numerics import limits

__all__ = ["MOST_COORDINATES", "obstacle", "separate", "takes"]

MOST_COORDINATES: Final = 64
"""Coordinates that a point may have: those of as many pairs as a vector has numbers are kept at hand."""

_TYPES: Final = [c_void_p, c_void_p, c_int64, c_int32, c_int32, c_void_p, c_double, c_int32, *[c_void_p] * 6]
_NAMES: Final = {torch.float32: "separate_float", torch.float64: "separate_double"}
_LIBRARY: Final = Library(
    Path(__file__).with_name("separation.cpp"),
    "-fopenmp",
    f"-DMOST_COORDINATES={MOST_COORDINATES}",
    separate_float=_TYPES,
    separate_double=_TYPES,
)
obstacle = _LIBRARY.obstacle


def takes(x: Tensor, size: Tensor) -> bool:
    """Tell whether the compiled function takes these: real tensors on the CPU, few coordinates, one size."""
    real = type(x).__torch_dispatch__ is Tensor.__torch_dispatch__  # not a fake one, nor one that is being traced
    fits = real and x.device.type == "cpu" and size.numel() == 1 and 0 < x.shape[-1] <= MOST_COORDINATES
    return fits and forced() in (None, "native") and obstacle() is None


def separate(x: Tensor, y: Tensor, size: Tensor, time_dim: int, *, whole: bool = True) -> tuple[Tensor, ...]:
    """Return the fields of a :class:`~qgcn.geometry.chord.Separation`.

    Args:
        x: Points, shape ``(..., d)``.
        y: Points, the same shape and type.
        size: ``|beta|``, one number.
        time_dim: Number of leading negative coordinates.
        whole: Return all fields; otherwise all but the squared chord and the side are empty (default: ``True``).
    """
    x, y = x.contiguous(), y.contiguous()
    pairs, dim = x.numel() // x.shape[-1], x.shape[-1]
    one = (*x.shape[:-1], 1)
    value, side = x.new_empty(one), x.new_empty(one)
    residual, lever, drop, ratio = (x.new_empty(shape if whole else 0) for shape in (x.shape, one, one, one))
    found = value, residual, side, lever, drop, ratio
    inputs = x.data_ptr(), y.data_ptr(), pairs, dim, time_dim, size.data_ptr(), limits(x.dtype).cancelled
    _LIBRARY.call(_NAMES[x.dtype], *inputs, threads_for(pairs * dim // 2), *(each.data_ptr() or None for each in found))
    return found
