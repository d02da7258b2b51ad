"""Sums over all pairs of points on the CPU, in C++ that is compiled for this machine when first used.

Without a compiler, or if it fails, plain PyTorch takes over (see :mod:`qgcn.kernels.partition`).
"""

import ctypes
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from qgcn.kernels.compiled import compiled
from qgcn.kernels.graph import WORD, Words
from qgcn.kernels.metric import Shape
from qgcn.numerics import ARC_LIMIT, arc_polynomial

__all__ = [
    "MOST_FACTORS",
    "average_precision",
    "distances",
    "edge_energy",
    "edge_gradient",
    "log_sum",
    "log_sum_gradient",
    "obstacle",
]

MOST_FACTORS: Final = 64
"""Factors that a space may have: a row's sums for each are kept at hand."""

_SOURCE: Final = Path(__file__).with_name("native.cpp")


def obstacle() -> str | None:
    """Return why the compiled functions are not to be had here; ``None`` if they are."""
    found = _library()
    return found if isinstance(found, str) else None


@cache
def _library() -> ctypes.CDLL | str:
    return compiled(_SOURCE, f"-DMOST_FACTORS={MOST_FACTORS}")


# --- calling -----------------------------------------------------------------------------------------------------------------


class _Call:
    """The arguments that every function begins with; keeps alive what they point to."""

    def __init__(self, x: Tensor, reach: Tensor, sizes: Tensor, shape: Shape) -> None:
        n = len(x)
        stride = -(-n // WORD) * WORD
        self._kept: list[Any] = []
        self.by_coordinate = (
            self.padded(x.t(), stride),
            self.padded(torch.stack((reach, 1 / reach), dim=2).flatten(1).t(), stride, 1.0),
        )
        self.arguments = (
            *(self.pointer(each) for each in self.by_coordinate),
            ctypes.c_int64(stride),
            ctypes.c_int32(n),
            self.pointer(np.array(shape, dtype=np.int32)),
            ctypes.c_int32(len(shape)),
            self.pointer(sizes.detach().contiguous()),
            self.pointer(np.array(arc_polynomial(), dtype=np.float32)),
            ctypes.c_float(ARC_LIMIT),
        )

    def padded(self, rows: Tensor, stride: int, value: float = 0.0) -> Tensor:
        """Return rows as they are, longer: columns are read sixteen at a time."""
        result = rows.new_full((*rows.shape[:-1], stride), value)
        result[..., : rows.shape[-1]] = rows
        return result

    def pointer(self, array: Tensor | np.ndarray[Any, Any]) -> ctypes.c_void_p:
        self._kept.append(array)
        return ctypes.c_void_p(array.data_ptr() if isinstance(array, Tensor) else array.ctypes.data)

    def words(self, words: Words) -> tuple[ctypes.c_void_p, ...]:
        return tuple(self.pointer(each) for each in (words.start, words.word, words.bits))


def _energy(tau: Tensor, squared: bool) -> tuple[Any, ...]:
    return ctypes.c_float(float(tau)), ctypes.c_int32(squared)


def _span(rows: range, columns: int) -> tuple[Any, ...]:
    return ctypes.c_int64(rows.start), ctypes.c_int64(len(rows)), _threads(len(rows) * columns)


def _threads(pairs: int) -> ctypes.c_int32:
    """Return how many threads to use: starting one takes as long as some ten thousand pairs."""
    return ctypes.c_int32(max(1, min(torch.get_num_threads(), pairs // 2**16)))


def log_sum(
    x: Tensor, reach: Tensor, sizes: Tensor, tau: Tensor, words: Words, shape: Shape, squared: bool, rows: range
) -> Tensor:
    """Return the base-2 logarithm of each row's sum, shape ``(len(rows),)``; ``tau`` is in units of base 2."""
    library: Any = _library()
    call = _Call(x, reach, sizes, shape)
    out = x.new_empty(len(rows))
    library.log_sum(*call.arguments, *_energy(tau, squared), *call.words(words), *_span(rows, len(x)), call.pointer(out))
    return out


def log_sum_gradient(
    x: Tensor,
    reach: Tensor,
    sizes: Tensor,
    tau: Tensor,
    shift: Tensor,
    weight: Tensor,
    words: Words,
    back: Words,
    shape: Shape,
    squared: bool,
    rows: range,
) -> tuple[Tensor, Tensor]:
    """Return weighted sums over pairs of half the slope of the energy by the row's point, and of those by energy and sizes."""
    library: Any = _library()
    call = _Call(x, reach, sizes, shape)
    d = x.shape[1]
    stride = call.by_coordinate[0].shape[1]
    to_x, to_rest = x.new_empty(len(rows), d), x.new_empty(len(rows), len(shape) + 1)
    library.log_sum_gradient(
        *call.arguments,
        *_energy(tau, squared),
        call.pointer(call.padded(shift, stride)),
        call.pointer(call.padded(weight, stride)),
        *call.words(words),
        *call.words(back),
        *_span(rows, len(x)),
        ctypes.c_int32(d),
        call.pointer(to_x),
        call.pointer(to_rest),
    )
    return to_x, to_rest.sum(0)


def distances(x: Tensor, reach: Tensor, sizes: Tensor, shape: Shape, rows: range) -> Tensor:
    """Return distances from some rows to all points, shape ``(len(rows), N)``."""
    library: Any = _library()
    call = _Call(x, reach, sizes, shape)
    out = x.new_empty(len(rows), len(x))
    library.distances(*call.arguments, *_span(rows, len(x)), call.pointer(out))
    return out


def average_precision(x: Tensor, reach: Tensor, sizes: Tensor, shape: Shape, start: Tensor, target: Tensor) -> Tensor:
    """Return the average precision of each row, float64, shape ``(N,)``; NaN where a distance is."""
    library: Any = _library()
    call = _Call(x, reach, sizes, shape)
    out = x.new_empty(len(x), dtype=torch.float64)
    edges = call.pointer(start), call.pointer(target.contiguous())
    library.average_precision(*call.arguments, *edges, *_span(range(len(x)), len(x)), call.pointer(out))
    return out


def edge_energy(x: Tensor, reach: Tensor, sizes: Tensor, source: Tensor, target: Tensor, shape: Shape, squared: bool) -> Tensor:
    """Return the energy of each edge, shape ``(E,)``."""
    library: Any = _library()
    call = _Call(x, reach, sizes, shape)
    out = x.new_empty(len(source))
    nothing = ctypes.c_void_p()
    library.edges(*call.arguments, *_ends(call, x, source, target, squared), nothing, call.pointer(out), *[nothing] * 3)
    return out


def edge_gradient(
    x: Tensor, reach: Tensor, sizes: Tensor, source: Tensor, target: Tensor, weight: Tensor, shape: Shape, squared: bool
) -> tuple[Tensor, Tensor]:
    """Return weighted sums over the edges of the energy's slope by the points, shape ``(N, d)``, and by the sizes."""
    library: Any = _library()
    call = _Call(x, reach, sizes, shape)
    ends = x.new_empty(2, len(source), x.shape[1])
    to_sizes = x.new_empty(len(source), len(shape))
    made = [call.pointer(each) for each in (weight, ends[0], ends[1], to_sizes)]
    library.edges(*call.arguments, *_ends(call, x, source, target, squared), made[0], ctypes.c_void_p(), *made[1:])
    return torch.zeros_like(x).index_add_(0, source, ends[0]).index_add_(0, target, ends[1]), to_sizes.sum(0)


def _ends(call: _Call, x: Tensor, source: Tensor, target: Tensor, squared: bool) -> tuple[Any, ...]:
    pointers = call.pointer(source.contiguous()), call.pointer(target.contiguous())
    return (
        ctypes.c_int32(squared),
        *pointers,
        ctypes.c_int64(len(source)),
        _threads(8 * len(source)),
        ctypes.c_int32(x.shape[1]),
    )
