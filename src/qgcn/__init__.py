"""Graph learning in pseudo-Riemannian spaces."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qgcn import analysis, data, estimators, geometry, kernels, manifolds, metrics, models, nn, optim, tasks, training, viz
    from qgcn.estimators import QGCNClassifier, QGCNEmbedding, QGCNLinkPredictor
    from qgcn.manifolds import PseudoHyperboloid, parse_space
    from qgcn.training import load_run

__version__ = "0.2.0"

__all__ = [
    "PseudoHyperboloid",
    "QGCNClassifier",
    "QGCNEmbedding",
    "QGCNLinkPredictor",
    "__version__",
    "analysis",
    "data",
    "estimators",
    "geometry",
    "kernels",
    "load_run",
    "manifolds",
    "metrics",
    "models",
    "nn",
    "optim",
    "parse_space",
    "tasks",
    "training",
    "viz",
]


_HOMES = {
    "PseudoHyperboloid": "manifolds",
    "parse_space": "manifolds",
    "QGCNClassifier": "estimators",
    "QGCNEmbedding": "estimators",
    "QGCNLinkPredictor": "estimators",
    "load_run": "training",
}


if not TYPE_CHECKING:  # a type checker takes the imports above, and reports names that are not there

    def __getattr__(name: str) -> Any:
        """Import a name when first used: importing the package stays light, and a command can be stopped from the start."""
        if name in _HOMES:
            return getattr(import_module(f"qgcn.{_HOMES[name]}"), name)
        if name in __all__:
            return import_module(f"qgcn.{name}")
        raise AttributeError(f"module 'qgcn' has no attribute {name!r}")
