r"""The sum over all other points that a softmax over distances divides by, on the fastest path there is for it.

.. math:: \log Z_u = \log \sum_{w \notin X(u)} e^{-\tau E(u, w)}, \qquad E = d^2 \text{ or } d

Three paths compute the same: Triton on a GPU, C++ on the CPU (both for float32 and for spaces made of flat factors and
quadrics), and plain PyTorch, a run of rows at a time, which needs no compiler and is what the others are tested against.
"""

import importlib.util
import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from qgcn.kernels import cpu
from qgcn.kernels.graph import Chunk, Neighbourhoods, Words, rows_at_once
from qgcn.kernels.metric import Metric, Shape, reach_of, shape_of, sizes_of

__all__ = ["Backend", "backend", "log_partition", "use_backend"]

Backend = Literal["triton", "native", "eager"]
"""``triton``: a GPU's. ``native``: compiled C++ on the CPU. ``eager``: plain PyTorch."""

_forced: ContextVar[Backend | None] = ContextVar("forced", default=None)
_last: ContextVar[Backend | None] = ContextVar("last", default=None)


def backend() -> Backend | None:
    """Return which path the last function of all pairs took in this thread; ``None`` if there was none yet."""
    return _last.get()


@contextmanager
def use_backend(name: Backend) -> Iterator[None]:
    """Take this path and no other.

    Raises:
        ValueError: There is no such path; or, when a function is called, it cannot take it.
    """
    if name not in get_args(Backend):
        raise ValueError(f"backend must be one of {', '.join(get_args(Backend))}, got {name!r}")
    token = _forced.set(name)
    try:
        yield
    finally:
        _forced.reset(token)


def choose(x: Tensor, manifold: Metric) -> Backend:
    """Return the path for points of this type on this device in this space, and remember it."""
    why = {name: _obstacle(name, x, manifold) for name in get_args(Backend)}
    forced = _forced.get()
    if forced is not None and why[forced]:
        raise ValueError(f"backend {forced} cannot be used: {why[forced]}")
    found: Backend = forced or next(name for name in get_args(Backend) if not why[name])
    _last.set(found)
    return found


def _obstacle(name: Backend, x: Tensor, manifold: Metric) -> str | None:
    if name == "eager":
        return None
    if x.dtype != torch.float32:
        return f"points are {x.dtype}, expected torch.float32"
    if manifold.factors is None:
        return f"{manifold} has a factor that is neither flat nor a quadric"
    if name == "triton":
        if importlib.util.find_spec("triton") is None:
            return "triton is not installed"
        return None if x.is_cuda or _interpreted() else f"points are on {x.device}, expected a GPU"
    return cpu.obstacle() if x.device.type == "cpu" else f"points are on {x.device}, expected the CPU"


def _interpreted() -> bool:
    """Tell whether Triton's interpreter, which runs kernels on the CPU for tests, was asked for by name."""
    if _forced.get() != "triton":
        return False
    import triton

    return bool(triton.knobs.runtime.interpret)


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
    factors = manifold.factors or ()
    words = (graph.itself, graph.itself) if others else graph.itself_and_neighbours
    apply: Any = _LogPartition.apply
    result: Tensor = apply(x, sizes_of(factors, x), tau, words, shape_of(factors), squared, _kernels(path), group)
    return result


def _kernels(path: Backend) -> Any:
    """Return the module of a path; Triton is imported only where it is used."""
    if path == "native":
        return cpu
    from qgcn.kernels import gpu

    return gpu


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
        return log * math.log(2)

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
