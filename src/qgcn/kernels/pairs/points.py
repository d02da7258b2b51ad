"""The arguments of all-pairs kernels: points by factors, and the energy of a pair."""

from dataclasses import dataclass

import torch
from torch import Tensor

from qgcn.kernels.metric import Factor

__all__ = ["Energy", "Layout", "Points", "layout_of", "reach_of", "sizes_of"]

Layout = tuple[tuple[int, int, int], ...]
"""First coordinate, number of coordinates and of negative ones, of each factor."""


@dataclass(frozen=True)
class Points:
    """Points of a product of flat factors and quadrics.

    Attributes:
        x: Coordinates, in each factor divided by the reach, contiguous, shape ``(N, d)``.
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
        """Find out how far out the points are, and scale them to equally long time parts: see ``geometry.chord``.

        Their squared chord is ``r r' <X - Y, X - Y> / |beta| + (r - r')^2 / (r r')`` then: no term is larger than it has to be.
        Scaling rounds as storing the points did, so distances have the error that rounding the points gives them.
        """
        if not any(map(_reaches, layout)):
            return cls(x.contiguous(), reach_of(x, layout), sizes, layout)
        wide = x.double()  # so that scaling rounds once
        reach = reach_of(wide, layout)
        parts = [wide[:, first : first + size] / reach[:, f : f + 1] for f, (first, size, _) in enumerate(layout)]
        return cls(torch.cat(parts, dim=1).to(x.dtype), reach.to(x.dtype), sizes, layout)

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
    """Return how far out the points are in each factor, the length of the time part, shape ``(N, F)``.

    It is 1 in flat factors and on spheres, where no point is further out than another.
    """
    lengths = [
        torch.linalg.vector_norm(x[:, factor[0] : factor[0] + factor[2]], dim=1) if _reaches(factor) else x.new_ones(len(x))
        for factor in layout
    ]
    return torch.stack(lengths, dim=1)


def _reaches(factor: tuple[int, int, int]) -> bool:
    """Tell whether points of a factor can be further out than others: it has time and space coordinates."""
    _, size, time_dim = factor
    return 0 < time_dim < size
