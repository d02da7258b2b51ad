"""What is hot: functions of all pairs of points, which never hold all pairs.

They stand below the spaces and take one as an argument: anything with the methods of
:class:`~qgcn.kernels.graph.Metric`.
"""

from qgcn.kernels.graph import Neighbourhoods
from qgcn.kernels.metric import Factor, Metric
from qgcn.kernels.partition import backend, use_backend
from qgcn.kernels.reconstruction import distortion_loss, reconstruction_loss

__all__ = ["Factor", "Metric", "Neighbourhoods", "backend", "distortion_loss", "reconstruction_loss", "use_backend"]
