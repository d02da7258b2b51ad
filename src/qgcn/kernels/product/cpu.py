"""Products of sparse matrices with dense columns on the CPU, in C++."""

from ctypes import c_int32, c_int64, c_void_p
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from qgcn.kernels.backends import forced
from qgcn.kernels.compiled import Library, threads_for

__all__ = ["obstacle", "products", "takes", "turn", "turns"]

_LIBRARY: Final = Library(
    Path(__file__).with_name("products.cpp"),
    "-fopenmp",
    turn=[*[c_void_p] * 2, *[c_int64] * 2, *[c_void_p] * 3],
    products=[*[c_void_p] * 4, *[c_int64] * 3, c_void_p, c_int32, c_int64, c_int32, c_void_p],
)
obstacle, takes = _LIBRARY.obstacle, _LIBRARY.takes


def turns(index: Tensor) -> bool:
    """Tell whether :func:`turn` takes the indices of a matrix."""
    return index.device.type == "cpu" and forced() in (None, "native") and obstacle() is None


def turn(crow: Tensor, col: Tensor, columns: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the structure of a transpose, and which entry of the matrix each of its entries is; all int32.

    Args:
        crow: Where the rows begin, int32, shape ``(N + 1,)``, contiguous, as everything that is given.
        col: Columns of the entries, int32, shape ``(nnz,)``.
        columns: Number of columns ``M``.

    Returns:
        Shapes ``(M + 1,)``, ``(nnz,)`` and ``(nnz,)``.
    """
    made = crow.new_empty(columns + 1), torch.empty_like(col), torch.empty_like(col)
    _LIBRARY.call("turn", crow.data_ptr(), col.data_ptr(), crow.numel() - 1, columns, *(each.data_ptr() for each in made))
    return made


def products(crow: Tensor, col: Tensor, values: Tensor, columns: Tensor, order: Tensor | None = None) -> Tensor:
    """Multiply sparse matrices with dense columns.

    Args:
        crow: Where the rows begin, int32, shape ``(N + 1,)``, contiguous, as everything that is given.
        col: Columns of the entries, int32, shape ``(nnz,)``.
        values: Of the entries, shape ``(nnz,)``, or ``(K, nnz)`` for a matrix of its own each.
        columns: Shape ``(K, M, n)``.
        order: Where among the values each entry finds its own, int32, shape ``(nnz,)``, if not in its place.

    Returns:
        Shape ``(K, N, n)``.
    """
    (batch, sources, width), rows = columns.shape, crow.numel() - 1
    out = columns.new_empty(batch, rows, width)
    _LIBRARY.call(
        "products",
        crow.data_ptr(),
        col.data_ptr(),
        None if order is None else order.data_ptr(),
        values.data_ptr(),
        values.shape[-1] if values.ndim == 2 else 0,
        rows,
        sources,
        columns.data_ptr(),
        width,
        batch,
        threads_for(batch * col.numel() * -(-width // 16)),
        out.data_ptr(),
    )
    return out
