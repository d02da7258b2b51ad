"""The nearest points of every point, by the space's own distances."""

import torch
from torch import Tensor

from qgcn.kernels.graph import Metric, check_points, rows_at_once

__all__ = ["nearest_neighbours"]


@torch.no_grad()
def nearest_neighbours(x: Tensor, manifold: Metric, k: int) -> tuple[Tensor, Tensor]:
    """Return the ``k`` nearest points of every point, itself left out, nearest first.

    All distances are looked at, a run of rows at a time: no index structure knows an indefinite metric.

    Args:
        x: Points, shape ``(N, d)``.
        manifold: The space; anything with ``pairwise_dist``.
        k: Neighbours a point, in ``[1, N - 1]``.

    Returns:
        Distances and indices, both of shape ``(N, k)``.
    """
    check_points(x)
    if not 1 <= k < len(x):
        raise ValueError(f"k must be in [1, {len(x) - 1}] for {len(x)} points, got {k}")
    found = []
    for rows in torch.arange(len(x), device=x.device).split(rows_at_once(len(x))):
        distance = manifold.pairwise_dist(x[rows], x)
        distance[torch.arange(len(rows), device=x.device), rows] = torch.inf
        found.append(distance.topk(k, dim=1, largest=False))
    return torch.cat([part.values for part in found]), torch.cat([part.indices for part in found])
