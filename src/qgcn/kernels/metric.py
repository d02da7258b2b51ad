"""The protocol of a space, as seen by all-pairs functions."""

from typing import NamedTuple, Protocol

from torch import Tensor

__all__ = ["Factor", "Metric", "factors_of"]


class Factor(NamedTuple):
    r"""A factor of a space whose distances fused code can compute: flat, or :math:`\langle x, x\rangle = \beta`."""

    size: int
    """Number of coordinates."""
    time_dim: int
    """Number of leading negative coordinates; 0 if the factor is flat."""
    beta: Tensor | None
    """The value of the quadratic form, a negative scalar; ``None`` if the factor is flat."""


class Metric(Protocol):
    """A space with distances. Every :class:`qgcn.manifolds.Space` is one."""

    def pairwise_dist(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        """Return distances from every ``x``, shape ``(N, d)``, to every ``y``, shape ``(M, d)``, as ``(N, M)``."""

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """Return distances between ``x`` and ``y``, shapes ``(..., d)``, as ``(...)``."""

    def dist2(self, x: Tensor, y: Tensor) -> Tensor:
        """Return squared distances between ``x`` and ``y``, shapes ``(..., d)``, as ``(...)``."""

    @property
    def factors(self) -> tuple[Factor, ...] | None:
        """The factors, or ``None`` if one of them is neither flat nor a quadric: then nothing is fused."""


def factors_of(manifold: Metric) -> tuple[Factor, ...] | None:
    """Return the factors that a space itself says it has.

    A wrapper that forwards unknown attributes, as ``geoopt.Scaled`` does, would forward factors that ignore its scale.
    """
    return manifold.factors if hasattr(type(manifold), "factors") else None
