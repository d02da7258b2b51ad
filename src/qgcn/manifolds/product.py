"""Products of spaces."""

from typing import Any

import geoopt
import torch
from torch import Tensor

from qgcn.manifolds.base import Space

__all__ = ["Product"]


class Product(Space, geoopt.ProductManifold):  # type: ignore[misc]
    r"""The product of spaces; coordinates of the factors stand one after the other.

    .. math:: d(x, y) = \sqrt{\textstyle\sum_i d_i(x_i, y_i)^2}

    Args:
        spaces: The factors, at least two.
    """

    def __init__(self, *spaces: Space) -> None:
        if len(spaces) < 2:
            raise ValueError(f"a product needs at least two spaces, got {len(spaces)}")
        super().__init__(*((space, space.ambient_dim) for space in spaces))
        self.dim = sum(space.dim for space in spaces)
        self.ambient_dim = sum(space.ambient_dim for space in spaces)

    def __str__(self) -> str:
        return "x".join(str(space) for space in self.manifolds)

    @property
    def name(self) -> str:
        return str(self)

    @name.setter
    def name(self, value: str) -> None:
        """Ignore the name geoopt composes: the project's names are read back by ``parse_space``."""

    def extra_repr(self) -> str:
        return ", ".join(repr(space) for space in self.manifolds)

    def _check_shape(self, shape: torch.Size, name: str) -> tuple[bool, str | None]:
        return Space._check_shape(self, shape, name)

    def dist(self, x: Tensor, y: Tensor, *, keepdim: bool = False) -> Tensor:
        parts = zip(self.manifolds, self._split(x), self._split(y), strict=True)
        factors = torch.stack([space.dist(a, b) for space, a, b in parts], dim=-1)
        combined: Tensor = torch.linalg.vector_norm(factors, dim=-1, keepdim=keepdim)
        return combined

    def pairwise_dist(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        y = x if y is None else y
        parts = zip(self.manifolds, self._split(x), self._split(y), strict=True)
        factors = torch.stack([space.pairwise_dist(a, b) for space, a, b in parts])
        combined: Tensor = torch.linalg.vector_norm(factors, dim=0)
        return combined

    def expmap0(self, u: Tensor) -> Tensor:
        return torch.cat([space.expmap0(a) for space, a in zip(self.manifolds, self._split(u), strict=True)], dim=-1)

    def logmap0(self, x: Tensor) -> Tensor:
        return torch.cat([space.logmap0(a) for space, a in zip(self.manifolds, self._split(x), strict=True)], dim=-1)

    def transp0(self, y: Tensor, u: Tensor) -> Tensor:
        parts = zip(self.manifolds, self._split(y), self._split(u), strict=True)
        return torch.cat([space.transp0(a, b) for space, a, b in parts], dim=-1)

    def random(self, *size: Any, **options: Any) -> "geoopt.ManifoldTensor":
        """Draw each factor's coordinates as the factor does."""
        batch = self._point_shape(size)[:-1]
        parts = [space.random(*batch, space.ambient_dim, **options) for space in self.manifolds]
        return geoopt.ManifoldTensor(torch.cat(parts, dim=-1), manifold=self)

    def _split(self, x: Tensor) -> tuple[Tensor, ...]:
        self._assert_check_shape(x.shape, "x")
        return torch.split(x, [space.ambient_dim for space in self.manifolds], dim=-1)
