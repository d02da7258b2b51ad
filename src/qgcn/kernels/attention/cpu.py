"""Attention of all points to all others on the CPU, in C++; signals are heard between the blocks of rows of a pass."""

from ctypes import c_float, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from qgcn.kernels.compiled import Library, threads_for
from qgcn.kernels.pairs.blocks import blocks
from qgcn.kernels.pairs.cpu import MOST_FACTORS
from qgcn.kernels.pairs.neighbourhoods import WORD
from qgcn.kernels.pairs.points import Points
from qgcn.numerics import ARC_LIMIT, arc_polynomial, limits

__all__ = ["by_key", "by_query", "forward", "obstacle"]

_POINTS: Final = [c_void_p, c_void_p, c_int64, c_int32]
_SPACE: Final = [c_void_p, c_int32, c_void_p, c_void_p, c_float, c_float, c_int32]
_LIBRARY: Final = Library(
    Path(__file__).with_name("attention.cpp"),
    f"-DMOST_FACTORS={MOST_FACTORS}",
    f"-DCANCELLED={limits(torch.float32).cancelled}f",
    "-fopenmp",
    attend=[*_POINTS, *_POINTS, *_SPACE, c_void_p, c_int32, c_int64, c_int64, c_int32, c_void_p, c_void_p],
    attend_back=[
        *(*_POINTS, *_POINTS, *_SPACE, c_int32, c_void_p, c_void_p, c_int32, c_void_p, c_void_p),
        *(c_int64, c_int64, c_int32, c_int32, c_void_p, c_void_p),
    ],
)
obstacle = _LIBRARY.obstacle


class _Given:
    """Arguments of a call, and what they point to."""

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def pointer(self, array: Tensor | np.ndarray[Any, Any]) -> int:
        self._kept.append(array)
        return array.data_ptr() if isinstance(array, Tensor) else array.ctypes.data

    def columns(self, rows: Tensor, value: float = 0.0) -> int:
        """Lay out by coordinate what is given by point, each coordinate padded: columns are read 32 at a time."""
        n = rows.shape[0]
        padded = rows.new_full((rows[0].numel() if n else 1, _padded(n)), value)
        padded[:, :n] = rows.reshape(n, -1).t()
        return self.pointer(padded)

    def points(self, points: Points) -> tuple[int, ...]:
        reach = torch.stack((points.reach, 1 / points.reach), dim=2).flatten(1)
        return self.columns(points.x), self.columns(reach, 1.0), _padded(len(points)), len(points)

    def space(self, points: Points, rate: Tensor, chord: bool) -> tuple[Any, ...]:
        shape = self.pointer(np.array(points.layout, dtype=np.int32))
        sizes = self.pointer(points.sizes.detach().contiguous())
        polynomial = self.pointer(np.array(arc_polynomial(), dtype=np.float32))
        return shape, len(points.layout), sizes, polynomial, ARC_LIMIT, float(rate), chord


def _padded(n: int) -> int:
    return -(-n // WORD) * WORD


def forward(queries: Points, keys: Points, v: Tensor, rate: Tensor, chord: bool) -> tuple[Tensor, Tensor]:
    """Return the mean of the values of each query, shape ``(N, n)``, and the base-2 logarithm of its sum, shape ``(N,)``.

    Args:
        queries: Points that listen.
        keys: Points that are listened to.
        v: Values of the keys, shape ``(M, n)``.
        rate: Inverse of the temperature, in units of base 2, shape ``()``.
        chord: Take the squared chord as energy.
    """
    given, n, width = _Given(), len(queries), v.shape[1]
    out, logs = v.new_empty(n, width), v.new_empty(n)
    fixed = (*given.points(queries), *given.points(keys), *given.space(queries, rate, chord), given.columns(v), width)
    for block in blocks(range(n), len(keys)):
        found = out[block.start :].data_ptr(), logs[block.start :].data_ptr()
        _LIBRARY.call("attend", *fixed, block.start, len(block), _threads(block, keys, width), *found)
    return out, logs


def by_query(
    queries: Points, keys: Points, v: Tensor, rate: Tensor, chord: bool, grad: Tensor, logs: Tensor, delta: Tensor
) -> tuple[Tensor, Tensor]:
    """Return sums over the keys of the slope of the score: times half the energy's slope by the query, and times the rest.

    Args:
        queries: Points that listen.
        keys: Points that are listened to.
        v: Values of the keys.
        rate: As for :func:`forward`.
        chord: As for :func:`forward`.
        grad: Gradient of the means, shape ``(N, n)``.
        logs: Logarithms that :func:`forward` returned.
        delta: What is taken off each product of a gradient with a value, shape ``(N,)``.

    Returns:
        Shape ``(N, d)``; and shape ``(1 + F,)``, times the energy, and times its slopes by the sizes of the factors.
    """
    given = _Given()
    vectors = given.pointer(grad), given.columns(v), v.shape[1], given.pointer(logs), given.pointer(delta)
    to_x, rest = _pass(given, queries, keys, rate, chord, False, vectors, len(queries.layout) + 1)
    return to_x, rest.sum(0)


def by_key(
    queries: Points, keys: Points, v: Tensor, rate: Tensor, chord: bool, grad: Tensor, logs: Tensor, delta: Tensor
) -> tuple[Tensor, Tensor]:
    """Return sums over the queries: of the slope of the score times half the energy's by the key, and of shares of gradients.

    Arguments are those of :func:`by_query`.

    Returns:
        Shapes ``(M, d)`` and ``(M, n)``.
    """
    given = _Given()
    vectors = given.pointer(v), given.columns(grad), v.shape[1], given.columns(logs), given.columns(delta)
    return _pass(given, keys, queries, rate, chord, True, vectors, v.shape[1])


def _pass(
    given: _Given, rows: Points, columns: Points, rate: Tensor, chord: bool, keys: bool, vectors: tuple[int, ...], width: int
) -> tuple[Tensor, Tensor]:
    n, d = rows.x.shape
    to_x, rest = rows.x.new_empty(n, d), rows.x.new_empty(n, width)
    fixed = (*given.points(rows), *given.points(columns), *given.space(rows, rate, chord), keys, *vectors)
    for block in blocks(range(n), len(columns)):
        found = to_x[block.start :].data_ptr(), rest[block.start :].data_ptr()
        _LIBRARY.call("attend_back", *fixed, block.start, len(block), _threads(block, columns, width), d, *found)
    return to_x, rest


def _threads(block: range, columns: Points, width: int) -> int:
    return threads_for(len(block) * len(columns) * (columns.x.shape[1] + width) // WORD)
