r"""Sums over drawn negatives, and the energies of edges, on the fastest path there is for them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from qgcn.kernels import backends
from qgcn.kernels.backends import Implementation
from qgcn.kernels.metric import Factor, Metric, factors_of
from qgcn.kernels.pairs.implementations import PairKernels, obstacles
from qgcn.kernels.pairs.implementations import choose as choose_pairs
from qgcn.kernels.pairs.points import Energy, Layout, Points, layout_of, sizes_of
from qgcn.kernels.sampled import cpu, reference
from qgcn.kernels.sampled.negatives import Negatives

__all__ = ["sampled_energies"]


class _Kernels(Protocol):
    """The functions of a fused implementation; see :mod:`qgcn.kernels.sampled.cpu`."""

    def log_sum(self, rows: Points, columns: Points, energy: Energy, left_out: Tensor, bias: Tensor | None) -> Tensor:
        """Return the base-2 logarithm of each row's sum."""

    def log_sum_gradient(
        self,
        rows: Points,
        columns: Points,
        energy: Energy,
        left_out: Tensor,
        bias: Tensor | None,
        shift: Tensor,
        weight: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Return weighted sums over pairs."""


def sampled_energies(
    x: Tensor,
    negatives: Negatives,
    edges: Tensor,
    manifold: Metric,
    tau: Tensor,
    *,
    squared: bool,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    r"""Return the logarithm of each row's sum over its drawn negatives, shape ``(R,)``, and each edge's energy, ``(E,)``.

    .. math:: \log \sum_{w \in S \setminus X(u)} e^{-\tau E(u, w) + b_w}

    A sum of nothing has the logarithm minus infinity. Differentiable once.

    Args:
        x: Points, shape ``(N, d)``.
        negatives: Rows, columns, and the pairs of them that are left out.
        edges: Pairs of points, shape ``(2, E)``.
        manifold: The space.
        tau: :math:`\tau`, shape ``()``.
        squared: Use :math:`d^2`; otherwise :math:`d`.
        bias: :math:`b`, of the columns, shape ``(n,)``; 0 if not given.
    """
    factors = factors_of(manifold)
    kernels = backends.choose(_IMPLEMENTATIONS, x, manifold, factors).module()
    if kernels is None or factors is None:
        rows, columns = x[negatives.rows.start : negatives.rows.stop], x.index_select(0, negatives.columns)
        sums = reference.log_sum(rows, columns, manifold, Energy(tau, squared), negatives.left_out, bias)
        ends = x.index_select(0, edges[0]), x.index_select(0, edges[1])
        return sums, manifold.dist2(*ends) if squared else manifold.dist(*ends)
    pairs = choose_pairs(x, manifold, factors).module()
    apply: Any = _Energies.apply
    found: tuple[Tensor, Tensor] = apply(
        x, sizes_of(factors, x), tau, bias, _Fixed(negatives, edges, layout_of(factors), squared, kernels, pairs)
    )
    return found


@dataclass(frozen=True)
class _Fixed:
    """The arguments without a gradient."""

    negatives: Negatives
    edges: Tensor
    layout: Layout
    squared: bool
    kernels: _Kernels
    pairs: PairKernels | None

    def energy(self, tau: Tensor) -> Energy:
        """Return the energy in units of base 2."""
        return Energy(tau / math.log(2), self.squared)

    def parts(self, points: Points) -> tuple[Points, Points]:
        """Return the points of the rows and of the columns."""
        rows = slice(self.negatives.rows.start, self.negatives.rows.stop)
        columns = self.negatives.columns
        return (
            Points(points.x[rows], points.reach[rows], points.sizes, points.layout),
            Points(points.x.index_select(0, columns), points.reach.index_select(0, columns), points.sizes, points.layout),
        )


class _Energies(Function):
    """Both in one go; the gradient goes over the tile a second time and keeps nothing of it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, sizes: Tensor, tau: Tensor, bias: Tensor | None, fixed: _Fixed) -> tuple[Tensor, Tensor]:
        points = Points.of(x, sizes, fixed.layout)
        log = fixed.kernels.log_sum(*fixed.parts(points), fixed.energy(tau), fixed.negatives.left_out, _in_base_2(bias))
        shift = torch.where(log > -math.inf, -log, -math.inf)  # of an empty sum nothing depends on anything
        ctx.save_for_backward(points.x, points.reach, sizes, tau, bias, shift)
        ctx.fixed = fixed
        of_edges = _pairs(fixed).edge_energy(points, fixed.edges[0], fixed.edges[1], fixed.squared)
        # NaN if a point is not finite, whatever comparisons made of it
        unsound = (0 * points.x).sum() if bias is None else (0 * points.x).sum() + (0 * bias).sum()
        return torch.addcmul(unsound, log, log.new_full((), math.log(2))), of_edges

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, weight: Tensor, edge_weight: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None, None]:
        x, reach, sizes, tau, bias, shift = ctx.saved_tensors
        fixed: _Fixed = ctx.fixed
        points = Points(x, reach, sizes, fixed.layout)
        source, target = fixed.edges
        to_x, to_sizes = _pairs(fixed).edge_gradient(points, source, target, edge_weight.contiguous(), fixed.squared)
        tile = (*fixed.parts(points), fixed.energy(tau), fixed.negatives.left_out, _in_base_2(bias), shift, weight.contiguous())
        of_rows, of_columns, to_rest, to_bias = fixed.kernels.log_sum_gradient(*tile)
        rows = fixed.negatives.rows
        to_x[rows.start : rows.stop].addcmul_(of_rows, -2 * tau)
        to_x.index_add_(0, fixed.negatives.columns, of_columns * (-2 * tau))  # columns are distinct
        return to_x, torch.addcmul(to_sizes, -tau, to_rest[1:]), -to_rest[0], to_bias, None


def _in_base_2(bias: Tensor | None) -> Tensor | None:
    return None if bias is None else bias / math.log(2)


def _pairs(fixed: _Fixed) -> PairKernels:
    assert fixed.pairs is not None  # noqa: S101  # chosen by the same conditions
    return fixed.pairs


# --- implementations ---------------------------------------------------------------------------------------------------------


def _gpu() -> _Kernels:
    from qgcn.kernels.sampled import gpu

    return gpu


def _cpu() -> _Kernels:
    return cpu


def _triton_obstacle(x: Tensor, manifold: Metric, factors: tuple[Factor, ...] | None) -> str | None:
    return obstacles(x, manifold, factors)["triton"]


def _native_obstacle(x: Tensor, manifold: Metric, factors: tuple[Factor, ...] | None) -> str | None:
    return obstacles(x, manifold, factors)["native"] or cpu.obstacle()


_Implementation = Implementation[[Tensor, Metric, tuple[Factor, ...] | None], _Kernels | None]
_NOTHING: Final[Callable[[], _Kernels | None]] = lambda: None  # noqa: E731
_IMPLEMENTATIONS: tuple[_Implementation, ...] = (
    Implementation("triton", _triton_obstacle, _gpu),
    Implementation("native", _native_obstacle, _cpu),
    Implementation("eager", lambda *_: None, _NOTHING),
)
