"""All pairs in plain PyTorch, a run of rows at a time: any space, any type, any device."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from qgcn.kernels.metric import Metric
from qgcn.kernels.pairs.neighbourhoods import Chunk, Neighbourhoods, rows_at_once
from qgcn.kernels.pairs.points import Energy

__all__ = ["average_precision", "distances", "edge_energy", "log_sum"]


def log_sum(x: Tensor, graph: Neighbourhoods, manifold: Metric, energy: Energy, others: bool) -> Tensor:
    """Return the logarithm of each node's sum, shape ``(N,)``; see :func:`qgcn.kernels.pairs.energies.energies`."""

    def rows_of(chunk: Chunk) -> Tensor:
        return log_sum_of_rows(x, graph, manifold, chunk, energy, others)

    rows = rows_at_once(graph.num_nodes)
    if rows >= graph.num_nodes:
        return rows_of(next(graph.chunks(rows)))
    parts: list[Any] = [
        checkpoint(rows_of, chunk, use_reentrant=False, preserve_rng_state=False) for chunk in graph.chunks(rows)
    ]
    return torch.cat(parts)


def log_sum_of_rows(x: Tensor, graph: Neighbourhoods, manifold: Metric, chunk: Chunk, energy: Energy, others: bool) -> Tensor:
    first, rows, n = chunk.first, chunk.rows, len(x)
    dist = manifold.pairwise_dist(x[first : first + rows], x)
    cost = energy.tau * (dist.square() if energy.squared else dist)
    left_out = torch.zeros(rows, n, dtype=torch.bool, device=x.device)
    if not others:
        entry = (graph.source[chunk.edges] - first) * n + graph.target[chunk.edges]
        left_out.view(-1).index_fill_(0, entry, True)
    left_out.diagonal(first).fill_(True)
    empty = (graph.degree[first : first + rows] == n - 1) & (not others)
    # a sum of nothing has no gradient: such rows keep the node itself, and their result is replaced
    left_out.diagonal(first).logical_and_(~empty)
    total = cost.neg().masked_fill(left_out, -math.inf).logsumexp(-1)
    return torch.where(empty, -math.inf, total)


def edge_energy(x: Tensor, graph: Neighbourhoods, manifold: Metric, squared: bool) -> Tensor:
    """Return the energy of each edge, shape ``(E,)``."""
    ends = x.index_select(0, graph.source), x.index_select(0, graph.target)
    return manifold.dist2(*ends) if squared else manifold.dist(*ends)


def distances(x: Tensor, rows: range, manifold: Metric) -> Tensor:
    """Return distances from some rows to all points, shape ``(len(rows), N)``."""
    return manifold.pairwise_dist(x[rows.start : rows.stop], x).contiguous()


def average_precision(dist: Tensor, graph: Neighbourhoods, part: Chunk) -> Tensor:
    """Return the average precision of the chunk's nodes, float64, given their distances to all points.

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
