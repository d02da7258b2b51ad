"""Sums over all pairs of points on the CPU, in C++; a pass is made in blocks of rows, so that signals are heard within it.

Without a compiler, or if it fails, plain PyTorch takes over (see :mod:`qgcn.kernels.pairs.reference`).
"""

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from qgcn.kernels.compiled import Library
from qgcn.kernels.pairs.blocks import blocks
from qgcn.kernels.pairs.neighbourhoods import WORD, Words
from qgcn.kernels.pairs.points import Energy, Points
from qgcn.numerics import ARC_LIMIT, arc_polynomial, limits

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

_LIBRARY: Final = Library(
    Path(__file__).with_name("pairs.cpp"),
    f"-DMOST_FACTORS={MOST_FACTORS}",
    f"-DCANCELLED={limits(torch.float32).cancelled}f",
)


def obstacle() -> str | None:
    """Return why the compiled functions are not available; ``None`` if they are."""
    return _LIBRARY.obstacle()


# --- calling -----------------------------------------------------------------------------------------------------------------


class _Call:
    """The arguments that every function begins with; keeps alive what they point to."""

    def __init__(self, points: Points) -> None:
        x, reach, n = points.x, points.reach, len(points)
        stride = -(-n // WORD) * WORD
        self._kept: list[Any] = []
        self._columns = n
        self.by_coordinate = (
            self.padded(x.t(), stride),
            self.padded(torch.stack((reach, 1 / reach), dim=2).flatten(1).t(), stride, 1.0),
        )
        self.arguments = (
            *(self.pointer(each) for each in self.by_coordinate),
            ctypes.c_int64(stride),
            ctypes.c_int32(n),
            self.pointer(np.array(points.layout, dtype=np.int32)),
            ctypes.c_int32(len(points.layout)),
            self.pointer(points.sizes.detach().contiguous()),
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

    def blocks(self, rows: range, *out: Tensor) -> Iterator[tuple[tuple[Any, ...], list[ctypes.c_void_p]]]:
        """Cut rows into blocks: of each, the arguments that name it, and where its part of every result is written."""
        for block in blocks(rows, self._columns):
            named = ctypes.c_int64(block.start), ctypes.c_int64(len(block)), _threads(len(block) * self._columns)
            yield named, [ctypes.c_void_p(each[block.start - rows.start :].data_ptr()) for each in out]

    def words(self, words: Words) -> tuple[ctypes.c_void_p, ...]:
        return tuple(self.pointer(each) for each in (words.start, words.word, words.bits))


def _energy(energy: Energy) -> tuple[Any, ...]:
    return ctypes.c_float(float(energy.tau)), ctypes.c_int32(energy.squared)


def _threads(pairs: int) -> ctypes.c_int32:
    """Return how many threads to use: starting one takes as long as some ten thousand pairs."""
    return ctypes.c_int32(max(1, min(torch.get_num_threads(), pairs // 2**16)))


def log_sum(points: Points, energy: Energy, words: Words, rows: range) -> Tensor:
    """Return the base-2 logarithm of each row's sum, shape ``(len(rows),)``; ``tau`` is in units of base 2."""
    call = _Call(points)
    out = points.x.new_empty(len(rows))
    arguments = (*call.arguments, *_energy(energy), *call.words(words))
    for block, found in call.blocks(rows, out):
        _LIBRARY.call("log_sum", *arguments, *block, *found)
    return out


def log_sum_gradient(
    points: Points, energy: Energy, shift: Tensor, weight: Tensor, words: tuple[Words, Words], rows: range
) -> tuple[Tensor, Tensor]:
    """Return weighted sums over pairs of half the slope of the energy by the row's point, and of those by energy and sizes."""
    call = _Call(points)
    d = points.x.shape[1]
    stride = call.by_coordinate[0].shape[1]
    to_x, to_rest = points.x.new_empty(len(rows), d), points.x.new_empty(len(rows), len(points.layout) + 1)
    arguments = (
        *call.arguments,
        *_energy(energy),
        call.pointer(call.padded(shift, stride)),
        call.pointer(call.padded(weight, stride)),
        *call.words(words[0]),
        *call.words(words[1]),
    )
    for block, found in call.blocks(rows, to_x, to_rest):
        _LIBRARY.call("log_sum_gradient", *arguments, *block, ctypes.c_int32(d), *found)
    return to_x, to_rest.sum(0)


def distances(points: Points, rows: range) -> Tensor:
    """Return distances from some rows to all points, shape ``(len(rows), N)``."""
    call = _Call(points)
    out = points.x.new_empty(len(rows), len(points))
    for block, found in call.blocks(rows, out):
        _LIBRARY.call("distances", *call.arguments, *block, *found)
    return out


def average_precision(points: Points, start: Tensor, target: Tensor, rows: range) -> Tensor:
    """Return the average precision of some rows, float64, shape ``(len(rows),)``; NaN where a distance is."""
    call = _Call(points)
    out = points.x.new_empty(len(rows), dtype=torch.float64)
    edges = call.pointer(start), call.pointer(target.contiguous())
    for block, found in call.blocks(rows, out):
        _LIBRARY.call("average_precision", *call.arguments, *edges, *block, *found)
    return out


def edge_energy(points: Points, source: Tensor, target: Tensor, squared: bool) -> Tensor:
    """Return the energy of each edge, shape ``(E,)``."""
    call = _Call(points)
    out = points.x.new_empty(len(source))
    nothing = ctypes.c_void_p()
    ends = _ends(call, points, source, target, squared)
    _LIBRARY.call("edges", *call.arguments, *ends, nothing, call.pointer(out), *[nothing] * 3)
    return out


def edge_gradient(points: Points, source: Tensor, target: Tensor, weight: Tensor, squared: bool) -> tuple[Tensor, Tensor]:
    """Return weighted sums over the edges of the energy's slope by the points, shape ``(N, d)``, and by the sizes."""
    call = _Call(points)
    x = points.x
    ends = x.new_empty(2, len(source), x.shape[1])
    to_sizes = x.new_empty(len(source), len(points.layout))
    made = [call.pointer(each) for each in (weight, ends[0], ends[1], to_sizes)]
    given = _ends(call, points, source, target, squared)
    _LIBRARY.call("edges", *call.arguments, *given, made[0], ctypes.c_void_p(), *made[1:])
    return torch.zeros_like(x).index_add_(0, source, ends[0]).index_add_(0, target, ends[1]), to_sizes.sum(0)


def _ends(call: _Call, points: Points, source: Tensor, target: Tensor, squared: bool) -> tuple[Any, ...]:
    pointers = call.pointer(source.contiguous()), call.pointer(target.contiguous())
    return (
        ctypes.c_int32(squared),
        *pointers,
        ctypes.c_int64(len(source)),
        _threads(8 * len(source)),
        ctypes.c_int32(points.x.shape[1]),
    )
