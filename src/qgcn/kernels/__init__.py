"""Fused operations, one folder each: plain PyTorch, C++ and Triton side by side.

:mod:`~qgcn.kernels.pairs`: functions of all pairs of points. :mod:`~qgcn.kernels.product`: sparse matrices.
:mod:`~qgcn.kernels.edges`: sums over edges. :mod:`~qgcn.kernels.mask`: random masks drawn from keys.
:mod:`~qgcn.kernels.translation`: the translation by a bias. :mod:`~qgcn.kernels.exponential`: the exponential at the pole.
:mod:`~qgcn.kernels.separation`: how two points are separated. :mod:`~qgcn.kernels.attention`: attention of all points to all
others. :mod:`~qgcn.kernels.sampled`: the objective over some pairs of points.
:mod:`~qgcn.kernels.sampling`: samples of neighbours drawn from keys. :mod:`~qgcn.kernels.cones`: the objective of entailment.

They stand below the spaces and take one as an argument: anything with the methods of :class:`~qgcn.kernels.metric.Metric`.
"""

from qgcn.kernels.attention import attend
from qgcn.kernels.backends import backend, use_backend
from qgcn.kernels.exponential import expmap0
from qgcn.kernels.metric import Factor, Metric
from qgcn.kernels.pairs import (
    Neighbourhoods,
    average_precision,
    distances_from,
    distortion_loss,
    nearest_neighbours,
    pass_seconds,
    reconstruction_loss,
)
from qgcn.kernels.sampled import ordered_loss, sampled_reconstruction_loss
from qgcn.kernels.separation import separate
from qgcn.kernels.translation import translate0

__all__ = [
    "Factor",
    "Metric",
    "Neighbourhoods",
    "attend",
    "average_precision",
    "backend",
    "distances_from",
    "distortion_loss",
    "expmap0",
    "nearest_neighbours",
    "ordered_loss",
    "pass_seconds",
    "reconstruction_loss",
    "sampled_reconstruction_loss",
    "separate",
    "translate0",
    "use_backend",
]
