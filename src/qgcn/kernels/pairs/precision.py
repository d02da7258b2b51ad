"""Average precision: whether the nearest points of a node are its neighbours."""

import torch
from torch import Tensor

from qgcn.kernels.metric import Metric, factors_of
from qgcn.kernels.pairs import cpu, reference
from qgcn.kernels.pairs.implementations import choose
from qgcn.kernels.pairs.nearest import check_distances, distances_from
from qgcn.kernels.pairs.neighbourhoods import Neighbourhoods, rows_at_once
from qgcn.kernels.pairs.points import Points, layout_of, sizes_of

__all__ = ["average_precision"]


@torch.no_grad()
def average_precision(
    x: Tensor,
    graph: Neighbourhoods,
    manifold: Metric,
    *,
    chunk: int | None = None,
    count: int | None = None,
    lead: Tensor | None = None,
) -> Tensor:
    """Return the average precision of each node, float64, shape ``(N,)``; 0 for a node without neighbours.

    See :func:`qgcn.metrics.mean_average_precision`, which is its mean.

    Args:
        x: Points, shape ``(N, d)``.
        graph: The neighbours.
        manifold: The space.
        chunk: Nodes whose distances are computed at once; chosen to bound memory if not given.
        count: Take the first nodes alone, so many of them.
        lead: How much nearer than it is each node counts, shape ``(N,)``; 0 if not given.
    """
    count = len(x) if count is None else count
    x = x.as_subclass(Tensor).detach()
    rows = rows_at_once(graph.num_nodes, chunk)
    factors = factors_of(manifold)
    if choose(x, manifold, factors).name == "native" and factors is not None:
        points = Points.of(x, sizes_of(factors, x), layout_of(factors))
        result = cpu.average_precision(points, graph.start, graph.target, range(count), lead)
        check_distances(result)
        return result
    parts = []
    for part in graph.chunks(rows):
        if part.first >= count:
            break
        if part.edges.start < part.edges.stop:
            dist = distances_from(x, range(part.first, part.first + part.rows), manifold)
            parts.append(reference.average_precision(dist if lead is None else dist - lead, graph, part))
        else:
            parts.append(torch.zeros(part.rows, dtype=torch.float64, device=x.device))
    return torch.cat(parts)[:count]
