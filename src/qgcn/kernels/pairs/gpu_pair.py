"""One pair of points on a GPU, in Triton: how far apart they are, and what moves them.

Points are tuples of coordinates, each a number for every thread: so they stay in registers.
"""

from typing import Final

import torch
import triton
import triton.language as tl

from qgcn.numerics import ARC_LIMIT, arc_polynomial, limits

__all__ = [
    "arc_of",
    "chord_of",
    "one_of",
    "push",
    "rows_of",
    "separation",
    "squared_length",
    "store_push",
    "store_rows",
    "zero_rows",
]

_POLYNOMIAL: Final = tl.constexpr(arc_polynomial())
_DEGREE: Final = tl.constexpr(len(arc_polynomial()) - 1)
_LIMIT: Final = tl.constexpr(ARC_LIMIT)
_CANCELLED: Final = tl.constexpr(limits(torch.float32).cancelled)
_PI: Final = tl.constexpr(3.141592653589793)
_LARGE: Final = tl.constexpr(4096.0)  # above it c and its sine are the same number


@triton.jit
def _difference(x, side, y, FLAT: tl.constexpr):
    """Return ``x - side * y``."""
    if FLAT:
        return x - y
    return tl.fma(-side, y, x)


@triton.jit
def chord_of(x, reach, y, y_reach, size, SHAPE: tl.constexpr, F: tl.constexpr):
    """Return the squared chord in units of ``size``, the side it leads to, its part from the reaches, and whether ``c < 0``."""
    FIRST: tl.constexpr = SHAPE[F][0]
    SIZE: tl.constexpr = SHAPE[F][1]
    TIME: tl.constexpr = SHAPE[F][2]
    total = tl.zeros_like(x[FIRST])
    dot = tl.zeros_like(total)
    turn = tl.zeros_like(total)
    for k in tl.static_range(TIME):
        dot = tl.fma(x[FIRST + k], y[FIRST + k], dot)
    side = tl.where(dot < 0, -1.0, 1.0)
    for k in tl.static_range(SIZE):
        w = tl.fma(-side, y[FIRST + k], x[FIRST + k])
        if k < TIME:
            turn = tl.fma(w, w, turn)
        else:
            total = tl.fma(w, w, total)
    gap = tl.zeros_like(total)
    chord = (total - turn) * (1.0 / size)
    if TIME < SIZE:
        rise = reach[F] - y_reach[F]
        weight = reach[F] * y_reach[F] * (1.0 / size)
        gap = (rise / reach[F]) * (rise / y_reach[F])
        ahead = tl.fma(total, weight, gap)
        chord = tl.fma(-turn, weight, ahead)
        if TIME > 1:
            cancelled = tl.abs(chord) <= _CANCELLED * tl.fma(turn, weight, ahead)
            chord = tl.where(cancelled, 0.0, chord)  # its sign means nothing
    return chord, side, gap, dot < 0


@triton.jit
def arc_of(z, ROUND: tl.constexpr):
    """Return the squared length over a squared chord, its slope and its sine; on a round space no chord is space-like."""
    beyond = z > _LIMIT
    inner = tl.where(beyond, _LIMIT, z)
    slope = tl.zeros_like(z) + _POLYNOMIAL[_DEGREE]
    for k in tl.static_range(_DEGREE):
        slope = tl.fma(slope, inner, _POLYNOMIAL[_DEGREE - 1 - k])
    product = inner * tl.fma(inner, 0.25, 1.0)
    square = tl.abs(product * slope * slope)
    sine = tl.sqrt(tl.abs(product))
    if not ROUND:
        cosine = tl.fma(tl.where(z < _LIMIT, _LIMIT, z), 0.5, 1.0)
        outer_sine = tl.where(cosine > _LARGE, cosine, tl.sqrt(tl.fma(cosine, cosine, -1.0)))
        arc = tl.log(cosine + outer_sine)
        sine = tl.where(beyond, outer_sine, sine)
        square = tl.where(beyond, arc * arc, square)
        slope = tl.where(beyond, arc / outer_sine, slope)
    return square, slope, sine


@triton.jit
def separation(x, reach, y, y_reach, sizes_ptr, SHAPE: tl.constexpr, F: tl.constexpr):
    """Return, of one factor: squared length, side of the difference, slope by the first point, derivative by the size."""
    FIRST: tl.constexpr = SHAPE[F][0]
    SIZE: tl.constexpr = SHAPE[F][1]
    TIME: tl.constexpr = SHAPE[F][2]
    if TIME == 0:
        total = tl.zeros_like(x[FIRST])
        one = total + 1.0
        for k in tl.static_range(SIZE):
            w = x[FIRST + k] - y[FIRST + k]
            total = tl.fma(w, w, total)
        return total, one, one, tl.zeros_like(total)

    chord, side, gap, across = chord_of(x, reach, y, y_reach, tl.load(sizes_ptr + F), SHAPE, F)
    if TIME == 1:
        z = tl.where(chord < 0.0, 0.0, chord)  # a comparison, here and below: NaN stays NaN
        far = across
    else:
        turned = chord < -2.0
        z = tl.where(turned, -4.0 - chord, chord)
        far = turned != across
    square, slope, sine = arc_of(z, TIME == SIZE)
    arc = tl.sqrt(square)
    if TIME == 1:
        around = _PI + arc
    else:
        around = tl.where(z < 0, _PI - arc, _PI + arc)
        slope = tl.where(z < 0, -slope, slope) if TIME < SIZE else -slope
    around_slope = tl.where(sine > 0, around / sine, 0.0)
    square = tl.where(far, around * around, square)
    slope = tl.where(far, around_slope, slope)
    if TIME > 1:
        slope = tl.where(turned, -slope, slope)
    by_size = square - slope * (chord - gap)
    return square, side, slope * y_reach[F], by_size


@triton.jit
def squared_length(x, reach, y, y_reach, sizes_ptr, SHAPE: tl.constexpr, F: tl.constexpr):
    """Return the squared distance, the sum over all ``F`` factors."""
    length = tl.zeros_like(x[0])
    for f in tl.static_range(F):
        square, _, _, _ = separation(x, reach, y, y_reach, sizes_ptr, SHAPE, f)
        length += square * tl.load(sizes_ptr + f)
    return length


@triton.jit
def zero_rows(like, WIDTH: tl.constexpr):
    """Return ``WIDTH`` columns of zeros, each of the shape of ``like``."""
    values = ()
    for _ in tl.static_range(WIDTH):
        values = values + (tl.zeros_like(like),)
    return values


@triton.jit
def rows_of(pointer, rows, inside, WIDTH: tl.constexpr):
    """Load one number per row for each column of a matrix of ``WIDTH`` columns."""
    values = ()
    for k in tl.static_range(WIDTH):
        values = values + (tl.load(pointer + rows * WIDTH + k, mask=inside, other=1.0),)
    return values


@triton.jit
def store_rows(pointer, rows, values, inside, WIDTH: tl.constexpr):
    """Store one number per row for each column of a matrix of ``WIDTH`` columns."""
    for k in tl.static_range(WIDTH):
        tl.store(pointer + rows * WIDTH + k, values[k], mask=inside)


@triton.jit
def one_of(pointer, row, WIDTH: tl.constexpr):
    """Load one row, the same for all threads, of a matrix of ``WIDTH`` columns."""
    values = ()
    for k in tl.static_range(WIDTH):
        values = values + (tl.load(pointer + row * WIDTH + k),)
    return values


@triton.jit
def push(new, to_x, x, y, side, force, SHAPE: tl.constexpr, F: tl.constexpr):
    """Append the coordinates of one factor: what was there, and the force along the difference."""
    FIRST: tl.constexpr = SHAPE[F][0]
    SIZE: tl.constexpr = SHAPE[F][1]
    TIME: tl.constexpr = SHAPE[F][2]
    for k in tl.static_range(SIZE):
        w = _difference(x[FIRST + k], side, y[FIRST + k], TIME == 0)
        new = new + (tl.fma(-force if k < TIME else force, w, to_x[FIRST + k]),)
    return new


@triton.jit
def store_push(
    to_source_ptr, to_target_ptr, at, inside, x, y, side, ratio, force, D: tl.constexpr, SHAPE: tl.constexpr, F: tl.constexpr
):  # fmt: skip
    """Write the force along the difference to both ends of each pair, in the coordinates of one factor.

    ``ratio`` is that of the reaches, the first point's over the second's.
    """
    FIRST: tl.constexpr = SHAPE[F][0]
    SIZE: tl.constexpr = SHAPE[F][1]
    TIME: tl.constexpr = SHAPE[F][2]
    for k in tl.static_range(SIZE):
        w = force * _difference(x[FIRST + k], side, y[FIRST + k], TIME == 0)
        if k < TIME:
            w = -w
        tl.store(to_source_ptr + at * D + FIRST + k, w, mask=inside)
        tl.store(to_target_ptr + at * D + FIRST + k, -side * ratio * w, mask=inside)
