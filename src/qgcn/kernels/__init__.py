"""What is hot: functions of all pairs of points, which never hold all pairs.

They stand below the spaces and take one as an argument: anything with the methods of
:class:`~qgcn.kernels.graph.Metric`.
"""

from qgcn.kernels.backends import backend, use_backend
from qgcn.kernels.graph import Neighbourhoods
from qgcn.kernels.metric import Factor, Metric
from qgcn.kernels.pairs import average_precision, distances_from, nearest_neighbours
from qgcn.kernels.reconstruction import distortion_loss, reconstruction_loss
from qgcn.kernels.translation import translate0

__all__ = [
    "Factor",
    "Metric",
    "Neighbourhoods",
    "average_precision",
    "backend",
    "distances_from",
    "distortion_loss",
    "nearest_neighbours",
    "reconstruction_loss",
    "translate0",
    "use_backend",
]
