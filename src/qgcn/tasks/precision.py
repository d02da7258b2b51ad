"""The mean average precision of graphs too large to measure every node."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from qgcn.kernels import Metric, Neighbourhoods, average_precision
from qgcn.kernels.pairs import check_points, graph_of
from qgcn.metrics import mean_average_precision

__all__ = ["Estimate", "estimate_mean_average_precision", "precision_of"]


class Estimate(NamedTuple):
    """A mean over some of the nodes; scalars, shape ``()``."""

    mean: Tensor
    """The mean over the nodes drawn."""
    margin: Tensor
    """Half the width of the 95 % confidence interval of the mean over all nodes; 0 if all were drawn."""


@torch.no_grad()
def estimate_mean_average_precision(
    x: Tensor,
    edge_index: Tensor | Neighbourhoods,
    manifold: Metric,
    nodes: int,
    *,
    seed: int = 0,
    lead: Tensor | None = None,
) -> Estimate:
    r"""Return :func:`~qgcn.metrics.mean_average_precision` over some nodes alone, each measured exactly against all others.

    .. math:: \text{margin} = 1.96\, \frac{s}{\sqrt n} \sqrt{1 - n/|V|}

    Args:
        x: Points, shape ``(N, d)``.
        edge_index: As for :func:`~qgcn.metrics.mean_average_precision`; a graph may be on another device than the points.
        manifold: The space; anything with ``pairwise_dist``.
        nodes: How many of the nodes with neighbours, drawn at random without repetition; all if there are no more.
        seed: Of the draw: the same nodes of the same graph each time (default: 0).
        lead: As for :func:`~qgcn.metrics.mean_average_precision`.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: As for :func:`~qgcn.metrics.mean_average_precision`, or ``nodes`` is less than 2.
    """
    if nodes < 2:
        raise ValueError(f"nodes must be at least 2, got {nodes}")
    check_points(x)
    graph = edge_index if isinstance(edge_index, Neighbourhoods) else graph_of(edge_index, x)
    if graph.num_nodes != len(x):
        raise ValueError(f"x must have one point for each of the graph's {graph.num_nodes} nodes, got {len(x)}")
    joined = graph.joined
    if nodes >= len(joined):
        whole = mean_average_precision(x, graph.to(x.device), manifold, lead=lead)
        return Estimate(whole, torch.zeros((), dtype=torch.float64, device=x.device))
    draw = torch.randperm(len(joined), generator=torch.Generator().manual_seed(seed))[:nodes]
    found = precision_of(x, graph, manifold, joined[draw.to(joined.device)], lead)
    return Estimate(found.mean(), 1.96 * found.std() * math.sqrt((1 - nodes / len(joined)) / nodes))


@torch.no_grad()
def precision_of(x: Tensor, graph: Neighbourhoods, manifold: Metric, nodes: Tensor, lead: Tensor | None = None) -> Tensor:
    """Return how well the nearest points of some nodes, among all points, are their neighbours, shape ``(n,)``.

    Law: what :func:`~qgcn.metrics.node_precision` returns of these nodes.

    Args:
        x: Points, shape ``(N, d)``.
        graph: The neighbours of every node; it may be on another device than the points.
        manifold: The space; anything with ``pairwise_dist``.
        nodes: Different nodes, shape ``(n,)``, on the device of the graph.
        lead: What is taken off the distance to each node, shape ``(N,)``.
    """
    order, leaving = graph.leaving(nodes)
    order = order.to(x.device)
    ahead = None if lead is None else lead[order]
    found = average_precision(x[order], leaving.to(x.device), manifold, count=len(nodes), lead=ahead)
    return torch.where(graph.degree[nodes].to(found.device) > 0, found, torch.nan)
