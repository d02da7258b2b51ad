r"""The sum over all other points that a softmax over distances divides by, on the fastest path there is for it.

.. math:: \log Z_u = \log \sum_{w \notin X(u)} e^{-\tau E(u, w)}, \qquad E = d^2 \text{ or } d
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from qgcn.kernels.backends import choose, module_of
from qgcn.kernels.graph import Chunk, Neighbourhoods, Words, rows_at_once
from qgcn.kernels.metric import Metric, Shape, factors_of, reach_of, shape_of, sizes_of

__all__ = ["energies"]


def energies(
    x: Tensor,
    graph: Neighbourhoods,
    manifold: Metric,
    tau: Tensor,
    *,
    squared: bool,
    others: bool,
    group: Any = None,
) -> tuple[Tensor, Tensor]:
    r"""Return :math:`\log Z_u` of every node, shape ``(N,)``, and :math:`E(u, v)` of every edge, shape ``(E,)``.

    A sum of nothing has the logarithm minus infinity.

    Args:
        x: Points, shape ``(N, d)``.
        graph: The neighbours.
        manifold: The space.
        tau: :math:`\tau`, shape ``()``.
        squared: Use :math:`d^2`; otherwise :math:`d`.
        others: Leave out the node alone, :math:`X(u) = \{u\}`; otherwise its neighbours too.
        group: A group of processes of ``torch.distributed`` that hold the same points: each takes its share of the rows, all
            get all results and, in the backward pass, the whole gradient.
    """
    factors = factors_of(manifold)
    path = choose(x, manifold, factors)
    if path == "eager" or factors is None:
        ends = x.index_select(0, graph.source), x.index_select(0, graph.target)
        of_edges = manifold.dist2(*ends) if squared else manifold.dist(*ends)
        return _eager(x, graph, manifold, tau, squared, others), of_edges
    words = (graph.itself, graph.itself) if others else graph.itself_and_neighbours
    apply: Any = _Energies.apply
    fixed = _Fixed(graph, words, shape_of(factors), squared, module_of(path), group)
    found: tuple[Tensor, Tensor] = apply(x, sizes_of(factors, x), tau, fixed)
    return found


@dataclass(frozen=True)
class _Fixed:
    """What no gradient flows to."""

    graph: Neighbourhoods
    words: tuple[Words, Words]
    shape: Shape
    squared: bool
    kernels: Any
    group: Any


class _Energies(Function):
    """Both in one go; the gradient goes over all pairs a second time and keeps nothing of them.

    Edges alone would be a dozen operations of PyTorch on a few thousand numbers each, which wait for each other.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, sizes: Tensor, tau: Tensor, fixed: _Fixed) -> tuple[Tensor, Tensor]:
        x = x.contiguous()
        graph, kernels, share = fixed.graph, fixed.kernels, _share(len(x), fixed.group)
        space = x, reach_of(x, fixed.shape), sizes
        log = kernels.log_sum(*space, tau / math.log(2), fixed.words[0], fixed.shape, fixed.squared, share)
        log = _gathered(log, len(x), fixed.group)
        shift = torch.where(log > -math.inf, -log, -math.inf)  # of an empty sum nothing depends on anything
        ctx.save_for_backward(*space, tau, shift)
        ctx.fixed = fixed
        of_edges = kernels.edge_energy(*space, graph.source, graph.target, fixed.shape, fixed.squared)
        # NaN if a point is not finite, whatever comparisons made of it
        return torch.addcmul((0 * x).sum(), log, log.new_full((), math.log(2))), of_edges

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, weight: Tensor, edge_weight: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        x, reach, sizes, tau, shift = ctx.saved_tensors
        fixed: _Fixed = ctx.fixed
        graph, kernels, shape, squared = fixed.graph, fixed.kernels, fixed.shape, fixed.squared
        share = _share(len(x), fixed.group)
        of_pairs = kernels.log_sum_gradient(
            x, reach, sizes, tau / math.log(2), shift, weight.contiguous(), *fixed.words, shape, squared, share
        )
        to_x, to_rest = _gathered(of_pairs[0], len(x), fixed.group), of_pairs[1]
        if fixed.group is not None:
            torch.distributed.all_reduce(to_rest, group=fixed.group)
        ends = graph.source, graph.target
        of_edges = kernels.edge_gradient(x, reach, sizes, *ends, edge_weight.contiguous(), shape, squared)
        return of_edges[0].addcmul_(to_x, -2 * tau), torch.addcmul(of_edges[1], -tau, to_rest[1:]), -to_rest[0], None


def _share(n: int, group: Any) -> range:
    """Return the rows of this process."""
    if group is None:
        return range(n)
    each = -(-n // group.size())
    return range(min(n, group.rank() * each), min(n, (group.rank() + 1) * each))


def _gathered(part: Tensor, n: int, group: Any) -> Tensor:
    """Return the rows of all processes."""
    if group is None:
        return part
    each = -(-n // group.size())
    padded = part.new_zeros(each, *part.shape[1:])
    padded[: len(part)] = part
    parts = [torch.empty_like(padded) for _ in range(group.size())]
    torch.distributed.all_gather(parts, padded, group=group)
    return torch.cat(parts)[:n]


# --- plain PyTorch ---------------------------------------------------------------------------------------------------------


def _eager(x: Tensor, graph: Neighbourhoods, manifold: Metric, tau: Tensor, squared: bool, others: bool) -> Tensor:
    def rows_of(chunk: Chunk) -> Tensor:
        return _log_sum_of_rows(x, graph, manifold, chunk, tau, squared, others)

    rows = rows_at_once(graph.num_nodes)
    if rows >= graph.num_nodes:
        return rows_of(next(graph.chunks(rows)))
    parts: list[Any] = [
        checkpoint(rows_of, chunk, use_reentrant=False, preserve_rng_state=False) for chunk in graph.chunks(rows)
    ]
    return torch.cat(parts)


def _log_sum_of_rows(
    x: Tensor, graph: Neighbourhoods, manifold: Metric, chunk: Chunk, tau: Tensor, squared: bool, others: bool
) -> Tensor:
    first, rows, n = chunk.first, chunk.rows, len(x)
    dist = manifold.pairwise_dist(x[first : first + rows], x)
    energy = tau * (dist.square() if squared else dist)
    left_out = torch.zeros(rows, n, dtype=torch.bool, device=x.device)
    if not others:
        entry = (graph.source[chunk.edges] - first) * n + graph.target[chunk.edges]
        left_out.view(-1).index_fill_(0, entry, True)
    left_out.diagonal(first).fill_(True)
    empty = (graph.degree[first : first + rows] == n - 1) & (not others)
    # a sum of nothing has no gradient: such rows keep the node itself, and their result is replaced
    left_out.diagonal(first).logical_and_(~empty)
    total = energy.neg().masked_fill(left_out, -math.inf).logsumexp(-1)
    return torch.where(empty, -math.inf, total)
