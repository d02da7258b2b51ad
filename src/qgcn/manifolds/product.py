"""Products of spaces."""

from collections.abc import Sequence
from typing import Any, ClassVar

import geoopt
import torch
from torch import Tensor

from qgcn import geometry
from qgcn.kernels import Factor
from qgcn.kernels.cones import Rows
from qgcn.manifolds.base import Family, Space
from qgcn.numerics import safe_norm

__all__ = ["Product"]


class Product(Space, geoopt.ProductManifold):  # type: ignore[misc]
    r"""The product of spaces; coordinates of the factors stand one after the other.

    .. math:: d(x, y) = \sqrt{\textstyle\sum_i d_i(x_i, y_i)^2}, \qquad \|u\| = \sqrt{\textstyle\sum_i \|u_i\|^2}

    Lengths are absolute in each factor and then added: a space-like step in one factor and a time-like one in another do not
    cancel. ``inner`` is the sum of the factors' inner products, and is signed. The two agree where every factor has a
    positive metric. Law: ``norm(x, logmap(x, y)) == dist(x, y)`` wherever the logarithm is defined.

    Example:
        >>> import torch
        >>> from qgcn.manifolds import Euclidean, Hyperboloid, Product
        >>> space = Product(Hyperboloid(2), Euclidean(2))
        >>> x = space.expmap0(torch.tensor([0.0, 3.0, 0.0, 0.0, 4.0]))
        >>> round(space.dist0(x).item(), 4)
        5.0

    Args:
        spaces: The factors, at least two.
    """

    kind: ClassVar[str] = "product"
    manifolds: torch.nn.ModuleList

    def __init__(self, *spaces: Space) -> None:
        if len(spaces) < 2:
            raise ValueError(f"a product needs at least two spaces, got {len(spaces)}")
        for space in spaces:
            if not isinstance(space, Space):
                raise TypeError(f"the factors of a product must be spaces of this package, got {type(space).__name__}")
        super().__init__(*((space, space.ambient_dim) for space in spaces))
        self.dim = sum(space.dim for space in spaces)
        self.ambient_dim = sum(space.ambient_dim for space in spaces)

    def __str__(self) -> str:
        return "x".join(str(space) for space in self.parts)

    @property
    def name(self) -> str:
        return str(self)

    @name.setter
    def name(self, value: str) -> None:
        """Ignore the name geoopt composes: the project's names are read back by ``parse_space``."""

    @property
    def family(self) -> Family:
        return "product"

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        return all(part.traceable for part in self.parts)

    @property
    def parts(self) -> tuple[Space, ...]:
        return tuple(space for space in self.manifolds if isinstance(space, Space))

    @property
    def curvatures(self) -> tuple[float, ...]:
        return tuple(value for part in self.parts for value in part.curvatures)

    def with_curvatures(self, values: Sequence[float]) -> "Product":
        each = zip(self.parts, self._check_curvatures(values), strict=True)
        return Product(*(part.with_curvatures((value,)) for part, value in each))

    def describe(self) -> str:
        return "a product of " + " and ".join(part.describe() for part in self.parts)

    def as_dict(self) -> dict[str, Any]:
        return super().as_dict() | {"parts": [part.as_dict() for part in self.parts]}

    def confined(self) -> Tensor:
        if self.factors is None:  # with a part that the kernels do not know, all coordinates are free from the start
            return super().confined()
        return torch.cat([part.confined() for part in self.parts])

    def straight(self) -> Tensor:
        return torch.cat([part.straight() for part in self.parts])

    def extra_repr(self) -> str:
        return ", ".join(repr(space) for space in self.parts)

    def _check_shape(self, shape: torch.Size, name: str) -> tuple[bool, str | None]:
        return Space._check_shape(self, shape, name)

    # --- factor by factor: geoopt's own loops reshape, which fails for empty batches -------------------------------

    def projx(self, x: Tensor) -> Tensor:
        return self._join("projx", x=x)

    def proju(self, x: Tensor, u: Tensor) -> Tensor:
        return self._join("proju", x=x, u=u)

    def egrad2rgrad(self, x: Tensor, u: Tensor) -> Tensor:
        return self._join("egrad2rgrad", x=x, u=u)

    def expmap(self, x: Tensor, u: Tensor) -> Tensor:
        return self._join("expmap", x=x, u=u)

    def retr(self, x: Tensor, u: Tensor) -> Tensor:
        return self._join("retr", x=x, u=u)

    def logmap(self, x: Tensor, y: Tensor) -> Tensor:
        return self._join("logmap", x=x, y=y)

    def transp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        return self._join("transp", x=x, y=y, v=v)

    def expmap0(self, u: Tensor) -> Tensor:
        return self._join("expmap0", u=u)

    def logmap0(self, x: Tensor) -> Tensor:
        return self._join("logmap0", x=x)

    def transp0(self, y: Tensor, u: Tensor) -> Tensor:
        return self._join("transp0", y=y, u=u)

    def fold0(self, u: Tensor) -> Tensor:
        return self._join("fold0", u=u)

    def translate(self, x: Tensor, b: Tensor) -> Tensor:
        return self._join("translate", x=x, b=b)

    def translate0(self, u: Tensor, b: Tensor) -> Tensor:
        return self._join("translate0", u=u, b=b)

    def expmap_transp(self, x: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        y = self.expmap(x, u)
        return y, self.transp(x, y, v)

    def retr_transp(self, x: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        points, moved = zip(*self._each("retr_transp", x=x, u=u, v=v), strict=True)
        return torch.cat(points, dim=-1), torch.cat(moved, dim=-1)

    def transp_follow_expmap(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        return self.expmap_transp(x, u, v)[1]

    def transp_follow_retr(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        return self.retr_transp(x, u, v)[1]

    def centroid(self, x: Tensor, weights: Tensor | None = None) -> Tensor:
        self._check(x=x)
        parts = zip(self.parts, self._split(x), strict=True)
        return torch.cat([part.centroid(share, weights) for part, share in parts], dim=-1)

    def frechet_mean(self, x: Tensor, weights: Tensor | None = None, *, iterations: int = 100) -> Tensor:
        self._check(x=x)
        parts = zip(self.parts, self._split(x), strict=True)
        return torch.cat([part.frechet_mean(share, weights, iterations=iterations) for part, share in parts], dim=-1)

    def component_inner(self, x: Tensor, u: Tensor, v: Tensor | None = None) -> Tensor:
        """Return each factor's, repeated over the factor's coordinates."""
        parts = self._each("component_inner", x=x, u=u, v=u if v is None else v)
        spread = [part.expand(*part.shape[:-1], space.ambient_dim) for space, part in zip(self.parts, parts, strict=True)]
        return torch.cat(spread, dim=-1)

    def inner(self, x: Tensor, u: Tensor, v: Tensor | None = None, *, keepdim: bool = False) -> Tensor:
        total = torch.stack(self._each("inner", x=x, u=u, v=u if v is None else v)).sum(0)
        return total.unsqueeze(-1) if keepdim else total

    def norm(self, x: Tensor, u: Tensor, *, keepdim: bool = False) -> Tensor:
        r"""Return :math:`\sqrt{\sum_i \|u_i\|^2}`: the lengths of the factors, each without its sign."""
        length = safe_norm(torch.stack(self._each("norm", x=x, u=u), dim=-1))
        return length if keepdim else length.squeeze(-1)

    def dist2(self, x: Tensor, y: Tensor, *, keepdim: bool = False) -> Tensor:
        total = torch.stack(self._each("dist2", x=x, y=y)).sum(0)
        return total.unsqueeze(-1) if keepdim else total

    def dist(self, x: Tensor, y: Tensor, *, keepdim: bool = False) -> Tensor:
        length = safe_norm(torch.stack(self._each("dist", x=x, y=y), dim=-1))
        return length if keepdim else length.squeeze(-1)

    def pairwise_dist(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        y = x if y is None else y
        self._check(x=x.unsqueeze(-2), y=y.unsqueeze(-3))
        parts = zip(self.parts, self._split(x), self._split(y), strict=True)
        combined: Tensor = torch.linalg.vector_norm(torch.stack([space.pairwise_dist(a, b) for space, a, b in parts]), dim=0)
        return combined

    @property
    def factors(self) -> tuple[Factor, ...] | None:
        found = [space.factors for space in self.parts]
        known = [factors for factors in found if factors is not None]
        return tuple(factor for factors in known for factor in factors) if len(known) == len(found) else None

    # --- the order of time: a static spacetime beside spaces with a positive metric ----------------------------------

    @property
    def is_spacetime(self) -> bool:  # type: ignore[override]
        """Whether one factor is flat spacetime and the metric of all others is positive."""
        others = [part.family for part in self.parts if not part.is_static]
        return len(others) == len(self.parts) - 1 and set(others) <= {"flat", "hyperbolic", "spherical", "stereographic"}

    def seen_margin(self, a: Tensor, b: Tensor) -> Tensor:
        time, space = self._interval(a, b)
        return space - time

    def _reach(self, x: Tensor) -> Tensor:
        shares = zip(self.parts, self._split(x), strict=True)
        sizes = [torch.linalg.vector_norm(share, dim=-1) if part.is_static else part.dist0(share) for part, share in shares]
        size: Tensor = torch.linalg.vector_norm(torch.stack(sizes), dim=0)
        return size

    def light_rows(self, x: Tensor) -> Rows | None:
        if len(self.parts) != 2 or not self.is_spacetime or self.parts[0].dim > 1 or not self.parts[0].is_static:
            return None  # time beside one space is what compiled code knows
        time, place = self._split(x)
        rows = self.parts[1].light_rows(place)
        return None if rows is None else rows._replace(values=torch.cat((time, rows.values), dim=-1))

    def time_separation(self, x: Tensor, y: Tensor) -> Tensor:
        return geometry.interval_time(*self._interval(x, y))

    def time_of(self, x: Tensor) -> Tensor:
        return self._interval(torch.zeros_like(x), x)[0] if self.is_spacetime else super().time_of(x)

    @property
    def spatial(self) -> Space | None:
        if not self.is_spacetime:
            return None
        parts = [part.spatial if part.is_static else part for part in self.parts]
        beside = [part for part in parts if part is not None]
        return beside[0] if len(beside) == 1 else Product(*beside)

    def times_and_places(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if not self.is_spacetime:
            return super().times_and_places(x)
        shares = list(zip(self.parts, self._split(x), strict=True))
        places = [share[..., 1:] if part.is_static else share for part, share in shares]
        return next(share[..., 0] for part, share in shares if part.is_static), torch.cat(places, dim=-1)

    def interval(self, x: Tensor, y: Tensor) -> Tensor:
        if self.is_spacetime:
            return super().interval(x, y)
        return torch.stack(self._each("interval", x=x, y=y)).sum(0)

    def _interval(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the time and the distance in space from ``x`` to ``y``."""
        if not self.is_spacetime:
            raise self._timeless()
        self._check(x=x, y=y)
        time, lengths = torch.zeros(()), []
        for part, a, b in zip(self.parts, self._split(x), self._split(y), strict=True):
            if part.is_static:
                time = (b - a)[..., 0]
                lengths += [safe_norm((b - a)[..., 1:])] if part.dim > 1 else []
            else:
                lengths.append(part.dist(a, b, keepdim=True))
        space = lengths[0] if len(lengths) == 1 else safe_norm(torch.cat(lengths, dim=-1))
        return time, space.squeeze(-1)

    def origin(self, *size: Any, **options: Any) -> "geoopt.ManifoldTensor":
        """Return the origins of the factors."""
        return self._draw("origin", size, options)

    def random(self, *size: Any, **options: Any) -> "geoopt.ManifoldTensor":
        """Draw each factor's coordinates as the factor does."""
        return self._draw("random", size, options)

    def _draw(self, name: str, size: tuple[Any, ...], options: dict[str, Any]) -> "geoopt.ManifoldTensor":
        batch = self._point_shape(size)[:-1]
        parts = [getattr(space, name)(*batch, space.ambient_dim, **options) for space in self.parts]
        return geoopt.ManifoldTensor(torch.cat(parts, dim=-1), manifold=self)

    def _origin(self, like: Tensor) -> Tensor:
        return torch.cat([part._origin(like) for part in self.parts], dim=-1)

    def _split(self, x: Tensor) -> tuple[Tensor, ...]:
        return torch.split(x, [space.ambient_dim for space in self.parts], dim=-1)

    def _each(self, name: str, **tensors: Tensor) -> list[Any]:
        """Call a method of every factor with its share of the tensors."""
        self._check(**tensors)
        shares = zip(*(self._split(tensor) for tensor in tensors.values()), strict=True)
        return [getattr(space, name)(*share) for space, share in zip(self.parts, shares, strict=True)]

    def _join(self, name: str, **tensors: Tensor) -> Tensor:
        return torch.cat(self._each(name, **tensors), dim=-1)
