"""The implementations of functions of all pairs.

Fused ones are for float32 and for spaces made of flat factors and quadrics.
"""

from typing import Protocol

import torch
from torch import Tensor

from qgcn.kernels import backends, graphics
from qgcn.kernels.backends import Backend, Implementation
from qgcn.kernels.metric import Factor, Metric
from qgcn.kernels.pairs import cpu
from qgcn.kernels.pairs.neighbourhoods import Words
from qgcn.kernels.pairs.points import Energy, Points

__all__ = ["PairKernels", "choose", "obstacles"]


class PairKernels(Protocol):
    """The functions of a fused implementation."""

    def log_sum(self, points: Points, energy: Energy, words: Words, rows: range) -> Tensor:
        """Return the base-2 logarithm of each row's sum, shape ``(len(rows),)``; ``tau`` is in units of base 2."""

    def log_sum_gradient(
        self, points: Points, energy: Energy, shift: Tensor, weight: Tensor, words: tuple[Words, Words], rows: range
    ) -> tuple[Tensor, Tensor]:
        """Return weighted sums over pairs of half the energy's slope by the row's point, and of those by energy and sizes.

        The words say which pairs are left out, and the same with both ends exchanged.
        """

    def is_mutual(self, points: Points) -> bool:
        """Tell whether passes over all rows of these points compute each pair once, by the next two functions."""

    def mutual_log_sum(self, points: Points, energy: Energy, words: tuple[Words, Words], rounds: range | None = None) -> Tensor:
        """Return :meth:`log_sum` of all rows; the words are those of :meth:`log_sum_gradient`; ``rounds``: see its module."""

    def mutual_gradient(
        self,
        points: Points,
        energy: Energy,
        shift: Tensor,
        weight: Tensor,
        words: tuple[Words, Words],
        rounds: range | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return :meth:`log_sum_gradient` of all rows."""

    def rounds_of(self, n: int) -> int:
        """Return the number of rounds in which these two take ``n`` points."""

    def distances(self, points: Points, rows: range) -> Tensor:
        """Return distances from some rows to all points, shape ``(len(rows), N)``."""

    def edge_energy(self, points: Points, source: Tensor, target: Tensor, squared: bool) -> Tensor:
        """Return the energy of each edge, shape ``(E,)``."""

    def edge_gradient(
        self, points: Points, source: Tensor, target: Tensor, weight: Tensor, squared: bool
    ) -> tuple[Tensor, Tensor]:
        """Return weighted sums over the edges of the energy's slope by the points, shape ``(N, d)``, and by the sizes."""


def choose(x: Tensor, manifold: Metric, factors: tuple[Factor, ...] | None) -> "_PairImplementation":
    """Return the implementation for points of this type on this device in this space, and remember it.

    The module of the plain one is ``None``: it needs the space itself, see :mod:`qgcn.kernels.pairs.reference`.
    """
    return backends.choose(_IMPLEMENTATIONS, x, manifold, factors)


def obstacles(x: Tensor, manifold: Metric, factors: tuple[Factor, ...] | None) -> dict[Backend, str | None]:
    """Return why each implementation cannot take these points, fastest first; ``None`` for those that can."""
    return {each.name: each.obstacle(x, manifold, factors) for each in _IMPLEMENTATIONS}


def _fused_obstacle(x: Tensor, manifold: Metric, factors: tuple[Factor, ...] | None) -> str | None:
    """Say what is in the way of all fused implementations."""
    if x.dtype != torch.float32:
        return f"points are {x.dtype}, expected torch.float32"
    if factors is None:
        return f"{manifold} has a factor that is neither flat nor a quadric"
    if x.shape[1] != (expected := sum(factor.size for factor in factors)):  # kernels would read what is not there
        raise ValueError(f"x must have {expected} coordinates in {manifold}, got shape {tuple(x.shape)}")
    return None


def _triton_obstacle(x: Tensor, manifold: Metric, factors: tuple[Factor, ...] | None) -> str | None:
    return _fused_obstacle(x, manifold, factors) or graphics.obstacle(x)


def _native_obstacle(x: Tensor, manifold: Metric, factors: tuple[Factor, ...] | None) -> str | None:
    if why := _fused_obstacle(x, manifold, factors):
        return why
    if x.device.type != "cpu":
        return f"points are on {x.device}, expected the CPU"
    if factors is not None and len(factors) > cpu.MOST_FACTORS:
        return f"{manifold} has {len(factors)} factors, expected at most {cpu.MOST_FACTORS}"
    return cpu.obstacle()


def _gpu() -> PairKernels:
    from qgcn.kernels.pairs import gpu_mutual

    return gpu_mutual


def _cpu() -> PairKernels:
    return cpu


_PairImplementation = Implementation[[Tensor, Metric, tuple[Factor, ...] | None], PairKernels | None]
_IMPLEMENTATIONS: tuple[_PairImplementation, ...] = (
    Implementation("triton", _triton_obstacle, _gpu),
    Implementation("native", _native_obstacle, _cpu),
    Implementation("eager", lambda *_: None, lambda: None),
)
