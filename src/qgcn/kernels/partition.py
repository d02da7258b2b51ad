r"""The sum over all other points that a softmax over distances divides by, on the fastest path there is for it.

.. math:: \log Z_u = \log \sum_{w \notin X(u)} e^{-\tau E(u, w)}, \qquad E = d^2 \text{ or } d
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from qgcn.kernels.backends import choose, module_of
from qgcn.kernels.graph import Chunk, Neighbourhoods, Words, rows_at_once
from qgcn.kernels.metric import Metric, Shape, factors_of, reach_of, shape_of, sizes_of

__all__ = ["log_partition"]


def log_partition(
    x: Tensor,
    graph: Neighbourhoods,
    manifold: Metric,
    tau: Tensor,
    *,
    squared: bool,
    others: bool,
    group: Any = None,
) -> Tensor:
    r"""Return :math:`\log Z_u` of every node, shape ``(N,)``; minus infinity where there is nothing to sum.

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
    path = choose(x, manifold)
    if path == "eager":
        return _eager(x, graph, manifold, tau, squared, others)
    factors = factors_of(manifold) or ()
    words = (graph.itself, graph.itself) if others else graph.itself_and_neighbours
    apply: Any = _LogPartition.apply
    result: Tensor = apply(x, sizes_of(factors, x), tau, words, shape_of(factors), squared, module_of(path), group)
    return result


class _LogPartition(Function):
    """The fused sum; its gradient goes over all pairs a second time and keeps nothing of them."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        sizes: Tensor,
        tau: Tensor,
        words: tuple[Words, Words],
        shape: Shape,
        squared: bool,
        kernels: Any,
        group: Any,
    ) -> Tensor:
        x = x.contiguous()
        reach = reach_of(x, shape)
        binary = tau / math.log(2)
        log = kernels.log_sum(x, reach, sizes, binary, words[0], shape, squared, _share(len(x), group))
        log = _gathered(log, len(x), group)
        shift = torch.where(log > -math.inf, -log, -math.inf)  # of an empty sum nothing depends on anything
        ctx.save_for_backward(x, reach, sizes, tau, shift)
        ctx.rest = words, shape, squared, kernels, group
        return log * math.log(2) + (0 * x).sum()  # NaN if a point is not finite, whatever comparisons made of it

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, weight: Tensor) -> tuple[Tensor | None, ...]:
        x, reach, sizes, tau, shift = ctx.saved_tensors
        words, shape, squared, kernels, group = ctx.rest
        share = _share(len(x), group)
        to_x, to_rest = kernels.log_sum_gradient(
            x, reach, sizes, tau / math.log(2), shift, weight.contiguous(), *words, shape, squared, share
        )
        to_x = _gathered(to_x, len(x), group)
        if group is not None:
            torch.distributed.all_reduce(to_rest, group=group)
        return -2 * tau * to_x, -tau * to_rest[1:], -to_rest[0], None, None, None, None, None


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
