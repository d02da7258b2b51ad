"""Metrics of embeddings, rankings and classifications: exact, on tensors, with ties counted correctly.

Every metric is a float64 tensor without gradient, on the device of its arguments, so that nothing waits for the device until
it is read. :func:`mean_average_precision` and :func:`distortion` look at all pairs of nodes, a block of rows at a time.
"""

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from qgcn.data.hops import Shape
from qgcn.kernels.metric import Metric
from qgcn.kernels.pairs import Neighbourhoods, check_points, distances_from, graph_of, rows_at_once
from qgcn.kernels.pairs import average_precision as average_precision_of_nodes

__all__ = [
    "Distortion",
    "accuracy",
    "average_precision",
    "distortion",
    "f1",
    "hits_at",
    "mean_average_precision",
    "mean_reciprocal_rank",
    "node_precision",
    "roc_auc",
]


# --- labels ----------------------------------------------------------------------------------------------------------


def accuracy(prediction: Tensor, y: Tensor) -> Tensor:
    """Return the share of nodes whose label is right.

    Args:
        prediction: Labels, shape ``(N,)``, or scores of the classes, shape ``(N, C)``, of which the highest counts.
        y: True labels, shape ``(N,)``.
    """
    return (_labels(prediction, y) == y).double().mean()


def f1(prediction: Tensor, y: Tensor, *, average: Literal["micro", "macro"] = "micro") -> Tensor:
    r"""Return the F1 score of single-label classification.

    .. math:: F_1 = \frac{2\,\mathrm{TP}}{2\,\mathrm{TP} + \mathrm{FP} + \mathrm{FN}}

    ``"micro"`` adds up the counts of all classes first; with one label per node this is the :func:`accuracy`. ``"macro"`` is
    the mean over the classes that occur, among true labels or predicted ones, as in scikit-learn.

    Args:
        prediction: Labels, shape ``(N,)``, or scores of the classes, shape ``(N, C)``, of which the highest counts.
        y: True labels, shape ``(N,)``.
        average: ``"micro"`` or ``"macro"``.
    """
    if average not in ("micro", "macro"):
        raise ValueError(f"average must be 'micro' or 'macro', got {average!r}")
    labels = _labels(prediction, y)
    if average == "micro":
        return (labels == y).double().mean()
    classes, index = torch.unique(torch.stack((labels.long(), y.long())), return_inverse=True)
    right = torch.bincount(index[0][labels == y], minlength=len(classes))
    either = torch.bincount(index.flatten(), minlength=len(classes))  # 2 TP + FP + FN
    return (2 * right.double() / either).mean()


def _labels(prediction: Tensor, y: Tensor) -> Tensor:
    """Return predicted labels, those of the highest scores if scores are given; raise unless they fit ``y``."""
    _check_labels(prediction, y)
    if prediction.ndim not in (1, 2) or len(prediction) != len(y) or prediction.shape[1:] == (0,):
        raise ValueError(f"prediction must have shape ({len(y)},) or ({len(y)}, C), got {tuple(prediction.shape)}")
    if prediction.ndim == 2:
        _check_no_nan(prediction, "prediction")
        return prediction.argmax(-1)
    if prediction.is_floating_point() or prediction.is_complex():
        raise TypeError(f"prediction must hold integer labels, or scores of shape ({len(y)}, C), got {prediction.dtype}")
    return prediction


def _check_labels(prediction: Tensor, y: Tensor) -> None:
    """Raise unless both are tensors and ``y`` holds labels."""
    for name, tensor in (("prediction", prediction), ("y", y)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}")
    if y.is_floating_point() or y.is_complex():
        raise TypeError(f"y must hold integer labels, got {y.dtype}")
    if y.ndim != 1 or len(y) == 0:
        raise ValueError(f"y must have shape (N,) with N at least 1, got {tuple(y.shape)}")


# --- scores of positives and negatives -------------------------------------------------------------------------------


@torch.no_grad()
def roc_auc(positive: Tensor, negative: Tensor) -> Tensor:
    r"""Return the area under the ROC curve: the chance that a positive scores higher than a negative.

    .. math:: \mathrm{AUC} = \frac{1}{PQ}\sum_{p,n} \bigl([s_p > s_n] + \tfrac12 [s_p = s_n]\bigr)

    Exact, ties counted half, in ``(P + Q) log Q`` steps.

    Args:
        positive: Scores of the positives, shape ``(..., P)``; axes before the last are batches.
        negative: Scores of the negatives, shape ``(..., Q)``.

    Returns:
        Shape ``(...)``.
    """
    positive, negative = _scores(positive, negative)
    below, not_above = _ranks(positive, negative)
    pairs = positive.shape[-1] * negative.shape[-1]
    return (below + not_above).sum(-1).double() / (2 * pairs)


@torch.no_grad()
def average_precision(positive: Tensor, negative: Tensor) -> Tensor:
    r"""Return the mean over positives of the precision among everything that scores at least as high.

    .. math:: \mathrm{AP} = \frac1P\sum_p
        \frac{|\{p' : s_{p'} \ge s_p\}|}{|\{p' : s_{p'} \ge s_p\}| + |\{n : s_n \ge s_p\}|}

    Equal scores share one threshold, as in scikit-learn's ``average_precision_score``.

    Args:
        positive: Scores of the positives, shape ``(..., P)``; axes before the last are batches.
        negative: Scores of the negatives, shape ``(..., Q)``.

    Returns:
        Shape ``(...)``.
    """
    positive, negative = _scores(positive, negative)
    hits = positive.shape[-1] - _ranks(positive, positive)[0]
    misses = negative.shape[-1] - _ranks(positive, negative)[0]
    return (hits.double() / (hits + misses)).mean(-1)


@torch.no_grad()
def mean_reciprocal_rank(positive: Tensor, negative: Tensor) -> Tensor:
    r"""Return the mean of one over the rank that each positive takes among all negatives.

    .. math:: \mathrm{MRR} = \frac1P\sum_p \Bigl(1 + |\{n : s_n > s_p\}| + \tfrac12 |\{n : s_n = s_p\}|\Bigr)^{-1}

    Each positive is ranked alone against the same negatives; tied with some, it takes the mean of the ranks they share.

    Args:
        positive: Scores of the positives, shape ``(..., P)``; axes before the last are batches.
        negative: Scores of the negatives, shape ``(..., Q)``.

    Returns:
        Shape ``(...)``.
    """
    positive, negative = _scores(positive, negative)
    below, not_above = _ranks(positive, negative)
    rank = 1 + negative.shape[-1] - (below + not_above).double() / 2
    return rank.reciprocal().mean(-1)


@torch.no_grad()
def hits_at(positive: Tensor, negative: Tensor, k: int) -> Tensor:
    """Return the share of positives that score higher than the ``k``-th highest negative.

    The convention of the Open Graph Benchmark: a tie with that negative is a miss, and with fewer than ``k`` negatives all
    positives are hits.

    Args:
        positive: Scores of the positives, shape ``(..., P)``; axes before the last are batches.
        negative: Scores of the negatives, shape ``(..., Q)``.
        k: At least 1.

    Returns:
        Shape ``(...)``.
    """
    if isinstance(k, bool) or not isinstance(k, int):
        raise TypeError(f"k must be an int, got {type(k).__name__}")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    positive, negative = _scores(positive, negative)
    if negative.shape[-1] < k:
        return torch.ones(positive.shape[:-1], dtype=torch.float64, device=positive.device)
    bar = negative.topk(k, dim=-1).values[..., -1:]
    return (positive > bar).double().mean(-1)


def _scores(positive: Tensor, negative: Tensor) -> tuple[Tensor, Tensor]:
    """Return both in one type and with one batch shape; raise if they are not scores."""
    for name, scores in (("positive", positive), ("negative", negative)):
        if not isinstance(scores, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(scores).__name__}")
        if scores.is_complex() or scores.dtype == torch.bool:
            raise TypeError(f"{name} must hold real numbers, got {scores.dtype}")
        if scores.ndim == 0 or scores.shape[-1] == 0:
            raise ValueError(f"{name} must hold at least one score, got shape {tuple(scores.shape)}")
        _check_no_nan(scores, name)
    try:
        batch = torch.broadcast_shapes(positive.shape[:-1], negative.shape[:-1])
    except RuntimeError:
        shapes = f"positive {tuple(positive.shape)}, negative {tuple(negative.shape)}"
        raise ValueError(f"axes before the last do not broadcast: {shapes}") from None
    # not torch.result_type, which lets a scalar's type give way
    dtype = torch.promote_types(positive.dtype, negative.dtype)
    first, second = (scores.to(dtype).expand(*batch, -1).contiguous() for scores in (positive, negative))
    return first, second


def _ranks(scores: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
    """Return, of each score, how many others are below it and how many are not above it."""
    others = others.sort(dim=-1).values
    return torch.searchsorted(others, scores), torch.searchsorted(others, scores, right=True)


def _check_no_nan(tensor: Tensor, name: str) -> None:
    if bool(tensor.isnan().any()):
        raise ValueError(f"{name} must not contain NaN, got {int(tensor.isnan().sum())} of {tensor.numel()}")


# --- embeddings of graphs --------------------------------------------------------------------------------------------


@torch.no_grad()
def mean_average_precision(
    x: Tensor,
    edge_index: Tensor | Neighbourhoods,
    manifold: Metric,
    *,
    chunk: int | None = None,
    lead: Tensor | None = None,
) -> Tensor:
    r"""Return how well the nearest points of each node are its neighbours: the mAP of graph reconstruction.

    .. math:: \mathrm{mAP} = \frac1{|V|}\sum_u \frac1{\deg u} \sum_{v \in \mathcal N(u)}
        \frac{|\mathcal N(u) \cap R_{uv}|}{|R_{uv}|}, \qquad R_{uv} = \{w \ne u : d(u, w) \le d(u, v)\}

    Exact, and strict about ties: a node as far away as the neighbour is not distinguished from it, so it counts against the
    embedding. If all points coincide, a node scores :math:`\deg(u)/(N-1)`, not 1. ``V`` are the nodes with at least one
    neighbour; those without are left out.

    Laws: in ``(0, 1]``; 1 exactly if every neighbour is nearer than every other node; invariant under isometries, scaling
    and the order of nodes.

    With ``lead``, :math:`d(u, w)` is less by that of :math:`w`: with the time of nodes, which a static spacetime has beside the
    places that ``x`` are then, :math:`d(u, w) - t_w` ranks nodes by how far they are from the future of :math:`u`.

    Args:
        x: Points, shape ``(N, d)``.
        edge_index: Directed edges, shape ``(2, E)``; loops and repetitions are left out. Or the graph's
            :class:`~qgcn.kernels.Neighbourhoods`.
        manifold: The space; anything with ``pairwise_dist``.
        chunk: Nodes whose distances are computed at once; chosen to bound memory if not given.
        lead: How much nearer than it is each node counts, shape ``(N,)``; 0 if not given.

    Returns:
        Scalar, shape ``()``.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: Points or distances are NaN, an edge names a node that is not there, or there is no edge.
    """
    return _nonempty_mean(node_precision(x, edge_index, manifold, chunk=chunk, lead=lead))


@torch.no_grad()
def node_precision(
    x: Tensor,
    edge_index: Tensor | Neighbourhoods,
    manifold: Metric,
    *,
    chunk: int | None = None,
    lead: Tensor | None = None,
) -> Tensor:
    """Return each node's share in :func:`mean_average_precision`: how well its own nearest points are its neighbours.

    Args:
        x: Points, shape ``(N, d)``.
        edge_index: As for :func:`mean_average_precision`.
        manifold: The space; anything with ``pairwise_dist``.
        chunk: Nodes whose distances are computed at once; chosen to bound memory if not given.
        lead: As for :func:`mean_average_precision`.

    Returns:
        Shape ``(N,)``; NaN for nodes without a neighbour.
    """
    check_points(x)
    graph = graph_of(edge_index, x)
    if lead is not None and (lead.shape != x.shape[:1] or bool(lead.isnan().any())):
        raise ValueError(f"lead must hold a number for each of {len(x)} points, got shape {tuple(lead.shape)}, or NaN")
    found = average_precision_of_nodes(x, graph, manifold, chunk=chunk, lead=lead)
    return torch.where(graph.degree > 0, found, torch.nan)


def _nonempty_mean(values: Tensor) -> Tensor:
    """Return the mean of what is not NaN."""
    return values.nansum() / (~values.isnan()).sum()


class Distortion(NamedTuple):
    """Distortion of the distances of a graph by an embedding; scalars, shape ``()``."""

    average: Tensor
    """Mean relative error of a distance; 0 at best."""
    worst: Tensor
    """Largest stretch of a distance over the smallest; 1 at best, infinite if two distinct nodes are at distance zero."""


@torch.no_grad()
def distortion(
    x: Tensor,
    edge_index: Tensor | Neighbourhoods,
    manifold: Metric,
    *,
    scale: bool = False,
    sources: int | None = None,
    chunk: int | None = None,
) -> Distortion:
    r"""Return how far distances in the space are from those in the graph.

    With the stretch :math:`r_{uv} = d(u, v)/d_G(u, v)` of each pair of distinct nodes that a path joins,

    .. math:: \text{average} = \operatorname{mean}_{uv} |r_{uv}/\lambda - 1|, \qquad
        \text{worst} = \max_{uv} r_{uv} \,/\, \min_{uv} r_{uv}

    where :math:`\lambda = 1`, or, with ``scale``, the one scale that makes the mean of :math:`(r/\lambda - 1)^2` smallest,
    :math:`\lambda = \sum r^2 / \sum r`. The worst distortion does not depend on the scale.

    Graph distances count edges, in either direction. Finding them takes ``N`` searches of the graph, on the CPU, twice with
    ``scale``.

    Args:
        x: Points, shape ``(N, d)``.
        edge_index: Edges, shape ``(2, E)``, or the graph's :class:`~qgcn.kernels.Neighbourhoods`.
        manifold: The space; anything with ``pairwise_dist``.
        scale: Divide distances by the best single scale first.
        sources: Measure from this many nodes instead of all, drawn at random but always the same ones: the average is then an
            estimate, the worst a lower bound.
        chunk: Nodes whose distances are computed at once; chosen to bound memory if not given.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: Points or distances are NaN, an edge names a node that is not there, there is no edge, or no source.
    """
    check_points(x)
    graph = graph_of(edge_index, x)
    if sources is not None and sources < 1:
        raise ValueError(f"sources must be at least 1, got {sources}")
    rows = rows_at_once(graph.num_nodes, chunk)
    starts = _drawn_sources(graph, sources)
    shrink = torch.ones((), dtype=torch.float64, device=x.device)  # 1 / lambda
    if scale:
        found = _stretches(x, graph, manifold, starts, rows)
        sums = torch.stack([torch.stack((r.sum(), r.square().sum())) for r in found]).sum(0)
        shrink = torch.where(sums[1] > 0, sums[0] / torch.where(sums[1] > 0, sums[1], 1), 1)
    errors, counts, smallest, largest = [], 0, [], []
    for r in _stretches(x, graph, manifold, starts, rows):
        errors.append((r * shrink - 1).abs().sum())
        counts += len(r)
        smallest.append(r.min())
        largest.append(r.max())
    low, high = torch.stack(smallest).min(), torch.stack(largest).max()
    worst = torch.where(low > 0, high / torch.where(low > 0, low, 1), math.inf)
    return Distortion(torch.stack(errors).sum() / counts, worst)


def _drawn_sources(graph: Neighbourhoods, count: int | None) -> np.ndarray:
    """Tell for each node whether distances are measured from it; only those with an edge are."""
    joined = torch.cat((graph.source, graph.target)).unique().cpu().numpy()
    if count is not None and count < len(joined):
        joined = np.random.default_rng(0).choice(joined, count, replace=False)
    chosen = np.zeros(graph.num_nodes, dtype=bool)
    chosen[joined] = True
    return chosen


def _stretches(x: Tensor, graph: Neighbourhoods, manifold: Metric, starts: np.ndarray, rows: int) -> Iterator[Tensor]:
    """Yield, for some of the chosen nodes at a time, the stretch of their distances to all nodes that a path joins to them."""
    from torch_geometric.data import Data

    edges = torch.stack((graph.source, graph.target)).cpu()
    for component in Shape.of(Data(edge_index=edges, num_nodes=graph.num_nodes)).components:
        chosen = starts[component.nodes]
        order = np.concatenate((np.flatnonzero(chosen), np.flatnonzero(~chosen)))  # those measured from come first
        points = x[torch.from_numpy(component.nodes[order]).to(x.device)]
        done = 0
        for sources, steps in component.hops_in_parts(order[: chosen.sum()]):
            apart = torch.from_numpy(steps[:, order].astype(np.int32)).to(x.device)
            for first in range(0, len(sources), rows):
                some = apart[first : first + rows]
                dist = distances_from(points, range(done + first, done + first + len(some)), manifold)
                yield dist[some > 0].double() / some[some > 0]
            done += len(sources)
