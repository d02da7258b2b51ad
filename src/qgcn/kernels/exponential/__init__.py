"""The exponential at the pole, in one pass over the memory where C++ can be compiled.

The plain implementation is :func:`qgcn.geometry.expmap0`.
"""

from qgcn.kernels.exponential.autograd import expmap0

__all__ = ["expmap0"]
