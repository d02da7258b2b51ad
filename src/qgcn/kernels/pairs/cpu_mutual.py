"""Sums over all pairs of points on the CPU that compute each unordered pair once, in C++: half the distances of ``cpu.py``.

Distances are symmetric, so a pair serves the sums of both its points. All rows are computed, or none. Nodes are cut into
blocks; tiles of two blocks come in rounds, in an order that is the same for any number of threads.
"""

import ctypes
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from qgcn.kernels.compiled import Library
from qgcn.kernels.pairs.blocks import blocks
from qgcn.kernels.pairs.calls import OPTIONS, Call, energy_arguments, threads_of
from qgcn.kernels.pairs.neighbourhoods import Words
from qgcn.kernels.pairs.points import Energy, Points

__all__ = ["is_mutual", "mutual_gradient", "mutual_log_sum", "rounds_of"]

_LIBRARY: Final = Library(Path(__file__).with_name("mutual.cpp"), *OPTIONS)
_BLOCK: Final = 256
_SMALL_BLOCK: Final = 64
_FEWEST: Final = 512
_LARGE: Final = 2048
"""Points from which blocks are the larger ones: pairs within a block are computed twice, and threads share the blocks."""


def is_mutual(points: Points) -> bool:
    """Tell whether these points are worth it: in few blocks, most pairs are computed twice all the same."""
    return len(points) >= _FEWEST and _LIBRARY.obstacle() is None


def rounds_of(n: int) -> int:
    """Return the number of rounds of ``n`` points."""
    count = -(-n // _block(n))
    return count + count % 2


def mutual_log_sum(points: Points, energy: Energy, words: tuple[Words, Words], rounds: range | None = None) -> Tensor:
    """Return the base-2 logarithm of each row's sum, shape ``(N,)``; ``tau`` is in units of base 2.

    Of some ``rounds`` only, a part of each sum is computed.
    """
    call, n = Call(points), len(points)
    top, total = points.x.new_full((call.stride,), -math.inf), points.x.new_zeros(call.stride)
    arguments = (*call.arguments, *energy_arguments(energy), *call.words(words[0]), *call.words(words[1]))
    for run in _runs(n, rounds):
        _LIBRARY.call("mutual_log_sum", *arguments, *run, *_shape(points), call.pointer(top), call.pointer(total))
    return (top + total.log2())[:n]


def mutual_gradient(
    points: Points, energy: Energy, shift: Tensor, weight: Tensor, words: tuple[Words, Words], rounds: range | None = None
) -> tuple[Tensor, Tensor]:
    """Return weighted sums over pairs of half the slope of the energy by the row's point, and of those by energy and sizes.

    Of some ``rounds`` only, a part of each sum is computed.
    """
    call, n = Call(points), len(points)
    to_x = points.x.new_zeros(points.x.shape[1], call.stride)
    to_rest = points.x.new_zeros(-(-n // _block(n)), len(points.layout) + 1, dtype=torch.float64)
    arguments = (
        *call.arguments,
        *energy_arguments(energy),
        call.pointer(call.padded(shift, call.stride)),
        call.pointer(call.padded(weight, call.stride)),
        *call.words(words[0]),
        *call.words(words[1]),
    )
    for run in _runs(n, rounds):
        _LIBRARY.call("mutual_gradient", *arguments, *run, *_shape(points), call.pointer(to_x), call.pointer(to_rest))
    return to_x[:, :n].t().contiguous(), to_rest.sum(0).to(points.x.dtype)


def _block(n: int) -> int:
    """Return the number of points in a block, which depends on nothing but the number of points."""
    return _BLOCK if n >= _LARGE else _SMALL_BLOCK


def _runs(n: int, rounds: range | None) -> Iterator[tuple[Any, ...]]:
    """Cut rounds into runs, so that signals are heard between them; yield the arguments that name each run."""
    block = _block(n)
    for run in blocks(range(rounds_of(n)) if rounds is None else rounds, max(1, n * block // 2)):
        threads = threads_of(len(run) * n * block // 2)
        yield ctypes.c_int32(block), ctypes.c_int64(run.start), ctypes.c_int64(len(run)), threads


def _shape(points: Points) -> tuple[Any, ...]:
    return (ctypes.c_int32(points.x.shape[1]),)
