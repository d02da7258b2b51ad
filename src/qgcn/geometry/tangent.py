r"""Maps of the manifold written in tangent coordinates at the south pole, for networks that live there.

A network alternates the diffeomorphic maps :math:`\widehat\exp_o` and :math:`\widehat\log_o`. What stands between two of them
is written out here as one map of the tangent space: cheaper than the composition, and equal to it.
"""

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from qgcn.geometry.ambient import beta_shape, check, magnitude, square
from qgcn.geometry.batch import stacked, under_vmap
from qgcn.numerics import apply, circle_root, cosh_sinhc_root, limits, safe_norm, transformed

__all__ = ["bias_step", "fold0", "moved_by", "translate0"]


def fold0(u: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return :math:`\widehat\log_o(\widehat\exp_o(u))`: whole turns around the sphere of time are taken off.

    .. math:: (0, u_t, s) \mapsto \bigl(0,\; u_t (1 - 2\pi\sqrt{|\beta|}\,n / |u_t|),\; s\bigr),
        \qquad n = \operatorname{round}\frac{|u_t|}{2\pi\sqrt{|\beta|}}

    Laws: equal to ``logmap0(expmap0(u))``; the identity for :math:`|u_t| < \pi\sqrt{|\beta|}`, and always with one time
    dimension; ``fold0(fold0(u)) == fold0(u)``.

    Args:
        u: Tangent vectors at the pole, shape ``(..., d)``; the first coordinate is not read.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, u=u)
    if under_vmap():
        return stacked(partial(_fold0, time_dim=time_dim), u, beta)
    return _fold0(u, beta, time_dim)


def _fold0(u: Tensor, beta: Tensor | float, time_dim: int) -> Tensor:
    zero = torch.zeros_like(u[..., :1])
    if time_dim == 1:
        folded: Tensor = torch.cat((zero, u[..., 1:]), dim=-1) if transformed() else _WithoutFirst.apply(u)  # type: ignore[no-untyped-call]
        return folded.expand(torch.broadcast_shapes(folded.shape, beta_shape(beta)))
    _, turn, space = _parts(u, time_dim)
    length = safe_norm(turn)
    circle = 2 * math.pi * magnitude(beta, u).sqrt()
    turns = torch.round(length.detach() / circle.detach())
    scale = 1 - circle * turns / torch.where(turns > 0, length, 1)
    batch = scale.shape[:-1]
    return torch.cat((zero.expand(*batch, -1), scale * turn, space.expand(*batch, -1)), dim=-1)


def translate0(u: Tensor, b: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Translate by a bias in tangent coordinates: :math:`\widehat\log_o(\widehat\exp_o(u) \oplus b)`, Eq. 8.

    With :math:`x = \widehat\exp_o(u)`, :math:`z = \langle b, b\rangle/|\beta|` and the side :math:`\sigma = 1` where ``x`` is
    connected to the pole, :math:`\sigma = -1` elsewhere,

    .. math:: x \oplus b = (C + \sigma k)\,x + \sigma S\,b + k\,o, \qquad
        k = \frac{S\,\langle b, x\rangle}{|\beta| + \sigma\sqrt{|\beta|}\,x_0} ,

    whose denominator is at least :math:`\sqrt{|\beta|}\,(|x_t| - \sqrt{|\beta|})`, so that ``k`` stays bounded; see
    :func:`~qgcn.geometry.translate`.

    Laws: equal to ``logmap0(translate(expmap0(u), b))``; ``translate0(u, 0) == fold0(u)``.

    Args:
        u: Tangent vectors at the pole, shape ``(..., d)``; the first coordinate is not read.
        b: Tangent vectors at the pole, shape ``(..., d)``; the first coordinate is not read.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, u=u, b=b)
    if under_vmap():
        return stacked(partial(_translate0, time_dim=time_dim), u, b, beta)
    return _translate0(u, b, beta, time_dim)


def _translate0(u: Tensor, b: Tensor, beta: Tensor | float, time_dim: int) -> Tensor:
    return moved_by(u, *bias_step(u, b, beta, time_dim), time_dim=time_dim)


def bias_step(u: Tensor, b: Tensor, beta: Tensor | float, time_dim: int) -> tuple[Tensor, Tensor, Tensor]:
    r"""Return what a translation needs to know of its bias: :math:`S b`, :math:`C` and :math:`|\beta|`, typed as ``u``."""
    size = magnitude(beta, u)
    b = torch.cat((torch.zeros_like(b[..., :1]), b[..., 1:]), dim=-1)
    z = square(b, time_dim=time_dim) / size
    ahead, along = cosh_sinhc_root(z)
    return along * b, ahead, size


def moved_by(u: Tensor, step: Tensor, ahead: Tensor, size: Tensor, *, time_dim: int) -> Tensor:
    """Translate by what :func:`bias_step` returns."""
    if time_dim == 1:
        moved: Tensor = _moved(u, step, ahead, size) if transformed() else _Moved.apply(u, step, ahead, size)  # type: ignore[no-untyped-call]
        return moved
    root = size.sqrt()
    _, turn, space = _parts(u, time_dim)
    _, turn_push, push = _parts(step, time_dim)
    quarter = -(turn * turn).sum(-1, keepdim=True) / (4 * size)
    half_cosine, half_sine = circle_root(quarter)  # of half the angle: 1 + cos does not cancel behind
    cosine = 2 * half_cosine.square() - 1
    reach = (space * space).sum(-1, keepdim=True)
    radius = (size + reach).sqrt()
    excess = reach / (radius + root)  # radius - root
    stretch = radius * half_sine * half_cosine / root  # x = (radius * cosine, stretch * turn, space)
    overlap = (space * push).sum(-1, keepdim=True) - stretch * (turn * turn_push).sum(-1, keepdim=True)
    # |beta| - <o, x> and |beta| + <o, x>
    room = torch.addcmul(root * excess * cosine, 2 * size, half_cosine.square())
    connected = room > limits(u.dtype).antipode * size
    side = torch.where(connected, 1, -1).to(u.dtype)
    k = overlap / torch.where(connected, room, 2 * size - room).maximum(root * excess)
    scale = torch.addcmul(ahead, side, k)
    first = torch.addcmul(k * root, scale, radius * cosine)
    time: Tensor = apply(_SphereLog, first, torch.addcmul(side * turn_push, scale * stretch, turn))
    return torch.cat((torch.zeros_like(k), root * time, torch.addcmul(side * push, scale, space)), dim=-1)


def _parts(u: Tensor, time_dim: int) -> tuple[Tensor, ...]:
    """Return the first coordinate, the other times and space; the gradient of three slices would be three tensors of zeros."""
    parts: tuple[Tensor, ...] = u.split((1, time_dim - 1, u.shape[-1] - time_dim), dim=-1)
    return parts


class _WithoutFirst(Function):
    """Set the first coordinate to zero: a copy, where a slice and its gradient are four."""

    @staticmethod
    def forward(ctx: Any, u: Tensor) -> Tensor:
        kept = u.clone()
        kept[..., :1].fill_(0)
        return kept

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        result: Tensor = _WithoutFirst.apply(grad)  # type: ignore[no-untyped-call]
        return result


def _moved(u: Tensor, step: Tensor, ahead: Tensor, size: Tensor) -> Tensor:
    r"""Return :math:`(0, (C + k)\,s + S b)`, the translation by ``step`` :math:`= S b` with one time dimension."""
    space, push = u[..., 1:], step[..., 1:]
    room = size + size.sqrt() * (size + (space * space).sum(-1, keepdim=True)).sqrt()
    moved = torch.addcmul(push, ahead + (space * push).sum(-1, keepdim=True) / room, space)
    return torch.cat((torch.zeros_like(moved[..., :1]), moved), dim=-1)


class _Moved(Function):
    """:func:`_moved` in fewer passes over the memory."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, step: Tensor, ahead: Tensor, size: Tensor) -> Tensor:
        space = u[..., 1:]
        radius = (size + (space * space).sum(-1, keepdim=True)).sqrt_()
        room = torch.addcmul(size, size.sqrt(), radius)
        k = (space * step[..., 1:]).sum(-1, keepdim=True).div(room)
        ctx.save_for_backward(u, step, ahead, size, radius, room, k)
        moved = torch.addcmul(step, ahead + k, u)
        moved[..., :1].fill_(0)
        return moved

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        u, step, ahead, size, radius, room, k = ctx.saved_tensors
        inputs = (u, step, ahead, size)
        if torch.is_grad_enabled():  # so that there are second derivatives
            asked = [each for each, needed in zip(inputs, ctx.needs_input_grad, strict=True) if needed]
            found = iter(torch.autograd.grad(_moved(*inputs), asked, grad, create_graph=True))
            return tuple(next(found) if needed else None for needed in ctx.needs_input_grad)
        root = size.sqrt()
        along = (grad[..., 1:] * u[..., 1:]).sum(-1, keepdim=True)
        share = along / room
        pull = share * k  # minus the derivative by room
        to_u = torch.addcmul((ahead + k) * grad, share, step).addcmul_(pull * (-root) / radius, u)
        to_step = torch.addcmul(grad, share, u)
        to_size = pull * (1 + radius / (2 * root) + root / (2 * radius))
        for each in (to_u, to_step):
            each[..., :1].fill_(0)
        gradients = (to_u, to_step, along, to_size.neg_())
        return tuple(gradient.sum_to_size(each.shape) for gradient, each in zip(gradients, inputs, strict=True))


class _SphereLog(Function):
    r"""The angle between ``(ahead, rest)`` and the first axis, times the direction of ``rest``.

    ``angle / |rest|`` is analytic in front; behind, at the antipode, the direction is the first axis of ``rest``, without a
    gradient. Written by hand because it is a handful of passes instead of forty.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(ahead: Tensor, rest: Tensor) -> Tensor:
        length, safe = _lengths(rest)
        scale = torch.where(length > 0, torch.atan2(safe, ahead) / safe, 1 / ahead)
        axis = torch.zeros_like(rest)
        axis[..., :1].fill_(math.pi)
        return torch.where((length > 0) | (ahead > 0), scale * rest, axis)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        ahead, rest = ctx.saved_tensors
        length, safe = _lengths(rest)
        inside = length > 0
        front = ahead > 0
        squared = torch.where(inside | front, safe * safe * inside + ahead * ahead, 1)
        scale = torch.where(inside, torch.atan2(safe, ahead) / safe, torch.where(front, 1 / torch.where(front, ahead, 1), 0))
        along = (grad * rest).sum(-1, keepdim=True)
        bend = torch.where(inside, (ahead / squared - scale) / (safe * safe), 0)
        return torch.where(inside | front, -along / squared, 0), torch.addcmul(scale * grad, bend * along, rest)


def _lengths(rest: Tensor) -> tuple[Tensor, Tensor]:
    """Return the norm, zero where too short for a direction, and a stand-in for it that can be divided by."""
    length = safe_norm(rest)
    tiny = limits(rest.dtype).norm
    return torch.where(length > tiny, length, 0), torch.where(length > tiny, length, 1)
