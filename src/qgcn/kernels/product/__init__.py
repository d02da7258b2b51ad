"""Sparse matrices and their products: ``reference.py`` is plain PyTorch, ``cpu.py`` C++."""

from qgcn.kernels.product.matrix import SparseMatrix

__all__ = ["SparseMatrix"]
