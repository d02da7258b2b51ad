"""The translation by a bias in tangent coordinates, in one pass over the memory where C++ can be compiled.

The plain implementation is :func:`qgcn.geometry.tangent.moved_by`.
"""

from qgcn.kernels.translation.autograd import translate0

__all__ = ["translate0"]
