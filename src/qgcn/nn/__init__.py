"""Layers and decoders of networks in the tangent space, and the graph they aggregate along.

``QGCNConv``, ``QHeteroConv`` and ``to_hetero`` are imported when first used: PyTorch Geometric, which they are built on, takes
seconds to import.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from qgcn.kernels.part import Part
from qgcn.kernels.product import SparseMatrix
from qgcn.nn.adjacency import AGGREGATIONS, Adjacency, Aggregation, Hop
from qgcn.nn.arrow_decoders import (
    ARROW_DECODERS,
    ArrowDecoder,
    ArrowNetwork,
    IntervalAndTime,
    OrientedForm,
    SourceTarget,
    TripleFermiDirac,
    arrow_decoder,
    halves_of,
)
from qgcn.nn.cones import CONES, Cone, HyperbolicCone, LightCone, OrderCone, ShadowCone, cone
from qgcn.nn.decoders import FermiDirac, TangentClassifier
from qgcn.nn.dropout import Dropout, MaskDraws, dropout_keys, mixed_key
from qgcn.nn.global_attention import GlobalAttention
from qgcn.nn.intrinsic import IntrinsicClassifier
from qgcn.nn.linear import QLinear
from qgcn.nn.loader import NeighborLoader
from qgcn.nn.neighbours import SharedNeighbours
from qgcn.nn.normalization import TangentBatchNorm
from qgcn.nn.pair_decoders import BilinearForm, Distance, InnerProduct, PairDecoder, SquaredDistance
from qgcn.nn.pair_networks import PAIR_DECODERS, NeighbourNetwork, PairNetwork, pair_decoder
from qgcn.nn.pooling import TangentPool
from qgcn.nn.sampling import NeighbourSampler, Sample, sample_neighbours
from qgcn.nn.tangent import ACTIVATIONS, DoubleProjection, TangentActivation, tangent_mean

if TYPE_CHECKING:
    from qgcn.nn.conv import QGCNConv
    from qgcn.nn.hetero import QHeteroConv, to_hetero

__all__ = [
    "ACTIVATIONS",
    "AGGREGATIONS",
    "ARROW_DECODERS",
    "CONES",
    "PAIR_DECODERS",
    "Adjacency",
    "Aggregation",
    "ArrowDecoder",
    "ArrowNetwork",
    "BilinearForm",
    "Cone",
    "Distance",
    "DoubleProjection",
    "Dropout",
    "FermiDirac",
    "GlobalAttention",
    "Hop",
    "HyperbolicCone",
    "InnerProduct",
    "IntervalAndTime",
    "IntrinsicClassifier",
    "LightCone",
    "MaskDraws",
    "NeighborLoader",
    "NeighbourNetwork",
    "NeighbourSampler",
    "OrderCone",
    "OrientedForm",
    "PairDecoder",
    "PairNetwork",
    "Part",
    "QGCNConv",
    "QHeteroConv",
    "QLinear",
    "Sample",
    "ShadowCone",
    "SharedNeighbours",
    "SourceTarget",
    "SparseMatrix",
    "SquaredDistance",
    "TangentActivation",
    "TangentBatchNorm",
    "TangentClassifier",
    "TangentPool",
    "TripleFermiDirac",
    "arrow_decoder",
    "cone",
    "dropout_keys",
    "halves_of",
    "mixed_key",
    "pair_decoder",
    "sample_neighbours",
    "tangent_mean",
    "to_hetero",
]

_HOMES = {"QGCNConv": "conv", "QHeteroConv": "hetero", "to_hetero": "hetero"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"qgcn.nn.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'qgcn.nn' has no attribute {name!r}")
