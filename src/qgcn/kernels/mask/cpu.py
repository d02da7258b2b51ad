"""Masks drawn from keys on the CPU, in C++: bit for bit what PyTorch's generator draws."""

from ctypes import c_float, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from qgcn.kernels.compiled import Library, threads_for
from qgcn.kernels.part import Part

__all__ = ["masks", "obstacle", "takes"]

_LIBRARY: Final = Library(
    Path(__file__).with_name("masks.cpp"),
    "-fopenmp",
    masks=[c_void_p, *[c_int64] * 3, c_void_p, c_int64, c_int32, c_float, c_int32, c_void_p],
    scattered=[c_void_p, *[c_int64] * 2, c_void_p, c_int64, c_int32, c_float, c_int32, c_void_p],
)
obstacle, takes = _LIBRARY.obstacle, _LIBRARY.takes


def masks(keys: list[int], out: Tensor, most: int, value: float, part: Part | None = None) -> Tensor:
    """Fill a tensor with ``value`` and zeros, drawn from keys as ``torch.Generator`` draws 64-bit integers.

    Rows of a part that is scattered are drawn one by one instead.

    Args:
        keys: Seeds of the generators, one for each mask.
        out: Contiguous, shape ``(K, n, ...)``.
        most: An entry is kept if its sixteen random bits are at most this number.
        value: Value of the entries that are kept.
        part: Write these rows of a larger mask.
    """
    drawn = torch.tensor(keys, dtype=torch.int64)
    count = out.shape[1] if out.ndim > 1 else 1
    width = out[0].numel() // max(count, 1)
    if part is not None and part.scattered:
        some, threads = part.rows.long().contiguous(), threads_for(out.numel() // 4)
        given = (drawn.data_ptr(), len(keys), width, some.data_ptr(), count, most, value, threads, out.data_ptr())
        _LIBRARY.call("scattered", *given)
        return out
    whole = count if part is None else part.total
    rows = None if part is None else part.rows.long().contiguous()
    threads = min(len(keys), threads_for(len(keys) * whole * width // 4))
    taken = None if rows is None else rows.data_ptr()
    arguments = (drawn.data_ptr(), len(keys), whole, width, taken, count, most, value, threads, out.data_ptr())
    _LIBRARY.call("masks", *arguments)
    return out
