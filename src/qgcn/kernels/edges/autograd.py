"""The gradients of sums over edges, and which implementation computes them.

What C++ computes is an operation of PyTorch, ``torch.ops.qgcn``, so that a compiler can trace through it.
"""

from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from qgcn.kernels.backends import assumed_constant, forced
from qgcn.kernels.edges import cpu, reference
from qgcn.numerics.functions import under_transform

__all__ = ["Ends", "coefficients", "gathered"]


class Ends(NamedTuple):
    """The two sets of nodes that edges join.

    Attributes:
        sources: Number of sources.
        targets: Number of targets.
        same: Whether they are the same nodes.
    """

    sources: int
    targets: int
    same: bool


def coefficients(
    edge_index: Tensor, weight: Tensor | None, ends: Ends, kind: str, loops: bool, dtype: torch.dtype
) -> tuple[Tensor, Tensor | None]:
    r"""Normalise edges: the coefficients of an aggregation.

    ========  ==========================================
    ``sum``   :math:`w_{ij}`
    ``mean``  :math:`w_{ij} / d_i`
    ``sym``   :math:`w_{ij} / \sqrt{d_i d_j}`
    ========  ==========================================

    where :math:`d_i` is the weight of all edges that end at ``i``, its loop included. In a graph between two sets of nodes,
    :math:`d_j` is the weight of all edges that begin at ``j``, plus 1 with loops.

    Laws: equal to the entries of :class:`qgcn.nn.Adjacency`; differentiable in the weights.

    Args:
        edge_index: Sources and targets, integers, shape ``(2, E)``.
        weight: Weights, shape ``(E,)``; ones if not given.
        ends: The nodes.
        kind: ``sum``, ``mean`` or ``sym``.
        loops: Count every target among its own neighbours, with the weight of its loop (of several, the last one), else 1.
        dtype: Type of the results. They are computed in float64, unless a gradient is asked for.

    Returns:
        Coefficients of the edges, shape ``(E,)``, loops having none, and of the loops, shape ``(N,)``.
    """
    size = (ends.sources, ends.targets)
    learned = weight is not None and weight.requires_grad and torch.is_grad_enabled()
    if dtype == torch.float32 and not learned and _takes(edge_index) and (weight is None or _takes(weight)):
        given = None if weight is None else weight.detach().float().contiguous()
        of_edges, of_loops = _OPS.edge_coefficients(edge_index.long().contiguous(), given, *size, kind, ends.same, loops)
        return of_edges, of_loops if loops else None
    exact = dtype if learned else torch.float64
    if weight is None:
        weight = torch.ones(edge_index.shape[1], dtype=exact, device=edge_index.device)
    edges, own = reference.coefficients(edge_index, weight.to(exact), size, kind, ends.same, loops)
    return edges.to(dtype), None if own is None else own.to(dtype)


def gathered(v: Tensor, edge_index: Tensor, coefficient: Tensor, rows: int, loops: Tensor | None = None) -> Tensor:
    r"""Add up the neighbours: :math:`y_i = l_i v_i + \sum_{(j, i)} a_{ij} v_j`.

    Laws: linear in ``v`` and in the coefficients, and differentiable in both.

    Args:
        v: Vectors of the sources, shape ``(..., M, n)``.
        edge_index: Sources and targets, integers, shape ``(2, E)``.
        coefficient: Coefficients of the edges, shape ``(E,)``.
        rows: Number of targets ``N``.
        loops: Coefficients :math:`l` of the nodes' own vectors, shape ``(N,)``, where sources and targets are the same nodes
            (default: 0).

    Returns:
        Shape ``(..., N, n)``.
    """
    alike = v.dtype == coefficient.dtype == torch.float32 and (loops is None or loops.dtype == torch.float32)
    if alike and _takes(v):
        batch = v.reshape(-1, *v.shape[-2:]).contiguous()
        own = None if loops is None else loops.contiguous()
        out: Tensor = _OPS.edge_gather(batch, edge_index.long().contiguous(), coefficient.contiguous(), own, rows, False)
        return out.view(*v.shape[:-2], rows, v.shape[-1])
    return reference.gathered(v, edge_index, coefficient, rows, loops)


def _takes(tensor: Tensor) -> bool:
    """Tell whether C++ is to be used; what is exported has to run where this package is not installed."""
    if torch.compiler.is_exporting() or tensor.device.type != "cpu" or tensor.numel() == 0:
        return False
    return not under_transform() and _available()


@assumed_constant
def _available() -> bool:
    return forced() in (None, "native") and cpu.obstacle() is None


# --- operations of PyTorch -------------------------------------------------------------------------------------------------

_LIBRARY: Final = torch.library.Library("qgcn", "FRAGMENT")
_LIBRARY.define(
    "edge_coefficients(Tensor edge_index, Tensor? weight, SymInt sources, SymInt targets, str kind, bool same, bool loops)"
    " -> (Tensor, Tensor)"
)
_LIBRARY.define(
    "edge_gather(Tensor v, Tensor edge_index, Tensor coefficient, Tensor? loops, SymInt rows, bool turned) -> Tensor"
)
_LIBRARY.define("edge_dots(Tensor a, Tensor b, Tensor edge_index) -> Tensor")
_OPS: Final = torch.ops.qgcn


def _coefficients(
    edge_index: Tensor, weight: Tensor | None, sources: int, targets: int, kind: str, same: bool, loops: bool
) -> tuple[Tensor, Tensor]:
    return cpu.coefficients(edge_index, weight, (sources, targets), kind, same, loops)


def _gather(v: Tensor, edge_index: Tensor, coefficient: Tensor, loops: Tensor | None, rows: int, turned: bool) -> Tensor:
    return cpu.gather(v.contiguous(), edge_index, coefficient.contiguous(), rows, turned, loops)


def _dots(a: Tensor, b: Tensor, edge_index: Tensor) -> Tensor:
    return cpu.dots(a.contiguous(), b.contiguous(), edge_index)


_LIBRARY.impl("edge_coefficients", _coefficients, "CPU")
_LIBRARY.impl("edge_gather", _gather, "CPU")
_LIBRARY.impl("edge_dots", _dots, "CPU")


@torch.library.register_fake("qgcn::edge_coefficients", lib=_LIBRARY)  # type: ignore[untyped-decorator]
def _(edge_index: Tensor, _weight: Tensor | None, _sources: int, targets: int, _kind: str, _same: bool, loops: bool) -> Any:
    counts = edge_index.shape[1], targets if loops else 0
    return tuple(edge_index.new_empty(count, dtype=torch.float32) for count in counts)


@torch.library.register_fake("qgcn::edge_gather", lib=_LIBRARY)  # type: ignore[untyped-decorator]
def _(v: Tensor, _edge_index: Tensor, _coefficient: Tensor, _loops: Tensor | None, rows: int, _turned: bool) -> Tensor:
    return v.new_empty(v.shape[0], rows, v.shape[2])


@torch.library.register_fake("qgcn::edge_dots", lib=_LIBRARY)  # type: ignore[untyped-decorator]
def _(a: Tensor, _b: Tensor, edge_index: Tensor) -> Tensor:
    return a.new_empty(edge_index.shape[1])


def _setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG001
    v, edge_index, coefficient, loops, _, turned = inputs
    ctx.save_for_backward(v if any(ctx.needs_input_grad[2:4]) else None, edge_index, coefficient, loops)
    ctx.sources, ctx.turned = v.shape[1], turned


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    v, edge_index, coefficient, loops = ctx.saved_tensors
    to_v, to_coefficient = None, None
    if ctx.needs_input_grad[0]:
        to_v = _OPS.edge_gather(grad, edge_index, coefficient, loops, ctx.sources, not ctx.turned)
    if ctx.needs_input_grad[2]:
        to_coefficient = _OPS.edge_dots(*((grad, v) if ctx.turned else (v, grad)), edge_index)
    to_loops = (v * grad).sum((0, 2)) if ctx.needs_input_grad[3] else None
    return to_v, None, to_coefficient, to_loops, None, None


def _setup_dots(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:  # noqa: ARG001
    ctx.save_for_backward(*inputs)


def _backward_dots(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    a, b, edge_index = ctx.saved_tensors
    grad = grad.contiguous()
    to_a = _OPS.edge_gather(b, edge_index, grad, None, a.shape[1], True) if ctx.needs_input_grad[0] else None
    to_b = _OPS.edge_gather(a, edge_index, grad, None, b.shape[1], False) if ctx.needs_input_grad[1] else None
    return to_a, to_b, None


torch.library.register_autograd("qgcn::edge_gather", _backward, setup_context=_setup, lib=_LIBRARY)
torch.library.register_autograd("qgcn::edge_dots", _backward_dots, setup_context=_setup_dots, lib=_LIBRARY)
