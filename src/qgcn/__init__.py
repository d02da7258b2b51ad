"""Graph learning in pseudo-Riemannian spaces."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from qgcn import geometry, manifolds, optim
from qgcn.manifolds import PseudoHyperboloid, parse_space

if TYPE_CHECKING:
    from qgcn import data, kernels, metrics, models, nn, tasks, training
    from qgcn.training.estimator import QGCNEmbedding

__version__ = "0.1.0"

__all__ = [
    "PseudoHyperboloid",
    "QGCNEmbedding",
    "__version__",
    "data",
    "geometry",
    "kernels",
    "manifolds",
    "metrics",
    "models",
    "nn",
    "optim",
    "parse_space",
    "tasks",
    "training",
]


def __getattr__(name: str) -> Any:
    """Import what needs PyTorch Geometric, SciPy or scikit-learn when it is first used: importing the package stays light."""
    if name == "QGCNEmbedding":
        return import_module("qgcn.training.estimator").QGCNEmbedding
    if name in ("data", "kernels", "metrics", "models", "nn", "tasks", "training"):
        return import_module(f"qgcn.{name}")
    raise AttributeError(f"module 'qgcn' has no attribute {name!r}")
