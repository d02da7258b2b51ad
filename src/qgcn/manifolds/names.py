"""Names of spaces: ``E10``, ``H10``, ``S10``, ``K10``, ``Q7,3`` and products such as ``H5xS5``."""

import re

from qgcn.manifolds.base import Space
from qgcn.manifolds.flat import Euclidean, Stereographic
from qgcn.manifolds.product import Product
from qgcn.manifolds.quadric import Hyperboloid, PseudoHyperboloid, Sphere

__all__ = ["parse_space"]

_EXPECTED = "expected E10, H10, S10, K10, Q7,3 (space,time) or a product such as H5xS5"


def parse_space(name: str, *, beta: float = -1.0, learnable: bool = False) -> Space:
    """Build the space that a name stands for.

    Laws: ``str(parse_space(str(space))) == str(space)``.

    ========  ==========================================================  ===============
    name      space                                                       coordinates
    ========  ==========================================================  ===============
    ``E10``   Euclidean                                                   10
    ``H10``   hyperbolic, curvature -1                                    11
    ``S10``   sphere, curvature 1                                         11
    ``K10``   kappa-stereographic, curvature 0 (learnable: any)           10
    ``Q7,3``  pseudo-hyperboloid, 7 space and 3 time dimensions           10
    ``H5xS5`` product                                                     the sum
    ========  ==========================================================  ===============

    Args:
        name: The name; case does not matter, spaces are ignored.
        beta: Minus the squared radius of ``H``, ``S`` and ``Q`` factors, negative; their curvatures are
            ``1 / beta`` up to sign.
        learnable: Make the curvatures parameters.

    Raises:
        ValueError: The name is none of these, or names a space without points such as ``Q0,0``.
    """
    if not isinstance(name, str):
        raise TypeError(f"a space is named by a string, got {type(name).__name__}")
    factors = [_parse_factor(part, name, beta, learnable) for part in re.split(r"[xX]", "".join(name.split()))]
    return factors[0] if len(factors) == 1 else Product(*factors)


def _parse_factor(part: str, name: str, beta: float, learnable: bool) -> Space:
    match = re.fullmatch(r"([EHSKehsk])([0-9]{1,6})|[Qq]([0-9]{1,6}),([0-9]{1,6})", part)
    if match is None:
        raise ValueError(f"unknown space {name!r}: {_EXPECTED}")
    letter, dim, space_dim, time_dim = match.groups()
    try:
        if letter is None:
            return PseudoHyperboloid(int(space_dim), int(time_dim), beta, learnable)
        if letter in "Ee":
            return Euclidean(int(dim))
        if letter in "Kk":
            return Stereographic(int(dim), learnable=learnable)
        kind: type[Hyperboloid] | type[Sphere] = Hyperboloid if letter in "Hh" else Sphere
        return kind(int(dim), beta, learnable)
    except ValueError as error:
        raise ValueError(f"no space {part!r}: {error}") from None
