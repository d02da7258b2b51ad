"""Sums over drawn columns on a GPU, in Triton: the arithmetic of :mod:`qgcn.kernels.pairs.gpu` on a tile of rows and columns.

A thread holds a few points and meets others one after the other: rows meet columns for the sums and for what moves the rows,
columns meet rows for what moves the columns. Nothing is added atomically.
"""

from typing import Final

import torch
import triton
import triton.language as tl
from torch import Tensor

from qgcn.kernels.pairs.gpu_pair import one_of, push, rows_of, separation, squared_length, store_rows, zero_rows
from qgcn.kernels.pairs.points import Energy, Points

__all__ = ["log_sum", "log_sum_gradient"]

_ROWS: Final = 256
_GROUP: Final = 4
_WARPS: Final = 4
_BLOCKS: Final = 1056
"""Blocks of threads to cut the work into: eight for each multiprocessor of the largest GPU."""
_COUNTS: Final = ("count", "n", "num_words", "words_each", "rows_each")
_LOWEST: Final = tl.constexpr(-1e38)


@triton.jit(do_not_specialize=_COUNTS)
def _log_sum_kernel(
    x_ptr, reach_ptr, y_ptr, y_reach_ptr, sizes_ptr, tau_ptr, bits_ptr, bias_ptr, out_ptr,
    count, n, num_words, words_each,
    SHAPE: tl.constexpr, D: tl.constexpr, F: tl.constexpr, SQUARED: tl.constexpr, BIASED: tl.constexpr,
    ROWS: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Add up ``2 ** (bias - energy)`` of a run of columns for each row, as the base-2 logarithm of the sum."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < count
    x, reach = rows_of(x_ptr, rows, inside, D), rows_of(reach_ptr, rows, inside, F)
    tau = tl.load(tau_ptr)
    highest = tl.zeros([ROWS], tl.float32) + _LOWEST
    total = tl.zeros([ROWS], tl.float32)
    word = tl.program_id(1) * words_each
    for w in range(word, tl.minimum(word + words_each, num_words)):
        bits = tl.load(bits_ptr + (tl.zeros_like(rows) + w) * count + rows, mask=inside, other=0)
        for group in range(0, 32, GROUP):
            values = ()
            top = highest
            for i in tl.static_range(GROUP):
                j = tl.minimum(w * 32 + group + i, n - 1)
                y, y_reach = one_of(y_ptr, j, D), one_of(y_reach_ptr, j, F)
                length = squared_length(x, reach, y, y_reach, sizes_ptr, SHAPE, F)
                energy = tau * length if SQUARED else tau * tl.sqrt(length)
                value = -energy
                if BIASED:
                    value += tl.load(bias_ptr + j)
                value = tl.where(((bits >> (group + i)) & 1) != 0, float("-inf"), value)
                top = tl.maximum(top, value)
                values = values + (value,)
            total = total * tl.exp2(highest - top)
            for i in tl.static_range(GROUP):
                total += tl.exp2(values[i] - top)
            highest = top
    tl.store(out_ptr + tl.program_id(1) * count + rows, highest + tl.log2(total), mask=inside)


@triton.jit
def _factors(x, reach, y, y_reach, sizes_ptr, SHAPE: tl.constexpr, F: tl.constexpr):
    """Return the squared distance, and of each factor the side, the slope and the derivative by the size."""
    length = tl.zeros_like(x[0])
    sides = ()
    slopes = ()
    by_sizes = ()
    for f in tl.static_range(F):
        square, side, slope, by_size = separation(x, reach, y, y_reach, sizes_ptr, SHAPE, f)
        length += square * tl.load(sizes_ptr + f)
        sides = sides + (side,)
        slopes = slopes + (slope,)
        by_sizes = by_sizes + (by_size,)
    return length, sides, slopes, by_sizes


@triton.jit(do_not_specialize=_COUNTS)
def _row_kernel(
    x_ptr, reach_ptr, y_ptr, y_reach_ptr, sizes_ptr, tau_ptr, bits_ptr, bias_ptr, shift_ptr, weight_ptr, to_x_ptr, to_rest_ptr,
    count, n, num_words, words_each,
    SHAPE: tl.constexpr, D: tl.constexpr, F: tl.constexpr, SQUARED: tl.constexpr, BIASED: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Add up, over a run of columns, what each row's point, the temperature and the sizes change."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < count
    x, reach = rows_of(x_ptr, rows, inside, D), rows_of(reach_ptr, rows, inside, F)
    shift = tl.load(shift_ptr + rows, mask=inside, other=0.0)
    weight = tl.load(weight_ptr + rows, mask=inside, other=0.0)
    tau = tl.load(tau_ptr)
    to_x, to_rest = zero_rows(shift, D), zero_rows(shift, F + 1)
    word = tl.program_id(1) * words_each
    for w in range(word, tl.minimum(word + words_each, num_words)):
        bits = tl.load(bits_ptr + (tl.zeros_like(rows) + w) * count + rows, mask=inside, other=0)
        for i in range(32):
            j = tl.minimum(w * 32 + i, n - 1)
            y, y_reach = one_of(y_ptr, j, D), one_of(y_reach_ptr, j, F)
            length, sides, slopes, by_sizes = _factors(x, reach, y, y_reach, sizes_ptr, SHAPE, F)
            energy = length if SQUARED else tl.sqrt(length)
            power = shift - tau * energy
            if BIASED:
                power += tl.load(bias_ptr + j)
            mine = tl.where(((bits >> i) & 1) != 0, 0.0, weight * tl.exp2(power))
            changed = mine
            if not SQUARED:  # the derivative of the root, zero at zero
                changed = mine * tl.where(energy > 0, 0.5 / energy, 0.0)
            rest = (tl.fma(mine, energy, to_rest[0]),)
            new = ()
            for f in tl.static_range(F):
                rest = rest + (tl.fma(changed, by_sizes[f], to_rest[1 + f]),)
                new = push(new, to_x, x, y, sides[f], changed * slopes[f], SHAPE, f)
            to_x = new
            to_rest = rest
    part = tl.program_id(1) * count + rows
    store_rows(to_x_ptr, part, to_x, inside, D)
    store_rows(to_rest_ptr, part, to_rest, inside, F + 1)


@triton.jit(do_not_specialize=_COUNTS)
def _column_kernel(
    x_ptr, reach_ptr, y_ptr, y_reach_ptr, sizes_ptr, tau_ptr, bits_ptr, bias_ptr, shift_ptr, weight_ptr, to_y_ptr, to_bias_ptr,
    count, n, rows_each,
    SHAPE: tl.constexpr, D: tl.constexpr, F: tl.constexpr, SQUARED: tl.constexpr, BIASED: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Add up, over a run of rows, what each column's point and its bias change."""
    columns = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = columns < n
    y, y_reach = rows_of(y_ptr, columns, inside, D), rows_of(y_reach_ptr, columns, inside, F)
    word = (columns // 32).to(tl.int64) * count
    tau = tl.load(tau_ptr)
    to_y = zero_rows(y[0], D)
    to_bias = tl.zeros([ROWS], tl.float32)
    bias = to_bias
    if BIASED:
        bias = tl.load(bias_ptr + columns, mask=inside, other=0.0)
    first = tl.program_id(1).to(tl.int64) * rows_each
    for j in range(first, tl.minimum(first + rows_each, count)):
        x, reach = one_of(x_ptr, j, D), one_of(reach_ptr, j, F)
        bits = tl.load(bits_ptr + word + j, mask=inside, other=0)
        length, sides, slopes, _ = _factors(y, y_reach, x, reach, sizes_ptr, SHAPE, F)
        energy = length if SQUARED else tl.sqrt(length)
        power = tl.load(shift_ptr + j) - tau * energy
        if BIASED:
            power += bias
        share = tl.load(weight_ptr + j) * tl.exp2(power)
        share = tl.where(((bits >> (columns % 32)) & 1) != 0, 0.0, share)
        if BIASED:
            to_bias += share
        if not SQUARED:
            share *= tl.where(energy > 0, 0.5 / energy, 0.0)
        new = ()
        for f in tl.static_range(F):
            new = push(new, to_y, y, x, sides[f], share * slopes[f], SHAPE, f)
        to_y = new
    store_rows(to_y_ptr, tl.program_id(1) * n + columns, to_y, inside, D)
    if BIASED:
        tl.store(to_bias_ptr + tl.program_id(1) * n + columns, to_bias, mask=inside)


def _grid(held: int, met: int) -> tuple[int, int, int]:
    """Return blocks of points that are held, runs of what they meet, and how much is in each run."""
    blocks = max(1, triton.cdiv(held, _ROWS))
    runs = max(1, min(met, triton.cdiv(_BLOCKS, blocks)))
    each = triton.cdiv(met, runs)
    return blocks, triton.cdiv(met, each), each


def log_sum(rows: Points, columns: Points, energy: Energy, left_out: Tensor, bias: Tensor | None) -> Tensor:
    """Return the base-2 logarithm of each row's sum, shape ``(R,)``; see :func:`qgcn.kernels.sampled.cpu.log_sum`."""
    count, (n, d), layout = len(rows), columns.x.shape, rows.layout
    blocks, runs, each = _grid(count, len(left_out))
    parts = torch.empty(runs, count, dtype=rows.x.dtype, device=rows.x.device)
    with torch.cuda.device_of(rows.x):
        _log_sum_kernel[(blocks, runs)](
            rows.x, rows.reach, columns.x, columns.reach, rows.sizes, energy.tau, left_out, _or_nothing(bias, rows), parts,
            count, n, len(left_out), each,
            SHAPE=layout, D=d, F=len(layout), SQUARED=energy.squared, BIASED=bias is not None,
            ROWS=_ROWS, GROUP=_GROUP, num_warps=_WARPS,
        )  # fmt: skip
    if runs == 1:
        return parts[0]
    highest = parts.amax(0)
    safe = torch.where(highest > -torch.inf, highest, 0)
    return safe + (parts - safe).exp2().sum(0).log2()


def log_sum_gradient(
    rows: Points, columns: Points, energy: Energy, left_out: Tensor, bias: Tensor | None, shift: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Return weighted sums over pairs; see :func:`qgcn.kernels.sampled.cpu.log_sum_gradient`."""
    count, (n, d), layout = len(rows), columns.x.shape, rows.layout
    blocks, runs, each = _grid(count, len(left_out))
    to_x, to_rest = rows.x.new_empty(runs, count, d), rows.x.new_empty(runs, count, len(layout) + 1)
    points = (rows.x, rows.reach, columns.x, columns.reach, rows.sizes)
    common = (*points, energy.tau, left_out, _or_nothing(bias, rows), shift, weight)
    fixed = {"SHAPE": layout, "D": d, "F": len(layout), "SQUARED": energy.squared, "BIASED": bias is not None}
    fixed |= {"ROWS": _ROWS, "num_warps": _WARPS}
    with torch.cuda.device_of(rows.x):
        _row_kernel[(blocks, runs)](*common, to_x, to_rest, count, n, len(left_out), each, **fixed)
        blocks, runs, each = _grid(n, count)
        to_y, to_bias = rows.x.new_empty(runs, n, d), rows.x.new_empty(runs, 0 if bias is None else n)
        _column_kernel[(blocks, runs)](*common, to_y, _or_nothing(to_bias, rows), count, n, each, **fixed)
    return to_x.sum(0), to_y.sum(0), to_rest.sum((0, 1)), None if bias is None else to_bias.sum(0)


def _or_nothing(given: Tensor | None, rows: Points) -> Tensor:
    """Return what a kernel is given as a pointer, where it does not read one: any tensor."""
    return rows.sizes if given is None or not given.numel() else given.contiguous()
