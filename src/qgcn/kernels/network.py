"""What the layers of a network spend their time on, on the CPU, in C++ that is compiled for this machine when first used.

Each function has a plain twin in PyTorch, which takes over where :func:`usable` says no. All take a batch, the first axis: one
network is a batch of one.
"""

import ctypes
from functools import cache
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from qgcn.kernels.backends import forced
from qgcn.kernels.compiled import compiled
from qgcn.numerics import limits

__all__ = ["MOST_COORDINATES", "masks", "obstacle", "products", "translate", "translate_gradient", "usable"]

MOST_COORDINATES: Final = 64
"""Coordinates that a point may have to be translated: those of sixteen points are kept at hand."""

_SOURCE: Final = Path(__file__).with_name("network.cpp")
_BLOCK: Final = 128  # as in the source: rows of points whose sums are added up together
_WORTH: Final = 2**14  # operations on sixteen numbers that are worth a thread of their own


def usable(*tensors: Tensor) -> bool:
    """Tell whether the compiled functions take these: float32 on the CPU, a compiler, and nothing else asked for."""
    plain = all(each.dtype == torch.float32 and each.device.type == "cpu" for each in tensors)
    return plain and forced() in (None, "native") and obstacle() is None


def obstacle() -> str | None:
    """Return why the compiled functions are not to be had here; ``None`` if they are."""
    found = _library()
    return found if isinstance(found, str) else None


@cache
def _library() -> Any:
    found = compiled(_SOURCE, "-fopenmp", f"-DMOST_COORDINATES={MOST_COORDINATES}")
    if isinstance(found, str):
        return found
    pointer, many, few, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_float
    found.products.argtypes = [pointer] * 4 + [many] * 3 + [pointer, few, many, few, pointer]
    found.masks.argtypes = [pointer, many, many, many, pointer, many, few, number, few, pointer]
    found.translate.argtypes = [pointer] * 2 + [many] * 2 + [few] * 2 + [pointer] * 3 + [number] * 2 + [few] + [pointer] * 2
    found.products.restype = found.masks.restype = found.translate.restype = None
    return found


def _threads(operations: int) -> int:
    return max(1, min(torch.get_num_threads(), operations // _WORTH))


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
    _library().products(
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
        _threads(batch * col.numel() * -(-width // 16)),
        out.data_ptr(),
    )
    return out


def masks(
    keys: list[int], out: Tensor, most: int, value: float, rows: Tensor | None = None, total: int | None = None
) -> Tensor:
    """Fill a tensor with ``value`` and zeros, drawn from keys as ``torch.Generator`` draws 64-bit integers.

    Args:
        keys: Seeds of the generators, one for each mask.
        out: Contiguous, shape ``(K, n, ...)``.
        most: Sixteen bits are kept up to this number.
        value: What is written for those.
        rows: Write these rows of a larger mask, shape ``(n,)``.
        total: How many rows that one has.
    """
    drawn = torch.tensor(keys, dtype=torch.int64)
    count = out.shape[1] if out.ndim > 1 else 1
    width = out[0].numel() // max(count, 1)
    whole = count if total is None else total
    rows = None if rows is None else rows.long().contiguous()
    threads = min(len(keys), _threads(len(keys) * whole * width // 4))
    taken = None if rows is None else rows.data_ptr()
    _library().masks(drawn.data_ptr(), len(keys), whole, width, taken, count, most, value, threads, out.data_ptr())
    return out


def translate(u: Tensor, step: Tensor, ahead: Tensor, size: Tensor, time_dim: int) -> Tensor:
    r"""Translate points in tangent coordinates; see :func:`qgcn.geometry.translate0`.

    Args:
        u: Tangent vectors, shape ``(K, N, d)``, contiguous, as everything that is given.
        step: The bias times :math:`S`, shape ``(K, d)``, its first coordinate 0.
        ahead: The factor :math:`C`, shape ``(K,)``.
        size: :math:`|\beta|`, shape ``(K,)``.
        time_dim: Number of leading negative coordinates.
    """
    out = torch.empty_like(u)
    _translate(u, None, step, ahead, size, time_dim, out, None)
    return out


def translate_gradient(
    u: Tensor, grad: Tensor, step: Tensor, ahead: Tensor, size: Tensor, time_dim: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients with respect to the first four arguments of :func:`translate`, given that of its result."""
    batch, rows, dim = u.shape
    to_u, to_rest = torch.empty_like(u), u.new_empty(batch, -(-rows // _BLOCK), dim + 2)
    _translate(u, grad, step, ahead, size, time_dim, to_u, to_rest)
    total = to_rest.sum(1)
    return to_u, total[:, :dim], total[:, dim], total[:, dim + 1]


def _translate(
    u: Tensor,
    grad: Tensor | None,
    step: Tensor,
    ahead: Tensor,
    size: Tensor,
    time_dim: int,
    out: Tensor,
    to_rest: Tensor | None,
) -> None:
    batch, rows, dim = u.shape
    known = limits(u.dtype)
    _library().translate(
        u.data_ptr(),
        None if grad is None else grad.data_ptr(),
        batch,
        rows,
        dim,
        time_dim,
        step.data_ptr(),
        ahead.data_ptr(),
        size.data_ptr(),
        known.antipode,
        known.norm,
        _threads(batch * rows * (16 if time_dim == 1 else 64)),
        out.data_ptr(),
        None if to_rest is None else to_rest.data_ptr(),
    )
