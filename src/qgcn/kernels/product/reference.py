"""Sparse products in plain PyTorch: any type, any device."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from qgcn.kernels.product.matrix import SparseMatrix

__all__ = ["products"]


def products(matrix: "SparseMatrix", columns: Tensor, values: Tensor) -> Tensor:
    """Multiply as :func:`qgcn.kernels.product.cpu.products` does, one after the other: a cache holds the columns of one.

    Args:
        matrix: The structure; its values, too, if they are those given.
        columns: Shape ``(K, M, n)``.
        values: Shape ``(nnz,)``, or ``(K, nnz)`` for a matrix of its own each.
    """
    out = columns.new_empty(columns.shape[0], matrix.shape[0], columns.shape[-1])
    shared = matrix.csr if values is matrix.values and values.ndim == 1 else None
    for k, result in enumerate(out):
        used = shared if shared is not None else _csr(matrix, values if values.ndim == 1 else values[k])
        result.addmm_(used, columns[k].contiguous(), beta=0)  # a product would be added to zeros, and copied
    return out


def _csr(matrix: "SparseMatrix", values: Tensor) -> Tensor:
    return torch.sparse_csr_tensor(matrix.crow, matrix.col, values, matrix.shape, check_invariants=False)
