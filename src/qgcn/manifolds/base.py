"""What every space of the project offers beyond geoopt's own protocol."""

from abc import abstractmethod
from typing import Any

import geoopt
import torch
from torch import Tensor

__all__ = ["Space"]


class Space(geoopt.Manifold):  # type: ignore[misc]
    """A ``geoopt.Manifold`` of vectors that knows its size, its name and the maps at its origin.

    Models are written against this protocol and nothing else, so one network runs in every space.
    """

    ndim = 1
    reversible = False

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

    @abstractmethod
    def expmap0(self, u: Tensor) -> Tensor:
        """Map tangent vectors at the origin, shape ``(..., d)``, to points."""

    @abstractmethod
    def logmap0(self, x: Tensor) -> Tensor:
        """Map points, shape ``(..., d)``, to tangent vectors at the origin."""

    @abstractmethod
    def transp0(self, y: Tensor, u: Tensor) -> Tensor:
        """Transport tangent vectors ``u`` from the origin to ``y``, shapes ``(..., d)``."""

    @abstractmethod
    def pairwise_dist(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        """Return distances from every ``x``, shape ``(..., N, d)``, to every ``y``, as ``(..., N, M)``."""

    @abstractmethod
    def __str__(self) -> str:
        """Write the space's name."""

    def __repr__(self) -> str:
        details = self.extra_repr()
        return f"{self}({details})" if details else str(self)

    def extra_repr(self) -> str:
        return ""

    def _check_shape(self, shape: torch.Size, name: str) -> tuple[bool, str | None]:
        if len(shape) >= 1 and shape[-1] == self.ambient_dim:
            return True, None
        return False, f"{name} must have {self.ambient_dim} coordinates in {self}, got shape {tuple(shape)}"

    def _point_shape(self, size: tuple[Any, ...]) -> torch.Size:
        shape = torch.Size(geoopt.utils.size2shape(*size))
        self._assert_check_shape(shape, "size")
        return shape
