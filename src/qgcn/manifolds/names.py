"""Names of spaces: ``E10``, ``H10``, ``S10``, ``K10``, ``Q7,3``, ``M10``, products such as ``H5xS5``, and registered ones."""

import re
from collections.abc import Callable
from typing import NamedTuple

from qgcn.manifolds.base import Space
from qgcn.manifolds.flat import Euclidean, Stereographic
from qgcn.manifolds.product import Product
from qgcn.manifolds.quadric import PseudoHyperboloid
from qgcn.manifolds.riemannian import Hyperboloid, Sphere
from qgcn.manifolds.spacetimes import AntiDeSitter, DeSitter, Minkowski

__all__ = ["parse_space", "register_space"]

Factory = Callable[..., Space]


class _Form(NamedTuple):
    """Pattern of the names of one kind of space."""

    factory: Factory
    numbers: int
    example: str


_FORMS: dict[str, _Form] = {}


def register_space(kind: str, factory: Factory, *, numbers: int = 1, example: str = "") -> None:
    """Let :func:`parse_space`, and with it every model, command and report, know a space by name.

    Example:
        >>> from qgcn.manifolds import Euclidean, parse_space, register_space
        >>> class Plane(Euclidean):
        ...     kind = "P"
        ...
        ...     def __str__(self):
        ...         return f"P{self.dim}"
        >>> register_space("P", lambda dim, **_: Plane(dim))
        >>> parse_space("P2xH3")
        P2xH3(P2, H3(beta=-1, learnable=False))

    Args:
        kind: Letters that names of the space begin with; upper and lower case are the same, and ``x`` is not allowed.
        factory: Builds the space: ``factory(*numbers, beta=..., learnable=...)``, see :func:`parse_space`. The name that the
            space writes must be one that it is read from.
        numbers: Number of integers that follow the letters, separated by commas.
        example: A name for error messages; with 10 as its numbers if not given.

    Raises:
        ValueError: The letters are ambiguous or belong to another space.
    """
    letters = kind.upper()
    if not re.fullmatch(r"[A-WYZa-wyz]+", kind) or numbers < 1:
        raise ValueError(f"a kind of space is named by letters other than x, then one number or more, got {kind!r}, {numbers}")
    known = _FORMS.get(letters)
    if known is not None and _home(known.factory) != _home(factory):  # a cell or file that is run again may
        raise ValueError(f"spaces {kind} are known already, such as {known.example}")
    _FORMS[letters] = _Form(factory, numbers, example or kind + ",".join(["10"] * numbers))


def _home(factory: Factory) -> tuple[str, str]:
    return getattr(factory, "__module__", ""), getattr(factory, "__qualname__", repr(factory))


register_space("E", lambda dim, **_: Euclidean(dim))
register_space("H", Hyperboloid)
register_space("S", Sphere)
register_space("K", lambda dim, learnable, **_: Stereographic(dim, learnable=learnable))
register_space("Q", PseudoHyperboloid, numbers=2, example="Q7,3 (space,time)")
register_space("M", lambda dim, **_: Minkowski(dim), example="M10 (spacetime)")
register_space("AdS", AntiDeSitter)
register_space("dS", DeSitter)


def parse_space(name: str, *, beta: float | None = -1.0, learnable: bool = False) -> Space:
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
    ``M10``   flat spacetime, 9 space dimensions and time                 10
    ``AdS10`` anti-de Sitter space, time unrolled, curvature -1           10
    ``dS10``  de Sitter space, curvature 1                                11
    ``H5xS5`` product                                                     the sum
    ========  ==========================================================  ===============

    Example:
        >>> import qgcn
        >>> qgcn.parse_space("Q7,3")
        Q7,3(beta=-1, learnable=False)
        >>> [part.dim for part in qgcn.parse_space("H5xS5").parts]
        [5, 5]

    Args:
        name: The name; case does not matter, spaces are ignored. :func:`register_space` adds more.
        beta: Minus the squared radius of ``H``, ``S``, ``Q``, ``AdS`` and ``dS`` factors, negative; their curvatures are
            ``1 / beta`` up to sign. ``None`` gives each factor the one that networks start with, see
            :attr:`Space.start_beta <qgcn.manifolds.Space.start_beta>`.
        learnable: Make the curvatures parameters.

    Raises:
        ValueError: The name is unknown, or names a space without points such as ``Q0,0``.
    """
    if not isinstance(name, str):
        raise TypeError(f"a space is named by a string, got {type(name).__name__}")
    parts = [_parse_part(part, name, beta, learnable) for part in re.split(r"[xX]", "".join(name.split()))]
    return parts[0] if len(parts) == 1 else Product(*parts)


def _parse_part(part: str, name: str, beta: float | None, learnable: bool) -> Space:
    match = re.fullmatch(r"([A-Za-z]+)([0-9]{1,6}(?:,[0-9]{1,6})*)", part)
    form = _FORMS.get(match[1].upper()) if match else None
    numbers = [int(number) for number in match[2].split(",")] if match else []
    if form is None or len(numbers) != form.numbers:
        known = ", ".join(form.example for form in _FORMS.values())
        raise ValueError(f"unknown space {name!r}: expected {known} or a product such as H5xS5")
    try:
        if beta is None:
            beta = form.factory(*numbers, beta=-1.0, learnable=False).start_beta
        return form.factory(*numbers, beta=beta, learnable=learnable)
    except ValueError as error:
        raise ValueError(f"no space {part!r}: {error}") from None
