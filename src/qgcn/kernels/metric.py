"""What all-pairs functions ask of a space."""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from qgcn.numerics import nearest_power_of_two

__all__ = ["Factor", "Metric", "Shape", "factors_of", "reach_of", "shape_of", "sizes_of"]


class Factor(NamedTuple):
    r"""A factor of a space whose distances fused code can compute: flat, or :math:`\langle x, x\rangle = \beta`."""

    size: int
    """Number of coordinates."""
    time_dim: int
    """Number of leading negative coordinates; 0 if the factor is flat."""
    beta: Tensor | None
    """The value of the quadratic form, a negative scalar; ``None`` if the factor is flat."""


class Metric(Protocol):
    """What is asked of a space. Every :class:`qgcn.manifolds.Space` has it."""

    def pairwise_dist(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        """Return distances from every ``x``, shape ``(N, d)``, to every ``y``, shape ``(M, d)``, as ``(N, M)``."""

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """Return distances between ``x`` and ``y``, shapes ``(..., d)``, as ``(...)``."""

    def dist2(self, x: Tensor, y: Tensor) -> Tensor:
        """Return squared distances between ``x`` and ``y``, shapes ``(..., d)``, as ``(...)``."""

    @property
    def factors(self) -> tuple[Factor, ...] | None:
        """The factors, or ``None`` if one of them is neither flat nor a quadric: then nothing is fused."""


Shape = tuple[tuple[int, int, int], ...]
"""First coordinate, number of coordinates and of negative ones, of each factor."""


def factors_of(manifold: Metric) -> tuple[Factor, ...] | None:
    """Return the factors that a space itself says it has.

    A wrapper that hands on what it does not know, as ``geoopt.Scaled`` does, would hand on factors that know nothing of it.
    """
    return manifold.factors if hasattr(type(manifold), "factors") else None


def shape_of(factors: tuple[Factor, ...]) -> Shape:
    """Return where the factors stand among the coordinates."""
    shape, first = [], 0
    for factor in factors:
        shape.append((first, factor.size, factor.time_dim))
        first += factor.size
    return tuple(shape)


def sizes_of(factors: tuple[Factor, ...], like: Tensor) -> Tensor:
    """Return ``|beta|`` of each factor, 1 for a flat one, shape ``(F,)``; differentiable."""
    one = torch.ones((), dtype=like.dtype, device=like.device)
    return torch.stack([one if factor.beta is None else -factor.beta.to(like) for factor in factors])


def reach_of(x: Tensor, shape: Shape) -> Tensor:
    """Return how far out the points are in each factor, as a power of two, shape ``(N, F)``: see ``geometry.chord``."""
    if not any(0 < time_dim < size for _, size, time_dim in shape):  # flat, or spheres, whose points are all as far out
        return x.new_ones(len(x), len(shape))
    lengths = [
        torch.linalg.vector_norm(x[:, first : first + time_dim], dim=1, keepdim=True)
        if 0 < time_dim < size
        else x.new_ones(len(x), 1)
        for first, size, time_dim in shape
    ]
    return nearest_power_of_two(torch.cat(lengths, dim=1))
