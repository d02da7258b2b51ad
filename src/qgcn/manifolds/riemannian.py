"""The quadrics whose metric is positive: hyperbolic space and the sphere."""

from typing import ClassVar, Self

import torch
from torch import Tensor

from qgcn import geometry
from qgcn.kernels.cones import Rows
from qgcn.manifolds.base import Family, check_dim
from qgcn.manifolds.quadric import Quadric

__all__ = ["Hyperboloid", "Sphere"]


class _Riemannian(Quadric):
    """A quadric with a positive metric, named by its intrinsic dimension."""

    _closed: ClassVar[bool] = False
    """Whether all coordinates count as time: a sphere."""

    def __init__(self, dim: int, beta: float = -1.0, learnable: bool = False) -> None:
        dim = check_dim(dim)
        super().__init__(dim + 1, dim + 1 if self._closed else 1, beta, learnable)

    def __str__(self) -> str:
        return f"{self.kind}{self.dim}"

    def from_origin(self, x: Tensor) -> Tensor:
        return self.dist(x, geometry.pole(self.ambient_dim, beta=self.beta, like=x))

    def _with_beta(self, beta: float) -> Self:
        return type(self)(self.dim, beta)


class Hyperboloid(_Riemannian):
    r"""Hyperbolic space :math:`\mathbb H^n` of curvature ``1 / beta``: the upper sheet of :math:`\mathcal Q^{n,1}_\beta`.

    The model of ``geoopt.Lorentz`` (``k = -beta``), on this project's more exact maps. Unlike the pseudo-hyperboloid's,
    ``expmap0`` and ``logmap0`` are the ordinary maps at the pole.

    Example:
        >>> import torch
        >>> from qgcn.manifolds import Hyperboloid
        >>> space = Hyperboloid(2)
        >>> space.expmap0(torch.zeros(3))
        tensor([1., 0., 0.])
        >>> x = space.expmap0(torch.tensor([0.0, 3.0, 4.0]))
        >>> round(space.dist0(x).item(), 4)
        5.0

    Args:
        dim: Intrinsic dimension; points have ``dim + 1`` coordinates.
        beta: The value of :math:`\langle x, x\rangle`, negative.
        learnable: Make beta a parameter.
    """

    kind: ClassVar[str] = "H"

    @property
    def family(self) -> Family:
        return "hyperbolic"

    def describe(self) -> str:
        return f"hyperbolic space ({self.dim} dimensions)"

    def projx(self, x: Tensor) -> Tensor:
        self._check(x=x)
        return geometry.expmap0(x, **self._form)  # with one time dimension: keep space, derive a positive time

    def expmap(self, x: Tensor, u: Tensor) -> Tensor:
        self._check(x=x)
        return self.projx(geometry.expmap(x, u, **self._form))

    def expmap0(self, u: Tensor) -> Tensor:
        self._check(u=u)
        tangent = torch.cat((torch.zeros_like(u[..., :1]), u[..., 1:]), dim=-1)
        return self.expmap(geometry.pole(self.ambient_dim, beta=self.beta, like=u), tangent)

    def fold0(self, u: Tensor) -> Tensor:
        self._check(u=u)
        return torch.cat((torch.zeros_like(u[..., :1]), u[..., 1:]), dim=-1)

    def logmap0(self, x: Tensor) -> Tensor:
        self._check(x=x)
        return geometry.logmap(geometry.pole(self.ambient_dim, beta=self.beta, like=x), x, **self._form)

    def translate0(self, u: Tensor, b: Tensor) -> Tensor:
        self._check(u=u)
        return geometry.hyperbolic_translate0(u, b, beta=self.beta)

    def light_rows(self, x: Tensor) -> Rows:
        root = self._unit_length(x)
        return Rows("reach", torch.cat((2 * root.expand_as(x[..., :1]), x[..., 1:]), dim=-1) / (x[..., :1] + root), root)

    def _unwrapped(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        u = self.logmap0(x)[..., 1:].unsqueeze(0)
        z = (u * u).sum(-1) / -self.beta.to(u)
        return u, geometry.log_volume(z, self.dim), torch.ones_like(x[..., 0], dtype=torch.bool)

    def _check_point_on_manifold(self, x: Tensor, *, atol: float = 1e-5, rtol: float = 1e-5) -> tuple[bool, str | None]:
        if not bool((x[..., 0] > 0).all()):
            return False, "x is not on the upper sheet: its first coordinate is not positive"
        return super()._check_point_on_manifold(x, atol=atol, rtol=rtol)


class Sphere(_Riemannian):
    r"""The sphere :math:`\mathbb S^n` of radius :math:`\sqrt{|\beta|}` and curvature ``-1 / beta``, with its positive metric.

    As a set it is :math:`\mathcal Q^{0,n+1}_\beta`. ``geoopt.Sphere`` has radius 1 only and no learnable curvature.

    Example:
        >>> import torch
        >>> from qgcn.manifolds import Sphere
        >>> earth = Sphere(2, beta=-(6371.0**2))
        >>> pole, equator = torch.tensor([0.0, 0.0, 6371.0]), torch.tensor([6371.0, 0.0, 0.0])
        >>> round(earth.dist(pole, equator).item())
        10008

    Args:
        dim: Intrinsic dimension; points have ``dim + 1`` coordinates.
        beta: Minus the squared radius, negative.
        learnable: Make beta a parameter.
    """

    kind: ClassVar[str] = "S"
    _sign: ClassVar[int] = -1
    _closed: ClassVar[bool] = True

    @property
    def family(self) -> Family:
        return "spherical"

    def describe(self) -> str:
        return f"a sphere ({self.dim} dimensions)"

    def light_rows(self, x: Tensor) -> Rows:
        root = self._unit_length(x)
        return Rows("arc", x / root, root)

    def inner(self, x: Tensor, u: Tensor, v: Tensor | None = None, *, keepdim: bool = False) -> Tensor:
        return -super().inner(x, u, v, keepdim=keepdim)
