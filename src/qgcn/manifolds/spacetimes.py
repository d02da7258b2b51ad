"""Spacetimes: spaces with one direction of time, whose points are ordered by light. See :mod:`qgcn.geometry.causality`."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import geoopt
import torch
from torch import Tensor

from qgcn import geometry
from qgcn.kernels import Factor
from qgcn.kernels.cones import Rows
from qgcn.manifolds.base import Family, Space, check_dim
from qgcn.manifolds.flat import Euclidean
from qgcn.manifolds.quadric import PseudoHyperboloid, Quadric
from qgcn.numerics import safe_norm, safe_sqrt

__all__ = ["AntiDeSitter", "DeSitter", "Minkowski"]


class Minkowski(Euclidean):
    r"""Flat spacetime: one time coordinate, first, and ``dim - 1`` space coordinates.

    ``M1`` is a line of time. ``M1xH9`` is time beside hyperbolic space, ``M1xS9`` a cylinder: space is closed, time is not.

    Example:
        >>> import torch
        >>> from qgcn.manifolds import Minkowski
        >>> space = Minkowski(2)
        >>> x, y = torch.tensor([0.0, 0.0]), torch.tensor([5.0, 3.0])
        >>> space.light_margin(x, y).item()  # not positive: y is in the future of x
        -2.0
        >>> space.time_separation(x, y).item()
        4.0

    Args:
        dim: Number of coordinates.
    """

    kind: ClassVar[str] = "M"
    time_dim = 1
    is_spacetime = True
    is_static = True

    def __str__(self) -> str:
        return f"M{self.dim}"

    @property
    def family(self) -> Family:
        return "indefinite"

    def describe(self) -> str:
        return f"flat spacetime ({self.dim - 1} space dimensions and time), ordered by light"

    @property
    def factors(self) -> tuple[Factor, ...] | None:  # type: ignore[override]
        return None  # the kernels know no such distance

    def inner(self, x: Tensor, u: Tensor, v: Tensor | None = None, *, keepdim: bool = False) -> Tensor:
        v = u if v is None else v
        return super().inner(x, u, geometry.flip_time(v, time_dim=1), keepdim=keepdim)

    def component_inner(self, x: Tensor, u: Tensor, v: Tensor | None = None) -> Tensor:
        """Return the positive products of coordinates, for second moments."""
        return u * (u if v is None else v)

    def dist(self, x: Tensor, y: Tensor, *, keepdim: bool = False) -> Tensor:
        return safe_sqrt(self.dist2(x, y, keepdim=keepdim))

    def dist2(self, x: Tensor, y: Tensor, *, keepdim: bool = False) -> Tensor:
        self._check(x=x, y=y)
        return geometry.inner(x - y, x - y, time_dim=1, keepdim=keepdim).abs()

    def pairwise_dist(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        return self.dist(x.unsqueeze(-2), (x if y is None else y).unsqueeze(-3))

    def seen_margin(self, a: Tensor, b: Tensor) -> Tensor:
        self._check(a=a, b=b)
        return geometry.flat_margin(a, b)

    def time_separation(self, x: Tensor, y: Tensor) -> Tensor:
        self._check(x=x, y=y)
        return geometry.flat_time(x, y)

    def time_of(self, x: Tensor) -> Tensor:
        return x[..., 0]

    @property
    def spatial(self) -> Space | None:
        return Euclidean(self.dim - 1) if self.dim > 1 else None

    def times_and_places(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return (x[..., 0], x[..., 1:]) if self.dim > 1 else super().times_and_places(x)


class DeSitter(Quadric):
    r"""De Sitter space: a sphere of space that grows exponentially with time. Curvature ``-1 / beta``.

    As a set it is :math:`\mathcal Q^{1,n}_\beta`, the sign of its metric reversed, as :math:`\mathcal Q^{0,n+1}_\beta` is the
    sphere; the last coordinate is that of time. The future of a point is a ball on the sphere at the end of time, and one
    point is in the future of another if its ball lies in that of the other.

    Example:
        >>> import torch
        >>> from qgcn.manifolds import DeSitter
        >>> space = DeSitter(3)
        >>> early = space.expmap0(torch.zeros(4))
        >>> late = space.expmap0(torch.tensor([0.0, 0.0, 0.0, 2.0]))
        >>> space.causal_order(early, late).item()
        1

    Args:
        dim: Dimension; points have ``dim + 1`` coordinates.
        beta: Minus the squared radius of the sphere when it is smallest, negative.
        learnable: Make beta a parameter.
    """

    kind: ClassVar[str] = "dS"
    _sign: ClassVar[int] = -1
    is_spacetime = True

    def __init__(self, dim: int, beta: float = -1.0, learnable: bool = False) -> None:
        dim = check_dim(dim, least=2)
        super().__init__(dim + 1, dim, beta, learnable)

    def __str__(self) -> str:
        return f"dS{self.dim}"

    @property
    def family(self) -> Family:
        return "indefinite"

    start_beta = -1.0

    def describe(self) -> str:
        return f"de Sitter space ({self.dim - 1} space dimensions and time), a sphere that grows, ordered by light"

    def inner(self, x: Tensor, u: Tensor, v: Tensor | None = None, *, keepdim: bool = False) -> Tensor:
        return -super().inner(x, u, v, keepdim=keepdim)

    def straight(self) -> Tensor:
        return torch.arange(self.ambient_dim) == self.dim  # so that a step in time is one of a clock

    def as_seen(self, x: Tensor) -> Tensor:
        self._check(x=x)
        return geometry.de_sitter_ball(x, beta=self.beta)

    def seen_margin(self, a: Tensor, b: Tensor) -> Tensor:
        return geometry.ball_margin(a, b, beta=self.beta)

    def _reach(self, x: Tensor) -> Tensor:
        return self._unit_length(x).expand(x.shape[:-1])  # margins are logarithms, of numbers near 1 close to a ray

    def light_rows(self, x: Tensor) -> Rows:
        return Rows("ball", self.as_seen(x), self._unit_length(x))

    def time_separation(self, x: Tensor, y: Tensor) -> Tensor:
        self._check(x=x, y=y)
        return geometry.de_sitter_time(x, y, beta=self.beta)

    def time_of(self, x: Tensor) -> Tensor:
        root = self._unit_length(x)
        return root * torch.asinh(x[..., -1] / root)

    def _with_beta(self, beta: float) -> Self:
        return type(self)(self.dim, beta)


class AntiDeSitter(Space):
    r"""The universal cover of anti-de Sitter space :math:`\mathcal Q^{s,2}_\beta`: time is unrolled. Curvature ``1/beta``.

    A point is ``(time, s)``: the angle of time as a length, :math:`\sqrt{|\beta|}\,T`, and the space part of the quadric.
    These are global coordinates: ``expmap0`` is the identity. ``expmap``, ``transp`` and ``inner`` are the metric's
    own, tangent vectors being given in these coordinates. ``logmap`` is NaN where no geodesic joins two points, and for
    points half a turn of time or more apart. ``dist`` is that of the quadric within half a turn, and goes along the axis of
    time beyond.

    Example:
        >>> import torch
        >>> from qgcn.manifolds import AntiDeSitter
        >>> space = AntiDeSitter(3)
        >>> x, y = torch.tensor([0.0, 0.5, 0.0]), torch.tensor([7.0, 0.5, 0.0])
        >>> space.light_margin(x, y).item()  # more than a whole turn later
        -7.0

    Args:
        dim: Dimension, of points and coordinates; at least 2.
        beta: The value of :math:`\langle x, x\rangle`, negative.
        learnable: Make beta a parameter.
    """

    kind: ClassVar[str] = "AdS"
    time_dim = 1
    is_spacetime = True

    def __init__(self, dim: int, beta: float = -1.0, learnable: bool = False) -> None:
        super().__init__()
        self.dim = self.ambient_dim = check_dim(dim, least=2)
        self.quadric = PseudoHyperboloid(dim - 1, 2, beta, learnable)
        self.learnable = learnable

    def __str__(self) -> str:
        return f"AdS{self.dim}"

    def extra_repr(self) -> str:
        return self.quadric.extra_repr()

    @property
    def beta(self) -> Tensor:
        """Value of beta, negative, shape ``()``."""
        return self.quadric.beta

    @property
    def family(self) -> Family:
        return "indefinite"

    def describe(self) -> str:
        return f"anti-de Sitter space, time unrolled ({self.dim - 1} space dimensions and time), ordered by light"

    @property
    def curvatures(self) -> tuple[float, ...]:
        return self.quadric.curvatures

    def with_curvatures(self, values: Sequence[float]) -> "AntiDeSitter":
        (value,) = self._check_curvatures(values)
        if not value < 0:
            raise ValueError(f"the curvature of {self} must be negative, got {value:g}")
        return AntiDeSitter(self.dim, 1 / value)

    def as_dict(self) -> dict[str, Any]:
        return super().as_dict() | {"beta": self.beta.item()}

    # --- the order -----------------------------------------------------------------------------------------------

    def as_seen(self, x: Tensor) -> Tensor:
        self._check(x=x)
        return geometry.anti_de_sitter_sky(x, beta=self.beta)

    def seen_margin(self, a: Tensor, b: Tensor) -> Tensor:
        return geometry.sky_margin(a, b, beta=self.beta)

    def _reach(self, x: Tensor) -> Tensor:
        root, place = self._root(x).squeeze(), torch.linalg.vector_norm(x[..., 1:], dim=-1)
        return torch.hypot(x[..., 0], root * torch.atan2(place, root))

    def light_rows(self, x: Tensor) -> Rows:
        return Rows("arc", self.as_seen(x), self._unit_length(x))

    def time_separation(self, x: Tensor, y: Tensor) -> Tensor:
        self._check(x=x, y=y)
        return geometry.anti_de_sitter_time(x, y, beta=self.beta)

    def time_of(self, x: Tensor) -> Tensor:
        return x[..., 0]

    # --- geoopt's protocol, by way of the quadric ----------------------------------------------------------------

    def projx(self, x: Tensor) -> Tensor:
        self._check(x=x)
        return x

    def proju(self, x: Tensor, u: Tensor) -> Tensor:
        self._check(x=x, u=u)
        return u.expand(torch.broadcast_shapes(u.shape, x.shape))

    egrad2rgrad = proju

    def inner(self, x: Tensor, u: Tensor, v: Tensor | None = None, *, keepdim: bool = False) -> Tensor:
        self._check(x=x, u=u)
        each = (self._up(x, w) for w in (u, u if v is None else v))
        return geometry.inner(*each, time_dim=2, keepdim=keepdim)

    def component_inner(self, x: Tensor, u: Tensor, v: Tensor | None = None) -> Tensor:
        """Return the positive products of coordinates, for second moments."""
        return u * (u if v is None else v)

    def expmap(self, x: Tensor, u: Tensor) -> Tensor:
        self._check(x=x, u=u)
        root, start, velocity = self._root(x), geometry.roll_up(x, beta=self.beta), self._up(x, u)
        square = geometry.inner(velocity, velocity, time_dim=2, keepdim=True) / root.square()
        rounds = (safe_sqrt(-square * (square < 0)) / math.pi).round()  # half turns, each of which leads to the antipode
        sense = geometry.time_sense(start, velocity).unsqueeze(-1).to(x)
        end = geometry.expmap(start, velocity, beta=self.beta, time_dim=2)
        flip = 1 - 2 * (rounds % 2)
        near = flip * end[..., :2]
        turned = torch.atan2(
            start[..., :1] * near[..., 1:] - start[..., 1:2] * near[..., :1], (start[..., :2] * near).sum(-1, keepdim=True)
        )
        time = x[..., :1] + root * (turned + math.pi * rounds * sense)
        return torch.cat((time, end[..., 2:]), dim=-1)

    def retr(self, x: Tensor, u: Tensor) -> Tensor:
        """Step in coordinates: the exponential map to first order."""
        self._check(x=x, u=u)
        return x + u

    def logmap(self, x: Tensor, y: Tensor) -> Tensor:
        self._check(x=x, y=y)
        near = (y - x)[..., :1].abs() < math.pi * self._root(x)
        ends = (geometry.roll_up(each, beta=self.beta) for each in torch.broadcast_tensors(x, y))
        return torch.where(near, self._down(x, geometry.logmap(*ends, beta=self.beta, time_dim=2)), torch.nan)

    def transp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        self._check(x=x, y=y, v=v)
        start, end = (geometry.roll_up(each, beta=self.beta) for each in torch.broadcast_tensors(x, y))
        return self._down(y, geometry.transport(start, end, self._up(x, v), beta=self.beta, time_dim=2))

    def dist(self, x: Tensor, y: Tensor, *, keepdim: bool = False) -> Tensor:
        self._check(x=x, y=y)
        x, y = torch.broadcast_tensors(x, y)
        gap = (y - x)[..., 0].abs()
        start, end = (geometry.roll_up(each, beta=self.beta) for each in (x, y))
        within = geometry.dist(start, end, beta=self.beta, time_dim=2)
        sheets = (torch.cat((safe_norm(each[..., :2]), side * each[..., 2:]), -1) for each, side in ((start, 1), (end, -1)))
        beyond = gap + geometry.dist(*sheets, beta=self.beta, time_dim=1)
        length = torch.where(gap < math.pi * self._root(x).squeeze(), within, beyond)
        return length.unsqueeze(-1) if keepdim else length

    def dist2(self, x: Tensor, y: Tensor, *, keepdim: bool = False) -> Tensor:
        return self.dist(x, y, keepdim=keepdim).square()

    def pairwise_dist(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        return self.dist(x.unsqueeze(-2), (x if y is None else y).unsqueeze(-3))

    def expmap0(self, u: Tensor) -> Tensor:
        self._check(u=u)
        return u

    def logmap0(self, x: Tensor) -> Tensor:
        self._check(x=x)
        return x

    def transp0(self, y: Tensor, u: Tensor) -> Tensor:
        return self.transp(torch.zeros_like(y), y, u)

    def origin(
        self, *size: Any, dtype: torch.dtype | None = None, device: torch.device | None = None, seed: int | None = 42
    ) -> "geoopt.ManifoldTensor":
        """Return the point with all coordinates 0, repeated to the given shape; ``seed`` is not used."""
        return geoopt.ManifoldTensor(torch.zeros(self._point_shape(size), dtype=dtype, device=device), manifold=self)

    def _unit_length(self, like: Tensor) -> Tensor:
        return self._root(like).squeeze()

    def _root(self, like: Tensor) -> Tensor:
        return (-self.beta).sqrt().to(like)

    def _up(self, x: Tensor, u: Tensor) -> Tensor:
        """Return tangent vectors of the quadric from their coordinates."""
        angle, space, root = x[..., :1] / self._root(x), x[..., 1:], self._root(x)
        length = (root.square() + (space * space).sum(-1, keepdim=True)).sqrt()
        turn, out = length * u[..., :1] / root, (space * u[..., 1:]).sum(-1, keepdim=True) / length
        time = (out * angle.cos() - turn * angle.sin(), out * angle.sin() + turn * angle.cos())
        return torch.cat((*time, u[..., 1:].expand(*time[0].shape[:-1], -1)), dim=-1)

    def _down(self, x: Tensor, v: Tensor) -> Tensor:
        """Return the coordinates of tangent vectors of the quadric."""
        angle, space, root = x[..., :1] / self._root(x), x[..., 1:], self._root(x)
        length = (root.square() + (space * space).sum(-1, keepdim=True)).sqrt()
        turn = angle.cos() * v[..., 1:2] - angle.sin() * v[..., :1]
        return torch.cat((root * turn / length, v[..., 2:]), dim=-1)

    def _check_point_on_manifold(self, x: Tensor, *, atol: float = 1e-5, rtol: float = 1e-5) -> tuple[bool, str | None]:
        return True, None

    def _check_vector_on_tangent(
        self, x: Tensor, u: Tensor, *, atol: float = 1e-5, rtol: float = 1e-5
    ) -> tuple[bool, str | None]:
        return True, None
