"""Layers and decoders of networks in the tangent space."""

from qgcn.nn.conv import QGCNConv
from qgcn.nn.decoders import FermiDirac, TangentClassifier
from qgcn.nn.dropout import Dropout, dropout_keys, mixed_key
from qgcn.nn.field import Field
from qgcn.nn.linear import QLinear
from qgcn.nn.sparse import EdgeDropout, adjacency, matmul, to_csr
from qgcn.nn.tangent import ACTIVATIONS, DoubleProjection, TangentActivation, tangent_mean

__all__ = [
    "ACTIVATIONS",
    "DoubleProjection",
    "Dropout",
    "EdgeDropout",
    "FermiDirac",
    "Field",
    "QGCNConv",
    "QLinear",
    "TangentActivation",
    "TangentClassifier",
    "adjacency",
    "dropout_keys",
    "matmul",
    "mixed_key",
    "tangent_mean",
    "to_csr",
]
