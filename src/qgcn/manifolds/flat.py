"""The Euclidean and the kappa-stereographic space: geoopt's, with the project's protocol."""

from typing import Any

import geoopt
import torch
from geoopt.manifolds.stereographic import math as stereographic
from torch import Tensor

from qgcn import geometry
from qgcn.manifolds.base import Space
from qgcn.numerics import safe_norm

__all__ = ["Euclidean", "Stereographic"]


class Euclidean(Space, geoopt.Euclidean):  # type: ignore[misc]
    """Flat space of ``dim`` coordinates.

    Args:
        dim: Number of coordinates.
    """

    def __init__(self, dim: int) -> None:
        if dim < 1:
            raise ValueError(f"dim must be at least 1, got {dim}")
        super().__init__(ndim=1)
        self.dim = self.ambient_dim = dim

    def __str__(self) -> str:
        return f"E{self.dim}"

    def component_inner(self, x: Tensor, u: Tensor, v: Tensor | None = None) -> Tensor:
        product: Tensor = self.inner(x, u, v, keepdim=True)
        return product

    def expmap0(self, u: Tensor) -> Tensor:
        geometry.check(1, u=u)
        return u

    def logmap0(self, x: Tensor) -> Tensor:
        geometry.check(1, x=x)
        return x

    def transp0(self, y: Tensor, u: Tensor) -> Tensor:
        geometry.check(1, y=y, u=u)
        return u.expand(torch.broadcast_shapes(u.shape, y.shape))

    def pairwise_dist(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        return _flat_dist(x, y)


class Stereographic(Space, geoopt.Stereographic):  # type: ignore[misc]
    """The kappa-stereographic model: hyperbolic for ``kappa < 0``, flat at 0, spherical for ``kappa > 0``.

    Args:
        dim: Number of coordinates.
        kappa: Sectional curvature.
        learnable: Make the curvature a parameter; its sign may change in training.
    """

    def __init__(self, dim: int, kappa: float = 0.0, learnable: bool = False) -> None:
        if dim < 1:
            raise ValueError(f"dim must be at least 1, got {dim}")
        super().__init__(k=float(kappa), learnable=learnable)
        self.dim = self.ambient_dim = dim
        self.learnable = learnable

    def __str__(self) -> str:
        return f"K{self.dim}"

    def extra_repr(self) -> str:
        return f"kappa={self.k.item():.4g}, learnable={self.learnable}"

    def expmap0(self, u: Tensor, **options: Any) -> Tensor:
        mapped: Tensor = geoopt.Stereographic.expmap0(self, u, **options)
        return mapped

    def logmap0(self, x: Tensor, **options: Any) -> Tensor:
        mapped: Tensor = geoopt.Stereographic.logmap0(self, x, **options)
        return mapped

    def transp0(self, y: Tensor, u: Tensor, **options: Any) -> Tensor:
        moved: Tensor = geoopt.Stereographic.transp0(self, y, u, **options)
        return moved

    def pairwise_dist(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        r"""Return all distances without a ``(N, M, d)`` tensor.

        .. math:: |(-x)\oplus y|^2 = \frac{|x-y|^2}{(1 + \kappa|x|^2)(1 + \kappa|y|^2) - \kappa|x-y|^2}
        """
        y = x if y is None else y
        gap = _flat_dist(x, y)
        stretch_x = 1 + self.k * safe_norm(x).square()
        stretch_y = 1 + self.k * safe_norm(y).square()
        room = stretch_x * stretch_y.transpose(-1, -2) - self.k * gap.square()
        half: Tensor = stereographic.artan_k(gap / room.sqrt(), self.k)
        return 2 * half


def _flat_dist(x: Tensor, y: Tensor | None) -> Tensor:
    y = x if y is None else y
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
