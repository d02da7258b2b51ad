"""The protocol of spaces: geoopt's, the maps at the origin, and a description of the space itself."""

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal

import geoopt
import torch
from geoopt.manifolds.base import ScalingInfo
from torch import Tensor

from qgcn import geometry
from qgcn.kernels import Factor
from qgcn.manifolds.ordered import Ordered
from qgcn.manifolds.typed import Manifold
from qgcn.manifolds.wrapped import WrappedNormal, ball_radii, unit_vectors
from qgcn.numerics import FLOAT_TYPES, safe_sqrt

__all__ = ["Family", "Space", "check_dim"]

Family = Literal["flat", "hyperbolic", "spherical", "indefinite", "stereographic", "product", "other"]
"""Geometry of a space, whatever it is called: ``Q7,1`` is hyperbolic, ``Q0,8`` spherical."""


def check_dim(dim: int, name: str = "dim", least: int = 1) -> int:
    """Return ``dim`` as an ``int``; raise unless it is one, NumPy's included, and not below ``least``."""
    if isinstance(dim, bool) or not isinstance(dim, Integral):
        raise TypeError(f"{name} must be an int, got {type(dim).__name__}")
    if dim < least:
        raise ValueError(f"{name} must be at least {least}, got {dim}")
    return int(dim)


class Space(Ordered, Manifold):
    """A ``geoopt.Manifold`` of vectors that knows its size, its name, the maps at its origin and what kind of space it is.

    Models, measurements and pictures rely on this protocol alone; none of them checks the class of a space.
    A space of your own subclasses it and is named by :func:`~qgcn.manifolds.register_space`.

    Example:
        >>> import qgcn
        >>> for name in ("E4", "H4", "S4", "Q3,2"):
        ...     space = qgcn.parse_space(name)
        ...     x = space.random(10, space.ambient_dim)
        ...     print(space, space.dim, space.family, tuple(space.pairwise_dist(x).shape))
        E4 4 flat (10, 10)
        H4 4 hyperbolic (10, 10)
        S4 4 spherical (10, 10)
        Q3,2 4 indefinite (10, 10)
    """

    ndim = 1
    reversible = False
    __scaling__ = geoopt.Manifold.__scaling__.copy()  # how geoopt.Scaled is to scale what it does not know
    __scaling__ |= {name: ScalingInfo(1) for name in ("dist0", "dist2plane", "pairwise_dist", "from_origin")}
    __scaling__ |= {name: ScalingInfo(1) for name in ("logmap0", "logmap0back", "light_margin", "time_separation")}
    __scaling__ |= {"expmap0": ScalingInfo(u=-1), "translate": ScalingInfo(b=-1), "fold0": ScalingInfo(1, u=-1)}
    __scaling__ |= {"translate0": ScalingInfo(1, u=-1, b=-1), "interval": ScalingInfo(2)}
    __scaling__ |= {"geodesic_unit": ScalingInfo(t=-1), "random_ball": ScalingInfo(radius=-1)}
    __scaling__["wrapped_normal"] = ScalingInfo.NotCompatible  # its density would be that of another volume

    kind: ClassVar[str] = ""
    """Letter that begins the name: ``E``, ``H``, ``S``, ``K``, ``Q``; ``product``; or that of a space of your own."""
    traceable: bool = True
    """Whether ``torch.vmap`` and CUDA graphs take the maps: no branch on values, no scripted function."""
    dim: int
    """Intrinsic dimension."""
    ambient_dim: int
    """Number of coordinates of a point, ``d``."""
    time_dim: int = 0
    """Number of leading coordinates whose squares count negatively in the ambient space; 0 where there is no such form."""

    @property
    def name(self) -> str:
        """The space's name as :func:`~qgcn.parse_space` reads it, for instance ``Q7,3``."""
        return str(self)

    # --- what the space is ----------------------------------------------------------------------------------------

    @property
    def family(self) -> Family:
        """Geometry of the space."""
        return "other"

    @property
    def parts(self) -> "tuple[Space, ...]":
        """The factors of a product; the space itself if it is not a product."""
        return (self,)

    @property
    def curvatures(self) -> tuple[float, ...]:
        """Sectional curvature of each of :attr:`parts`, in their order."""
        return (0.0,)

    def with_curvatures(self, values: Sequence[float]) -> "Space":
        """Return the same space with fixed curvatures: ``space.with_curvatures(space.curvatures)`` has the same distances.

        Args:
            values: One for each of :attr:`parts`.

        Raises:
            ValueError: Their number is not that of the parts, or the space cannot have such a curvature.
        """
        (value,) = self._check_curvatures(values)
        if value != self.curvatures[0]:
            raise ValueError(f"{self} has curvature {self.curvatures[0]:g}, got {value:g}")
        return self

    start_beta: float = -1.0
    """Value of beta at which a network starts, if none is asked for; see :func:`~qgcn.parse_space`."""

    def describe(self) -> str:
        """Describe the space in words."""
        return f"the space {self} ({self.dim} dimensions)"

    def as_dict(self) -> dict[str, Any]:
        """Return kind, size and curvature as plain data, as the report's page reads them; of a product, ask the parts."""
        return {"name": str(self), "kind": self.kind, "size": self.ambient_dim, "time": self.time_dim}

    def from_origin(self, x: Tensor) -> Tensor:
        """Return how far points, shape ``(..., d)``, are from the origin: the length of their tangent coordinates there."""
        length: Tensor = torch.linalg.vector_norm(self.logmap0(x), dim=-1)
        return length

    def confined(self) -> Tensor:
        """Return which coordinates learned points start without, bool, shape ``(d,)``.

        In an indefinite space those outside its larger Riemannian part, elsewhere none.
        """
        return torch.zeros(self.ambient_dim, dtype=torch.bool)

    def straight(self) -> Tensor:
        """Return which tangent coordinates of learned points go by ``expmap`` instead of ``expmap0``, bool, shape ``(d,)``.

        The space part where there is one time dimension: it reaches far points in fewer steps that way.
        """
        return torch.zeros(self.ambient_dim, dtype=torch.bool)

    def _check_curvatures(self, values: Sequence[float]) -> tuple[float, ...]:
        if len(values) != len(self.parts):
            raise ValueError(f"{self} has {len(self.parts)} curvatures, got {len(values)}")
        return tuple(float(value) for value in values)

    # --- geoopt's protocol, and the maps at the origin --------------------------------------------------------------

    @property
    def dtype(self) -> None:
        """``None``: a space takes the type of its points, whatever type its own curvature is stored in."""
        return None

    @abstractmethod
    def expmap0(self, u: Tensor) -> Tensor:
        """Map tangent vectors at the origin, shape ``(..., d)``, to points."""

    @abstractmethod
    def logmap0(self, x: Tensor) -> Tensor:
        """Map points, shape ``(..., d)``, to tangent vectors at the origin."""

    @abstractmethod
    def transp0(self, y: Tensor, u: Tensor) -> Tensor:
        """Transport tangent vectors ``u`` from the origin to ``y``, shapes ``(..., d)``."""

    def proju0(self, u: Tensor) -> Tensor:
        """Project vectors, shape ``(..., d)``, to the tangent space of the origin."""
        return self.proju(self._origin(u).expand_as(u), u)

    def transp0back(self, x: Tensor, u: Tensor) -> Tensor:
        """Transport tangent vectors ``u`` from ``x`` back to the origin; inverse of :meth:`transp0`."""
        return self.transp(x, self._origin(x).expand_as(x), u)

    def logmap0back(self, x: Tensor) -> Tensor:
        """Return the tangent vectors at ``x`` that lead to the origin; NaN where no geodesic does."""
        return self.logmap(x, self._origin(x).expand_as(x))

    def dist0(self, x: Tensor, *, keepdim: bool = False) -> Tensor:
        """Return the distance from the origin, as :meth:`dist` measures it."""
        return self.dist(self._origin(x).expand_as(x), x, keepdim=keepdim)

    def _origin(self, like: Tensor) -> Tensor:
        """Return the origin, shape ``(d,)``, differentiable by a learnable curvature."""
        return self.origin(self.ambient_dim, dtype=like.dtype, device=like.device).as_subclass(Tensor)

    # --- geodesics and means ----------------------------------------------------------------------------------------

    def geodesic(self, t: Tensor | float, x: Tensor, y: Tensor) -> Tensor:
        r"""Return the point :math:`\exp_x(t\,\log_x y)`: ``x`` at 0, ``y`` at 1. NaN where no geodesic joins the two.

        Args:
            t: Times; a number or a shape that broadcasts against ``(..., 1)``.
            x: Points, shape ``(..., d)``.
            y: Points, shape ``(..., d)``.
        """
        return self.geodesic_unit(t, x, self.logmap(x, y))

    def geodesic_unit(self, t: Tensor | float, x: Tensor, u: Tensor) -> Tensor:
        """Follow the geodesic that leaves ``x`` with velocity ``u`` for the time ``t``."""
        x, u = torch.broadcast_tensors(x, t * u)
        return self.expmap(x, u)

    def midpoint(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the point halfway between ``x`` and ``y``; NaN where no geodesic joins the two."""
        return self.geodesic(0.5, x, y)

    def centroid(self, x: Tensor, weights: Tensor | None = None) -> Tensor:
        """Return the weighted mean of points, shape ``(..., N, d)``, as ``(..., d)``, by the shortest way that the space has.

        The mean of the coordinates in flat space, the projection of their ambient mean for ``H``, ``S`` and ``Q`` (see
        :func:`qgcn.geometry.centroid`), that of the isometric hyperboloid or sphere for ``K``. On ``Q`` it may not exist: NaN.

        Args:
            x: Points, shape ``(..., N, d)``.
            weights: Not negative, shape ``(..., N)``; equal ones if not given.
        """
        return self.frechet_mean(x, weights)

    def frechet_mean(self, x: Tensor, weights: Tensor | None = None, *, iterations: int = 100) -> Tensor:
        r"""Return where :math:`\sum_i w_i \log_\mu x_i = 0`, shape ``(..., d)``, by fixed-point iteration from the centroid.

        Where the metric is positive this minimises the weighted squared distances. In an indefinite metric it is a stationary
        point of the weighted *signed* squares, in general a saddle: there is no minimum. It exists, and is found, for points
        close to each other; where a point is not connected to the mean, the result is NaN.

        Args:
            x: Points, shape ``(..., N, d)``.
            weights: Not negative, shape ``(..., N)``; equal ones if not given.
            iterations: Maximum number of iterations; they stop when the mean no longer moves.
        """
        share = torch.ones_like(x[..., 0]) if weights is None else weights
        share = (share / share.sum(-1, keepdim=True)).unsqueeze(-1)
        mean = self._start_of_mean(x, weights)
        for _ in range(iterations):
            velocity = self.logmap(mean.unsqueeze(-2).expand_as(x), x)
            z = -self.curvatures[0] * self.inner(mean.unsqueeze(-2), velocity, keepdim=True)
            stiffness = (share * torch.where(z > 0, 1 + z, 1).sqrt()).sum(-2)  # of the loss, from above
            step = (share * velocity).sum(-2) / stiffness
            mean = self.expmap(mean, step)
            if not bool((step.abs() > torch.finfo(x.dtype).eps * mean.abs().amax(-1, keepdim=True)).any()):
                break
        return mean

    def _start_of_mean(self, x: Tensor, weights: Tensor | None) -> Tensor:
        """Return where the iteration for the mean begins: the centroid where there is one in closed form."""
        return x[..., 0, :]

    # --- distributions ----------------------------------------------------------------------------------------------

    def wrapped_normal(self, mean: Tensor, scale: Tensor | float = 1.0) -> WrappedNormal:
        """Return the normal distribution around ``mean``, shape ``(..., d)``; see :class:`WrappedNormal`."""
        return WrappedNormal(self, mean, scale)

    def random_ball(
        self, *size: Any, radius: float, dtype: torch.dtype | None = None, generator: torch.Generator | None = None
    ) -> Tensor:
        """Draw points uniformly, by volume, from the ball of a radius around the origin.

        In an indefinite metric there is none: the points within a distance of the origin have infinite volume.

        Args:
            size: Shape of the result, its last number the space's coordinates.
            radius: Positive; on a sphere at most half its circumference.
            dtype: Type of the result; PyTorch's default if none is given.
            generator: Source of randomness.

        Raises:
            ValueError: The space has no such ball.
        """
        shape, dtype = self._point_shape(size), dtype or torch.get_default_dtype()
        if self.family in ("indefinite", "product", "other"):
            raise ValueError(f"{self} has no ball to draw from: expected a space of constant curvature with a positive metric")
        closed = self.family == "spherical" or (self.family == "stereographic" and self.curvatures[0] > 0)
        curvature = abs(self.curvatures[0]) * (1 if closed else -1)
        if not 0 < radius < float("inf") or (curvature > 0 and radius > torch.pi / curvature**0.5):
            raise ValueError(f"radius must be positive and within {self}, got {radius}")
        count = shape[:-1].numel()
        lengths = ball_radii(count, radius, curvature, self.dim, dtype=dtype, generator=generator)
        vectors = self._from_frame(lengths * unit_vectors((count, self.dim), dtype=dtype, generator=generator))
        with torch.no_grad():
            points: Tensor = self.expmap(self._origin(vectors).expand_as(vectors), vectors)
        return points.reshape(shape)

    def _from_frame(self, coordinates: Tensor) -> Tensor:
        """Return tangent vectors at the origin from orthonormal coordinates, shape ``(..., n)``."""
        return coordinates

    def _carry(self, mean: Tensor, x: Tensor, *, back: bool) -> Tensor:
        """Apply the isometry that carries the origin to ``mean``, or its inverse."""
        raise NotImplementedError(f"{self} has no isometry that carries its origin to another point")

    def _unwrapped(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return all tangent vectors whose ``expmap0`` is ``x``, the logarithms of its stretch, and whether there are any.

        Shapes ``(K, ..., n)`` in orthonormal coordinates, ``(K, ...)`` and ``(...)``.
        """
        raise NotImplementedError(f"{self} does not know how its exponential map changes volumes")

    def dist2plane(self, x: Tensor, p: Tensor, a: Tensor, *, signed: bool = False, scaled: bool = False) -> Tensor:
        """Return the distance from ``x`` to the hyperplane through ``p`` with normal ``a``, a tangent vector at ``p``.

        Args:
            x: Points, shape ``(..., d)``.
            p: Points of the hyperplanes, shape ``(..., d)``.
            a: Normals, tangent at ``p``, shape ``(..., d)``.
            signed: Positive on the side that ``a`` points to.
            scaled: Multiply by the length of ``a``.

        Returns:
            Shape ``(...)``.
        """
        raise NotImplementedError(f"{self} does not know its hyperplanes")

    def _plane(self, length: Tensor, p: Tensor, a: Tensor, *, signed: bool, scaled: bool) -> Tensor:
        length = length if signed else length.abs()
        return length * self.norm(p, a) if scaled else length

    def translate(self, x: Tensor, b: Tensor) -> Tensor:
        """Translate points ``x`` by a bias ``b``, a tangent vector at the origin, shapes ``(..., d)``."""
        return self.expmap(x, self.transp0(x, b))

    def fold0(self, u: Tensor) -> Tensor:
        """Return ``logmap0(expmap0(u))``, for which most spaces know a shorter way; the identity near the origin."""
        return self.logmap0(self.expmap0(u))

    def translate0(self, u: Tensor, b: Tensor) -> Tensor:
        """Return ``logmap0(translate(expmap0(u), b))``: a translation in tangent coordinates at the origin."""
        return self.logmap0(self.translate(self.expmap0(u), b))

    @abstractmethod
    def pairwise_dist(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        """Return distances from every ``x``, shape ``(..., N, d)``, to every ``y``, as ``(..., N, M)``."""

    @property
    def factors(self) -> tuple[Factor, ...] | None:
        """The factors whose distances fused kernels compute; ``None`` if there is one they do not know."""
        return None

    @abstractmethod
    def __str__(self) -> str:
        """Write the space's name."""

    def __repr__(self) -> str:
        details = self.extra_repr()
        return f"{self}({details})" if details else str(self)

    def extra_repr(self) -> str:
        return ""

    def norm(self, x: Tensor, u: Tensor, *, keepdim: bool = False) -> Tensor:
        r"""Return :math:`\sqrt{|\langle u, u\rangle|}`: the length of time-like vectors is positive too."""
        return safe_sqrt(self.inner(x, u, keepdim=keepdim).abs())

    def _check(self, **tensors: Tensor) -> None:
        """Raise unless the tensors fit the space and each other; the names given are the names in the message."""
        geometry.check(1, **tensors)
        for name, tensor in tensors.items():
            if tensor.shape[-1] != self.ambient_dim:
                raise ValueError(f"{name} must have {self.ambient_dim} coordinates in {self}, got shape {tuple(tensor.shape)}")

    def _check_shape(self, shape: torch.Size, name: str) -> tuple[bool, str | None]:
        fits = len(shape) >= 1 and shape[-1] == self.ambient_dim
        return fits, None if fits else f"{name} must have {self.ambient_dim} coordinates in {self}, got shape {tuple(shape)}"

    def _point_shape(self, size: tuple[Any, ...]) -> torch.Size:
        shape = torch.Size(geoopt.utils.size2shape(*size))
        self._assert_check_shape(shape, "size")
        return shape

    def random(
        self,
        *size: Any,
        std: float = 1.0,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        generator: torch.Generator | None = None,
    ) -> "geoopt.ManifoldTensor":
        """Draw points from a normal distribution in the tangent space of the origin, wrapped around the manifold.

        Args:
            size: Shape of the result, its last number the space's coordinates.
            std: Standard deviation of the tangent coordinates, in units of the radius of curvature.
            dtype: Type of the result; PyTorch's default if none is given.
            device: Device of the result.
            generator: Source of randomness.
        """
        if not std > 0:
            raise ValueError(f"std must be positive, got {std}")
        if (dtype or torch.get_default_dtype()) not in FLOAT_TYPES:
            raise TypeError(f"dtype must be float32 or float64, got {dtype}")
        u = torch.randn(self._point_shape(size), dtype=dtype, device=device, generator=generator)
        with torch.no_grad():
            return geoopt.ManifoldTensor(self.expmap0(std * self._unit_length(u) * u), manifold=self)

    def _unit_length(self, like: Tensor) -> Tensor | float:
        """Return the radius of curvature, in which :meth:`random` measures."""
        return 1.0
