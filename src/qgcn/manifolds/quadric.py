r"""The spaces cut out of flat space by :math:`\langle x, x\rangle = \beta`, above all the pseudo-hyperboloid."""

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import geoopt
import torch
from torch import Tensor

from qgcn import geometry, kernels
from qgcn.kernels import Factor
from qgcn.manifolds.base import Family, Space, check_dim
from qgcn.numerics import bounded_negative, free_parameter

__all__ = ["PseudoHyperboloid", "Quadric"]

_ROOMY_BETA = -16.0


def _number(beta: Any) -> float:
    """Return a number, NumPy's and scalar tensors included, as a ``float``."""
    if isinstance(beta, bool) or not (isinstance(beta, Real) or (isinstance(beta, Tensor) and beta.numel() == 1)):
        raise TypeError(f"beta must be a number, got {type(beta).__name__}")
    return float(beta)


class Quadric(Space):
    r"""All ``x`` with :math:`\langle x, x\rangle = \beta`, for an inner product with ``time_dim`` negative coordinates.

    Holds beta and calls :mod:`qgcn.geometry`. Points are put back onto the manifold after every map that leaves it by
    rounding. A learnable beta is stored as a free number that is mapped to a negative one, so no step of an optimiser can
    leave the family. Beta is stored in float64 (unless the module is cast) and used in the type of the points.
    """

    fixed_beta: Tensor

    def __init__(self, ambient_dim: int, time_dim: int, beta: float = -1.0, learnable: bool = False) -> None:
        super().__init__()
        beta = _number(beta)
        if not -float("inf") < beta < 0:
            raise ValueError(f"beta must be negative and finite, got {beta}")
        self.ambient_dim = ambient_dim
        self.dim = ambient_dim - 1
        self.time_dim = time_dim
        self.learnable = learnable
        if learnable:
            self.free_beta = torch.nn.Parameter(torch.tensor(free_parameter(beta), dtype=torch.float64))
        else:
            self.register_buffer("fixed_beta", torch.tensor(beta, dtype=torch.float64))

    @property
    def beta(self) -> Tensor:
        r"""The value of :math:`\langle x, x\rangle`: a negative scalar tensor, differentiable when learnable."""
        if self.learnable:
            return bounded_negative(self.free_beta)
        return self.fixed_beta

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *arguments: Any) -> None:
        """Let a fixed manifold take the state of a learnable one, and the other way round."""
        free, fixed = prefix + "free_beta", prefix + "fixed_beta"
        if self.learnable and fixed in state_dict:
            state_dict[free] = torch.tensor(free_parameter(float(state_dict.pop(fixed))), dtype=torch.float64)
        elif not self.learnable and free in state_dict:
            state_dict[fixed] = bounded_negative(state_dict.pop(free))
        super()._load_from_state_dict(state_dict, prefix, *arguments)

    @property
    def _form(self) -> dict[str, Any]:
        return {"beta": self.beta, "time_dim": self.time_dim}

    def extra_repr(self) -> str:
        return f"beta={self.beta.item():.4g}, learnable={self.learnable}"

    # --- what the space is ---------------------------------------------------------------------------------------

    _sign: ClassVar[int] = 1
    """Sign of the sectional curvature, relative to that of beta."""

    @property
    def curvatures(self) -> tuple[float, ...]:
        return (float(1 / self.beta.detach()) * self._sign,)

    def with_curvatures(self, values: Sequence[float]) -> Self:
        (value,) = self._check_curvatures(values)
        if not value * self._sign < 0:
            raise ValueError(f"the curvature of {self} must be {'negative' if self._sign > 0 else 'positive'}, got {value:g}")
        return self._with_beta(-1 / abs(value))

    @property
    def start_beta(self) -> float:  # type: ignore[override]
        r"""Value of beta at which a network starts: -16 where time-like directions close up, -1 elsewhere.

        Along these directions no two points are further apart than :math:`\pi\sqrt{|\beta|}` without going round. Random ones
        are about a quarter turn apart, :math:`\tfrac{\pi^2}{4}|\beta|` in squared distance: with beta = -1 that is 2.5, hardly
        more than the 2 at which an edge is as likely as not, and a network finds no room to part nodes; with -16 it is 39.
        """
        return _ROOMY_BETA if self.time_dim > 1 else super().start_beta

    @abstractmethod
    def _with_beta(self, beta: float) -> Self:
        """Return the same space with another beta, which is not learned."""

    def as_dict(self) -> dict[str, Any]:
        return super().as_dict() | {"beta": self.beta.item()}

    # --- geoopt's protocol ---------------------------------------------------------------------------------------

    def projx(self, x: Tensor) -> Tensor:
        self._check(x=x)
        return geometry.project(x, **self._form)

    def proju(self, x: Tensor, u: Tensor) -> Tensor:
        self._check(x=x)
        return geometry.project_tangent(x, u, **self._form)

    def egrad2rgrad(self, x: Tensor, u: Tensor) -> Tensor:
        r"""Turn a Euclidean gradient into the direction whose negative descends; see :func:`qgcn.geometry.descent_direction`.

        It is the Riemannian gradient where the metric is positive. Where it is indefinite, the metric's own gradient
        :math:`\Pi_x(J g)` would ascend along time-like directions; this one is that of the positive metric
        :func:`qgcn.geometry.definite_inner`.
        """
        self._check(x=x, u=u)
        return geometry.descent_direction(x, u, **self._form)

    def component_inner(self, x: Tensor, u: Tensor, v: Tensor | None = None) -> Tensor:
        """Return the positive inner product :func:`qgcn.geometry.definite_inner`, kept, for second moments.

        geoopt's adaptive optimisers take its square root; that of the indefinite inner product can be NaN.
        """
        v = u if v is None else v
        self._check(x=x, u=u, v=v)
        return geometry.definite_inner(x, u, v, **self._form)

    def expmap(self, x: Tensor, u: Tensor) -> Tensor:
        self._check(x=x)
        form = self._form
        return geometry.project(geometry.expmap(x, u, **form), **form)

    def retr(self, x: Tensor, u: Tensor) -> Tensor:
        r"""Step along ``u`` in flat space and come back: the exponential map to first order, and it cannot overflow.

        Steps longer than half the radius of curvature, measured by :meth:`component_inner`, are shortened to that.
        """
        return self._step(x, u)[0]

    def retr_transp(self, x: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``retr(x, u)`` and ``v`` transported there, shortened as the step is, so that momentum stays bounded too.

        Where the metric is indefinite, transport can make a vector longer, measured by :meth:`component_inner`; it is shortened
        to the length that it had.
        """
        y, share = self._step(x, u)
        v = share * v
        moved = self.transp(x, y, v)
        if 1 < self.time_dim < self.ambient_dim:
            moved = geometry.carried_share(x, v, y, moved, **self._form) * moved
        return y, moved

    def transp_follow_retr(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        return self.retr_transp(x, u, v)[1]

    def _step(self, x: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
        self._check(x=x, u=u)
        share = geometry.step_share(x, u, **self._form)
        return self.projx(torch.addcmul(x, share, u)), share

    def logmap(self, x: Tensor, y: Tensor) -> Tensor:
        self._check(x=x)
        return geometry.logmap(x, y, **self._form)

    def transp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        self._check(x=x)
        return geometry.transport(x, y, v, **self._form)

    def dist(self, x: Tensor, y: Tensor, *, keepdim: bool = False) -> Tensor:
        self._check(x=x)
        result = geometry.dist(x, y, **self._form)
        return result.unsqueeze(-1) if keepdim else result

    def dist2(self, x: Tensor, y: Tensor, *, keepdim: bool = False) -> Tensor:
        self._check(x=x)
        result = geometry.sqdist(x, y, **self._form)
        return result.unsqueeze(-1) if keepdim else result

    def inner(self, x: Tensor, u: Tensor, v: Tensor | None = None, *, keepdim: bool = False) -> Tensor:
        v = u if v is None else v
        self._check(x=x, u=u, v=v)
        result = geometry.inner(u, v, time_dim=self.time_dim, keepdim=keepdim)
        return result.expand(torch.broadcast_shapes(result.shape, x.shape[:-1] + (1,) * keepdim))

    def origin(
        self,
        *size: Any,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        seed: int | None = 42,
    ) -> "geoopt.ManifoldTensor":
        r"""Return the south pole :math:`(\sqrt{|\beta|}, 0, \dots)`, repeated to the given shape; ``seed`` is not used."""
        like = torch.empty(1, dtype=dtype, device=device)
        geometry.check(1, origin=like)
        pole = geometry.pole(self.ambient_dim, beta=self.beta.detach(), like=like)
        return geoopt.ManifoldTensor(pole.expand(self._point_shape(size)).clone(), manifold=self)

    def _unit_length(self, like: Tensor) -> Tensor:
        return (-self.beta).sqrt().to(like)

    # --- at the pole ---------------------------------------------------------------------------------------------

    def expmap0(self, u: Tensor) -> Tensor:
        self._check(u=u)
        return kernels.expmap0(u, **self._form)

    def logmap0(self, x: Tensor) -> Tensor:
        self._check(x=x)
        return geometry.logmap0(x, **self._form)

    def transp0(self, y: Tensor, u: Tensor) -> Tensor:
        self._check(y=y)
        return geometry.transport(geometry.pole(self.ambient_dim, beta=self.beta, like=y), y, u, **self._form)

    def _origin(self, like: Tensor) -> Tensor:
        return geometry.pole(self.ambient_dim, beta=self.beta, like=like)

    def centroid(self, x: Tensor, weights: Tensor | None = None) -> Tensor:
        self._check(x=x)
        return geometry.centroid(x, weights, **self._form)

    def _start_of_mean(self, x: Tensor, weights: Tensor | None) -> Tensor:
        centre = self.centroid(x, weights)
        return torch.where(centre.isnan(), x[..., 0, :], centre)

    def _from_frame(self, coordinates: Tensor) -> Tensor:
        return torch.nn.functional.pad(coordinates, (1, 0))

    def _carry(self, mean: Tensor, x: Tensor, *, back: bool) -> Tensor:
        form, origin = self._form, self._origin(x)
        connected = geometry.is_connected(origin, mean, **form).unsqueeze(-1)
        side = torch.where(connected, 1, -1).to(x)  # -x is an isometry too: it leads to a mean that no geodesic reaches
        ends = (side * mean, origin) if back else (origin, side * mean)
        return self.projx(side * geometry.transvection(*ends, x, **form))

    def _unwrapped(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        form = self._form
        vectors = geometry.preimages0(self.logmap0(x), **form)
        reached = x[..., 0] > 0 if self.time_dim == 1 else torch.ones_like(x[..., 0], dtype=torch.bool)
        return vectors[..., 1:], geometry.log_volume0(vectors, **form), reached

    def dist2plane(self, x: Tensor, p: Tensor, a: Tensor, *, signed: bool = False, scaled: bool = False) -> Tensor:
        self._check(x=x, p=p, a=a)
        return self._plane(geometry.plane_dist(x, a, **self._form), p, a, signed=signed, scaled=scaled)

    def translate(self, x: Tensor, b: Tensor) -> Tensor:
        """Translate points by a bias ``b``, a tangent vector at the pole; see :func:`qgcn.geometry.translate`."""
        self._check(x=x)
        form = self._form
        return geometry.project(geometry.translate(x, b, **form), **form)

    def pairwise_dist(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        self._check(x=x)
        return geometry.pairwise_dist(x, y, **self._form)

    @property
    def factors(self) -> tuple[Factor, ...]:
        return (Factor(self.ambient_dim, self.time_dim, self.beta),)

    # --- checks --------------------------------------------------------------------------------------------------

    def _check_point_on_manifold(self, x: Tensor, *, atol: float = 1e-5, rtol: float = 1e-5) -> tuple[bool, str | None]:
        square = geometry.inner(x, x, time_dim=self.time_dim)
        # rounding in <x, x> is relative to the squares that cancel in it
        slack = atol + rtol * torch.maximum((x * x).sum(-1), -self.beta.to(x))
        if bool(((square - self.beta.to(x)).abs() <= slack).all()):
            return True, None
        return False, f"<x, x> is not {self.beta.item():g} with atol={atol}, rtol={rtol}"

    def _check_vector_on_tangent(
        self, x: Tensor, u: Tensor, *, atol: float = 1e-5, rtol: float = 1e-5
    ) -> tuple[bool, str | None]:
        slack = atol + rtol * torch.linalg.vector_norm(x, dim=-1) * torch.linalg.vector_norm(u, dim=-1)
        if bool((geometry.inner(x, u, time_dim=self.time_dim).abs() <= slack).all()):
            return True, None
        return False, f"<x, u> is not 0 with atol={atol}, rtol={rtol}"


class PseudoHyperboloid(Quadric):
    r"""The pseudo-hyperboloid :math:`\mathcal Q^{s,t}_\beta` with ``s`` space and ``t`` time dimensions.

    .. math:: \mathcal Q^{s,t}_\beta = \{x \in \mathbb R^{s+t} : \langle x, x\rangle = \beta\}

    It has ``s + t`` coordinates, time first, intrinsic dimension ``s + t - 1`` and sectional curvature ``1 / beta``.
    ``t = 1`` is hyperbolic space (two sheets of it), ``s = 0`` is the sphere with the sign of its metric reversed.

    ``expmap``, ``logmap``, ``transp`` and ``dist`` are the manifold's own. ``logmap`` is NaN where no geodesic joins two
    points; ``dist`` and ``transp`` go around. ``expmap0`` and ``logmap0`` are the diffeomorphic maps at the south pole,
    defined everywhere.

    Example:
        >>> import torch
        >>> import qgcn
        >>> space = qgcn.PseudoHyperboloid(space_dim=1, time_dim=2)
        >>> x, y = torch.tensor([1.0, 0.0, 0.0]), torch.tensor([1.0, 0.75, 0.75])
        >>> space.dist(x, y).item()  # distinct points at distance zero: null-separated
        0.0
        >>> space.is_connected(x, -y).item()
        False

    Args:
        space_dim: Number of space dimensions, ``s >= 0``.
        time_dim: Number of time dimensions, ``t >= 1``.
        beta: The value of :math:`\langle x, x\rangle`, negative.
        learnable: Make beta a parameter.
    """

    kind: ClassVar[str] = "Q"

    def __init__(self, space_dim: int, time_dim: int, beta: float = -1.0, learnable: bool = False) -> None:
        space_dim, time_dim = check_dim(space_dim, "space_dim", 0), check_dim(time_dim, "time_dim")
        super().__init__(space_dim + time_dim, time_dim, beta, learnable)
        self.space_dim = space_dim

    def __str__(self) -> str:
        return f"Q{self.space_dim},{self.time_dim}"

    @property
    def family(self) -> Family:
        return "spherical" if self.space_dim == 0 else "hyperbolic" if self.time_dim == 1 else "indefinite"

    def describe(self) -> str:
        if self.family == "spherical":
            return f"a sphere ({self.dim} dimensions)"
        if self.family == "hyperbolic":
            return f"hyperbolic space ({self.dim} dimensions), which has room for trees"
        return (
            f"a pseudo-hyperboloid with {self.space_dim} space and {self.time_dim} time dimensions, "
            "which has room for trees and for cycles"
        )

    def confined(self) -> Tensor:
        at, time = torch.arange(self.ambient_dim), self.time_dim
        if self.family != "indefinite":
            return super().confined()
        return (at > 0) & (at < time) if time <= self.space_dim else at >= time

    def straight(self) -> Tensor:
        return (torch.arange(self.ambient_dim) > 0) & (self.time_dim == 1)

    def _with_beta(self, beta: float) -> Self:
        return type(self)(self.space_dim, self.time_dim, beta)

    def fold0(self, u: Tensor) -> Tensor:
        self._check(u=u)
        return geometry.fold0(u, **self._form)

    def translate0(self, u: Tensor, b: Tensor) -> Tensor:
        self._check(u=u)
        return kernels.translate0(u, b, **self._form)

    def is_connected(self, x: Tensor, y: Tensor) -> Tensor:
        """Tell where a geodesic joins ``x`` and ``y``; see :func:`qgcn.geometry.is_connected`."""
        self._check(x=x)
        return geometry.is_connected(x, y, **self._form)

    def interval(self, x: Tensor, y: Tensor) -> Tensor:
        if self.family != "indefinite":
            return super().interval(x, y)
        self._check(x=x, y=y)
        return geometry.squared_chord(x, y, **self._form)
