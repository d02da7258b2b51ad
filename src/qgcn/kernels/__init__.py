"""What is hot: functions of all pairs of points, which never hold all pairs.

They stand below the spaces and take one as an argument: anything with the methods of
:class:`~qgcn.kernels.graph.Metric`.
"""

from qgcn.kernels.graph import Metric, Neighbourhoods
from qgcn.kernels.reconstruction import distortion_loss, reconstruction_loss

__all__ = ["Metric", "Neighbourhoods", "distortion_loss", "reconstruction_loss"]
