r"""The functions :math:`C(z) = \cosh\sqrt z` and :math:`S = 2C'`, with derivatives of every order."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from qgcn.numerics.floats import limits
from qgcn.numerics.functions import apply
from qgcn.numerics.series import COSH_SERIES_RADIUS, horner

__all__ = ["circle_root", "cosh_root", "cosh_sinhc_root", "sinhc_root"]


def _cosh_root(z: Tensor, order: int) -> Tensor:
    """Return the derivative of ``C`` of the given order, by its closed form, recurrence or series."""
    positive = z > 0
    root = z.abs().sqrt()
    rise = torch.where(positive, root, 0)  # cosh of the other side's root would overflow
    value = torch.where(positive, torch.cosh(rise), torch.cos(root))
    if order == 0:
        return value
    tiny = limits(z.dtype).norm
    divisor = root.clamp_min(tiny)  # sinh(tiny) == tiny: the quotient is 1
    slope = torch.where(positive, torch.sinh(rise.clamp_min(tiny)), torch.sin(divisor)) / (2 * divisor)
    if order == 1:
        return slope
    small = z.abs() <= COSH_SERIES_RADIUS
    safe = torch.where(small, COSH_SERIES_RADIUS, z)  # keeps the unused side finite
    for n in range(order - 1):  # 4 z C^(n+2) + (4 n + 2) C^(n+1) = C^(n)
        value, slope = slope, (value - (4 * n + 2) * slope) / (4 * safe)
    return torch.where(small, _cosh_series(z, order), slope)


def _cosh_series(z: Tensor, order: int) -> Tensor:
    """Return the derivative of ``C`` of the given order by its series."""
    coefficients = [
        math.factorial(k + order) / (math.factorial(k) * math.factorial(2 * (k + order))) for k in range(limits(z.dtype).series)
    ]
    return horner(z, coefficients)


class _CoshRoot(Function):
    """The derivative of ``C`` of a given order, as a differentiable function."""

    generate_vmap_rule = True

    @staticmethod
    def forward(z: Tensor, order: int) -> Tensor:
        return _cosh_root(z, order)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, int], output: Tensor) -> None:
        z, ctx.order = inputs
        ctx.save_for_backward(z)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (z,) = ctx.saved_tensors
        return grad * apply(_CoshRoot, z, ctx.order + 1), None


def cosh_root(z: Tensor) -> Tensor:
    r"""Return :math:`C(z) = \cosh\sqrt z`, which is :math:`\cos\sqrt{-z}` for negative ``z``.

    Laws: ``C^2 - z S^2 = 1``; ``C' = S / 2``; ``C(0) = 1``; analytic on the whole line.
    """
    result: Tensor = apply(_CoshRoot, z, 0)
    return result


def sinhc_root(z: Tensor) -> Tensor:
    r"""Return :math:`S(z) = \sinh\sqrt z / \sqrt z`, which is :math:`\sin\sqrt{-z} / \sqrt{-z}` for negative ``z``.

    Laws: ``C^2 - z S^2 = 1``; ``S' = (C - S) / (2 z)``; ``S(0) = 1``; analytic on the whole line.
    """
    half: Tensor = apply(_CoshRoot, z, 1)
    return 2 * half


class _CircleRoot(Function):
    """``C`` and ``S`` of numbers that are not positive; their slopes are made of their values."""

    generate_vmap_rule = True

    @staticmethod
    def forward(z: Tensor) -> tuple[Tensor, Tensor]:
        root = (-z).sqrt()
        divisor = root.clamp_min(limits(z.dtype).norm)  # sin(tiny) == tiny: the quotient is 1
        return torch.cos(root), torch.sin(divisor) / divisor

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    def backward(ctx: Any, to_cosine: Tensor, to_sine: Tensor) -> Tensor:
        z, cosine, sine = ctx.saved_tensors
        if torch.is_grad_enabled():  # so that there are second derivatives
            bend = 2 * apply(_CoshRoot, z, 2)
        else:
            small = z.abs() <= COSH_SERIES_RADIUS
            safe = torch.where(small, COSH_SERIES_RADIUS, z)  # keeps the unused side finite
            bend = torch.where(small, 2 * _cosh_series(z, 2), (cosine - sine) / (2 * safe))
        return torch.addcmul(to_cosine * sine / 2, to_sine, bend)


class _BothRoots(_CircleRoot):
    """``C`` and ``S`` of numbers of both signs."""

    @staticmethod
    def forward(z: Tensor) -> tuple[Tensor, Tensor]:
        positive = z > 0
        root = z.abs().sqrt()
        tiny = limits(z.dtype).norm
        divisor = root.clamp_min(tiny)  # sinh(tiny) == sin(tiny) == tiny: the quotient is 1
        rise = torch.where(positive, divisor, tiny)  # cosh of the other side's root would overflow
        cosine = torch.where(positive, torch.cosh(rise), torch.cos(root))
        return cosine, torch.where(positive, torch.sinh(rise), torch.sin(divisor)) / divisor


def cosh_sinhc_root(z: Tensor) -> tuple[Tensor, Tensor]:
    r"""Return :math:`C(z)` and :math:`S(z)` at once.

    Laws: equal to :func:`cosh_root` and :func:`sinhc_root`, derivatives included, at little more than half the cost.
    """
    cosine, sine = apply(_BothRoots, z)
    return cosine, sine


def circle_root(z: Tensor) -> tuple[Tensor, Tensor]:
    r"""Return :math:`C(z) = \cos\sqrt{-z}` and :math:`S(z) = \sin\sqrt{-z}/\sqrt{-z}` at once, of ``z <= 0``.

    Laws: equal to :func:`cosh_root` and :func:`sinhc_root`, derivatives included, at less than half the cost.
    """
    cosine, sine = apply(_CircleRoot, z)
    return cosine, sine
