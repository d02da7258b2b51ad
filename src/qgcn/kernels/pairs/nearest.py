"""Distances of all pairs without a matrix of all pairs, and nearest points."""

import math

import torch
from torch import Tensor

from qgcn.kernels.metric import Metric, factors_of
from qgcn.kernels.pairs import reference
from qgcn.kernels.pairs.implementations import choose
from qgcn.kernels.pairs.neighbourhoods import check_on_manifold, check_points, rows_at_once
from qgcn.kernels.pairs.points import Points, layout_of, sizes_of

__all__ = ["check_distances", "distances_from", "nearest_neighbours"]


@torch.no_grad()
def distances_from(x: Tensor, rows: range | Tensor, manifold: Metric) -> Tensor:
    """Return the distances from some of the points to all, shape ``(len(rows), N)``.

    Args:
        x: Points, shape ``(N, d)``.
        rows: Which of them: consecutive ones, or indices in any order, shape ``(n,)``.
        manifold: The space.

    Raises:
        ValueError: There are no such rows, or a distance is NaN.
    """
    if isinstance(rows, Tensor):  # kernels take consecutive rows: they are put before all points
        return distances_from(torch.cat((x[rows], x)), range(len(rows)), manifold)[:, len(rows) :]
    if rows.step != 1 or not 0 <= rows.start <= rows.stop <= len(x):
        raise ValueError(f"rows must be consecutive and in [0, {len(x)}), got {rows}")
    x = x.as_subclass(Tensor).detach()
    factors = factors_of(manifold)
    kernels = choose(x, manifold, factors).module()
    if kernels is None or factors is None:
        dist = reference.distances(x, rows, manifold)
    else:
        dist = kernels.distances(Points.of(x, sizes_of(factors, x), layout_of(factors)), rows)
    check_distances(dist)
    return dist


def check_distances(found: Tensor) -> None:
    """Raise if a distance, or what was computed from it, is NaN."""
    if bool(found.isnan().any()):
        raise ValueError("distances must be numbers, got NaN: points are too far out, or not on the manifold")


@torch.no_grad()
def nearest_neighbours(x: Tensor, manifold: Metric, k: int, *, chunk: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the ``k`` nearest other points of each point: their distances, ascending, and which they are.

    Coincident points are at distance 0 of each other and all count, except the point itself.

    Args:
        x: Points, shape ``(N, d)``.
        manifold: The space.
        k: Number of neighbours, ``1 <= k < N``.
        chunk: Points whose distances are computed at once; chosen to bound memory if not given.

    Returns:
        Distances and indices, both of shape ``(N, k)``.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: Points are not finite or not on the manifold, a distance is NaN, or there are fewer than ``k`` other points.
    """
    check_points(x)
    check_on_manifold(x, manifold)
    if isinstance(k, bool) or not isinstance(k, int):
        raise TypeError(f"k must be an int, got {type(k).__name__}")
    if not 1 <= k < len(x):
        raise ValueError(f"k must be at least 1 and less than the number of points, {len(x)}, got {k}")
    found = []
    size = rows_at_once(len(x), chunk)
    for first in range(0, len(x), size):
        rows = range(first, min(first + size, len(x)))
        dist = distances_from(x, rows, manifold)
        dist.diagonal(first).fill_(math.inf)
        found.append(dist.topk(k, largest=False, sorted=True))
    return torch.cat([part.values for part in found]), torch.cat([part.indices for part in found])
