"""The spaces: ``geoopt`` manifolds with the maps at their origin, all pairwise distances and a name."""

from qgcn.manifolds.base import Space
from qgcn.manifolds.flat import Euclidean, Stereographic
from qgcn.manifolds.names import parse_space
from qgcn.manifolds.product import Product
from qgcn.manifolds.quadric import Hyperboloid, PseudoHyperboloid, Sphere

__all__ = [
    "Euclidean",
    "Hyperboloid",
    "Product",
    "PseudoHyperboloid",
    "Space",
    "Sphere",
    "Stereographic",
    "parse_space",
]
