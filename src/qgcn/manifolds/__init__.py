"""The spaces: ``geoopt`` manifolds with the maps at their origin, all pairwise distances, a name and a description."""

from qgcn.manifolds.base import Family, Space
from qgcn.manifolds.candidates import spaces_of_dimension, spacetimes_of_dimension
from qgcn.manifolds.flat import Euclidean, Stereographic
from qgcn.manifolds.names import parse_space, register_space
from qgcn.manifolds.product import Product
from qgcn.manifolds.quadric import PseudoHyperboloid
from qgcn.manifolds.riemannian import Hyperboloid, Sphere
from qgcn.manifolds.spacetimes import AntiDeSitter, DeSitter, Minkowski
from qgcn.manifolds.wrapped import WrappedNormal

__all__ = [
    "AntiDeSitter",
    "DeSitter",
    "Euclidean",
    "Family",
    "Hyperboloid",
    "Minkowski",
    "Product",
    "PseudoHyperboloid",
    "Space",
    "Sphere",
    "Stereographic",
    "WrappedNormal",
    "parse_space",
    "register_space",
    "spaces_of_dimension",
    "spacetimes_of_dimension",
]
