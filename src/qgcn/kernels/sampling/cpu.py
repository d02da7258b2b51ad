"""Samples of neighbours on the CPU, in C++."""

from ctypes import addressof, c_int32, c_int64, c_uint64, c_void_p
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from qgcn.kernels.backends import forced
from qgcn.kernels.compiled import Library, threads_for

__all__ = ["drawn", "numbered", "obstacle", "takes"]

_LIBRARY: Final = Library(
    Path(__file__).with_name("sampling.cpp"),
    "-fopenmp",
    counts=[*[c_void_p] * 3, *[c_int64] * 2, c_int32, c_void_p],
    neighbours=[*[c_void_p] * 4, *[c_int64] * 2, c_uint64, c_int32, c_void_p, c_int32, *[c_void_p] * 2],
    numbers=[c_void_p, c_int64, c_void_p, c_int64, *[c_void_p] * 3],
)
obstacle = _LIBRARY.obstacle
_WORD = 2**64


def takes(*tensors: Tensor) -> bool:
    """Tell whether the functions take these tensors: integers on the CPU, with nothing else asked for."""
    return all(each.device.type == "cpu" for each in tensors) and forced() in (None, "native") and obstacle() is None


def drawn(
    crow: Tensor, col: Tensor, nodes: Tensor, fanout: int, key: int, replace: bool, loops: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw as :func:`qgcn.kernels.sampling.operation.draw_neighbours` does; return where rows begin, entries and sources.

    All tensors are contiguous; ``crow``, ``col`` and ``loops`` are int32, ``nodes`` int64.
    """
    count = nodes.numel()
    own = None if loops is None else loops.data_ptr()
    begin = torch.empty(count + 1, dtype=torch.int64)
    _LIBRARY.call("counts", crow.data_ptr(), own, nodes.data_ptr(), count, fanout, replace, begin.data_ptr())
    entries = torch.empty(int(begin[-1]), dtype=torch.int64)
    sources = torch.empty_like(entries)
    _LIBRARY.call(
        "neighbours",
        crow.data_ptr(),
        col.data_ptr(),
        own,
        nodes.data_ptr(),
        count,
        fanout,
        key % _WORD,
        replace,
        begin.data_ptr(),
        threads_for(8 * entries.numel()),
        entries.data_ptr(),
        sources.data_ptr(),
    )
    return begin, entries, sources


def numbered(known: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:
    """Number as :func:`qgcn.kernels.sampling.operation.number_nodes` does; tensors are contiguous, int64."""
    place, fresh, made = torch.empty_like(found), torch.empty_like(found), c_int64()
    arguments = (known.data_ptr(), known.numel(), found.data_ptr(), found.numel(), place.data_ptr(), fresh.data_ptr())
    _LIBRARY.call("numbers", *arguments, addressof(made))
    return place, fresh[: made.value].clone()
