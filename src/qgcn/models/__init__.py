"""Models: one tangent-space network for every space, and the Euclidean baselines."""

from qgcn.models.named import MODELS, QGCN, QNN, Encoder, EuclideanNetwork, build, default_space
from qgcn.models.shallow import Coordinates
from qgcn.models.tangent import TangentNetwork

__all__ = ["MODELS", "QGCN", "QNN", "Coordinates", "Encoder", "EuclideanNetwork", "TangentNetwork", "build", "default_space"]
