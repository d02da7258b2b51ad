"""The arguments of all-pairs kernels: points by factors, and the energy of a pair."""

from dataclasses import dataclass

import torch
from torch import Tensor

from qgcn.kernels.metric import Factor
from qgcn.numerics import nearest_power_of_two

__all__ = ["Energy", "Layout", "Points", "layout_of", "reach_of", "sizes_of"]

Layout = tuple[tuple[int, int, int], ...]
"""First coordinate, number of coordinates and of negative ones, of each factor."""


@dataclass(frozen=True)
class Points:
    """Points of a product of flat factors and quadrics.

    Attributes:
        x: Coordinates, contiguous, shape ``(N, d)``.
        reach: How far out the points are in each factor, shape ``(N, F)``; see :func:`reach_of`.
        sizes: ``|beta|`` of each factor, 1 for a flat one, shape ``(F,)``.
        layout: Where the factors stand among the coordinates.
    """

    x: Tensor
    reach: Tensor
    sizes: Tensor
    layout: Layout

    @classmethod
    def of(cls, x: Tensor, sizes: Tensor, layout: Layout) -> "Points":
        """Find out how far out the points are."""
        x = x.contiguous()
        return cls(x, reach_of(x, layout), sizes, layout)

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class Energy:
    """The energy of a pair of points, a function of their distance.

    Attributes:
        tau: Its factor, shape ``()``.
        squared: Whether it is the squared distance; otherwise the distance.
    """

    tau: Tensor
    squared: bool


def layout_of(factors: tuple[Factor, ...]) -> Layout:
    """Return where the factors stand among the coordinates."""
    layout, first = [], 0
    for factor in factors:
        layout.append((first, factor.size, factor.time_dim))
        first += factor.size
    return tuple(layout)


def sizes_of(factors: tuple[Factor, ...], like: Tensor) -> Tensor:
    """Return ``|beta|`` of each factor, 1 for a flat one, shape ``(F,)``; differentiable."""
    one = torch.ones((), dtype=like.dtype, device=like.device)
    return torch.stack([one if factor.beta is None else -factor.beta.to(like) for factor in factors])


def reach_of(x: Tensor, layout: Layout) -> Tensor:
    """Return how far out the points are in each factor, as a power of two, shape ``(N, F)``: see ``geometry.chord``."""
    if not any(0 < time_dim < size for _, size, time_dim in layout):  # flat, or spheres, whose points are all as far out
        return x.new_ones(len(x), len(layout))
    lengths = [
        torch.linalg.vector_norm(x[:, first : first + time_dim], dim=1, keepdim=True)
        if 0 < time_dim < size
        else x.new_ones(len(x), 1)
        for first, size, time_dim in layout
    ]
    return nearest_power_of_two(torch.cat(lengths, dim=1))
