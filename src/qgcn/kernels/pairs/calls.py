"""How compiled functions of all pairs are called: the arguments that they have in common."""

import ctypes
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from qgcn.kernels.pairs.blocks import blocks
from qgcn.kernels.pairs.neighbourhoods import WORD, Words
from qgcn.kernels.pairs.points import Energy, Points
from qgcn.numerics import ARC_LIMIT, arc_polynomial, limits

__all__ = ["MOST_FACTORS", "OPTIONS", "Call", "energy_arguments", "threads_of"]

MOST_FACTORS: Final = 64
"""Factors that a space may have: a row's sums for each are kept at hand."""
OPTIONS: Final = (f"-DMOST_FACTORS={MOST_FACTORS}", f"-DCANCELLED={limits(torch.float32).cancelled}f")
"""Options of the compiler."""


class Call:
    """The arguments that every function begins with; keeps alive what they point to."""

    def __init__(self, points: Points) -> None:
        x, reach, n = points.x, points.reach, len(points)
        self.stride = stride = -(-n // WORD) * WORD
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
        """Return where an array lies, and keep it alive."""
        self._kept.append(array)
        return ctypes.c_void_p(array.data_ptr() if isinstance(array, Tensor) else array.ctypes.data)

    def blocks(self, rows: range, *out: Tensor) -> Iterator[tuple[tuple[Any, ...], list[ctypes.c_void_p]]]:
        """Cut rows into blocks: of each, the arguments that name it, and where its part of every result is written."""
        for block in blocks(rows, self._columns):
            named = ctypes.c_int64(block.start), ctypes.c_int64(len(block)), threads_of(len(block) * self._columns)
            yield named, [ctypes.c_void_p(each[block.start - rows.start :].data_ptr()) for each in out]

    def words(self, words: Words) -> tuple[ctypes.c_void_p, ...]:
        """Return the arguments that say which pairs are left out."""
        return tuple(self.pointer(each) for each in (words.start, words.word, words.bits))


def energy_arguments(energy: Energy) -> tuple[Any, ...]:
    """Return the arguments that say what the energy is."""
    return ctypes.c_float(float(energy.tau)), ctypes.c_int32(energy.squared)


def threads_of(pairs: int) -> ctypes.c_int32:
    """Return how many threads to use: starting one takes as long as some ten thousand pairs."""
    return ctypes.c_int32(max(1, min(torch.get_num_threads(), pairs // 2**16)))
