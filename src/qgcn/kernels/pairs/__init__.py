"""Functions of all pairs of points that never hold all pairs: objectives, distances, nearest points, average precision.

``reference.py`` is plain PyTorch, ``cpu.py`` C++, ``gpu.py`` Triton; ``implementations.py`` chooses.
"""

from qgcn.kernels.pairs.nearest import distances_from, nearest_neighbours
from qgcn.kernels.pairs.neighbourhoods import Neighbourhoods, check_points, graph_of, rows_at_once
from qgcn.kernels.pairs.objective import Denominator, distortion_loss, reconstruction_loss
from qgcn.kernels.pairs.precision import average_precision
from qgcn.kernels.pairs.timing import pass_seconds

__all__ = [
    "Denominator",
    "Neighbourhoods",
    "average_precision",
    "check_points",
    "distances_from",
    "distortion_loss",
    "graph_of",
    "nearest_neighbours",
    "pass_seconds",
    "reconstruction_loss",
    "rows_at_once",
]
