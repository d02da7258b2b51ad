"""Sums over edges on the CPU, in C++."""

from ctypes import byref, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from qgcn.kernels.compiled import Library, threads_for

__all__ = ["coefficients", "dots", "gather", "obstacle", "takes"]

_KINDS: Final = {"sum": 0, "mean": 1, "sym": 2}  # as in the source
_LIBRARY: Final = Library(
    Path(__file__).with_name("edges.cpp"),
    "-fopenmp",
    stray=[*[c_void_p] * 2, *[c_int64] * 3, c_void_p],
    coefficients=[*[c_void_p] * 3, *[c_int64] * 3, *[c_int32] * 3, *[c_void_p] * 2],
    gather=[*[c_void_p] * 3, c_int64, *[c_void_p] * 2, *[c_int64] * 2, c_int32, c_int64, c_int32, c_void_p],
    dots=[*[c_void_p] * 2, c_int64, c_void_p, c_int64, c_void_p, c_int64, c_int32, c_int64, c_int32, c_void_p],
)
obstacle, takes = _LIBRARY.obstacle, _LIBRARY.takes


def coefficients(
    edge_index: Tensor, weight: Tensor | None, size: tuple[int, int], kind: str, same: bool, loops: bool
) -> tuple[Tensor, Tensor]:
    """Normalise edges.

    Args:
        edge_index: Sources and targets, int64, shape ``(2, E)``, contiguous, as everything that is given.
        weight: Shape ``(E,)``; ones if not given.
        size: Numbers of sources and targets.
        kind: ``sum``, ``mean`` or ``sym``.
        same: Whether sources and targets are the same nodes.
        loops: Whether every target counts itself among its neighbours.

    Returns:
        Coefficients, float32, of the edges, shape ``(E,)``, and of the loops, shape ``(N,)``, or ``(0,)`` without them.
    """
    edges = edge_index.shape[1]
    _check(edge_index, size)
    of_edges, of_loops = (torch.empty(count, dtype=torch.float32) for count in (edges, size[1] if loops else 0))
    _LIBRARY.call(
        "coefficients",
        *_ends(edge_index),
        None if weight is None else weight.data_ptr(),
        edges,
        *size,
        _KINDS[kind],
        same,
        loops,
        of_edges.data_ptr(),
        of_loops.data_ptr(),
    )
    return of_edges, of_loops


def gather(
    v: Tensor, edge_index: Tensor, coefficient: Tensor, rows: int, turned: bool = False, loops: Tensor | None = None
) -> Tensor:
    """Add up the neighbours.

    Args:
        v: Vectors of the sources, shape ``(K, M, n)``, contiguous, as everything that is given.
        edge_index: Sources and targets, int64, shape ``(2, E)``.
        coefficient: Shape ``(E,)``.
        rows: Number of targets ``N``.
        turned: From targets to sources instead.
        loops: Coefficients of the nodes' own vectors, shape ``(N,)``, where sources and targets are the same nodes.

    Returns:
        Shape ``(K, N, n)``.
    """
    (batch, sources, width), edges = v.shape, edge_index.shape[1]
    if loops is not None and not len(loops) == rows == sources:
        raise ValueError(f"loops must be those of {sources} sources and {rows} targets, the same nodes, got {len(loops)}")
    _check(edge_index, (rows, sources) if turned else (sources, rows))
    out = v.new_empty(batch, rows, width)
    source, target = _ends(edge_index)
    _LIBRARY.call(
        "gather",
        *((target, source) if turned else (source, target)),
        coefficient.data_ptr(),
        edges,
        None if loops is None else loops.data_ptr(),
        v.data_ptr(),
        sources,
        rows,
        width,
        batch,
        threads_for(batch * edges * -(-width // 16)),
        out.data_ptr(),
    )
    return out


def dots(a: Tensor, b: Tensor, edge_index: Tensor) -> Tensor:
    """Return the inner product of both ends' vectors for each edge, added up over a batch.

    Args:
        a: Vectors of the sources, shape ``(K, M, n)``, contiguous, as everything that is given.
        b: Vectors of the targets, shape ``(K, N, n)``.
        edge_index: Sources and targets, int64, shape ``(2, E)``.

    Returns:
        Shape ``(E,)``.
    """
    (batch, sources, width), edges = a.shape, edge_index.shape[1]
    _check(edge_index, (sources, b.shape[1]))
    out = a.new_empty(edges)
    threads = threads_for(batch * edges * -(-width // 16))
    shapes = sources, b.data_ptr(), b.shape[1], width, batch, threads
    _LIBRARY.call("dots", *_ends(edge_index), edges, a.data_ptr(), *shapes, out.data_ptr())
    return out


def _check(edge_index: Tensor, size: tuple[int, int]) -> None:
    """Raise if an edge has an end that is no node: compiled code has not asked before."""
    found = c_int64()
    _LIBRARY.call("stray", *_ends(edge_index), edge_index.shape[1], *size, byref(found))
    if found.value >= 0:
        source, target = edge_index[:, found.value].tolist()
        raise ValueError(f"edge_index must lie in [0, {size[0]}) and [0, {size[1]}), got an edge from {source} to {target}")


def _ends(edge_index: Tensor) -> tuple[int, int]:
    first = edge_index.data_ptr()
    return first, first + edge_index.shape[1] * edge_index.element_size()
