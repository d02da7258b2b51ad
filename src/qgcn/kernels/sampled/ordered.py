"""The objective of ordered pairs: which points lie in the future of which, each row told from all others or from some."""

from typing import Any, Final

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from qgcn.kernels.metric import Metric
from qgcn.kernels.pairs.neighbourhoods import WORD, Neighbourhoods, check_points
from qgcn.kernels.pairs.objective import temperature_of
from qgcn.kernels.sampled.negatives import Negatives
from qgcn.kernels.sampled.objective import Part, part_loss

__all__ = ["ordered_loss"]

MOST_WORDS: Final = 2**25
"""Words of bits of what is left out at once, 128 MiB: rows are cut into parts beyond that, each of which is gone over twice."""


def ordered_loss(
    places: Tensor,
    times: Tensor,
    graph: Neighbourhoods,
    manifold: Metric,
    columns: Tensor | None = None,
    *,
    weights: Tensor | None = None,
    temperature: Tensor | float = 1.0,
    squared: bool = False,
    balance: bool = False,
) -> Tensor:
    r"""Return the mean cost of telling the out-neighbours of each node from all other nodes by the light cones of a spacetime.

    .. math:: \mathcal L = \frac1E \sum_{(u,v)} -\log \frac{e^{s(u,v)}}{e^{s(u,v)} + \sum_{w \notin X(u)} e^{s(u,w)}}, \qquad
        s(u,v) = \tau\,\bigl(t_v - t_u - d(u,v)\bigr), \qquad X(u) = \mathcal N(u) \cup \{u\}

    Times are those of a static spacetime, time beside the space of the places: :math:`-s/\tau` is the margin of light. The time
    of :math:`u` cancels, so that the time of a node is the logarithm of a weight that it has as a far end: this is
    :func:`~qgcn.kernels.sampled_reconstruction_loss` with such weights.

    Laws: invariant under isometries of the places, and if the same is added to all times; with equal times
    :func:`~qgcn.kernels.reconstruction_loss`; if all nodes are drawn, the same as if none are given. ``ordered_loss(places,
    -times, graph.turned, ...)`` tells the in-neighbours of each node.

    Args:
        places: Points of the space, shape ``(N, d)``.
        times: Shape ``(N,)``.
        graph: The out-neighbours of every node.
        manifold: The space, without time; anything with ``pairwise_dist``.
        columns: Nodes drawn to stand for all others, distinct, shape ``(n,)``; all if not given.
        weights: For how many nodes each of them stands, shape ``(n,)``: one over the chance that it was drawn by. If not given,
            all of a row's stand for equally many, as if drawn uniformly.
        temperature: :math:`\tau > 0`, a number or a tensor with one element, to which gradients flow.
        squared: Use :math:`d^2` instead of :math:`d`, which is then no longer light's.
        balance: Let nodes count equally instead of edges.

    Returns:
        Scalar, shape ``()``.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: There is another number of places or times than the graph has nodes, or ``temperature`` is not positive.

    Example:
        >>> import torch, qgcn
        >>> from qgcn.kernels import Neighbourhoods, ordered_loss
        >>> space, path = qgcn.parse_space("E1"), Neighbourhoods.of(torch.tensor([[0, 0, 1], [1, 2, 2]]), 3)
        >>> places, times = torch.zeros(3, 1), torch.tensor([0.0, 5.0, 10.0])
        >>> bool(ordered_loss(places, times, path, space) < 0.01 < ordered_loss(places, -times, path, space))
        True
    """
    check_points(places, read=False)
    for name, given, shape in (("places", places, (graph.num_nodes, places.shape[1])), ("times", times, (graph.num_nodes,))):
        if tuple(given.shape) != shape:
            raise ValueError(f"{name} must have shape {shape} on a graph of {graph.num_nodes} nodes, got {tuple(given.shape)}")
    tau = temperature_of(temperature, places)
    order, renamed = graph.compact
    x, bias = places.index_select(0, order), tau * times.to(places.dtype).index_select(0, order)
    every = torch.arange(len(order), device=order.device)
    drawn = every if columns is None else torch.empty_like(order).index_copy_(0, order, every)[columns]
    share = renamed.share.to(x.dtype) if balance else x.new_full((graph.num_edges,), 1 / graph.num_edges)
    rows = len(graph.joined)
    each = max(WORD, MOST_WORDS * WORD // len(drawn))

    def cost(x: Tensor, bias: Tensor, tau: Tensor, first: int, last: int) -> Tensor:
        cut = slice(int(renamed.start[first]), int(renamed.start[last]))
        edges = torch.stack((renamed.source[cut], renamed.target[cut]))
        total = (graph.num_nodes - 1 - renamed.degree[first:last]).to(x.dtype)
        negatives = Negatives.of(drawn, edges, range(first, last), len(x), total, weights)
        return part_loss(x, Part(edges, share[cut], negatives), manifold, tau, squared=squared, bias=bias)

    if rows <= each:
        return cost(x, bias, tau, 0, rows)
    parts: list[Any] = [
        checkpoint(cost, x, bias, tau, first, min(first + each, rows), use_reentrant=False, preserve_rng_state=False)
        for first in range(0, rows, each)
    ]
    return torch.stack(parts).sum()
