"""Distances of all pairs without a matrix of all pairs, and what is read off them: nearest points, precision of neighbours."""

import math

import torch
from torch import Tensor

from qgcn.kernels import cpu
from qgcn.kernels.backends import choose, module_of
from qgcn.kernels.graph import Chunk, Neighbourhoods, check_on_manifold, check_points, rows_at_once
from qgcn.kernels.metric import Metric, factors_of, reach_of, shape_of, sizes_of

__all__ = ["average_precision", "distances_from", "nearest_neighbours"]


@torch.no_grad()
def distances_from(x: Tensor, rows: range, manifold: Metric) -> Tensor:
    """Return the distances from some of the points to all, shape ``(len(rows), N)``.

    Args:
        x: Points, shape ``(N, d)``.
        rows: Which of them, consecutive.
        manifold: The space.

    Raises:
        ValueError: There are no such rows, or a distance is NaN.
    """
    if rows.step != 1 or not 0 <= rows.start <= rows.stop <= len(x):
        raise ValueError(f"rows must be consecutive and in [0, {len(x)}), got {rows}")
    x = x.as_subclass(Tensor).detach()
    factors = factors_of(manifold)
    path = choose(x, manifold, factors)
    if path == "eager" or factors is None:
        dist = manifold.pairwise_dist(x[rows.start : rows.stop], x).contiguous()
    else:
        shape = shape_of(factors)
        dist = module_of(path).distances(x.contiguous(), reach_of(x, shape), sizes_of(factors, x), shape, rows)
    if bool(dist.isnan().any()):
        raise ValueError(_NOT_NUMBERS)
    return dist


_NOT_NUMBERS = "distances must be numbers, got NaN: points are too far out, or not on the manifold"


@torch.no_grad()
def nearest_neighbours(x: Tensor, manifold: Metric, k: int, *, chunk: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the ``k`` nearest other points of each point: their distances, ascending, and which they are.

    Points at one place are at distance 0 of each other and all count, but for the point itself.

    Args:
        x: Points, shape ``(N, d)``.
        manifold: The space.
        k: How many, ``1 <= k < N``.
        chunk: Points whose distances are computed at once; chosen to bound memory if not given.

    Returns:
        Distances and indices, both of shape ``(N, k)``.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: Points are not finite or not on the manifold, a distance is NaN, or there are not so many other points.
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


@torch.no_grad()
def average_precision(x: Tensor, graph: Neighbourhoods, manifold: Metric, *, chunk: int | None = None) -> Tensor:
    """Return the average precision of each node, float64, shape ``(N,)``; 0 for a node without neighbours.

    See :func:`qgcn.metrics.mean_average_precision`, which is its mean.
    """
    x = x.as_subclass(Tensor).detach()
    rows = rows_at_once(graph.num_nodes, chunk)
    factors = factors_of(manifold)
    if factors is not None and choose(x, manifold, factors) == "native":
        shape = shape_of(factors)
        space = reach_of(x, shape), sizes_of(factors, x), shape
        result = cpu.average_precision(x.contiguous(), *space, graph.start, graph.target)
        if bool(result.isnan().any()):
            raise ValueError(_NOT_NUMBERS)
        return result
    parts = []
    for part in graph.chunks(rows):
        if part.edges.start < part.edges.stop:
            dist = distances_from(x, range(part.first, part.first + part.rows), manifold)
            parts.append(_precision_of_rows(dist, graph, part))
        else:
            parts.append(torch.zeros(part.rows, dtype=torch.float64, device=x.device))
    return torch.cat(parts)


def _precision_of_rows(dist: Tensor, graph: Neighbourhoods, part: Chunk) -> Tensor:
    """Return the average precision of the chunk's nodes.

    Only distances to neighbours are sorted; all others are put between them by bisection and counted.
    """
    degree = graph.degree[part.first : part.first + part.rows]
    source, target = graph.source[part.edges] - part.first, graph.target[part.edges]
    width = int(degree.max())
    place = torch.arange(len(source), device=dist.device) - (degree.cumsum(0) - degree)[source]
    bounds = dist.new_full((part.rows, width), math.inf)
    bounds[source, place] = dist[source, target]
    bounds = bounds.sort(dim=-1).values

    position = torch.searchsorted(bounds, dist)  # the first bound that is not below
    position.diagonal(part.first).fill_(width)  # the node itself is within none
    counts = torch.zeros(part.rows, width + 1, dtype=torch.long, device=dist.device)
    counts.scatter_add_(1, position, torch.ones((), dtype=torch.long, device=dist.device).expand_as(position))
    within = counts.cumsum(-1)[:, :width]
    # an infinite distance must not count the padding
    neighbours = torch.minimum(torch.searchsorted(bounds, bounds, right=True), degree.unsqueeze(-1))
    real = torch.arange(width, device=dist.device) < degree.unsqueeze(-1)
    precision = torch.where(real, neighbours.double() / torch.where(real, within, 1), 0)
    return precision.sum(-1) / torch.where(degree > 0, degree, 1)
