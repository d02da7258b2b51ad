"""What every space of the project offers beyond geoopt's own protocol."""

from abc import abstractmethod
from numbers import Integral
from typing import Any

import geoopt
import torch
from geoopt.manifolds.base import ScalingInfo
from torch import Tensor

from qgcn import geometry
from qgcn.kernels import Factor
from qgcn.numerics import FLOAT_TYPES, safe_sqrt

__all__ = ["Space", "check_dim"]


def check_dim(dim: int, name: str = "dim", least: int = 1) -> int:
    """Return ``dim`` as an ``int``; raise unless it is one, NumPy's included, and not below ``least``."""
    if isinstance(dim, bool) or not isinstance(dim, Integral):
        raise TypeError(f"{name} must be an int, got {type(dim).__name__}")
    if dim < least:
        raise ValueError(f"{name} must be at least {least}, got {dim}")
    return int(dim)


class Space(geoopt.Manifold):  # type: ignore[misc]
    """A ``geoopt.Manifold`` of vectors that knows its size, its name and the maps at its origin.

    Models are written against this protocol and nothing else, so one network runs in every space.
    """

    ndim = 1
    reversible = False
    __scaling__ = geoopt.Manifold.__scaling__.copy()  # how geoopt.Scaled is to scale what it does not know
    __scaling__["expmap0"] = ScalingInfo(u=-1)
    __scaling__["logmap0"] = ScalingInfo(1)
    __scaling__["pairwise_dist"] = ScalingInfo(1)
    __scaling__["component_inner"] = ScalingInfo()

    dim: int
    """Intrinsic dimension."""
    ambient_dim: int
    """Number of coordinates of a point, ``d``."""

    @property
    def name(self) -> str:
        """The space's name as :func:`~qgcn.parse_space` reads it, for instance ``Q7,3``."""
        return str(self)

    @property
    def dtype(self) -> None:
        """``None``: a space takes the type of its points, whatever type its own curvature is stored in."""
        return None

    @property
    def kind(self) -> str:
        """TEMPORARY."""
        return "product" if "x" in str(self) else str(self)[0]

    @property
    def parts(self) -> "tuple[Space, ...]":
        """TEMPORARY."""
        return tuple(getattr(self, "manifolds", ())) or (self,)

    @property
    def traceable(self) -> bool:
        """TEMPORARY."""
        return all(part.kind != "K" for part in self.parts)

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
