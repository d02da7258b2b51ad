"""Layers and decoders of networks in the tangent space, and the graph they aggregate along.

``QGCNConv`` is imported when it is first used: PyTorch Geometric, whose ``MessagePassing`` it is, takes seconds to import.
"""

from typing import TYPE_CHECKING, Any

from qgcn.kernels.part import Part
from qgcn.kernels.product import SparseMatrix
from qgcn.nn.adjacency import AGGREGATIONS, Adjacency, Aggregation, Hop
from qgcn.nn.decoders import FermiDirac, TangentClassifier
from qgcn.nn.dropout import Dropout, dropout_keys, mixed_key
from qgcn.nn.intrinsic import IntrinsicClassifier
from qgcn.nn.linear import QLinear
from qgcn.nn.tangent import ACTIVATIONS, DoubleProjection, TangentActivation, tangent_mean

if TYPE_CHECKING:
    from qgcn.nn.conv import QGCNConv

__all__ = [
    "ACTIVATIONS",
    "AGGREGATIONS",
    "Adjacency",
    "Aggregation",
    "DoubleProjection",
    "Dropout",
    "FermiDirac",
    "Hop",
    "IntrinsicClassifier",
    "Part",
    "QGCNConv",
    "QLinear",
    "SparseMatrix",
    "TangentActivation",
    "TangentClassifier",
    "dropout_keys",
    "mixed_key",
    "tangent_mean",
]


def __getattr__(name: str) -> Any:
    if name == "QGCNConv":
        from qgcn.nn.conv import QGCNConv

        return QGCNConv
    raise AttributeError(f"module 'qgcn.nn' has no attribute {name!r}")
