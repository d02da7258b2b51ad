r"""Every constant, series and guard of the project, and the analytic functions built on them.

Two functions carry the whole geometry:

.. math:: C(z) = \cosh\sqrt z, \qquad F(q) = \bigl(2\operatorname{arsinh}(\sqrt q / 2)\bigr)^2,

continued through 0 to :math:`\cos\sqrt{-z}` and :math:`-(2\arcsin(\sqrt{-q}/2))^2`. Both are analytic at 0, and so are
their derivatives :math:`S = 2C'` and :math:`A = F'`: there is no branch to cross and no epsilon band. Each is a
``torch.autograd.Function`` whose derivative is the next member of its own family, so derivatives of every order exist,
stay finite and never pass through :math:`\sqrt 0`.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

__all__ = [
    "FLOAT_TYPES",
    "Limits",
    "apply",
    "arc",
    "arc_over_sine",
    "arc_squared",
    "at_least_tiny",
    "bounded_negative",
    "clip_chord",
    "cosh_root",
    "free_parameter",
    "limits",
    "nearest_power_of_two",
    "positive_or_nan",
    "safe_norm",
    "safe_sqrt",
    "sinhc_root",
    "unit_or_axis",
]


@dataclass(frozen=True)
class Limits:
    """The numerical limits of one floating-point type; every threshold that depends on the type is a field of it."""

    antipode: float
    """Squared chord to the antipode's cone, in units of ``|beta|``, below which two points count as disconnected.
    ``eps ** 1.5``: the direction of the logarithm has lost all but ``eps ** (1/4)`` of its accuracy there, and the
    second power of its inverse, which gradients contain, can still be represented."""

    norm: float
    """Norm below which a vector has no direction: its square is the smallest normal number, and the gradient of
    ``x / |x|``, of size ``1 / norm``, can still be represented."""

    series: int
    """Terms of the Taylor series at the joint, so that the remainder within the radii below is under ``eps``."""

    null: float
    """Relative size of ``<v, v>`` against ``|v|^2`` under which a vector counts as null: the rounding error of a
    sum of up to about a hundred squares."""


def _limits_of(dtype: torch.dtype, series: int) -> Limits:
    info = torch.finfo(dtype)
    return Limits(antipode=info.eps**1.5, norm=math.sqrt(info.tiny), series=series, null=64 * info.eps)


_LIMITS: Final = {torch.float32: _limits_of(torch.float32, 9), torch.float64: _limits_of(torch.float64, 20)}

FLOAT_TYPES: Final = tuple(_LIMITS)
"""The types the geometry is defined for; half precision cannot hold a point of the manifold."""

COSH_SERIES_RADIUS: Final = 4.0
ARC_SERIES_RADIUS: Final = 0.5
"""Distance from the joint within which second and higher derivatives of ``C`` and ``F`` are summed as series. Outside, the
recurrence loses a factor of about the inverse radius an order; inside, the series of ``C`` converges whatever the radius,
that of ``F`` gains three bits a term (its own radius of convergence is 4)."""

MAX_LOG_BETA: Final = math.log(1e6)
"""A learnable ``|beta|`` stays within ``[1e-6, 1e6]``, wherever an optimiser takes its parameter."""


def limits(dtype: torch.dtype) -> Limits:
    """Return the limits of ``dtype``; ``TypeError`` for a type the geometry is not defined for."""
    try:
        return _LIMITS[dtype]
    except KeyError:
        raise TypeError(f"expected a float32 or float64 tensor, got {dtype}") from None


def apply(function: type[Function], *arguments: Any) -> Any:
    """Apply a function with a gradient of its own; where none is asked for, without the cost of recording it."""
    recorded = torch.is_grad_enabled() and any(isinstance(each, Tensor) and each.requires_grad for each in arguments)
    if recorded or torch.compiler.is_compiling() or _under_vmap():
        return function.apply(*arguments)
    return function.forward(*arguments)


def _under_vmap() -> bool:
    """Tell whether a transform of ``torch.func`` is at work: tensors do not say then whether a gradient is asked for."""
    return not torch.compiler.is_compiling() and torch._C._functorch.peek_interpreter_stack() is not None


# --- norms -------------------------------------------------------------------------------------------------------


def safe_sqrt(x: Tensor) -> Tensor:
    """Square root of numbers that are not negative; at 0, where its slope is infinite, derivatives are zero."""
    positive = x > 0
    return torch.where(positive, torch.where(positive, x, 1).sqrt(), 0)


def safe_norm(x: Tensor) -> Tensor:
    """Euclidean norm over the last axis, kept, shape ``(..., 1)``; at the zero vector derivatives are zero."""
    return safe_sqrt((x * x).sum(-1, keepdim=True))


def at_least_tiny(x: Tensor) -> Tensor:
    """Raise to the smallest normal number what rounding has pushed to zero or below, where it stands under a root."""
    return x.clamp_min(torch.finfo(x.dtype).tiny)


def unit_or_axis(x: Tensor) -> Tensor:
    """Divide by the norm; a vector too short to have a direction becomes the first axis, with zero gradient.

    Args:
        x: Shape ``(..., n)``, ``n >= 1``.
    """
    axis = torch.zeros(x.shape[-1], dtype=x.dtype, device=x.device)
    axis[:1].fill_(1)  # assigning to axis[0] would wait for the device
    square = (x * x).sum(-1, keepdim=True)
    short = square < limits(x.dtype).norm ** 2
    return torch.where(short, axis, x) / torch.where(short, 1, square).sqrt()


_EXPONENT_BITS: Final = {torch.float32: (torch.int32, -(1 << 23)), torch.float64: (torch.int64, -(1 << 52))}
"""Of each type: the integers of its width, and the mask of its sign and exponent."""


def nearest_power_of_two(x: Tensor) -> Tensor:
    """Return the power of two nearest to ``x`` by ratio, with the sign of ``x``: multiplying by it does not round."""
    function: Any = _NearestPowerOfTwo
    result: Tensor = function.apply(x) if _under_vmap() else function.forward(x)
    return result


class _NearestPowerOfTwo(Function):
    """The bits of a number without its fraction; vmap has no rule for looking at bits, but needs none of its own."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        integers, mask = _EXPONENT_BITS[x.dtype]
        return (math.sqrt(2) * x).view(integers).bitwise_and_(mask).view(x.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> None:
        return None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int], x: Tensor) -> tuple[Tensor, int]:
        return nearest_power_of_two(x), in_dims[0]


# --- the value of beta ---------------------------------------------------------------------------------------------


def positive_or_nan(value: Tensor) -> Tensor:
    """Return ``value`` where it is positive and NaN elsewhere, so that a wrong sign is loud without a host sync."""
    return torch.where(value > 0, value, torch.nan)


def bounded_negative(free: Tensor) -> Tensor:
    r"""Map a free number to a negative one: :math:`-\exp(L \tanh(x / L))`, ``L = MAX_LOG_BETA``; ``0`` gives ``-1``."""
    return -torch.exp(MAX_LOG_BETA * torch.tanh(free / MAX_LOG_BETA))


def free_parameter(negative: float) -> float:
    """Invert :func:`bounded_negative`; ``ValueError`` outside the range a learnable beta can take."""
    ratio = math.log(-negative) / MAX_LOG_BETA
    if not -1 < ratio < 1:
        bound = math.exp(MAX_LOG_BETA)
        raise ValueError(f"a learnable beta must lie in ({-bound:g}, {-1 / bound:g}), got {negative:g}")
    return MAX_LOG_BETA * math.atanh(ratio)


# --- C and S -------------------------------------------------------------------------------------------------------


def _horner(x: Tensor, coefficients: list[float]) -> Tensor:
    total = torch.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = torch.addcmul(torch.full_like(x, coefficient), total, x)
    return total


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
    coefficients = [
        math.factorial(k + order) / (math.factorial(k) * math.factorial(2 * (k + order))) for k in range(limits(z.dtype).series)
    ]
    return torch.where(small, _horner(z, coefficients), slope)


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


# --- arc, F and A --------------------------------------------------------------------------------------------------


def clip_chord(r: Tensor, *, space_like: bool) -> Tensor:
    """Raise to its lower bound what rounding has pushed below it.

    The larger of ``q`` and ``p`` is at least ``-2`` for all points of the manifold, because they add up to ``-4``; with one
    time dimension, where every chord is space-like, it is at least 0. Far out, where ``<x, x>`` is lost in rounding, so are
    these bounds. The bound lies inside the domain, where functions have slopes, so the gradient is let through.
    """
    result: Tensor = apply(_Clip, r, 0 if space_like else -2)
    return result


class _Clip(Function):
    """Raise to a bound; the gradient is that of the identity."""

    generate_vmap_rule = True

    @staticmethod
    def forward(r: Tensor, lowest: float) -> Tensor:
        return r.clamp_min(lowest)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad, None


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
        return length if space_like else torch.copysign(length, r)

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
    return torch.where(small, _horner(q, coefficients), slope)


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
