"""Normal distributions wrapped around a space, and uniform ones in a ball."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor
from torch.distributions import Distribution, constraints

from qgcn import geometry
from qgcn.numerics import safe_norm

if TYPE_CHECKING:
    from qgcn.manifolds.base import Space

__all__ = ["WrappedNormal", "ball_radii", "unit_vectors"]

KNOTS = 4097
"""Points between which the cumulative volume of a ball is interpolated."""


class WrappedNormal(Distribution):
    r"""Normal distribution in the tangent space of the origin, wrapped around a space and carried to a mean.

    .. math:: x = T_\mu\bigl(\exp_o(\sigma\varepsilon)\bigr), \qquad \varepsilon\sim\mathcal N(0, I)

    :math:`T_\mu` is the isometry that carries the origin ``o`` to :math:`\mu`, :math:`\exp_o` the space's ``expmap0``: its own
    exponential map for ``E``, ``H``, ``S`` and ``K``, the diffeomorphic one for ``Q``, which reaches every point. Densities
    refer to the volume of the space. A point that several tangent vectors lead to (whole turns around a sphere) gets the sum
    over them. On ``Q`` with one time dimension the other sheet is not reached: its log-density is minus infinity.

    Laws: the density integrates to 1; carried along by isometries that commute with the maps at the origin; the ordinary
    normal distribution in flat space.

    Example:
        >>> import torch
        >>> import qgcn
        >>> space = qgcn.parse_space("H2")
        >>> normal = space.wrapped_normal(space.origin(3), scale=0.5)
        >>> x = normal.rsample((4,))
        >>> x.shape, normal.log_prob(x).shape
        (torch.Size([4, 3]), torch.Size([4]))

    Args:
        space: The space; a product draws its factors independently.
        mean: Points, shape ``(..., d)``.
        scale: Standard deviation in every direction, a positive number or a tensor that broadcasts against ``(..., n)`` with
            ``n`` the intrinsic dimension: one for each tangent direction at the origin.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, space: "Space", mean: Tensor, scale: Tensor | float = 1.0) -> None:
        space.assert_check_point(mean)
        self.space = space
        self.mean_point = mean.as_subclass(Tensor)
        scale = torch.as_tensor(scale, dtype=mean.dtype, device=mean.device)
        if not bool((scale > 0).all()):
            raise ValueError(f"scale must be positive, got {scale}")
        if scale.ndim and scale.shape[-1] not in (1, space.dim):
            raise ValueError(f"scale must be a number or have {space.dim} entries in {space}, got shape {tuple(scale.shape)}")
        batch = torch.broadcast_shapes(mean.shape[:-1], scale.shape[:-1])
        self.scale = scale.expand(*batch, space.dim)
        super().__init__(batch, torch.Size((space.ambient_dim,)), validate_args=False)

    @property
    def mean(self) -> Tensor:
        """The point that the distribution is carried to."""
        return self.mean_point.expand(*self.batch_shape, -1)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw points, shape ``(*sample_shape, ..., d)``, differentiable by mean and scale."""
        shape = torch.Size((*sample_shape, *self.batch_shape, self.space.dim))
        noise = torch.randn(shape, dtype=self.scale.dtype, device=self.scale.device)
        drawn = [
            part._carry(mean, part.expmap0(part._from_frame(scale * each)), back=False)
            for part, mean, scale, each in self._by_part(self.mean, self.scale, noise)
        ]
        return torch.cat(drawn, dim=-1)

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density with respect to the volume of the space, shape ``(...)``."""
        parts = zip(self._by_part(self.mean, self.scale), self._split(value), strict=True)
        total: Tensor = sum(  # type: ignore[assignment]
            _log_density(part, part._carry(mean, x, back=True), scale) for (part, mean, scale), x in parts
        )
        return total

    def _split(self, x: Tensor) -> tuple[Tensor, ...]:
        return torch.split(x, [part.ambient_dim for part in self.space.parts], dim=-1)

    def _by_part(self, mean: Tensor, *frames: Tensor) -> list[Any]:
        """Return each part of the space with its share of the mean and of tensors in orthonormal coordinates."""
        sizes = [part.dim for part in self.space.parts]
        shares = [torch.split(frame, sizes, dim=-1) for frame in frames]
        return list(zip(self.space.parts, self._split(mean), *shares, strict=True))


def _log_density(space: "Space", x: Tensor, scale: Tensor) -> Tensor:
    """Return the log-density at points that were carried back to the origin."""
    vectors, log_volume, reached = space._unwrapped(x)  # (K, ..., n), (K, ...), (...)
    normal = -((vectors / scale).square() / 2 + scale.log()).sum(-1) - space.dim / 2 * math.log(2 * math.pi)
    return torch.logsumexp(normal - log_volume, dim=0).masked_fill(~reached, -torch.inf)


def ball_radii(
    count: int, radius: float, curvature: float, dim: int, *, dtype: torch.dtype, generator: torch.Generator | None = None
) -> Tensor:
    r"""Draw distances from the centre of a ball whose points are uniform, shape ``(count, 1)``.

    Their density grows as the surface of a sphere, :math:`(\rho\,S(-\kappa\rho^2))^{n-1}`; its integral is inverted by table.
    """
    knots = torch.linspace(0, radius, KNOTS, dtype=torch.float64)
    surface = geometry.log_volume(-curvature * knots.square(), dim) + (dim - 1) * torch.log(knots)
    surface = (surface - surface[1:].max()).exp()
    surface[0] = 1.0 if dim == 1 else 0.0
    volume = torch.cat((torch.zeros(1, dtype=torch.float64), torch.cumulative_trapezoid(surface, knots)))
    share = torch.rand(count, dtype=torch.float64, generator=generator) * volume[-1]
    above = 1 + torch.searchsorted(volume[1:-1], share)
    low, high = volume[above - 1], volume[above]
    at = knots[above - 1] + (share - low) / (high - low) * (knots[above] - knots[above - 1])
    return at.to(dtype).unsqueeze(-1)


def unit_vectors(shape: tuple[int, ...], *, dtype: torch.dtype, generator: torch.Generator | None = None) -> Tensor:
    """Draw directions, uniform on the unit sphere of the last axis."""
    drawn = torch.randn(shape, dtype=dtype, generator=generator)
    return drawn / safe_norm(drawn)
