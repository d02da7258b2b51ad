"""Sums over the edges of a graph, without a matrix: ``reference.py`` is plain PyTorch, ``cpu.py`` C++.

For a graph that is multiplied with once, or whose edges change from call to call; :mod:`qgcn.kernels.product` is faster when
the same graph is used again and again. All functions can be traced by ``torch.compile`` and ``torch.export``.
"""

from qgcn.kernels.edges.autograd import Ends, coefficients, gathered

__all__ = ["Ends", "coefficients", "gathered"]
