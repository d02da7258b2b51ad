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


class Space(geoopt.Manifold):  # type: ignore[misc]
    """A ``geoopt.Manifold`` of vectors that knows its size, its name, the maps at its origin and what kind of space it is.

    Models, measurements and pictures rely on this protocol alone; none of them checks the class of a space.
    A space of your own subclasses it and is named by :func:`~qgcn.manifolds.register_space`.
    """

    ndim = 1
    reversible = False
    __scaling__ = geoopt.Manifold.__scaling__.copy()  # how geoopt.Scaled is to scale what it does not know
    __scaling__["expmap0"] = ScalingInfo(u=-1)
    __scaling__["logmap0"] = ScalingInfo(1)
    __scaling__["pairwise_dist"] = ScalingInfo(1)
    __scaling__["component_inner"] = ScalingInfo()

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

    def translate(self, x: Tensor, b: Tensor) -> Tensor:
        """Translate points ``x`` by a bias ``b``, a tangent vector at the origin, shapes ``(..., d)``."""
        moved: Tensor = self.expmap(x, self.transp0(x, b))
        return moved

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
        if len(shape) >= 1 and shape[-1] == self.ambient_dim:
            return True, None
        return False, f"{name} must have {self.ambient_dim} coordinates in {self}, got shape {tuple(shape)}"

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
