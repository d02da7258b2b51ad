"""Sums over all pairs of points on the CPU, in C++; a pass is made in blocks of rows, so that signals are heard within it.

Without a compiler, or if it fails, plain PyTorch takes over (see :mod:`qgcn.kernels.pairs.reference`).
"""

import ctypes
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from qgcn.kernels.compiled import Library
from qgcn.kernels.pairs.calls import MOST_FACTORS, OPTIONS, Call, energy_arguments, threads_of
from qgcn.kernels.pairs.cpu_mutual import is_mutual, mutual_gradient, mutual_log_sum, rounds_of
from qgcn.kernels.pairs.neighbourhoods import Words
from qgcn.kernels.pairs.points import Energy, Points

__all__ = [
    "MOST_FACTORS",
    "average_precision",
    "distances",
    "edge_energy",
    "edge_gradient",
    "is_mutual",
    "log_sum",
    "log_sum_gradient",
    "mutual_gradient",
    "mutual_log_sum",
    "obstacle",
    "rounds_of",
]

_LIBRARY: Final = Library(Path(__file__).with_name("pairs.cpp"), *OPTIONS)


def obstacle() -> str | None:
    """Return why the compiled functions are not available; ``None`` if they are."""
    return _LIBRARY.obstacle()


def log_sum(points: Points, energy: Energy, words: Words, rows: range) -> Tensor:
    """Return the base-2 logarithm of each row's sum, shape ``(len(rows),)``; ``tau`` is in units of base 2."""
    call = Call(points)
    out = points.x.new_empty(len(rows))
    arguments = (*call.arguments, *energy_arguments(energy), *call.words(words))
    for block, found in call.blocks(rows, out):
        _LIBRARY.call("log_sum", *arguments, *block, *found)
    return out


def log_sum_gradient(
    points: Points, energy: Energy, shift: Tensor, weight: Tensor, words: tuple[Words, Words], rows: range
) -> tuple[Tensor, Tensor]:
    """Return weighted sums over pairs of half the slope of the energy by the row's point, and of those by energy and sizes."""
    call = Call(points)
    d = points.x.shape[1]
    stride = call.stride
    to_x, to_rest = points.x.new_empty(len(rows), d), points.x.new_empty(len(rows), len(points.layout) + 1)
    arguments = (
        *call.arguments,
        *energy_arguments(energy),
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
    call = Call(points)
    out = points.x.new_empty(len(rows), len(points))
    for block, found in call.blocks(rows, out):
        _LIBRARY.call("distances", *call.arguments, *block, *found)
    return out


def average_precision(points: Points, start: Tensor, target: Tensor, rows: range, lead: Tensor | None = None) -> Tensor:
    """Return the average precision of some rows, float64, shape ``(len(rows),)``; NaN where a distance is.

    Distances to a point are less by its ``lead``, shape ``(N,)``.
    """
    call = Call(points)
    out = points.x.new_empty(len(rows), dtype=torch.float64)
    edges = call.pointer(start), call.pointer(target.contiguous())
    ahead = ctypes.c_void_p() if lead is None else call.pointer(lead.to(points.x).contiguous())
    for block, found in call.blocks(rows, out):
        _LIBRARY.call("average_precision", *call.arguments, ahead, *edges, *block, *found)
    return out


def edge_energy(points: Points, source: Tensor, target: Tensor, squared: bool) -> Tensor:
    """Return the energy of each edge, shape ``(E,)``."""
    call = Call(points)
    out = points.x.new_empty(len(source))
    nothing = ctypes.c_void_p()
    ends = _ends(call, points, source, target, squared)
    _LIBRARY.call("edges", *call.arguments, *ends, nothing, call.pointer(out), *[nothing] * 3)
    return out


def edge_gradient(points: Points, source: Tensor, target: Tensor, weight: Tensor, squared: bool) -> tuple[Tensor, Tensor]:
    """Return weighted sums over the edges of the energy's slope by the points, shape ``(N, d)``, and by the sizes."""
    call = Call(points)
    x = points.x
    ends = x.new_empty(2, len(source), x.shape[1])
    to_sizes = x.new_empty(len(source), len(points.layout))
    made = [call.pointer(each) for each in (weight, ends[0], ends[1], to_sizes)]
    given = _ends(call, points, source, target, squared)
    _LIBRARY.call("edges", *call.arguments, *given, made[0], ctypes.c_void_p(), *made[1:])
    return torch.zeros_like(x).index_add_(0, source, ends[0]).index_add_(0, target, ends[1]), to_sizes.sum(0)


def _ends(call: Call, points: Points, source: Tensor, target: Tensor, squared: bool) -> tuple[Any, ...]:
    pointers = call.pointer(source.contiguous()), call.pointer(target.contiguous())
    return (
        ctypes.c_int32(squared),
        *pointers,
        ctypes.c_int64(len(source)),
        threads_of(8 * len(source)),
        ctypes.c_int32(points.x.shape[1]),
    )
