"""Attention of all points to all others on a GPU, in Triton.

As in :mod:`qgcn.kernels.pairs.gpu`, one thread holds one row in registers and meets all columns, one after the other. Runs of
columns are shared out among blocks, and their results put together afterwards: nothing is added atomically.
"""

from typing import Final

import torch
import triton
import triton.language as tl
from torch import Tensor

from qgcn.kernels.pairs.gpu_pair import (
    arc_of,
    chord_of,
    one_of,
    push,
    rows_of,
    separation,
    store_rows,
    zero_rows,
)
from qgcn.kernels.pairs.points import Points

__all__ = ["by_key", "by_query", "forward"]

_ROWS: Final = 128
_GROUP: Final = 4
_WARPS: Final = 4
_BLOCKS: Final = 1056
"""Blocks of threads to cut the work into: eight for each multiprocessor of the largest GPU."""
_COUNTS: Final = ("n", "m", "columns_each")
"""Arguments that Triton should not compile a kernel of its own for where they happen to be 1 or a multiple of 16."""
_LOWEST: Final = tl.constexpr(-1e38)
_PI: Final = tl.constexpr(3.141592653589793)


@triton.jit
def _part(x, reach, y, y_reach, sizes_ptr, SHAPE: tl.constexpr, F: tl.constexpr, CHORD: tl.constexpr):
    """Return, of one factor: energy over size, side of the difference, slope by the first point, derivative by the size."""
    SIZE: tl.constexpr = SHAPE[F][1]
    TIME: tl.constexpr = SHAPE[F][2]
    MIXED: tl.constexpr = (TIME > 1) & (TIME < SIZE)  # both signs occur
    if (TIME == 0) | ((not CHORD) & (not MIXED)):
        square, side, slope, by_size = separation(x, reach, y, y_reach, sizes_ptr, SHAPE, F)
    else:
        chord, side, gap, across = chord_of(x, reach, y, y_reach, tl.load(sizes_ptr + F), SHAPE, F)
        if CHORD:
            sign = -1.0 if TIME == SIZE else 1.0
            square = sign * tl.where(across, -4.0 - chord, chord)
            slope = sign * side
        else:
            turned = chord < -2.0
            z = tl.where(turned, -4.0 - chord, chord)
            far = turned != across
            square, slope, sine = arc_of(z, False)
            around = _PI - tl.sqrt(square)
            square = tl.where(z < 0, -square, square)
            # past the antipode: half a turn in time, then the rest; before it, what is left of half a turn
            square = tl.where(far, tl.where(z < 0, -around * around, square - _PI * _PI), square)
            slope = tl.where(far & (z < 0), tl.where(sine > 0, -around / sine, 0.0), slope)
            slope = tl.where(turned, -slope, slope)
        by_size = square - slope * (chord - gap)
        slope = slope * y_reach[F]
    return square, side, slope, by_size


@triton.jit
def _energy(x, reach, y, y_reach, sizes_ptr, SHAPE: tl.constexpr, F: tl.constexpr, CHORD: tl.constexpr):
    """Return the energy, and of each factor the side, the slope and the derivative by the size."""
    energy = tl.zeros_like(x[0])
    sides = ()
    slopes = ()
    by_sizes = ()
    for f in tl.static_range(F):
        square, side, slope, by_size = _part(x, reach, y, y_reach, sizes_ptr, SHAPE, f, CHORD)
        energy += square * tl.load(sizes_ptr + f)
        sides = sides + (side,)
        slopes = slopes + (slope,)
        by_sizes = by_sizes + (by_size,)
    return energy, sides, slopes, by_sizes


@triton.jit(do_not_specialize=_COUNTS)
def _forward_kernel(
    x_ptr, reach_ptr, y_ptr, y_reach_ptr, v_ptr, sizes_ptr, rate_ptr, out_ptr, log_ptr, n, m, columns_each,
    SHAPE: tl.constexpr, D: tl.constexpr, F: tl.constexpr, W: tl.constexpr, CHORD: tl.constexpr, ROWS: tl.constexpr,
    GROUP: tl.constexpr,
):  # fmt: skip
    """Write, of each row and a run of columns, the mean of the values and the base-2 logarithm of the sum of shares."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    x, reach = rows_of(x_ptr, rows, inside, D), rows_of(reach_ptr, rows, inside, F)
    rate = tl.load(rate_ptr)
    highest = tl.zeros([ROWS], tl.float32) + _LOWEST
    total = tl.zeros([ROWS], tl.float32)
    sums = zero_rows(total, W)
    first = tl.program_id(1) * columns_each
    last = tl.minimum(first + columns_each, m)
    for column in range(first, last, GROUP):
        values = ()
        top = highest
        for i in tl.static_range(GROUP):
            j = tl.minimum(column + i, m - 1)
            y, y_reach = one_of(y_ptr, j, D), one_of(y_reach_ptr, j, F)
            energy, _, _, _ = _energy(x, reach, y, y_reach, sizes_ptr, SHAPE, F, CHORD)
            value = tl.where(column + i >= last, float("-inf"), -rate * energy)
            top = tl.maximum(top, value)
            values = values + (value,)
        scale = tl.exp2(highest - top)
        total *= scale
        scaled = ()
        for k in tl.static_range(W):
            scaled = scaled + (sums[k] * scale,)
        sums = scaled
        for i in tl.static_range(GROUP):
            share = tl.exp2(values[i] - top)
            total += share
            v = one_of(v_ptr, tl.minimum(column + i, m - 1), W)
            added = ()
            for k in tl.static_range(W):
                added = added + (tl.fma(share, v[k], sums[k]),)
            sums = added
        highest = top
    part = tl.program_id(1) * n + rows
    means = ()
    for k in tl.static_range(W):
        means = means + (sums[k] / total,)
    store_rows(out_ptr, part, means, inside, W)
    tl.store(log_ptr + part, highest + tl.log2(total), mask=inside)


@triton.jit(do_not_specialize=_COUNTS)
def _backward_kernel(
    x_ptr, reach_ptr, y_ptr, y_reach_ptr, row_ptr, column_ptr, logs_ptr, delta_ptr, sizes_ptr, rate_ptr, to_x_ptr, rest_ptr,
    n, m, columns_each,
    SHAPE: tl.constexpr, D: tl.constexpr, F: tl.constexpr, W: tl.constexpr, CHORD: tl.constexpr, BY_KEY: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """Add up, over a run of columns, what each row's point changes, and the rest: see ``attention.cpp``."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = rows < n
    x, reach = rows_of(x_ptr, rows, inside, D), rows_of(reach_ptr, rows, inside, F)
    mine = rows_of(row_ptr, rows, inside, W)
    rate = tl.load(rate_ptr)
    REST: tl.constexpr = W if BY_KEY else F + 1
    if not BY_KEY:
        log = tl.load(logs_ptr + rows, mask=inside, other=0.0)
        delta = tl.load(delta_ptr + rows, mask=inside, other=0.0)
    to_x, rest = zero_rows(x[0], D), zero_rows(x[0], REST)
    first = tl.program_id(1) * columns_each
    for j in range(first, tl.minimum(first + columns_each, m)):
        y, y_reach, theirs = one_of(y_ptr, j, D), one_of(y_reach_ptr, j, F), one_of(column_ptr, j, W)
        energy, sides, slopes, by_sizes = _energy(x, reach, y, y_reach, sizes_ptr, SHAPE, F, CHORD)
        if BY_KEY:
            log = tl.load(logs_ptr + j)
            delta = tl.load(delta_ptr + j)
        share = tl.exp2(-rate * energy - log)
        pull = tl.zeros_like(share)
        for k in tl.static_range(W):
            pull = tl.fma(mine[k], theirs[k], pull)
        change = share * (pull - delta)
        added = ()
        if BY_KEY:
            for k in tl.static_range(W):
                added = added + (tl.fma(share, theirs[k], rest[k]),)
        else:
            added = added + (tl.fma(change, energy, rest[0]),)
            for f in tl.static_range(F):
                added = added + (tl.fma(change, by_sizes[f], rest[1 + f]),)
        rest = added
        new = ()
        for f in tl.static_range(F):
            new = push(new, to_x, x, y, sides[f], change * slopes[f], SHAPE, f)
        to_x = new
    part = tl.program_id(1) * n + rows
    store_rows(to_x_ptr, part, to_x, inside, D)
    store_rows(rest_ptr, part, rest, inside, REST)


def _grid(rows: int, columns: int) -> tuple[int, int, int]:
    """Return blocks of rows, runs of columns, and columns in each run."""
    blocks = max(1, triton.cdiv(rows, _ROWS))
    runs = max(1, min(triton.cdiv(columns, 32), triton.cdiv(_BLOCKS, blocks)))
    each = triton.cdiv(triton.cdiv(columns, runs), _GROUP) * _GROUP
    return blocks, triton.cdiv(columns, each), each


def forward(queries: Points, keys: Points, v: Tensor, rate: Tensor, chord: bool) -> tuple[Tensor, Tensor]:
    """Return means of the values and base-2 logarithms; see :func:`qgcn.kernels.attention.cpu.forward`."""
    (n, d), (m, width), layout = queries.x.shape, v.shape, queries.layout
    blocks, runs, each = _grid(n, m)
    means, logs = v.new_empty(runs, n, width), v.new_empty(runs, n)
    with torch.cuda.device_of(v):
        _forward_kernel[(blocks, runs)](
            queries.x, queries.reach, keys.x, keys.reach, v, queries.sizes, rate, means, logs, n, m, each,
            SHAPE=layout, D=d, F=len(layout), W=width, CHORD=chord, ROWS=_ROWS, GROUP=_GROUP, num_warps=_WARPS,
        )  # fmt: skip
    if runs == 1:
        return means[0], logs[0]
    highest = logs.amax(0)
    log = highest + (logs - highest).exp2().sum(0).log2()
    return ((logs - log).exp2().unsqueeze(-1) * means).sum(0), log


def by_query(
    queries: Points, keys: Points, v: Tensor, rate: Tensor, chord: bool, grad: Tensor, logs: Tensor, delta: Tensor
) -> tuple[Tensor, Tensor]:
    """Return what queries, rate and sizes change; see :func:`qgcn.kernels.attention.cpu.by_query`."""
    to_x, rest = _backward(queries, keys, grad, v, logs, delta, rate, chord, False)
    return to_x, rest.sum(0)


def by_key(
    queries: Points, keys: Points, v: Tensor, rate: Tensor, chord: bool, grad: Tensor, logs: Tensor, delta: Tensor
) -> tuple[Tensor, Tensor]:
    """Return what keys and values change; see :func:`qgcn.kernels.attention.cpu.by_key`."""
    return _backward(keys, queries, v, grad, logs, delta, rate, chord, True)


def _backward(
    rows: Points,
    columns: Points,
    of_rows: Tensor,
    of_columns: Tensor,
    logs: Tensor,
    delta: Tensor,
    rate: Tensor,
    chord: bool,
    keys: bool,
) -> tuple[Tensor, Tensor]:
    (n, d), m, layout, width = rows.x.shape, len(columns), rows.layout, of_rows.shape[1]
    blocks, runs, each = _grid(n, m)
    to_x = of_rows.new_empty(runs, n, d)
    rest = of_rows.new_empty(runs, n, width if keys else len(layout) + 1)
    with torch.cuda.device_of(of_rows):
        _backward_kernel[(blocks, runs)](
            rows.x, rows.reach, columns.x, columns.reach, of_rows, of_columns, logs, delta, rows.sizes, rate, to_x, rest,
            n, m, each,
            SHAPE=layout, D=d, F=len(layout), W=width, CHORD=chord, BY_KEY=keys, ROWS=_ROWS, num_warps=_WARPS,
        )  # fmt: skip
    return to_x.sum(0), rest.sum(0)
