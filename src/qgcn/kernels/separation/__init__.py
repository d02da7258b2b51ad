"""How two points are separated, in one pass over the memory: in C++ on the CPU, in Triton on a GPU.

The plain implementation is in :mod:`qgcn.geometry.chord`, which asks for these by name and uses them wherever they fit.
"""

from typing import Final

from torch import Tensor

from qgcn.kernels import graphics
from qgcn.kernels.backends import forced
from qgcn.kernels.separation import cpu
from qgcn.kernels.separation.operation import most_coordinates_traced

__all__ = ["gradient", "most_coordinates_traced", "separate"]

_MOST_COORDINATES: Final = 512
"""Coordinates that a point may have on a GPU: a block of threads holds all those of a pair."""
_LEAST_PAIRS: Final = 1024
"""Pairs from which on Triton is worth compiling for, once for each number of coordinates: a second or two."""


def separate(x: Tensor, y: Tensor, size: Tensor, time_dim: int, whole: bool) -> tuple[Tensor, ...] | None:
    """Return the fields of a separation, or ``None`` where neither compiled function takes the arguments."""
    if cpu.takes(x, size):
        return cpu.separate(x, y, size, time_dim, whole=whole)
    if not _triton_takes(x, size):
        return None
    from qgcn.kernels.separation import gpu

    return gpu.separate(x, y, size, time_dim, whole=whole)


def gradient(
    size: Tensor, fields: tuple[Tensor, ...], grad: Tensor | None, to_residual: Tensor | None, time_dim: int, to_size: bool
) -> tuple[Tensor | None, ...] | None:
    """Return the gradients by both points and the size, or ``None`` where Triton does not take the arguments.

    Args:
        size: ``|beta|``, one number.
        fields: All that :func:`separate` returned.
        grad: The gradient of the squared chord, or ``None``.
        to_residual: The gradient of the residual, or ``None``.
        time_dim: Number of leading negative coordinates.
        to_size: The gradient by the size is wanted.
    """
    if (grad is None and to_residual is None) or not _triton_takes(fields[1], size):
        return None
    from qgcn.kernels.separation import gpu

    return gpu.gradient(size, fields, grad, to_residual, time_dim, to_size=to_size)


def _triton_takes(x: Tensor, size: Tensor) -> bool:
    """Tell whether Triton takes these: real tensors on a GPU, one size, enough pairs unless it is asked for by name."""
    wanted = forced()
    if (x.device.type == "cpu" and wanted != "triton") or wanted not in (None, "triton") or size.numel() != 1:
        return False
    real = type(x).__torch_dispatch__ is Tensor.__torch_dispatch__  # not a fake one, nor one that is being traced
    dim = x.shape[-1]
    enough = wanted == "triton" or x.numel() >= _LEAST_PAIRS * dim
    return real and 0 < dim <= _MOST_COORDINATES and enough and graphics.obstacle(x) is None
