"""Sums over drawn columns on the CPU, in C++; a pass is made in runs of rows, so that signals are heard within it."""

from collections.abc import Iterator
from ctypes import c_float, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from qgcn.kernels.compiled import Library, threads_for
from qgcn.kernels.pairs.cpu import MOST_FACTORS
from qgcn.kernels.pairs.neighbourhoods import WORD
from qgcn.kernels.pairs.points import Energy, Points
from qgcn.numerics import ARC_LIMIT, arc_polynomial, limits

__all__ = ["log_sum", "log_sum_gradient", "obstacle"]

_FIXED: Final = [
    *(c_void_p, c_void_p, c_int64, c_int64, c_int64, c_int32, c_void_p, c_void_p, c_int64),
    *(c_void_p, c_int32, c_void_p, c_void_p, c_float, c_float, c_int32, c_void_p, c_void_p, c_int32),
]
_LIBRARY: Final = Library(
    Path(__file__).with_name("sampled.cpp"),
    f"-DMOST_FACTORS={MOST_FACTORS}",
    f"-DCANCELLED={limits(torch.float32).cancelled}f",
    "-fopenmp",
    log_sum=[*_FIXED, c_void_p],
    log_sum_gradient=[*_FIXED, c_void_p, c_void_p, c_int64, c_void_p, c_void_p, c_void_p],
)
obstacle = _LIBRARY.obstacle

_PAIRS: Final = 2**26
"""Pairs of a run of rows, a fraction of a second."""
_SLABS: Final = 16
"""Parts of a run, each of which adds up its own columns: neither threads nor time decide where rows are cut."""


class _Call:
    """The arguments that both functions begin with; keeps alive what they point to."""

    def __init__(self, rows: Points, columns: Points, energy: Energy, left_out: Tensor, bias: Tensor | None) -> None:
        self._kept: list[Any] = []
        self.words = len(left_out)
        self.rows = len(rows)
        self.each = max(WORD, _PAIRS // (self.words * WORD))
        self._points = (
            self.pointer(rows.x.contiguous()),
            self.pointer(_with_inverse(rows.reach).contiguous()),
            self.rows,
        )
        self._rest = (
            rows.x.shape[1],
            self._by_coordinate(columns.x),
            self._by_coordinate(_with_inverse(columns.reach), 1.0),
            self.words,
            self.pointer(np.array(rows.layout, dtype=np.int32)),
            len(rows.layout),
            self.pointer(rows.sizes.detach().contiguous()),
            self.pointer(np.array(arc_polynomial(), dtype=np.float32)),
            ARC_LIMIT,
            float(energy.tau),
            int(energy.squared),
            None if bias is None else self._by_coordinate(bias.unsqueeze(1)),
            self.pointer(left_out.contiguous()),
        )

    def pointer(self, array: Tensor | np.ndarray[Any, Any]) -> int:
        self._kept.append(array)
        return array.data_ptr() if isinstance(array, Tensor) else array.ctypes.data

    def _by_coordinate(self, rows: Tensor, value: float = 0.0) -> int:
        padded = rows.new_full((rows.shape[1], self.words * WORD), value)
        padded[:, : len(rows)] = rows.t()
        return self.pointer(padded)

    def runs(self) -> Iterator[tuple[range, tuple[Any, ...]]]:
        """Cut the rows into runs; of each, the arguments."""
        for first in range(0, self.rows, self.each):
            last = min(first + self.each, self.rows)
            threads = threads_for((last - first) * self.words * self._rest[0] * 2)
            yield range(first, last), (*self._points, first, last, *self._rest, threads)


def _with_inverse(reach: Tensor) -> Tensor:
    return torch.stack((reach, 1 / reach), dim=2).flatten(1)


def log_sum(rows: Points, columns: Points, energy: Energy, left_out: Tensor, bias: Tensor | None) -> Tensor:
    """Return the base-2 logarithm of each row's sum, shape ``(R,)``; ``tau`` and ``bias`` are in units of base 2.

    Args:
        rows: Points, ``R`` of them.
        columns: Points, ``n`` of them.
        energy: Energy of a pair.
        left_out: Bits of the pairs that are left out, see :class:`~qgcn.kernels.sampled.Negatives`.
        bias: Added to the exponent of each column, shape ``(n,)``.
    """
    call, out = _Call(rows, columns, energy, left_out, bias), rows.x.new_empty(len(rows))
    for _, arguments in call.runs():
        _LIBRARY.call("log_sum", *arguments, out.data_ptr())
    return out


def log_sum_gradient(
    rows: Points, columns: Points, energy: Energy, left_out: Tensor, bias: Tensor | None, shift: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Return weighted sums over pairs: of half the slope of the energy by either point, of energy and slopes by sizes, of 1.

    Args:
        rows: As for :func:`log_sum`, as are the next four.
        columns: ...
        energy: ...
        left_out: ...
        bias: ...
        shift: Minus the logarithm of each row's sum.
        weight: Gradient of each row's logarithm.

    Returns:
        Shapes ``(R, d)``, ``(n, d)`` and ``(1 + F,)``; and by column, ``(n,)``, if there is a bias.
    """
    call, dim = _Call(rows, columns, energy, left_out, bias), rows.x.shape[1]
    height = dim + (bias is not None)
    given = call.pointer(shift.contiguous()), call.pointer(weight.contiguous())
    slab = -(-call.each // _SLABS)
    to_x, to_rest = rows.x.new_empty(len(rows), dim), rows.x.new_empty(len(rows), len(rows.layout) + 1)
    to_y, slabs = rows.x.new_zeros(height, call.words * WORD), rows.x.new_empty(_SLABS, height, call.words * WORD)
    for run, arguments in call.runs():
        _LIBRARY.call("log_sum_gradient", *arguments, *given, slab, to_x.data_ptr(), slabs.data_ptr(), to_rest.data_ptr())
        to_y += slabs[: -(-len(run) // slab)].sum(0)
    to_y = to_y[:, : len(columns)]
    return to_x, to_y[:dim].t(), to_rest.sum(0), None if bias is None else to_y[dim]
