"""Objectives that make a space hold a graph: all pairs at once, without a tensor of all pairs."""

import math
from numbers import Real
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from qgcn.kernels.metric import Metric
from qgcn.kernels.pairs.energies import energies
from qgcn.kernels.pairs.neighbourhoods import Neighbourhoods, check_on_manifold, check_pairs, check_points, graph_of

__all__ = ["Denominator", "distortion_loss", "reconstruction_loss", "temperature_of"]

Denominator = Literal["negatives", "others", "paper"]
"""The terms an edge is weighed against; see :func:`reconstruction_loss`."""


def reconstruction_loss(
    x: Tensor,
    edge_index: Tensor | Neighbourhoods,
    manifold: Metric,
    *,
    temperature: Tensor | float = 1.0,
    squared: bool = True,
    denominator: Denominator = "negatives",
    balance: bool = False,
    group: Any = None,
) -> Tensor:
    r"""Return how badly nearness of the points tells the neighbours of each node from all other nodes.

    .. math:: \mathcal L = \frac{1}{E}\sum_{(u,v)} -\log\frac{e^{-\tau d(u,v)^2}}{Z_{uv}}, \qquad
        Z_{uv} = \begin{cases}
        e^{-\tau d(u,v)^2} + \sum_{w \notin \mathcal N(u),\, w \ne u} e^{-\tau d(u,w)^2} & \text{negatives}\\
        \sum_{w \ne u} e^{-\tau d(u,w)^2} & \text{others}\\
        \sum_{w \notin \mathcal N(u),\, w \ne u} e^{-\tau d(u,w)^2} & \text{paper}
        \end{cases}

    Every non-neighbour of every node takes part: nothing is sampled. With ``"negatives"`` neighbours do not compete with
    each other, and the loss can reach 0; with ``"others"`` they do, and :math:`\log\deg(u)` is the least an edge of ``u``
    costs. ``"paper"`` is what the paper prints (there with ``squared=False`` and the sign that maximises). It is *unbounded
    below*: moving negatives away pays for ever, with squared distances faster than anything else pays, and embeddings
    get worse while it falls. It is there for comparison.

    An edge whose node has no negatives costs 0 with ``"negatives"`` and ``"paper"``: there is nothing to tell it from. A node
    without edges has no cost of its own; it takes part as a negative of all others.

    Laws: invariant under isometries and under the order of nodes and edges; not negative, except for ``"paper"``;
    ``"negatives"`` is at most ``"others"``. Gradients are finite everywhere, at coincident, null-separated and disconnected
    pairs too. Differentiable once, like ``pairwise_dist``.

    Distances are computed for a run of rows at a time and again for the gradient, so that memory grows as
    ``N d + E``, plus a constant once the graph has more than :data:`~qgcn.kernels.pairs.neighbourhoods.CHUNK_ENTRIES` pairs.

    Args:
        x: Points, shape ``(N, d)``.
        edge_index: Directed edges, shape ``(2, E)``; loops and repetitions are left out. Or the graph's
            :class:`Neighbourhoods`: with those a call neither sorts edges nor reads the points to check them, and so
            never waits for the device.
        manifold: The space; anything with ``pairwise_dist``.
        temperature: :math:`\tau > 0`, a number or a tensor with one element, to which gradients flow. A tensor's sign is
            not checked.
        squared: Use :math:`d^2`; otherwise :math:`d`.
        denominator: Nodes that an edge competes with, :math:`Z_{uv}` above.
        balance: Average over each node's edges first, then over the nodes that have any, so that nodes count equally
            instead of edges.
        group: A group of processes of ``torch.distributed`` that hold the same points: each takes its share of the rows of
            the pair matrix, all get the same loss and the same, whole gradient.

    Returns:
        Scalar, shape ``()``.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: Points are not finite or not on the manifold, an edge names a node that is not there, there is no edge,
            ``temperature`` is not positive, or the path asked for by :func:`~qgcn.kernels.use_backend` cannot be taken.
    """
    if denominator not in get_args(Denominator):
        raise ValueError(f"denominator must be one of {', '.join(get_args(Denominator))}, got {denominator!r}")
    check_points(x, read=isinstance(edge_index, Tensor))
    if isinstance(edge_index, Tensor):
        check_on_manifold(x, manifold)
    graph = graph_of(edge_index, x)
    tau = temperature_of(temperature, x)
    x = x.as_subclass(Tensor)  # slices of a geoopt.ManifoldParameter would carry its manifold along
    log_sum, energy = energies(x, graph, manifold, tau, squared=squared, others=denominator == "others", group=group)
    margin = torch.addcmul(log_sum.index_select(0, graph.source), tau, energy)
    # softplus, which PyTorch cuts off at 20; nothing to be told from leaves minus infinity, which costs nothing
    costs = -logsigmoid(-margin) if denominator == "negatives" else torch.where(margin == -math.inf, 0, margin)
    if not balance:
        return costs.mean()
    return graph.share.to(x.dtype) @ costs


def distortion_loss(x: Tensor, pairs: Tensor, graph_distance: Tensor, manifold: Metric) -> Tensor:
    r"""Return how far squared distances in the space are from those in the graph, on average over the pairs given.

    .. math:: \mathcal L = \frac1P \sum_{(u,v)} \left|\frac{d(u,v)^2}{d_G(u,v)^2} - 1\right|

    The objective of the product-space literature. Gradients are finite everywhere; at distance zero they vanish, so
    points must not all start at one place.

    Laws: zero exactly where all distances agree; 1 where all points coincide.

    Args:
        x: Points, shape ``(N, d)``.
        pairs: Pairs of nodes, shape ``(2, P)``, integers in ``[0, N)``.
        graph_distance: :math:`d_G > 0` of each pair, shape ``(P,)``; leave out pairs that no path joins.
        manifold: The space; anything with ``dist2``.

    Returns:
        Scalar, shape ``()``.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: Points are not finite, a pair names a node that is not there, there is no pair, or a graph distance is not
            positive and finite.
    """
    check_points(x)
    check_pairs(pairs, len(x), "pairs")
    if not isinstance(graph_distance, Tensor):
        raise TypeError(f"graph_distance must be a torch.Tensor, got {type(graph_distance).__name__}")
    if graph_distance.shape != pairs.shape[1:]:
        raise ValueError(f"graph_distance must have shape ({pairs.shape[1]},), got {tuple(graph_distance.shape)}")
    if not bool(((graph_distance > 0) & graph_distance.isfinite()).all()):
        raise ValueError(f"graph_distance must be positive and finite, got a minimum of {graph_distance.min().item():g}")
    x = x.as_subclass(Tensor)
    u, v = pairs.to(x.device).long()
    ratio = manifold.dist2(x[u], x[v]) / graph_distance.to(x).square()
    return (ratio - 1).abs().mean()


def temperature_of(temperature: Any, x: Tensor) -> Tensor:
    """Return a temperature as a scalar tensor of the type of the points; raise if it is none."""
    if isinstance(temperature, Tensor):
        if temperature.numel() != 1:
            raise ValueError(f"temperature must have one element, got shape {tuple(temperature.shape)}")
        return temperature.to(x).reshape(())
    if isinstance(temperature, bool) or not isinstance(temperature, Real):
        raise TypeError(f"temperature must be a number or a tensor, got {type(temperature).__name__}")
    value = float(temperature)
    if not 0 < value < math.inf:
        raise ValueError(f"temperature must be positive and finite, got {value}")
    return torch.full((), value, dtype=x.dtype, device=x.device)
