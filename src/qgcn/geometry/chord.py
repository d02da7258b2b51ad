r"""The chord between two points, from which distances, logarithms and transports are computed.

With :math:`c = -\langle x, y\rangle / |\beta|` the chord to ``y`` and the chord to its antipode ``-y`` have the squares

.. math:: q = \langle x-y, x-y\rangle/|\beta| = 2(c-1), \qquad p = \langle x+y, x+y\rangle/|\beta| = -2(c+1) = -4-q.

``q`` is accurate near :math:`c = 1` (coincidence and null separation), ``p`` near :math:`c = -1` (the edge of what a
geodesic can reach), ``c`` itself near neither. The chord is taken to the one of the two whose time part points the same way.

The square of a difference cancels far out: its space and its time part are each as large as :math:`|x|^2`. Both points being
on the manifold, one of them can be scaled first:

.. math:: q = \bigl((1-\lambda)^2 + \langle x-\lambda y, x-\lambda y\rangle/|\beta|\bigr) / \lambda
    \qquad\text{for every }\lambda > 0.

With :math:`\lambda = r/r'`, the ratio of the lengths of the time parts, the two time parts become equally long. What is left of
the difference is the *residual*: how the points differ in space, seen from the centre, and by the angle of their time parts.
For one time dimension no angle is left, and every term is positive.

The residual itself must not be a difference of large numbers, and :math:`r - r'` must not be one either. For points of the
manifold :math:`r^2 - r'^2 = |s|^2 - |s'|^2`, so that

.. math:: r - r' = \frac{(s - s')\cdot(s + s')}{r + r'}, \qquad
    s - \lambda s' = \frac{r + r'}{2r'}\Bigl(s - s' - \frac{r - r'}{r + r'}\,(s + s')\Bigr),

and likewise for the time part with the difference of *its* squares. Only coordinates are subtracted from each other, and that
rounds relative to how far the points are apart, not to how far out they are. The length of a time part counts relative to
itself only: a point that has drifted off the manifold is read as what its space part and the direction of its time part say.

Far out, what was taken off along the sum of the points is by far the largest part of their difference, and its rounding is as
large as what is left in that direction. The gradient needs that: it is the slope outwards. But what must be left is known,

.. math:: \bigl(s - s' - \tfrac{r-r'}{r+r'}(s+s')\bigr)\cdot(s+s') = \tfrac{r-r'}{r+r'}\,|\beta|\,(4 + q_0)

with the square :math:`q_0` that the chord has without the angle. The residual is corrected accordingly; its time part, too.

If one point is much further out, it is first brought near the other by the power of two nearest to :math:`\lambda`, which does
not round.
"""

from collections.abc import Callable
from functools import cache
from pkgutil import resolve_name
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from qgcn.geometry.ambient import flip_time
from qgcn.numerics import apply, difference_or_zero, limits, nearest_power_of_two, recorded
from qgcn.numerics.functions import assumed_constant, settled, transformed, under_transform

__all__ = ["Chord", "Separation", "chord", "chord_between_all", "separation"]

Separate = Callable[[Tensor, Tensor, Tensor, int, bool], tuple[Tensor, ...] | None]
"""A faster function that finds separations. It takes points of one shape, ``|beta|``, the number of time dimensions, and
whether more than the squared chord and the side is wanted. It returns the fields of a :class:`Separation`, those that are not
wanted empty, or ``None`` for arguments that are not for it."""

Gradient = Callable[
    [Tensor, tuple[Tensor, ...], Tensor | None, Tensor | None, int, bool],
    tuple[Tensor | None, Tensor | None, Tensor | None] | None,
]
"""A faster function for the gradient. It takes ``|beta|``, all fields, the gradients of the squared chord and of the residual,
the number of time dimensions, and whether the gradient by ``|beta|`` is wanted. It returns those by both points and by
``|beta|``, or ``None`` for arguments that are not for it."""

_FUSED: Final = "qgcn.kernels.separation:separate"
_FUSED_GRADIENT: Final = "qgcn.kernels.separation:gradient"
_TRACED: Final = "qgcn.kernels.separation:most_coordinates_traced"


@cache
def _fused() -> Separate:
    """Return the compiled function; named, not imported: it stands above, and results must not depend on who imports it."""
    found: Separate = resolve_name(_FUSED)
    return found


@cache
def _fused_gradient() -> Gradient:
    """Return the compiled function for the gradient."""
    found: Gradient = resolve_name(_FUSED_GRADIENT)
    return found


@assumed_constant
def _most_traced() -> int:
    """Return how many coordinates the operation ``qgcn::separate``, which is the compiled function, takes; 0 without it."""
    return int(resolve_name(_TRACED)())


class Chord(NamedTuple):
    """The squared chord from ``x`` to ``y`` or to ``-y``, whichever has the time part that points the same way."""

    raw: Tensor
    """Its square in units of ``|beta|``; ``q`` where it leads to ``y``, ``p`` where across."""
    across: Tensor
    """True where it leads to ``-y``."""
    space_like: bool
    """Every chord is space-like: there is one time dimension, and space."""

    @property
    def square(self) -> Tensor:
        """The squared chord to the nearer of ``y`` and ``-y``: ``q`` where near, ``p`` where far; never below ``-2``."""
        return self.nearer[0]

    @property
    def far(self) -> Tensor:
        """True where the antipode ``-y`` is the nearer of the two: ``c < 0``."""
        return self.nearer[1]

    @property
    def nearer(self) -> tuple[Tensor, Tensor]:
        """Both: :attr:`square` and :attr:`far`, in fewer operations than one after the other."""
        if self.space_like:
            return self.raw, self.across
        turned = self.raw < -2
        return torch.where(turned, -4 - self.raw, self.raw), turned ^ self.across

    @property
    def connected(self) -> Tensor:
        """True where a geodesic joins the points: ``c > -1``, that is ``p < 0``, beyond rounding."""
        return ~self.disconnected(*self.nearer)

    def disconnected(self, square: Tensor, far: Tensor) -> Tensor:
        """Return the opposite of :attr:`connected`, given :attr:`nearer`."""
        return far if self.space_like else far & (square >= -limits(square.dtype).antipode)


class Separation(NamedTuple):
    r"""How two points are separated: ``side * y == (1 - drop) * x - lever * residual``, without cancellation."""

    raw: Tensor
    """The squared chord to ``side * y`` in units of ``|beta|``."""
    residual: Tensor
    """What is left of the difference once both time parts are equally long, shape ``(..., d)``."""
    side: Tensor
    """1, or -1 where the chord leads to ``-y``."""
    lever: Tensor
    """Factor of the residual."""
    drop: Tensor
    """``(r - r') / r``: how much of ``x`` is missing."""
    ratio: Tensor
    """``r / r'``."""


class _Separation(Function):
    r"""See :class:`Separation`; the square and the residual are differentiable.

    The gradient is that of the square and the residual with the ratio of the time lengths held constant: for points of the
    manifold, beta changing with its points included, the square does not depend on it. Saves the residual and a few numbers
    for each pair.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, y: Tensor, size: Tensor, time_dim: int) -> tuple[Tensor, ...]:
        return _fields(x, y, size, time_dim, whole=True)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, int], output: tuple[Tensor, ...]) -> None:
        _, _, size, ctx.time_dim = inputs
        ctx.mark_non_differentiable(*output[2:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(size, *output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, to_residual: Tensor | None, *_: None) -> tuple[Tensor | None, ...]:
        size, *fields = ctx.saved_tensors
        if not (torch.is_grad_enabled() or transformed()):  # which take derivatives of what follows
            found = _fused_gradient()(size, tuple(fields), grad, to_residual, ctx.time_dim, ctx.needs_input_grad[2])
            if found is not None:
                return (*found, None)
        value, residual, side, lever, drop, ratio = fields
        to_x: Tensor | None = None
        to_size: Tensor | None = None
        if grad is not None:
            to_x = 2 * lever * grad / size * residual
            if ctx.time_dim > 1 or torch.is_grad_enabled():  # of one time coordinate nothing is left, but its derivative
                to_x = flip_time(to_x, time_dim=ctx.time_dim)
            to_size = (grad * (drop.square() * ratio - value) / size).sum_to_size(size.shape)
        if to_residual is not None:
            scaled = to_residual / (lever * ratio)
            to_x = scaled if to_x is None else to_x + scaled
        return to_x, None if to_x is None else -side * ratio * to_x, to_size, None


def _fields(x: Tensor, y: Tensor, size: Tensor, time_dim: int, *, whole: bool) -> tuple[Tensor, ...]:
    """Return the fields of a separation, found by the fastest function that takes the arguments."""
    found: tuple[Tensor, ...] | None
    if torch.compiler.is_compiling():
        traced = x.device.type == "cpu" and size.numel() == 1 and not torch.compiler.is_exporting()
        found = torch.ops.qgcn.separate(x, y, size, time_dim, whole) if traced and 0 < x.shape[-1] <= _most_traced() else None
    else:
        found = None if under_transform() else _fused()(x, y, size, time_dim, whole)
    if found is not None:
        return found
    return _round(x, y, size) if time_dim == x.shape[-1] else _separate(x, y, size, time_dim, whole=whole)


def _separate(x: Tensor, y: Tensor, size: Tensor, time_dim: int, *, whole: bool = True) -> tuple[Tensor, ...]:
    """Return the fields of a separation in a space with time and space dimensions.

    Few tensors of the size of the points are made, and what is no longer needed is overwritten: on the CPU new memory costs
    more than an operation on it. ``addcmul_``, which would take one pass less, has no rule under vmap.
    """
    length, other, scale = _reach(x, y, time_dim)
    factor = scale.abs()
    total = torch.addcmul(length, factor, other)
    residual, sums = torch.addcmul(x, scale, y, value=-1), torch.addcmul(x, scale, y)
    products = residual * sums
    rise = torch.addcmul(products[..., time_dim:].sum(-1, keepdim=True), size, 1 - factor.square()) / total  # r - factor r'
    taken = sums.clone() if whole else sums
    if time_dim == 1:
        residual.sub_(taken.mul_(rise / total))
        residual[..., :1].fill_(0)  # of one time coordinate nothing is left
    else:
        early = products[..., :time_dim].sum(-1, keepdim=True)
        taken[..., time_dim:].mul_(rise / total)
        taken[..., :time_dim].mul_(early / total.square())
        residual.sub_(taken)
    gap, middle, product = torch.where(factor == 1, rise, length - other), total / (2 * factor), length * other
    # symmetric to the last bit: the other way around everything is multiplied by powers of two
    weight, squares = middle.square() / size, residual * residual if whole else residual.mul_(residual)
    ahead = torch.addcmul(gap.square(), weight, squares[..., time_dim:].sum(-1, keepdim=True))
    value = ahead
    if time_dim > 1:
        angle = squares[..., :time_dim].sum(-1, keepdim=True)
        value = difference_or_zero(ahead, weight * angle)
    value = value / product
    if not whole:
        return value, *[scale] * 5
    again = residual * sums  # rounding has left as much along the sums as there is to be
    along = rise / total * size * ((1 + factor).square() + factor * (ahead / product)) - size * (1 - factor.square())
    missing = (along - again[..., time_dim:].sum(-1, keepdim=True)) / total.square()
    residual[..., time_dim:].add_(sums[..., time_dim:] * missing)
    if time_dim > 1:
        share = angle / (4 * factor * product)
        missing = (early * share - again[..., :time_dim].sum(-1, keepdim=True)) / (total.square() * (1 - share))
        residual[..., :time_dim].add_(sums[..., :time_dim] * missing)
    return value, settled(residual), scale.sign(), middle / length, gap / length, length / other


def _reach(x: Tensor, y: Tensor, time_dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the lengths of the time parts and the power of two nearest to their ratio, negative if they point apart."""
    time_x, time_y = x[..., :time_dim], y[..., :time_dim]
    if time_dim == 1:
        return time_x.abs(), time_y.abs(), nearest_power_of_two(time_x / time_y)
    length, other = (torch.linalg.vector_norm(time, dim=-1, keepdim=True) for time in (time_x, time_y))
    aligned = (time_x * time_y).sum(-1, keepdim=True)
    return length, other, torch.copysign(nearest_power_of_two(length / other), aligned)


def _round(x: Tensor, y: Tensor, size: Tensor) -> tuple[Tensor, ...]:
    """Return the fields of a separation on a sphere, where no point is further out and every chord is time-like."""
    side = torch.where((x * y).sum(-1, keepdim=True) < 0, -1, 1).to(x.dtype)
    residual, sums = torch.addcmul(x, side, y, value=-1), torch.addcmul(x, side, y)
    residual = residual - sums * ((residual * sums).sum(-1, keepdim=True) / (4 * size))  # beta alone may be batched
    value = torch.linalg.vector_norm(residual, dim=-1, keepdim=True).square() / -size
    one = torch.ones_like(side)
    return value, residual, side, one, torch.zeros_like(side), one.clone()


def separation(x: Tensor, y: Tensor, size: Tensor, *, time_dim: int) -> tuple[Separation, Chord]:
    """Return how ``x`` and ``y``, shapes ``(..., d)``, are separated, and their chord, in units of ``size``, ``|beta|``."""
    found = Separation(*apply(_Separation, *_broadcast(x, y, size), size, time_dim))
    return found, Chord(found.raw, found.side < 0, 1 == time_dim < x.shape[-1])


def chord(x: Tensor, y: Tensor, size: Tensor, *, time_dim: int) -> Chord:
    """Return the chord between ``x`` and ``y``, shapes ``(..., d)``, in units of ``size``, which is ``|beta|``."""
    if recorded(x, y, size):
        return separation(x, y, size, time_dim=time_dim)[1]
    raw, _, side, *_ = _fields(*_broadcast(x, y, size), size, time_dim, whole=False)
    return Chord(raw, side < 0, 1 == time_dim < x.shape[-1])


def _broadcast(x: Tensor, y: Tensor, size: Tensor) -> tuple[Tensor, Tensor]:
    """Return the points expanded to one shape, that of the sizes included."""
    if x.ndim == y.ndim and x.shape == y.shape and size.ndim < 2:
        return x, y  # asking PyTorch takes as long as a fifth of a distance
    shape = torch.broadcast_shapes(x.shape, y.shape, (*size.shape[:-1], 1))
    return x.expand(shape), y.expand(shape)


def chord_between_all(x: Tensor, y: Tensor, size: Tensor, *, time_dim: int) -> Chord:
    """Return the chord from every ``x`` to every ``y``, fields of shape ``(..., N, M)``, without a ``(N, M, d)`` tensor.

    Points are scaled to equally long time parts before they are subtracted, which rounds them: the distance has the error that
    rounding the points themselves gives it, however far out they are. ``torch.cdist`` subtracts directly; its matrix-product
    mode, which would lose the accuracy that the difference is there for, is switched off.

    Args:
        x: Points, shape ``(..., N, d)``.
        y: Points, shape ``(..., M, d)``.
        size: ``|beta|``.
        time_dim: Number of leading negative coordinates.
    """

    def squared(one: Tensor, two: Tensor) -> Tensor:
        return torch.cdist(one, two, compute_mode="donot_use_mm_for_euclid_dist").square()

    if time_dim == x.shape[-1]:
        near, opposite = (squared(x, other) / -size for other in (y, -y))
        return Chord(torch.maximum(near, opposite), opposite > near, space_like=False)
    (time_x, space_x), (time_y, space_y) = ((z[..., :time_dim], z[..., time_dim:]) for z in (x, y))
    length_x, length_y = (torch.linalg.vector_norm(time, dim=-1, keepdim=True) for time in (time_x, time_y))
    product, gap = length_x * length_y.mT, (length_x - length_y.mT).square()
    if time_dim == 1:  # divided by the coordinate, not by its length, both are on one sheet
        across = (time_x < 0) ^ (time_y < 0).mT
        return Chord(squared(space_x / time_x, space_y / time_y) * product / size + gap / product, across, space_like=True)
    time_x, space_x, time_y, space_y = time_x / length_x, space_x / length_x, time_y / length_y, space_y / length_y
    near, opposite = squared(time_x, time_y), squared(time_x, -time_y)
    across = opposite < near
    space = torch.where(across, squared(space_x, -space_y), squared(space_x, space_y)) * product / size
    turn = torch.where(across, opposite, near) * product / size
    return Chord(difference_or_zero(space + gap / product, turn), across, space_like=False)
