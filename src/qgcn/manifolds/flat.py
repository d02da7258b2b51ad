"""The Euclidean and the kappa-stereographic space: geoopt's, with the project's protocol."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import geoopt
import torch
from geoopt.manifolds.stereographic import math as stereographic
from torch import Tensor

from qgcn import geometry
from qgcn.kernels import Factor
from qgcn.kernels.cones import Rows
from qgcn.manifolds.base import Family, Space, check_dim
from qgcn.numerics import at_least_tiny, safe_norm, unit_or_axis

__all__ = ["Euclidean", "Stereographic"]


class Euclidean(Space, geoopt.Euclidean):  # type: ignore[misc]
    """Flat space of ``dim`` coordinates.

    Example:
        >>> import torch
        >>> from qgcn.manifolds import Euclidean
        >>> plane = Euclidean(2)
        >>> plane.dist(torch.zeros(2), torch.tensor([3.0, 4.0])).item()
        5.0

    Args:
        dim: Number of coordinates.
    """

    kind: ClassVar[str] = "E"
    reversible = True  # its retraction is the exponential map: geoopt's samplers may be used

    def __init__(self, dim: int) -> None:
        dim = check_dim(dim)
        super().__init__(ndim=1)
        self.dim = self.ambient_dim = dim

    def __str__(self) -> str:
        return f"E{self.dim}"

    @property
    def family(self) -> Family:
        return "flat"

    def describe(self) -> str:
        return f"flat space ({self.dim} dimensions)"

    @property
    def factors(self) -> tuple[Factor, ...]:
        return (Factor(self.dim, 0, None),)

    # geoopt's own versions of the next four fail for empty batches

    def inner(self, x: Tensor, u: Tensor, v: Tensor | None = None, *, keepdim: bool = False) -> Tensor:
        v = u if v is None else v
        self._check(x=x, u=u, v=v)
        product = (u * v).sum(-1, keepdim=True)
        product = product.expand(torch.broadcast_shapes(product.shape, (*x.shape[:-1], 1)))
        return product if keepdim else product.squeeze(-1)

    def proju(self, x: Tensor, u: Tensor) -> Tensor:
        self._check(x=x, u=u)
        return u.expand(torch.broadcast_shapes(u.shape, x.shape))

    egrad2rgrad = proju

    def transp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        self._check(x=x, y=y, v=v)
        return v.expand(torch.broadcast_shapes(x.shape, y.shape, v.shape))

    def expmap0(self, u: Tensor) -> Tensor:
        self._check(u=u)
        return u

    def logmap0(self, x: Tensor) -> Tensor:
        self._check(x=x)
        return x

    def transp0(self, y: Tensor, u: Tensor) -> Tensor:
        self._check(y=y, u=u)
        return u.expand(torch.broadcast_shapes(u.shape, y.shape))

    def fold0(self, u: Tensor) -> Tensor:
        self._check(u=u)
        return u

    def translate(self, x: Tensor, b: Tensor) -> Tensor:
        self._check(x=x, b=b)
        return x + b

    def translate0(self, u: Tensor, b: Tensor) -> Tensor:
        return self.translate(u, b)

    def dist(self, x: Tensor, y: Tensor, *, keepdim: bool = False) -> Tensor:
        self._check(x=x, y=y)
        length = safe_norm(x - y)
        return length if keepdim else length.squeeze(-1)

    def light_rows(self, x: Tensor) -> Rows:
        return Rows("straight", x)

    def pairwise_dist(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        y = x if y is None else y
        self._check(x=x.unsqueeze(-2), y=y.unsqueeze(-3))
        return _flat_dist(x, y)

    def centroid(self, x: Tensor, weights: Tensor | None = None) -> Tensor:
        self._check(x=x)
        if weights is None:
            return x.mean(-2)
        return (weights.unsqueeze(-1) * x).sum(-2) / weights.sum(-1, keepdim=True)

    def frechet_mean(self, x: Tensor, weights: Tensor | None = None, *, iterations: int = 100) -> Tensor:
        """Return the weighted mean."""
        return self.centroid(x, weights)

    def _carry(self, mean: Tensor, x: Tensor, *, back: bool) -> Tensor:
        return x - mean if back else x + mean

    def _unwrapped(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x.unsqueeze(0), torch.zeros_like(x[..., 0]).unsqueeze(0), torch.ones_like(x[..., 0], dtype=torch.bool)

    def dist2plane(self, x: Tensor, p: Tensor, a: Tensor, *, signed: bool = False, scaled: bool = False) -> Tensor:
        self._check(x=x, p=p, a=a)
        length = ((x - p) * unit_or_axis(a)).sum(-1)
        return self._plane(length, p, a, signed=signed, scaled=scaled)


class Stereographic(Space, geoopt.Stereographic):  # type: ignore[misc]
    """The kappa-stereographic model: hyperbolic for ``kappa < 0``, flat at 0, spherical for ``kappa > 0``.

    Example:
        >>> import torch
        >>> from qgcn.manifolds import Stereographic
        >>> ball = Stereographic(2, kappa=-1.0)
        >>> x = ball.expmap0(torch.tensor([0.5, 0.0]))
        >>> round(ball.dist0(x).item(), 4)  # the metric at the origin is four times the Euclidean one
        1.0

    Args:
        dim: Number of coordinates.
        kappa: Sectional curvature.
        learnable: Make the curvature a parameter; its sign may change in training.
    """

    kind: ClassVar[str] = "K"
    k: Tensor
    traceable = False  # geoopt's functions are scripted, and branch on what is in a tensor
    __scaling__ = geoopt.Stereographic.__scaling__ | Space.__scaling__
    del __scaling__["random"]  # its std is in units of the radius of curvature, as in every space
    norm = geoopt.Stereographic.norm

    def __init__(self, dim: int, kappa: float = 0.0, learnable: bool = False) -> None:
        dim = check_dim(dim)
        if not math.isfinite(kappa):
            raise ValueError(f"kappa must be finite, got {kappa}")
        super().__init__(k=float(kappa), learnable=learnable)
        self.dim = self.ambient_dim = dim
        self.learnable = learnable

    def __str__(self) -> str:
        return f"K{self.dim}"

    def extra_repr(self) -> str:
        return f"kappa={self.k.item():.4g}, learnable={self.learnable}"

    @property
    def family(self) -> Family:
        return "stereographic"

    @property
    def curvatures(self) -> tuple[float, ...]:
        return (self.k.item(),)

    def with_curvatures(self, values: Sequence[float]) -> "Stereographic":
        (kappa,) = self._check_curvatures(values)
        return Stereographic(self.dim, kappa)

    def describe(self) -> str:
        return f"a space of constant curvature ({self.dim} dimensions)"

    def as_dict(self) -> dict[str, Any]:
        return super().as_dict() | {"kappa": self.k.item()}

    def from_origin(self, x: Tensor) -> Tensor:
        return self.dist(x, torch.zeros_like(x))

    def expmap0(self, u: Tensor, **options: Any) -> Tensor:
        self._check(u=u)
        mapped: Tensor = geoopt.Stereographic.expmap0(self, u, **options)
        return mapped

    def logmap0(self, x: Tensor, **options: Any) -> Tensor:
        self._check(x=x)
        mapped: Tensor = geoopt.Stereographic.logmap0(self, x, **options)
        return mapped

    def transp0(self, y: Tensor, u: Tensor, **options: Any) -> Tensor:
        self._check(y=y, u=u)
        moved: Tensor = geoopt.Stereographic.transp0(self, y, u, **options)
        return moved

    def inner(self, x: Tensor, u: Tensor, v: Tensor | None = None, *, keepdim: bool = False, dim: int = -1) -> Tensor:
        # geoopt's own, not kept, has the shape of an outer product
        product: Tensor = geoopt.Stereographic.inner(self, x, u, v, keepdim=True, dim=dim)
        return product if keepdim else product.squeeze(dim)

    def dist(self, x: Tensor, y: Tensor, *, keepdim: bool = False, dim: int = -1) -> Tensor:
        self._check(x=x, y=y)
        length: Tensor = geoopt.Stereographic.dist(self, x, y, keepdim=keepdim, dim=dim)
        return length

    def proju(self, x: Tensor, u: Tensor, *, dim: int = -1) -> Tensor:
        self._check(x=x, u=u)
        return u.expand(torch.broadcast_shapes(u.shape, x.shape))

    def centroid(self, x: Tensor, weights: Tensor | None = None) -> Tensor:
        self._check(x=x)
        mean: Tensor = geoopt.Stereographic.weighted_midpoint(self, x, weights, reducedim=[-2])
        return mean

    def _start_of_mean(self, x: Tensor, weights: Tensor | None) -> Tensor:
        return self.centroid(x, weights)

    def _from_frame(self, coordinates: Tensor) -> Tensor:
        return coordinates / 2  # the metric at the origin is four times the Euclidean one

    def _carry(self, mean: Tensor, x: Tensor, *, back: bool) -> Tensor:
        moved: Tensor = geoopt.Stereographic.mobius_add(self, -mean if back else mean, x)
        return moved

    def _unwrapped(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        vectors, kappa = 2 * self.logmap0(x).unsqueeze(0), self.k.to(x)
        if kappa > 0:  # a sphere: whole turns lead to the same point
            padded = torch.nn.functional.pad(vectors[0], (1, 0))
            vectors = geometry.preimages0(padded, beta=-1 / kappa, time_dim=self.dim + 1)[..., 1:]
        volume = geometry.log_volume(-kappa * vectors.square().sum(-1), self.dim)
        return vectors, volume, torch.ones_like(x[..., 0], dtype=torch.bool)

    def dist2plane(self, x: Tensor, p: Tensor, a: Tensor, *, signed: bool = False, scaled: bool = False) -> Tensor:
        self._check(x=x, p=p, a=a)
        length = geoopt.Stereographic.dist2plane(self, x, p, a, signed=True)  # it would scale by the Euclidean length
        return self._plane(length, p, a, signed=signed, scaled=scaled)

    def pairwise_dist(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        r"""Return all distances without a ``(N, M, d)`` tensor.

        .. math:: |(-x)\oplus y|^2 = \frac{|x-y|^2}{(1 + \kappa|x|^2)(1 + \kappa|y|^2) - \kappa|x-y|^2}
        """
        y = x if y is None else y
        self._check(x=x.unsqueeze(-2), y=y.unsqueeze(-3))
        gap = _flat_dist(x, y)
        stretch_x = 1 + self.k * (x * x).sum(-1, keepdim=True)
        stretch_y = 1 + self.k * (y * y).sum(-1, keepdim=True)
        room = at_least_tiny(stretch_x * stretch_y.transpose(-1, -2) - self.k * gap.square())  # zero at an antipode
        half: Tensor = stereographic.artan_k(gap / room.sqrt(), self.k)
        return 2 * half


def _flat_dist(x: Tensor, y: Tensor) -> Tensor:
    return torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
