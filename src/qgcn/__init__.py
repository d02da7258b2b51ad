"""Graph learning in pseudo-Riemannian spaces."""

from qgcn import geometry, manifolds, optim
from qgcn.manifolds import PseudoHyperboloid, parse_space

__version__ = "0.1.0"

__all__ = ["PseudoHyperboloid", "__version__", "geometry", "manifolds", "optim", "parse_space"]
