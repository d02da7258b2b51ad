"""The gradient of the translation by a bias, and which implementation computes it."""

import math
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor
from torch.autograd import Function

from qgcn import geometry
from qgcn.geometry.batch import stacked, under_vmap
from qgcn.geometry.tangent import bias_step, moved_by
from qgcn.kernels.backends import assumed_constant, forced
from qgcn.kernels.translation import cpu
from qgcn.numerics import transformed

__all__ = ["translate0"]


def translate0(u: Tensor, b: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    """Translate by a bias; arguments and result are those of :func:`qgcn.geometry.translate0`, for one bias ``b``.

    Laws: equal to :func:`qgcn.geometry.translate0`, up to rounding.
    """
    geometry.check(time_dim, u=u, b=b)
    if under_vmap():
        return stacked(partial(_translate0, time_dim=time_dim), u, b, beta)
    return _translate0(u, b, beta, time_dim)


def _translate0(u: Tensor, b: Tensor, beta: Tensor | float, time_dim: int) -> Tensor:
    known = bias_step(u, b, beta, time_dim)
    if torch.compiler.is_compiling() and _traced(u, b):
        folded = u.reshape(-1, *u.shape[-2:])
        moved: Tensor = torch.ops.qgcn.translate(folded, *(each.reshape(-1) for each in known), time_dim)
        return moved.view(u.shape)
    if transformed() or not _fits(u, b, beta):
        return moved_by(u, *known, time_dim=time_dim)
    translated: Tensor = _Translated.apply(u, *known, time_dim)  # type: ignore[no-untyped-call]
    return translated


def _fits(u: Tensor, b: Tensor, beta: Tensor | float) -> bool:
    """Tell whether the compiled function takes these: points ``(N, d)`` or ``(K, N, d)``, one bias and beta for each ``N``."""
    if u.ndim not in (2, 3) or u.numel() == 0 or u.shape[-1] > cpu.MOST_COORDINATES or not cpu.takes(u, b):
        return False
    shapes = [b.shape[:-1], beta.shape[:-1] if isinstance(beta, Tensor) else ()]
    return all(len(shape) < u.ndim and (math.prod(shape) == 1 or shape == (len(u), 1)) for shape in shapes)


def _traced(u: Tensor, b: Tensor) -> bool:
    """Tell whether a compiler is to call the C++ as it is: points ``(..., N, d)``, one bias; never in what is exported."""
    if torch.compiler.is_exporting() or u.device.type != "cpu" or u.dtype != torch.float32 or b.ndim != 1:
        return False
    return u.ndim >= 2 and u.shape[-1] <= cpu.MOST_COORDINATES and _available()


@assumed_constant
def _available() -> bool:
    return forced() in (None, "native") and cpu.obstacle() is None


class _Translated(Function):
    @staticmethod
    def forward(ctx: Any, u: Tensor, step: Tensor, ahead: Tensor, size: Tensor, time_dim: int) -> Tensor:
        ctx.time_dim = time_dim
        ctx.save_for_backward(u, step, ahead, size)
        return cpu.translate(*_batch(u, step, ahead, size), time_dim).view(u.shape)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        inputs = ctx.saved_tensors
        if torch.is_grad_enabled():  # so that there are second derivatives
            asked = [each for each, needed in zip(inputs, ctx.needs_input_grad, strict=False) if needed]
            found = iter(torch.autograd.grad(moved_by(*inputs, time_dim=ctx.time_dim), asked, grad, create_graph=True))
            return tuple(next(found) if needed else None for needed in ctx.needs_input_grad)
        u, step, ahead, size = _batch(*inputs)
        gradients = cpu.translate_gradient(u, grad.reshape(u.shape).contiguous(), step, ahead, size, ctx.time_dim)
        return *(_shaped(gradient, each) for gradient, each in zip(gradients, inputs, strict=True)), None


def _shaped(gradient: Tensor, like: Tensor) -> Tensor:
    return (gradient if gradient.numel() == like.numel() else gradient.sum(0)).reshape(like.shape)


def _batch(u: Tensor, step: Tensor, ahead: Tensor, size: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Give everything its batch axis: ``(K, N, d)``, ``(K, d)``, ``(K,)``, ``(K,)``."""
    u = u.reshape(-1, *u.shape[-2:]).contiguous()
    batch = len(u)
    ahead, size = (each.reshape(-1).expand(batch).contiguous() for each in (ahead, size))
    return u, step.reshape(-1, u.shape[-1]).expand(batch, -1).contiguous(), ahead, size


# --- the same as operations of PyTorch, which a compiler can trace -----------------------------------------------------------

_LIBRARY: Final = torch.library.Library("qgcn", "FRAGMENT")
_KNOWN: Final = "Tensor step, Tensor ahead, Tensor size, int time_dim"
_LIBRARY.define(f"translate(Tensor u, {_KNOWN}) -> Tensor")
_LIBRARY.define(f"translate_gradient(Tensor u, Tensor grad, {_KNOWN}) -> (Tensor, Tensor, Tensor, Tensor)")


def _translate(u: Tensor, step: Tensor, ahead: Tensor, size: Tensor, time_dim: int) -> Tensor:
    return cpu.translate(*_batch(u, step, ahead, size), time_dim) if u.numel() else torch.empty_like(u)


def _gradient(u: Tensor, grad: Tensor, step: Tensor, ahead: Tensor, size: Tensor, time_dim: int) -> tuple[Tensor, ...]:
    if u.numel() == 0:
        return tuple(torch.zeros_like(each) for each in (u, step, ahead, size))
    inputs = _batch(u, step, ahead, size)
    found = cpu.translate_gradient(inputs[0], grad.contiguous(), *inputs[1:], time_dim)
    return found[0], *(_shaped(each, like).clone() for each, like in zip(found[1:], (step, ahead, size), strict=True))


_LIBRARY.impl("translate", _translate, "CPU")
_LIBRARY.impl("translate_gradient", _gradient, "CPU")


@torch.library.register_fake("qgcn::translate", lib=_LIBRARY)  # type: ignore[untyped-decorator]
def _(u: Tensor, *_: Any) -> Tensor:
    return u.new_empty(u.shape)


@torch.library.register_fake("qgcn::translate_gradient", lib=_LIBRARY)  # type: ignore[untyped-decorator]
def _(u: Tensor, _grad: Tensor, step: Tensor, ahead: Tensor, size: Tensor, _time_dim: int) -> tuple[Tensor, ...]:
    return tuple(each.new_empty(each.shape) for each in (u, step, ahead, size))


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG001
    ctx.save_for_backward(*inputs[:4])
    ctx.time_dim = inputs[4]


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    u, *known = ctx.saved_tensors
    return *torch.ops.qgcn.translate_gradient(u, grad, *known, ctx.time_dim), None


torch.library.register_autograd("qgcn::translate", _backward, setup_context=_remember, lib=_LIBRARY)
