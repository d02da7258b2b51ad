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

from qgcn.kernels.metric import Metric, factors_of
from qgcn.kernels.pairs import reference
from qgcn.kernels.pairs.implementations import PairKernels, choose
from qgcn.kernels.pairs.neighbourhoods import Neighbourhoods, Words
from qgcn.kernels.pairs.points import Energy, Layout, Points, layout_of, sizes_of

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
    kernels = choose(x, manifold, factors).module()
    if kernels is None or factors is None:
        energy = Energy(tau, squared)
        return reference.log_sum(x, graph, manifold, energy, others), reference.edge_energy(x, graph, manifold, squared)
    words = (graph.itself, graph.itself) if others else graph.itself_and_neighbours
    apply: Any = _Energies.apply
    fixed = _Fixed(graph, words, layout_of(factors), squared, kernels, group)
    found: tuple[Tensor, Tensor] = apply(x, sizes_of(factors, x), tau, fixed)
    return found


@dataclass(frozen=True)
class _Fixed:
    """The arguments without a gradient."""

    graph: Neighbourhoods
    words: tuple[Words, Words]
    layout: Layout
    squared: bool
    kernels: PairKernels
    group: Any

    def energy(self, tau: Tensor) -> Energy:
        """Return the energy in units of base 2."""
        return Energy(tau / math.log(2), self.squared)

    def mutual(self, points: Points) -> bool:
        """Tell whether each pair is computed once, for both its rows: where no other process has some of the rows."""
        return (self.group is None or self.group.size() == 1) and self.kernels.is_mutual(points)


class _Energies(Function):
    """Both in one go; the gradient goes over all pairs a second time and keeps nothing of them.

    Edges alone would be a dozen operations of PyTorch on a few thousand numbers each, which wait for each other.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, sizes: Tensor, tau: Tensor, fixed: _Fixed) -> tuple[Tensor, Tensor]:
        graph, kernels = fixed.graph, fixed.kernels
        points = Points.of(x, sizes, fixed.layout)
        if fixed.mutual(points):
            log = kernels.mutual_log_sum(points, fixed.energy(tau), fixed.words)
        else:
            log = kernels.log_sum(points, fixed.energy(tau), fixed.words[0], _share(len(x), fixed.group))
            log = _gathered(log, len(x), fixed.group)
        shift = torch.where(log > -math.inf, -log, -math.inf)  # of an empty sum nothing depends on anything
        ctx.save_for_backward(points.x, points.reach, sizes, tau, shift)
        ctx.fixed = fixed
        of_edges = kernels.edge_energy(points, graph.source, graph.target, fixed.squared)
        # NaN if a point is not finite, whatever comparisons made of it
        return torch.addcmul((0 * points.x).sum(), log, log.new_full((), math.log(2))), of_edges

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, weight: Tensor, edge_weight: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        x, reach, sizes, tau, shift = ctx.saved_tensors
        fixed: _Fixed = ctx.fixed
        points = Points(x, reach, sizes, fixed.layout)
        given = points, fixed.energy(tau), shift, weight.contiguous(), fixed.words
        if fixed.mutual(points):
            to_x, to_rest = fixed.kernels.mutual_gradient(*given)
        else:
            of_pairs = fixed.kernels.log_sum_gradient(*given, _share(len(x), fixed.group))
            to_x, to_rest = _gathered(of_pairs[0], len(x), fixed.group), of_pairs[1]
            if fixed.group is not None:
                torch.distributed.all_reduce(to_rest, group=fixed.group)
        ends = fixed.graph.source, fixed.graph.target
        of_edges = fixed.kernels.edge_gradient(points, *ends, edge_weight.contiguous(), fixed.squared)
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
