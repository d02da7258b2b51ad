"""The models by name: Q-GCN, its relatives over other spaces, and the Euclidean baselines of PyTorch Geometric."""

from qgcn.manifolds import Space
from qgcn.models.deep import Deep
from qgcn.models.propagation import Propagation
from qgcn.models.pyg import AggregatingNetwork, EuclideanNetwork
from qgcn.models.registry import Model, register_model
from qgcn.models.shallow import Coordinates
from qgcn.models.tangent import QGAT, QGCN, QNN
from qgcn.models.transformer import Transformer

__all__ = ["register_named_models"]

_HYPERBOLIC = "a hyperbolic space such as H16"
_CONSTANT = "H, S, K, E or a product of them such as H8xS8"
_ROUND_OR_FLAT = "a Euclidean space or a sphere such as E16, S16"
_FLAT = "a Euclidean space such as E16"


def _is_hyperbolic(space: Space) -> bool:
    return space.kind == "H"


def _is_flat(space: Space) -> bool:
    return space.kind == "E"


def _is_sphere(space: Space) -> bool:
    return space.kind == "S"


def _has_constant_curvature(space: Space) -> bool:
    return all(part.kind in "HSKE" for part in space.parts)


def register_named_models() -> None:
    """Register the models of the library, in the order in which they are listed."""
    convolutions, alone = "convolutions in the tangent space", "the same without a graph"
    for model in (
        Model("qgcn", QGCN, "Q15,1", about=convolutions),
        Model("qnn", QNN, "Q15,1", about=alone),
        Model("propagation", Propagation, "Q15,1", about="a linear map, then many steps with learned weights"),
        Model("qgat", QGAT, "Q15,1", about="convolutions that weigh neighbours by signed squared distances"),
        Model("deep", Deep, "Q15,1", about="many convolutions, each of which sees the first layer again"),
        Model("transformer", Transformer, "Q15,1", about="attention to all nodes by distance, beside convolutions"),
        Model("hgcn", QGCN, "H16", _is_hyperbolic, _HYPERBOLIC, convolutions),
        Model("hnn", QNN, "H16", _is_hyperbolic, _HYPERBOLIC, alone),
        Model("kappa-gcn", QGCN, "H8xS8", _has_constant_curvature, _CONSTANT, convolutions),
        Model("gcn", AggregatingNetwork, "E16", _is_flat, _ROUND_OR_FLAT, "PyG's GCN", {"kind": "gcn"}),
        Model("gcn", QGCN, "S16", _is_sphere, _ROUND_OR_FLAT, "over a sphere, the tangent network"),
        *(
            Model(kind, EuclideanNetwork, "E16", _is_flat, _FLAT, f"PyG's {title}", {"kind": kind})
            for kind, title in (("gat", "GAT"), ("sage", "GraphSAGE"), ("sgc", "SGConv"), ("mlp", "MLP"))
        ),
        Model("shallow", Coordinates, "Q8,2", about="coordinates of every node"),
    ):
        register_model(model)
