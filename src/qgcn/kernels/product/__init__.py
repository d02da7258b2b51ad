"""Sparse matrices and their products: ``reference.py`` is plain PyTorch, ``cpu.py`` C++."""

from qgcn.kernels.product.matrix import SparseMatrix, Structure

__all__ = ["SparseMatrix", "Structure"]
