"""The part of the protocol of spaces that is about time: which points are in the future of which."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from qgcn import geometry
from qgcn.kernels.cones import Rows

if TYPE_CHECKING:
    from qgcn.manifolds.base import Space

__all__ = ["Ordered"]


class Ordered:
    """The order of time of a space; most spaces have none. See :mod:`qgcn.geometry.causality`."""

    is_spacetime: bool = False
    """Whether points are ordered: one is in the future of another, see :meth:`light_margin`."""
    is_static: bool = False
    """Whether a spacetime stays one beside spaces with a positive metric: a product has the time of this factor."""

    def light_margin(self, x: Tensor, y: Tensor) -> Tensor:
        """Return how far ``y`` is from the future of ``x``, shape ``(...)``: not positive if it is in it; differentiable.

        Raises:
            ValueError: The space has no such order.
        """
        return self.seen_margin(self.as_seen(x), self.as_seen(y))

    def as_seen(self, x: Tensor) -> Tensor:
        """Return what :meth:`seen_margin` needs of points, whatever their pairs, shape ``(..., k)``: here the points.

        Raises:
            ValueError: The space has no such order.
        """
        if not self.is_spacetime:
            raise self._timeless()
        return x

    def seen_margin(self, a: Tensor, b: Tensor) -> Tensor:
        """Return :meth:`light_margin` of points given by :meth:`as_seen`: for many pairs of few points."""
        raise self._timeless()

    def light_rows(self, x: Tensor) -> Rows | None:
        """Return what compiled code reads margins of light off; without time where a product has it from another factor."""
        return None

    def time_separation(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the longest time that passes between ``x`` and ``y``, shape ``(...)``; 0 where ``y`` is not in the future."""
        raise self._timeless()

    def time_of(self, x: Tensor) -> Tensor:
        """Return the time of points, shape ``(...)``, which rises along the order."""
        raise self._timeless()

    @property
    def spatial(self) -> "Space | None":
        """The space beside time of a static spacetime such as ``M10`` or ``M1xH9``; ``None`` where there is none."""
        return None

    def times_and_places(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the times of points, shape ``(...)``, and their places, points of :attr:`spatial`.

        Law: ``light_margin(x, y)`` is the distance of the places less the time from ``x`` to ``y``.

        Raises:
            ValueError: The space is no static spacetime, or has nothing but time.
        """
        raise ValueError(f"{self} is not time beside a space: expected a static spacetime such as M10, M1xH9 or M1xS9")

    def interval(self, x: Tensor, y: Tensor) -> Tensor:
        r"""Return how far points are apart, squared, with the sign that time gives it, shape ``(...)``; differentiable.

        In a spacetime the product of the margins of light both ways, negative where one point is in the future of the other.
        It is :math:`D^2 - \Delta t^2`, the distance of space and the difference of time as light has them, but for de Sitter
        space, whose margins are logarithms: there it is no such difference, and agrees with it in sign alone. In a
        pseudo-hyperboloid the squared chord :math:`\langle x - y, x - y\rangle`, which any two points have. Elsewhere the
        squared distance.

        Laws: symmetric; 0 for coincident points.
        """
        if self.is_spacetime:
            return self.light_margin(x, y) * self.light_margin(y, x)
        square: Tensor = self.dist2(x, y)  # type: ignore[attr-defined]
        return square

    def causal_order(self, x: Tensor, y: Tensor) -> Tensor:
        """Tell how points are ordered: 1 if ``y`` is in the causal future of ``x``, -1 in its past, 0 if neither; int8.

        A margin within the rounding error of the times and distances that it is made of counts as that of a ray of light.
        Points count as given: where coordinates are far larger than distances, those of a ray that were rounded may lie
        beside it.
        """
        forth, back = self.light_margin(x, y), self.light_margin(y, x)
        return geometry.causal_order(forth, back, torch.maximum(self._reach(x), self._reach(y)))

    def _reach(self, x: Tensor) -> Tensor:
        """Return the size of what margins are differences of: times, and distances of light from the origin, ``(...)``."""
        size: Tensor = torch.linalg.vector_norm(x, dim=-1)
        return size

    def _timeless(self) -> ValueError:
        return ValueError(f"{self} has no order of time: expected a spacetime such as M10, AdS10, dS10 or M1xH9")
