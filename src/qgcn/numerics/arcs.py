r"""The length of an arc over its squared chord, :math:`F` and :math:`A = F'`, with derivatives of every order."""

import math
from functools import cache
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from qgcn.numerics.floats import limits
from qgcn.numerics.functions import apply, settled
from qgcn.numerics.series import ARC_SERIES_RADIUS, horner

__all__ = ["ARC_LIMIT", "arc", "arc_over_sine", "arc_polynomial", "arc_squared"]


def _length(r: Tensor, space_like: bool = False) -> Tensor:
    """Return ``|arc(r)|`` from its hyperbolic or circular sine and cosine, ``1 + r/2``; no term cancels for ``r >= -2``."""
    half = r / 2
    sine = (half if space_like else half.abs()).sqrt().mul_((half + 2).sqrt_())  # two roots: r squared would overflow
    rise = (sine + half).log1p_()  # log1p keeps it exact near 0 and is vectorised on the CPU
    return rise if space_like else torch.where(half > 0, rise, torch.atan2(sine, 1 + half))


class _Arc(Function):
    """The signed length over a squared chord; its infinite slope at 0 is replaced by zero, there and nowhere else."""

    generate_vmap_rule = True

    @staticmethod
    def forward(r: Tensor, space_like: bool) -> Tensor:
        length = _length(r, space_like)
        return settled(length) if space_like else torch.copysign(length, r)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, bool], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (r,) = ctx.saved_tensors
        zero = r == 0
        safe = torch.where(zero, 1, r)
        slope = 0.5 / (safe.abs().sqrt() * (1 + safe / 4).sqrt())
        return torch.where(zero, 0, grad * slope), None


def arc(r: Tensor, *, space_like: bool = False) -> Tensor:
    r"""Return the signed length :math:`\pm 2\operatorname{ar(c)sin(h)}(\sqrt{|r|}/2)` that a squared chord ``r`` spans.

    It is positive for space-like chords (``r > 0``), negative for time-like ones. Its slope at 0 is infinite; there, and
    only there, the gradient is set to zero.

    Args:
        r: Squared chord in units of ``|beta|``; ``r >= -2``, so that neither end of the arc is near (see ``geometry``).
        space_like: No chord is time-like (one time dimension): only one of the two formulas is evaluated.
    """
    result: Tensor = apply(_Arc, r, space_like)
    return result


def _arc_squared(q: Tensor, order: int) -> Tensor:
    """Return the derivative of ``F`` of the given order, by its closed form, recurrence or series."""
    if order == 0:
        return torch.where(q < 0, -1, 1) * _length(q).square()
    size = q.abs().clamp_min(limits(q.dtype).norm)
    signed = torch.where(q < 0, -size, size)  # arc(tiny) == sqrt(tiny): the quotient is 1
    value = _length(signed) / (size * (1 + signed / 4)).sqrt()
    if order == 1:
        return value
    small = q.abs() <= ARC_SERIES_RADIUS
    safe = torch.where(small, ARC_SERIES_RADIUS, q)  # keeps the unused side finite
    denominator = safe * (4 + safe)
    slope = (2 - (2 + safe) * value) / denominator  # q (4 + q) F'' + (2 + q) F' = 2
    for n in range(1, order - 1):
        value, slope = slope, -((2 * n + 1) * (2 + safe) * slope + n * n * value) / denominator
    coefficients = [_arc_coefficient(k + order) * math.perm(k + order, order) for k in range(limits(q.dtype).series)]
    return torch.where(small, horner(q, coefficients), slope)


def _arc_coefficient(k: int) -> float:
    """Return the coefficient of ``q^k`` in ``F``: ``2 (-1)^(k-1) / (k^2 binomial(2k, k))``."""
    sign = 1 if k % 2 else -1
    return sign * 2 / (k * k * math.comb(2 * k, k))


class _ArcSquared(Function):
    """The derivative of ``F`` of a given order, as a differentiable function."""

    generate_vmap_rule = True

    @staticmethod
    def forward(q: Tensor, order: int) -> Tensor:
        return _arc_squared(q, order)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, int], output: Tensor) -> None:
        q, ctx.order = inputs
        ctx.save_for_backward(q)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (q,) = ctx.saved_tensors
        return grad * apply(_ArcSquared, q, ctx.order + 1), None


ARC_LIMIT: Final = 0.5
"""Squared chord up to which :func:`arc_polynomial` holds."""


@cache
def arc_polynomial() -> tuple[float, ...]:
    """Return coefficients, constant first, of a polynomial for ``A`` on ``[-2, ARC_LIMIT]``, exact to float32's rounding.

    It interpolates at Chebyshev's nodes: ``A`` is analytic down to -4, so each degree gains a factor of five, and at degree
    10 what is left, 1.2e-8, is below rounding. For loops over pairs in float32, which are compiled elsewhere.
    """
    middle, half, degree = (ARC_LIMIT - 2) / 2, (ARC_LIMIT + 2) / 2, 10
    nodes = np.polynomial.chebyshev.chebpts1(degree + 1)
    values = _arc_squared(torch.from_numpy(middle + half * nodes), order=1).numpy()
    fit = np.polynomial.Polynomial.fit(middle + half * nodes, values, degree, domain=[-2, ARC_LIMIT])
    return tuple(float(c) for c in fit.convert().coef)


def arc_squared(q: Tensor) -> Tensor:
    r"""Return :math:`F(q)`, the signed squared length that a squared chord ``q`` spans: ``arc(q) * |arc(q)|``.

    Laws: analytic on ``(-4, inf)``; ``F(0) = 0``; ``F'(0) = 1``; ``C(F(q)) = 1 + q / 2``.

    Args:
        q: Squared chord in units of ``|beta|``, ``q > -4``; accurate for ``q >= -2``.
    """
    result: Tensor = apply(_ArcSquared, q, 0)
    return result


def arc_over_sine(q: Tensor) -> Tensor:
    r"""Return :math:`A = F'(q)`, which is :math:`\operatorname{arcosh}(c)/\sqrt{c^2-1}` at ``c = 1 + q / 2``.

    Laws: analytic on ``(-4, inf)``; ``A(0) = 1``; ``S(F(q)) A(q) = 1``.

    Args:
        q: Squared chord in units of ``|beta|``, ``q > -4``; accurate for ``q >= -2``.
    """
    result: Tensor = apply(_ArcSquared, q, 1)
    return result
