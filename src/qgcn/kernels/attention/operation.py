r"""Attention of all nodes to all others, by the energy of their points, on the fastest path there is for it.

.. math:: z_i = \frac{\sum_j (1 + w\,a_{ij})\, e^{-E(x_i, y_j)/\tau}\, v_j}{\sum_j (1 + w\,a_{ij})\, e^{-E(x_i, y_j)/\tau}}

Neighbours count :math:`1 + w a_{ij}` times: their logits are larger by the logarithm of that.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from qgcn.kernels import backends
from qgcn.kernels.attention import cpu, reference
from qgcn.kernels.attention.energy import EnergyKind, pair_energies
from qgcn.kernels.backends import Implementation
from qgcn.kernels.metric import Factor, Metric, factors_of
from qgcn.kernels.pairs.implementations import obstacles
from qgcn.kernels.pairs.points import Layout, Points, layout_of, sizes_of

__all__ = ["attend", "attend_with_edges"]

_MOST_VALUES: Final = 64


def attend(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    manifold: Metric,
    temperature: Tensor,
    *,
    energy: EnergyKind = "distance",
) -> tuple[Tensor, Tensor]:
    r"""Return the means of the values with weights that fall off with the energy, and the logarithms of the weights' sums.

    .. math:: z_i = \sum_j e^{-E(x_i, y_j)/\tau - L_i} v_j, \qquad L_i = \log\sum_j e^{-E(x_i, y_j)/\tau}

    Memory grows with ``N + M``, never with their product. Differentiable once, by everything but the kind of energy.

    Args:
        queries: Points :math:`x`, shape ``(N, d)``.
        keys: Points :math:`y`, shape ``(M, d)``.
        values: Vectors :math:`v`, shape ``(M, n)``.
        manifold: The space of the points.
        temperature: :math:`\tau`, positive, shape ``()``.
        energy: See :data:`~qgcn.kernels.attention.EnergyKind` (default: ``distance``).

    Returns:
        Shapes ``(N, n)`` and ``(N,)``.
    """
    _check(queries, keys, values)
    factors = factors_of(manifold)
    kernels = backends.choose(_IMPLEMENTATIONS, queries, values, manifold, factors).module()
    if kernels is None or factors is None:
        return reference.attended(queries, keys, values, manifold, 1 / temperature, energy)
    apply: Any = _Attention.apply
    fixed = _Fixed(layout_of(factors), energy == "chord", kernels)
    found: tuple[Tensor, Tensor] = apply(queries, keys, values, sizes_of(factors, queries), 1 / temperature, fixed)
    return found


def attend_with_edges(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    manifold: Metric,
    temperature: Tensor,
    edge_index: Tensor,
    extra: Tensor,
    *,
    energy: EnergyKind = "distance",
) -> Tensor:
    r"""Return the same with neighbours counted :math:`1 + w_{ij}` times, shape ``(N, n)``.

    Args:
        queries: As for :func:`attend`, as all up to ``temperature``.
        keys: Points.
        values: Vectors.
        manifold: The space of the points.
        temperature: The temperature.
        edge_index: Sources (which key) and targets (which query) of the edges, shape ``(2, E)``.
        extra: :math:`w_{ij}`, not negative, shape ``(E,)``.
        energy: As for :func:`attend`.
    """
    mean, log = attend(queries, keys, values, manifold, temperature, energy=energy)
    source, target = edge_index
    of_edges = pair_energies(queries.index_select(0, target), keys.index_select(0, source), manifold, energy)
    # the share of a pair among all is at most 1 up to rounding: nothing overflows
    share = extra * (-of_edges / temperature - log.index_select(0, target)).exp()
    total = mean.index_add(0, target, share.unsqueeze(-1) * values.index_select(0, source))
    return total / (1 + torch.zeros_like(log).index_add(0, target, share)).unsqueeze(-1)


def _check(queries: Tensor, keys: Tensor, values: Tensor) -> None:
    if queries.ndim != 2 or keys.ndim != 2 or queries.shape[1] != keys.shape[1]:
        raise ValueError(
            f"queries and keys must have shapes (N, d) and (M, d), got {tuple(queries.shape)}, {tuple(keys.shape)}"
        )
    if values.ndim != 2 or len(values) != len(keys):
        raise ValueError(f"values must have shape ({len(keys)}, n), got {tuple(values.shape)}")
    if len(keys) == 0:
        raise ValueError("attention needs at least one key, got none")


class _Kernels(Protocol):
    """The functions of a fused implementation; see :mod:`qgcn.kernels.attention.cpu`."""

    def forward(self, queries: Points, keys: Points, v: Tensor, rate: Tensor, chord: bool) -> tuple[Tensor, Tensor]:
        """Return means and base-2 logarithms."""

    def by_query(
        self, queries: Points, keys: Points, v: Tensor, rate: Tensor, chord: bool, grad: Tensor, logs: Tensor, delta: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return what queries, rate and sizes change."""

    def by_key(
        self, queries: Points, keys: Points, v: Tensor, rate: Tensor, chord: bool, grad: Tensor, logs: Tensor, delta: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return what keys and values change."""


@dataclass(frozen=True)
class _Fixed:
    """The arguments without a gradient."""

    layout: Layout
    chord: bool
    kernels: _Kernels


class _Attention(Function):
    """Both in one go; the gradient goes over all pairs twice more, by query and by key, and keeps nothing of them."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, v: Tensor, sizes: Tensor, rate: Tensor, fixed: _Fixed) -> tuple[Tensor, Tensor]:
        queries, keys = (Points.of(each.detach(), sizes, fixed.layout) for each in (x, y))
        v = v.contiguous()
        mean, logs = fixed.kernels.forward(queries, keys, v, rate.detach() / math.log(2), fixed.chord)
        ctx.fixed = fixed
        ctx.save_for_backward(queries.x, queries.reach, keys.x, keys.reach, v, sizes, rate, mean, logs)
        return mean, logs * math.log(2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, to_log: Tensor) -> tuple[Tensor | None, ...]:
        x, x_reach, y, y_reach, v, sizes, rate, mean, logs = ctx.saved_tensors
        fixed: _Fixed = ctx.fixed
        queries, keys = Points(x, x_reach, sizes, fixed.layout), Points(y, y_reach, sizes, fixed.layout)
        delta, grad = ((grad * mean).sum(-1) - to_log).contiguous(), grad.contiguous()
        given = queries, keys, v, rate.detach() / math.log(2), fixed.chord, grad, logs, delta
        to_x, rest = fixed.kernels.by_query(*given)
        to_y, to_v = fixed.kernels.by_key(*given)
        return -2 * rate * to_x, -2 * rate * to_y, to_v, -rate * rest[1:], -rest[0], None


def _obstacle_to(name: Literal["triton", "native"]) -> Callable[..., str | None]:
    """Return what says why a fused implementation cannot take points and values: as for functions of all pairs."""

    def obstacle(x: Tensor, v: Tensor, manifold: Metric, factors: tuple[Factor, ...] | None) -> str | None:
        if v.dtype != x.dtype:
            return f"points are {x.dtype} and values {v.dtype}, expected one type"
        if name == "triton" and v.shape[1] > _MOST_VALUES:
            return f"values have {v.shape[1]} coordinates, expected at most {_MOST_VALUES}, which a thread can hold"
        return obstacles(x, manifold, factors)[name] or (cpu.obstacle() if name == "native" else None)

    return obstacle


def _gpu() -> _Kernels:
    from qgcn.kernels.attention import gpu

    return gpu


def _cpu() -> _Kernels:
    return cpu


_IMPLEMENTATIONS: Sequence[Implementation[[Tensor, Tensor, Metric, tuple[Factor, ...] | None], _Kernels | None]] = (
    Implementation("triton", _obstacle_to("triton"), _gpu),
    Implementation("native", _obstacle_to("native"), _cpu),
    Implementation("eager", lambda *_: None, lambda: None),
)
