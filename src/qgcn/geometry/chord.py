r"""The chord between two points, from which distances, logarithms and transports are computed.

With :math:`c = -\langle x, y\rangle / |\beta|` the chord to ``y`` and the chord to its antipode ``-y`` have the squares

.. math:: q = \langle x-y, x-y\rangle/|\beta| = 2(c-1), \qquad p = \langle x+y, x+y\rangle/|\beta| = -2(c+1).

``q`` is accurate near :math:`c = 1` (coincidence and null separation), ``p`` near :math:`c = -1` (the edge of what a
geodesic can reach), ``c`` itself near neither. So every map works with the chord to the nearer of the two.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from qgcn.geometry.ambient import flip_time, signed_sum
from qgcn.numerics import clip_chord, limits

__all__ = ["Chord", "chord", "chord_between_all", "space_like_shortcut"]


class Chord(NamedTuple):
    """The squared chord from ``x`` to the nearer of ``y`` and ``-y``; fields of shape ``(..., 1)``."""

    square: Tensor
    """Its square in units of ``|beta|``: ``q`` where near, ``p`` where far; never below ``-2``."""
    far: Tensor
    """True where the antipode ``-y`` is the nearer of the two: ``c < 0``."""

    @property
    def connected(self) -> Tensor:
        """True where a geodesic joins the points: ``c > -1``, that is ``p < 0``, beyond rounding."""
        return ~(self.far & (self.square >= -limits(self.square.dtype).antipode))


class _NearerChord(Function):
    """Squared chord to the nearer of ``y`` and ``-y``, with its gradient ``2 J (x -+ y)``; saves only ``x`` and ``y``."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, y: Tensor, time_dim: int) -> tuple[Tensor, Tensor]:
        # differences are squared in place: one tensor of the size of x lives at a time
        if space_like_shortcut(time_dim):  # the nearer one is the one on the same sheet
            sheets = x[..., :1] * y[..., :1]
            nearer = torch.addcmul(x, sheets.sign(), y, value=-1)
            return signed_sum(nearer.mul_(nearer), time_dim=time_dim, keepdim=True), sheets < 0
        near = signed_sum((x - y).square_(), time_dim=time_dim, keepdim=True)
        across = signed_sum((x + y).square_(), time_dim=time_dim, keepdim=True)
        far = across > near
        return torch.where(far, across, near), far

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, int], output: tuple[Tensor, Tensor]) -> None:
        x, y, ctx.time_dim = inputs
        far = output[1]
        ctx.mark_non_differentiable(far)
        ctx.save_for_backward(x, y, far)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, Tensor, None]:
        x, y, far = ctx.saved_tensors
        side = _side(far, x)
        to_x = flip_time(2 * grad * torch.addcmul(x, side, y), time_dim=ctx.time_dim)
        return to_x, side * to_x, None


def space_like_shortcut(time_dim: int) -> bool:
    """Tell whether to use that with one time dimension every chord is space-like.

    It saves a third of a distance's time, but for compiled code, where a loop that computes both sides is vectorised.
    """
    return time_dim == 1 and not torch.compiler.is_compiling()


def _side(far: Tensor, like: Tensor) -> Tensor:
    """Return +1 where far and -1 elsewhere: ``x + side * y`` is the chord to the nearer of ``y`` and ``-y``."""
    return 2 * far.to(like.dtype) - 1


def chord(x: Tensor, y: Tensor, size: Tensor, *, time_dim: int) -> Chord:
    """Return the chord between ``x`` and ``y``, shapes ``(..., d)``, in units of ``size``, which is ``|beta|``."""
    x, y = torch.broadcast_tensors(x, y)
    value, far = _NearerChord.apply(x, y, time_dim)  # type: ignore[no-untyped-call]
    return Chord(clip_chord(value / size), far)


def chord_between_all(x: Tensor, y: Tensor, size: Tensor, *, time_dim: int) -> Chord:
    """Return the chord from every ``x`` to every ``y``, fields of shape ``(..., N, M)``, without a ``(N, M, d)`` tensor.

    ``torch.cdist`` sums squared differences directly; its matrix-product mode, which would lose the accuracy that the
    difference form is there for, is switched off.

    Args:
        x: Points, shape ``(..., N, d)``.
        y: Points, shape ``(..., M, d)``.
        size: ``|beta|``.
        time_dim: Number of leading negative coordinates.
    """

    def squared(other: Tensor) -> Tensor:
        mode = "donot_use_mm_for_euclid_dist"
        space = torch.cdist(x[..., time_dim:], other[..., time_dim:], compute_mode=mode)
        return space.square() - torch.cdist(x[..., :time_dim], other[..., :time_dim], compute_mode=mode).square()

    near, across = squared(y), squared(-y)
    far = across > near
    return Chord(clip_chord(torch.where(far, across, near) / size), far)
