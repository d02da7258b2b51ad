"""How pairs of points are separated on a GPU, in Triton, and its gradient: one launch each.

A block of threads holds some pairs with all their coordinates. ``geometry/chord.py`` has the formulas; divisions and roots of
float32 are rounded as IEEE 754 says, which Triton's own are not.
"""

from typing import Any, Final

import torch
import triton
import triton.language as tl
from torch import Tensor

from qgcn.numerics import limits

__all__ = ["gradient", "separate"]

_NUMBERS: Final = 1024
"""Coordinates that a block of threads holds of each point, about: eight for a thread."""
_WARPS: Final = 4
_COUNTS: Final = ("pairs",)
"""Arguments that Triton should not compile a kernel of its own for where they happen to be 1 or a multiple of 16."""
_ROOT_OF_TWO: Final = tl.constexpr(1.4142135623730951)
_FRACTION: Final = tl.constexpr(23)
_FRACTION_DOUBLE: Final = tl.constexpr(52)


@triton.jit
def _over(a, b):
    """Return ``a / b``, rounded once."""
    if a.dtype == tl.float32:
        result = tl.div_rn(a, b)
    else:
        result = a / b
    return result


@triton.jit
def _root(a):
    """Return the square root, rounded once."""
    if a.dtype == tl.float32:
        result = tl.sqrt_rn(a)
    else:
        result = tl.sqrt(a)
    return result


@triton.jit
def _nearest_power_of_two(x):
    """Return the power of two nearest by ratio to positive numbers: their bits without the fraction."""
    raised = x * _ROOT_OF_TWO
    if x.dtype == tl.float32:
        bits = raised.to(tl.int32, bitcast=True)
        power = ((bits >> _FRACTION) << _FRACTION).to(tl.float32, bitcast=True)
    else:
        bits = raised.to(tl.int64, bitcast=True)
        power = ((bits >> _FRACTION_DOUBLE) << _FRACTION_DOUBLE).to(tl.float64, bitcast=True)
    return power


@triton.jit
def _places(pairs, D: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    """Return the pairs of a block, which of them exist, their coordinates, where these stand, and which of those exist."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    k = tl.arange(0, WIDTH)[None, :]
    return rows, rows < pairs, k, rows * D + k, (rows < pairs) & (k < D)


@triton.jit
def _lengths(x, y, early, size, TIME: tl.constexpr, D: tl.constexpr):
    """Return the lengths of the time parts, the power of two nearest to their ratio, and the side."""
    aligned = tl.sum(tl.where(early, x * y, 0.0), axis=1, keep_dims=True)
    side = tl.where(aligned < 0, -1.0, 1.0).to(x.dtype)
    if TIME == D:
        length = _root(size) * (side * side)
        other = length
        factor = side * side
    else:
        if TIME == 1:
            length = tl.sum(tl.where(early, tl.abs(x), 0.0), axis=1, keep_dims=True)
            other = tl.sum(tl.where(early, tl.abs(y), 0.0), axis=1, keep_dims=True)
        else:
            length = _root(tl.sum(tl.where(early, x * x, 0.0), axis=1, keep_dims=True))
            other = _root(tl.sum(tl.where(early, y * y, 0.0), axis=1, keep_dims=True))
        factor = _nearest_power_of_two(_over(length, other))
    return length, other, factor, side


@triton.jit(do_not_specialize=_COUNTS)
def _separate_kernel(
    x_ptr, y_ptr, size_ptr, value_ptr, side_ptr, residual_ptr, lever_ptr, drop_ptr, ratio_ptr, pairs,
    TIME: tl.constexpr, D: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, CANCELLED: tl.constexpr, WHOLE: tl.constexpr,
):  # fmt: skip
    """Write the fields of the separations of a block's pairs; the value and the side alone unless ``WHOLE``."""
    rows, inside, k, at, there = _places(pairs, D, WIDTH, ROWS)
    early = k < TIME
    x = tl.load(x_ptr + at, mask=there, other=0.0)
    y = tl.load(y_ptr + at, mask=there, other=0.0)
    size = tl.load(size_ptr)
    length, other, factor, side = _lengths(x, y, early, size, TIME, D)
    scaled = side * factor * y  # exact
    residual = x - scaled
    sums = x + scaled
    total = length + factor * other
    products = residual * sums
    rise = _over(tl.sum(tl.where(early, 0.0, products), axis=1, keep_dims=True) + size * (1.0 - factor * factor), total)
    if (TIME == 1) & (D > 1):  # of one time coordinate nothing is left
        residual = tl.where(early, 0.0, residual - _over(rise, total) * sums)
    else:
        turn = _over(tl.sum(tl.where(early, products, 0.0), axis=1, keep_dims=True), total * total)
        residual = residual - tl.where(early, turn, _over(rise, total)) * sums
    squares = residual * residual
    gap = tl.where(factor == 1, rise, length - other)
    drop = _over(gap, length)
    lever = _over(total, 2.0 * factor * length)
    weight = _over(lever * _over(total, 2.0 * factor * other), size + tl.zeros_like(lever))
    ahead = drop * _over(gap, other) + weight * tl.sum(tl.where(early, 0.0, squares), axis=1, keep_dims=True)
    angle = weight * tl.sum(tl.where(early, squares, 0.0), axis=1, keep_dims=True)
    value = ahead - angle
    if (TIME > 1) & (TIME < D):
        value = tl.where(tl.abs(value) <= CANCELLED * (ahead + angle), 0.0, value)  # its sign means nothing
    tl.store(value_ptr + rows, value, mask=inside)
    tl.store(side_ptr + rows, side, mask=inside)
    if WHOLE:
        if TIME < D:  # along the sums, rounding is as large as what is left
            again = residual * sums
            square = total * total
            along = _over(rise, total) * size * ((1.0 + factor) * (1.0 + factor) + factor * ahead)
            along = along - size * (1.0 - factor * factor) - tl.sum(tl.where(early, 0.0, again), axis=1, keep_dims=True)
            lift = _over(along, square)
            if TIME == 1:
                residual = tl.where(early, 0.0, residual + lift * sums)
            else:
                share = _over(tl.sum(tl.where(early, squares, 0.0), axis=1, keep_dims=True), 4.0 * factor * length * other)
                before = tl.sum(tl.where(early, products, 0.0), axis=1, keep_dims=True)
                turned = before * share - tl.sum(tl.where(early, again, 0.0), axis=1, keep_dims=True)
                residual = residual + tl.where(early, _over(turned, square * (1.0 - share)), lift) * sums
        tl.store(residual_ptr + at, residual, mask=there)
        tl.store(lever_ptr + rows, lever, mask=inside)
        tl.store(drop_ptr + rows, drop, mask=inside)
        tl.store(ratio_ptr + rows, _over(length, other), mask=inside)


@triton.jit(do_not_specialize=_COUNTS)
def _gradient_kernel(
    size_ptr, value_ptr, residual_ptr, side_ptr, lever_ptr, drop_ptr, ratio_ptr, grad_ptr, to_residual_ptr,
    to_x_ptr, to_y_ptr, to_size_ptr, pairs,
    TIME: tl.constexpr, D: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr,
    BY_VALUE: tl.constexpr, BY_RESIDUAL: tl.constexpr, TO_SIZE: tl.constexpr,
):  # fmt: skip
    """Write the gradients by both points of each pair, and each pair's share of that by the size."""
    rows, inside, k, at, there = _places(pairs, D, WIDTH, ROWS)
    side = tl.load(side_ptr + rows, mask=inside, other=1.0)
    lever = tl.load(lever_ptr + rows, mask=inside, other=1.0)
    ratio = tl.load(ratio_ptr + rows, mask=inside, other=1.0)
    if BY_VALUE:
        size = tl.load(size_ptr) + tl.zeros_like(side)
        grad = tl.load(grad_ptr + rows, mask=inside, other=0.0)
        residual = tl.load(residual_ptr + at, mask=there, other=0.0)
        force = _over(2.0 * lever * grad, size)
        to_x = tl.where(k < TIME, -force, force) * residual
        if TO_SIZE:
            value = tl.load(value_ptr + rows, mask=inside, other=0.0)
            drop = tl.load(drop_ptr + rows, mask=inside, other=0.0)
            tl.store(to_size_ptr + rows, _over(grad * (drop * drop * ratio - value), size), mask=inside)
    if BY_RESIDUAL:
        to_residual = tl.load(to_residual_ptr + at, mask=there, other=0.0)
        scaled = _over(to_residual, lever * ratio + tl.zeros_like(to_residual))
        to_x = to_x + scaled if BY_VALUE else scaled
    tl.store(to_x_ptr + at, to_x, mask=there)
    tl.store(to_y_ptr + at, -side * ratio * to_x, mask=there)


def _blocks(pairs: int, dim: int) -> tuple[tuple[int], dict[str, Any]]:
    """Return the grid, and the arguments that say how it cuts the pairs."""
    width = triton.next_power_of_2(dim)
    rows = max(1, _NUMBERS // width)
    return (triton.cdiv(pairs, rows),), {"D": dim, "WIDTH": width, "ROWS": rows, "num_warps": _WARPS}


def separate(x: Tensor, y: Tensor, size: Tensor, time_dim: int, *, whole: bool = True) -> tuple[Tensor, ...]:
    """Return the fields of a :class:`~qgcn.geometry.chord.Separation`.

    Args:
        x: Points, shape ``(..., d)``.
        y: Points, the same shape and type.
        size: ``|beta|``, one number.
        time_dim: Number of leading negative coordinates.
        whole: Return all fields; otherwise all but the squared chord and the side are empty (default: ``True``).
    """
    x, y = x.contiguous(), y.contiguous()
    dim = x.shape[-1]
    pairs, one = x.numel() // dim, (*x.shape[:-1], 1)
    value, side = x.new_empty(one), x.new_empty(one)
    if whole:
        residual, lever, drop, ratio = (x.new_empty(shape) for shape in (x.shape, one, one, one))
    else:
        residual = lever = drop = ratio = x.new_empty(0)
    if pairs:
        grid, how = _blocks(pairs, dim)
        with torch.cuda.device_of(x):
            _separate_kernel[grid](
                x, y, size, value, side, residual, lever, drop, ratio, pairs,
                TIME=time_dim, CANCELLED=limits(x.dtype).cancelled, WHOLE=whole, **how,
            )  # fmt: skip
    return value, residual, side, lever, drop, ratio


def gradient(
    size: Tensor, fields: tuple[Tensor, ...], grad: Tensor | None, to_residual: Tensor | None, time_dim: int, *, to_size: bool
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return the gradients by both points and by the size.

    Args:
        size: ``|beta|``, one number.
        fields: All that :func:`separate` returned.
        grad: The gradient of the squared chord, shape ``(..., 1)``, or ``None``.
        to_residual: The gradient of the residual, shape ``(..., d)``, or ``None``; not both.
        time_dim: Number of leading negative coordinates.
        to_size: The gradient by the size is wanted; without ``grad`` there is none.
    """
    value, residual, *rest = fields
    dim, pairs = residual.shape[-1], value.numel()
    to_size = to_size and grad is not None
    to_x, to_y = torch.empty_like(residual), torch.empty_like(residual)
    shares = torch.empty_like(value) if to_size else value
    if pairs:
        grid, how = _blocks(pairs, dim)
        by_value = value if grad is None else grad.contiguous()  # a stand-in is not read
        by_residual = residual if to_residual is None else to_residual.contiguous()
        with torch.cuda.device_of(residual):
            _gradient_kernel[grid](
                size, value, residual, *rest, by_value, by_residual, to_x, to_y, shares, pairs,
                TIME=time_dim, BY_VALUE=grad is not None, BY_RESIDUAL=to_residual is not None, TO_SIZE=to_size, **how,
            )  # fmt: skip
    return to_x, to_y, shares.sum().reshape(size.shape) if to_size else None
