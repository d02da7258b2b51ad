r"""The chord between two points, from which distances, logarithms and transports are computed.

With :math:`c = -\langle x, y\rangle / |\beta|` the chord to ``y`` and the chord to its antipode ``-y`` have the squares

.. math:: q = \langle x-y, x-y\rangle/|\beta| = 2(c-1), \qquad p = \langle x+y, x+y\rangle/|\beta| = -2(c+1).

``q`` is accurate near :math:`c = 1` (coincidence and null separation), ``p`` near :math:`c = -1` (the edge of what a
geodesic can reach), ``c`` itself near neither. So every map works with the chord to the nearer of the two.

The error of :math:`\langle w, w\rangle` is rounding relative to the Euclidean :math:`|w|^2`. If one point is much further out
than the other, the difference is as long as the longer one, and its square swamps ``q``. Both points being on the manifold,
one of them can be scaled first:

.. math:: q = \bigl((1-\lambda)^2 + \langle x-\lambda y, x-\lambda y\rangle/|\beta|\bigr) / \lambda
    \qquad\text{for every }\lambda > 0.

With the power of two nearest to :math:`|x|/|y|` nothing is lost by scaling, points equally far out are simply subtracted,
and others are as accurate as ``c`` would be.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from qgcn.geometry.ambient import flip_time, signs
from qgcn.numerics import apply, clip_chord, limits, nearest_power_of_two

__all__ = ["Chord", "chord", "chord_between_all"]


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
    r"""Squared chord to the nearer of ``y`` and ``-y``, and the scale :math:`\pm\lambda` it was taken with: minus where far.

    The gradient is that of :math:`\langle w, w\rangle/(\lambda|\beta|)` with :math:`w = x \mp \lambda y`; the rest is constant.
    In directions along the manifold, beta changing with its points included, it does not depend on the scale, and clipping
    lets it through. Saves only the points and two numbers per pair.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, y: Tensor, size: Tensor, time_dim: int) -> tuple[Tensor, Tensor]:
        value, scale = _nearer_chord(x, y, size, time_dim)
        return clip_chord(value, space_like=time_dim == 1), scale

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, int], output: tuple[Tensor, Tensor]) -> None:
        x, y, size, ctx.time_dim = inputs
        value, scale = output
        ctx.mark_non_differentiable(scale)
        ctx.save_for_backward(x, y, size, value, scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        x, y, size, value, scale = ctx.saved_tensors
        slope = 2 * grad / (size * scale.abs())
        to_x = flip_time(slope * torch.addcmul(x, scale, y, value=-1), time_dim=ctx.time_dim)
        constant = (1 - scale.abs()).square() / scale.abs()
        to_size = (-grad * (value - constant) / size).sum_to_size(size.shape)
        return to_x, -scale * to_x, to_size, None


def _nearer_chord(x: Tensor, y: Tensor, size: Tensor, time_dim: int) -> tuple[Tensor, Tensor]:
    """Return the squared chord in units of ``size``, and the scale."""
    if torch.compiler.is_compiling():
        return _chord_in_one_pass(x, y, size, time_dim)
    if time_dim == 1:  # the nearer one is the one on the same sheet
        scale = nearest_power_of_two(x[..., :1] / y[..., :1])
        squares = _squared(torch.addcmul(x, scale, y, value=-1))
        squares[..., :1].neg_()  # then one sum in the order of memory: faster than that of a slice, and no less exact
        return _unscaled(squares.sum(-1, keepdim=True), scale.abs(), size), scale
    if time_dim == x.shape[-1]:  # on a sphere no point is further out than another, and every chord is time-like
        near, across = (-_squared(w).sum(-1, keepdim=True) / size for w in (x - y, x + y))
        far = across > near
        return torch.where(far, across, near), torch.where(far, -1, 1).to(x.dtype)
    sign, scale = signs(x, time_dim), _scale(x, y, time_dim)
    scaled = scale * y
    squares = _squared(x - scaled)
    near_error = squares.sum(-1, keepdim=True)
    near = _unscaled(squares.mul_(sign).sum(-1, keepdim=True), scale, size)
    squares = _squared(x + scaled)
    across_error = squares.sum(-1, keepdim=True)
    across = _unscaled(squares.mul_(sign).sum(-1, keepdim=True), scale, size)
    far = _antipode_is_nearer(near, near_error, across, across_error)
    return torch.where(far, across, near), torch.where(far, -scale, scale)


def _squared(difference: Tensor) -> Tensor:
    """Square in place what was just computed, so that one tensor of the size of the points lives at a time.

    ``square_`` would do the same, but has no rule under ``vmap``.
    """
    return difference.mul_(difference)


def _unscaled(value: Tensor, scale: Tensor, size: Tensor) -> Tensor:
    """Return the squared chord from ``x`` to ``y`` in units of ``size``, given that from ``x`` to ``scale * y``."""
    return torch.addcdiv(_squared(scale - 1), value, size).div_(scale)


def _antipode_is_nearer(near: Tensor, near_error: Tensor, across: Tensor, across_error: Tensor) -> Tensor:
    """Tell whether ``c < 0`` from the more accurate of ``q`` and ``p``, in exact arithmetic either one.

    The rounding error of ``<w, w>`` is proportional to the Euclidean ``|w|^2``, given as the errors. Far out it exceeds
    ``|beta|``: comparing the two would then take a point for its own antipode.
    """
    return torch.where(near_error <= across_error, near < -2, across > -2)


def _scale(x: Tensor, y: Tensor, time_dim: int) -> Tensor:
    """Return the power of two nearest to how much further out ``x`` is than ``y``, judged by their time parts."""
    length_x, length_y = (torch.linalg.vector_norm(z[..., :time_dim].detach(), dim=-1, keepdim=True) for z in (x, y))
    return nearest_power_of_two(length_x / length_y)


def _chord_in_one_pass(x: Tensor, y: Tensor, size: Tensor, time_dim: int) -> tuple[Tensor, Tensor]:
    """Return what :func:`_nearer_chord` does for points of the manifold, from sums of which none waits for another.

    Compiled, one loop takes them all.
    """
    sign = signs(x, time_dim)
    difference, total, product = (x - y).square(), (x + y).square(), x * y
    near_error, across_error = (squares.sum(-1, keepdim=True) for squares in (difference, total))
    near, across, product = ((sign * terms).sum(-1, keepdim=True) / size for terms in (difference, total, product))
    scale = _scale(x, y, time_dim)
    value, far = _nearer(near, near_error, across, across_error, product, scale == 1)
    return value, torch.where(far, -scale, scale)


def _nearer(
    near: Tensor, near_error: Tensor, across: Tensor, across_error: Tensor, product: Tensor, alike: Tensor
) -> tuple[Tensor, Tensor]:
    """Choose among the difference, the sum and the product of two points; the first two only if the points are alike."""
    far = torch.where(alike, _antipode_is_nearer(near, near_error, across, across_error), product > 0)
    return torch.where(alike, torch.where(far, across, near), 2 * product.abs() - 2), far


def chord(x: Tensor, y: Tensor, size: Tensor, *, time_dim: int) -> Chord:
    """Return the chord between ``x`` and ``y``, shapes ``(..., d)``, in units of ``size``, which is ``|beta|``."""
    x, y = torch.broadcast_tensors(x, y)
    value, scale = apply(_NearerChord, x, y, size, time_dim)
    return Chord(value, scale < 0)


def chord_between_all(x: Tensor, y: Tensor, size: Tensor, *, time_dim: int) -> Chord:
    """Return the chord from every ``x`` to every ``y``, fields of shape ``(..., N, M)``, without a ``(N, M, d)`` tensor.

    Points about equally far out are subtracted: ``torch.cdist`` does so directly, its matrix-product mode, which would lose
    the accuracy that the difference is there for, is switched off. For other pairs the matrix product is as accurate as a
    scaled difference, and taken.

    Args:
        x: Points, shape ``(..., N, d)``.
        y: Points, shape ``(..., M, d)``.
        size: ``|beta|``.
        time_dim: Number of leading negative coordinates.
    """

    def squared(other: Tensor) -> tuple[Tensor, Tensor]:
        mode = "donot_use_mm_for_euclid_dist"
        space = torch.cdist(x[..., time_dim:], other[..., time_dim:], compute_mode=mode).square()
        time = torch.cdist(x[..., :time_dim], other[..., :time_dim], compute_mode=mode).square()
        return (space - time) / size, space + time

    near, near_error = squared(y)
    across, across_error = squared(-y)
    with torch.autocast(x.device.type, enabled=False):
        product = flip_time(x, time_dim=time_dim) @ y.transpose(-1, -2) / size
    alike = _scale(x.unsqueeze(-2), y.unsqueeze(-3), time_dim).squeeze(-1) == 1
    value, far = _nearer(near, near_error, across, across_error, product, alike)
    return Chord(clip_chord(value, space_like=time_dim == 1), far)
