r"""Sums over all pairs of points on a GPU, in Triton.

One thread holds a few points in registers and meets all others, one after the other, as in a simulation of bodies: per pair
only arithmetic, no memory that grows with pairs. Pairs left out are bits of words of 32 columns, read once a word. Gradients
are gathered by row from both ends of a pair, so nothing is added atomically and results do not depend on the order of threads.
"""

from collections.abc import Iterator
from typing import Final

import torch
import triton
import triton.language as tl
from torch import Tensor

from qgcn.kernels.pairs.gpu_pair import (
    one_of,
    push,
    rows_of,
    separation,
    squared_length,
    store_push,
    store_rows,
    zero_rows,
)
from qgcn.kernels.pairs.neighbourhoods import WORD, Words
from qgcn.kernels.pairs.points import Energy, Points

__all__ = ["distances", "edge_energy", "edge_gradient", "log_sum", "log_sum_gradient"]

_ROWS: Final = 256
_GROUP: Final = 4
_EDGES: Final = 128
_WARPS: Final = 4
_BLOCKS: Final = 1056
"""Blocks of threads to cut the work into: eight for each multiprocessor of the largest GPU."""
_PAIRS: Final = 2**36
"""Pairs of one launch, about: those of 262,144 points, a fraction of a second."""
_SHORT_PAIRS: Final = 2**34
"""Pairs up to which nothing is waited for: those of 131,072 points."""

_COUNTS: Final = (
    "first_row", "num_rows", "n", "num_words", "words_each", "rows_each", "steps", "back_steps", "count",
)  # fmt: skip
"""Arguments that Triton should not compile a kernel of its own for where they happen to be 1 or a multiple of 16."""

_LOWEST: Final = tl.constexpr(-1e38)


# --- words of pairs that are left out ---------------------------------------------------------------------------------------


@triton.jit
def _seek(start_ptr, word_ptr, rows, inside, word, steps):
    """Return, of each row, where its first entry of at least the given word stands, that word, and where the row ends."""
    low = tl.load(start_ptr + rows, mask=inside, other=0)
    end = tl.load(start_ptr + rows + 1, mask=inside, other=0)
    high = end
    for _ in range(steps):
        middle = (low + high) // 2
        below = (low < high) & (tl.load(word_ptr + middle, mask=low < high, other=0) < word)
        low, high = tl.where(below, middle + 1, low), tl.where(below, high, middle)
    following = tl.load(word_ptr + low, mask=low < end, other=2147483647)
    return low, following, end


@triton.jit
def _left_out(bits, place, column, n):
    """Tell whether the pair of a bit is left out, or its column does not exist."""
    return (((bits >> place) & 1) != 0) | (column >= n)


@triton.jit
def _next_word(at, following, end, word_ptr, bits_ptr, word):
    """Return the bits of a word, and move on."""
    hit = following == word
    bits = tl.load(bits_ptr + at, mask=hit, other=0)
    at = tl.where(hit, at + 1, at)
    following = tl.where(hit, tl.load(word_ptr + at, mask=hit & (at < end), other=2147483647), following)
    return bits, at, following


# --- the two passes over all pairs -------------------------------------------------------------------------------------------


@triton.jit
def _share_of(first_row, num_rows, num_words, words_each, ROWS: tl.constexpr):
    """Return the rows of a block, counted from its first one and from 0, and the words of columns it meets."""
    local = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    word = tl.program_id(1) * words_each
    return local, local < num_rows, first_row + local, word, tl.minimum(word + words_each, num_words)


@triton.jit(do_not_specialize=_COUNTS)
def _log_sum_kernel(
    x_ptr, reach_ptr, sizes_ptr, tau_ptr, start_ptr, word_ptr, bits_ptr, out_ptr,
    first_row, num_rows, n, num_words, words_each, steps,
    SHAPE: tl.constexpr, D: tl.constexpr, F: tl.constexpr, SQUARED: tl.constexpr, ROWS: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Add up ``2 ** (-energy)`` of a run of columns for each row, as the base-2 logarithm of the sum."""
    local, inside, rows, word, last_word = _share_of(first_row, num_rows, num_words, words_each, ROWS)
    x, reach = rows_of(x_ptr, rows, inside, D), rows_of(reach_ptr, rows, inside, F)
    at, following, end = _seek(start_ptr, word_ptr, rows, inside, word, steps)
    tau = tl.load(tau_ptr)
    highest = tl.zeros([ROWS], tl.float32) + _LOWEST
    total = tl.zeros([ROWS], tl.float32)
    for w in range(word, last_word):
        bits, at, following = _next_word(at, following, end, word_ptr, bits_ptr, w)
        for group in range(0, 32, GROUP):
            values = ()
            top = highest
            for i in tl.static_range(GROUP):
                column = w * 32 + group + i
                j = tl.minimum(column, n - 1)
                y, y_reach = one_of(x_ptr, j, D), one_of(reach_ptr, j, F)
                length = squared_length(x, reach, y, y_reach, sizes_ptr, SHAPE, F)
                energy = tau * length if SQUARED else tau * tl.sqrt(length)
                value = tl.where(_left_out(bits, group + i, column, n), float("-inf"), -energy)
                top = tl.maximum(top, value)
                values = values + (value,)
            total = total * tl.exp2(highest - top)
            for i in tl.static_range(GROUP):
                total += tl.exp2(values[i] - top)
            highest = top
    tl.store(out_ptr + tl.program_id(1) * num_rows + local, highest + tl.log2(total), mask=inside)


@triton.jit(do_not_specialize=_COUNTS)
def _gradient_kernel(
    x_ptr, reach_ptr, sizes_ptr, tau_ptr, shift_ptr, weight_ptr,
    start_ptr, word_ptr, bits_ptr, back_start_ptr, back_word_ptr, back_bits_ptr, to_x_ptr, to_rest_ptr,
    first_row, num_rows, n, num_words, words_each, steps, back_steps,
    SHAPE: tl.constexpr, D: tl.constexpr, F: tl.constexpr, SQUARED: tl.constexpr, SYMMETRIC: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """Add up, over a run of columns, what each row's point, the temperature and the sizes change."""
    local, inside, rows, word, last_word = _share_of(first_row, num_rows, num_words, words_each, ROWS)
    x, reach = rows_of(x_ptr, rows, inside, D), rows_of(reach_ptr, rows, inside, F)
    row_shift = tl.load(shift_ptr + rows, mask=inside, other=0.0)
    row_weight = tl.load(weight_ptr + rows, mask=inside, other=0.0)
    at, following, end = _seek(start_ptr, word_ptr, rows, inside, word, steps)
    if not SYMMETRIC:
        back_at, back_following, back_end = _seek(back_start_ptr, back_word_ptr, rows, inside, word, back_steps)
    tau = tl.load(tau_ptr)
    to_x, to_rest = zero_rows(row_shift, D), zero_rows(row_shift, F + 1)
    for w in range(word, last_word):
        bits, at, following = _next_word(at, following, end, word_ptr, bits_ptr, w)
        if SYMMETRIC:
            back_bits = bits
        else:
            back_bits, back_at, back_following = _next_word(back_at, back_following, back_end, back_word_ptr, back_bits_ptr, w)
        for i in range(32):
            column = w * 32 + i
            j = tl.minimum(column, n - 1)
            y, y_reach = one_of(x_ptr, j, D), one_of(reach_ptr, j, F)
            length, sides, slopes, by_sizes = _factors(x, reach, y, y_reach, sizes_ptr, SHAPE, F)
            energy = length if SQUARED else tl.sqrt(length)
            cost = tau * energy
            mine = tl.where(_left_out(bits, i, column, n), 0.0, row_weight * tl.exp2(row_shift - cost))
            back_out = _left_out(back_bits, i, column, n)
            both = mine + tl.where(back_out, 0.0, tl.load(weight_ptr + j) * tl.exp2(tl.load(shift_ptr + j) - cost))
            changed = mine
            if not SQUARED:  # the derivative of the root, zero at zero
                root = tl.where(energy > 0, 0.5 / energy, 0.0)
                both *= root
                changed = mine * root
            rest = (tl.fma(mine, energy, to_rest[0]),)
            new = ()
            for f in tl.static_range(F):
                rest = rest + (tl.fma(changed, by_sizes[f], to_rest[1 + f]),)
                new = push(new, to_x, x, y, sides[f], both * slopes[f], SHAPE, f)
            to_x = new
            to_rest = rest
    part = tl.program_id(1) * num_rows + local
    store_rows(to_x_ptr, part, to_x, inside, D)
    store_rows(to_rest_ptr, part, to_rest, inside, F + 1)


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
def _distance_kernel(
    x_ptr, reach_ptr, sizes_ptr, out_ptr, first_row, num_rows, n, rows_each,
    SHAPE: tl.constexpr, D: tl.constexpr, F: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Write distances from a few rows to a block of columns: threads hold columns, so that they write side by side."""
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < n
    x = rows_of(x_ptr, columns, inside, D)
    reach = rows_of(reach_ptr, columns, inside, F)
    local = tl.program_id(1) * rows_each
    to = out_ptr + local.to(tl.int64) * n + columns  # more entries than 32 bits count
    for i in range(local, tl.minimum(local + rows_each, num_rows)):
        y, y_reach = one_of(x_ptr, first_row + i, D), one_of(reach_ptr, first_row + i, F)
        tl.store(to, tl.sqrt(squared_length(x, reach, y, y_reach, sizes_ptr, SHAPE, F)), mask=inside)
        to += n


# --- some pairs ---------------------------------------------------------------------------------------------------------------


@triton.jit
def _ends(x_ptr, reach_ptr, source_ptr, target_ptr, count, D: tl.constexpr, F: tl.constexpr, ROWS: tl.constexpr):
    """Return the edges of a block, which of them exist, and the points at both ends of each with their reach."""
    at = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = at < count
    source, target = tl.load(source_ptr + at, mask=inside, other=0), tl.load(target_ptr + at, mask=inside, other=0)
    x, reach = rows_of(x_ptr, source, inside, D), rows_of(reach_ptr, source, inside, F)
    y, y_reach = rows_of(x_ptr, target, inside, D), rows_of(reach_ptr, target, inside, F)
    return at, inside, x, reach, y, y_reach


@triton.jit(do_not_specialize=_COUNTS)
def _edge_kernel(
    x_ptr, reach_ptr, sizes_ptr, source_ptr, target_ptr, out_ptr, count,
    SHAPE: tl.constexpr, D: tl.constexpr, F: tl.constexpr, SQUARED: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Write the energy of each edge."""
    at, inside, x, reach, y, y_reach = _ends(x_ptr, reach_ptr, source_ptr, target_ptr, count, D, F, ROWS)
    length = squared_length(x, reach, y, y_reach, sizes_ptr, SHAPE, F)
    tl.store(out_ptr + at, length if SQUARED else tl.sqrt(length), mask=inside)


@triton.jit(do_not_specialize=_COUNTS)
def _edge_gradient_kernel(
    x_ptr, reach_ptr, sizes_ptr, source_ptr, target_ptr, weight_ptr, to_source_ptr, to_target_ptr, to_sizes_ptr, count,
    SHAPE: tl.constexpr, D: tl.constexpr, F: tl.constexpr, SQUARED: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Write the weighted slope of each edge's energy by both its points and by the sizes."""
    at, inside, x, reach, y, y_reach = _ends(x_ptr, reach_ptr, source_ptr, target_ptr, count, D, F, ROWS)
    weight = tl.load(weight_ptr + at, mask=inside, other=0.0)
    if not SQUARED:
        length = squared_length(x, reach, y, y_reach, sizes_ptr, SHAPE, F)
        weight = tl.where(length > 0, weight * 0.5 / tl.sqrt(length), 0.0)  # the derivative of the root, zero at zero
    for f in tl.static_range(F):
        _, side, slope, by_size = separation(x, reach, y, y_reach, sizes_ptr, SHAPE, f)
        tl.store(to_sizes_ptr + at * F + f, weight * by_size, mask=inside)
        ratio = reach[f] / y_reach[f]
        store_push(to_source_ptr, to_target_ptr, at, inside, x, y, side, ratio, 2.0 * weight * slope, D, SHAPE, f)


# --- what is launched ------------------------------------------------------------------------------------------------------


def _grid(num_rows: int, num_words: int) -> tuple[int, int, int]:
    """Return blocks of rows, runs of columns, and words in each run."""
    blocks = max(1, triton.cdiv(num_rows, _ROWS))
    runs = max(1, min(num_words, triton.cdiv(_BLOCKS, blocks)))
    each = triton.cdiv(num_words, runs)
    return blocks, triton.cdiv(num_words, each), each


def _blocks(rows: range, points: Points) -> Iterator[range]:
    """Cut the rows of a long pass into runs and wait for what was asked for before each, so that a signal is heard there.

    Where they are cut depends on nothing but the number of points: a sum over columns is cut differently for fewer rows.
    """
    share = max(1, -(-_BLOCKS * _ROWS * len(points) // _PAIRS))  # of the threads there are: others take other columns
    step = _ROWS * max(1, _BLOCKS // share)
    long = len(points) ** 2 > _SHORT_PAIRS
    for first in range(rows.start, max(rows.stop, rows.start + 1), step):
        if long:
            torch.cuda.current_stream(points.x.device).synchronize()
        yield range(first, min(first + step, rows.stop))


def log_sum(points: Points, energy: Energy, words: Words, rows: range) -> Tensor:
    """Return the base-2 logarithm of each row's sum, shape ``(len(rows),)``; ``tau`` is in units of base 2."""
    found = [_log_sum(points, energy, words, block) for block in _blocks(rows, points)]
    return found[0] if len(found) == 1 else torch.cat(found)


def _log_sum(points: Points, energy: Energy, words: Words, rows: range) -> Tensor:
    x, reach, sizes, layout = points.x, points.reach, points.sizes, points.layout
    n, d = x.shape
    num_words = triton.cdiv(n, WORD)
    blocks, runs, each = _grid(len(rows), num_words)
    parts = torch.empty(runs, len(rows), dtype=x.dtype, device=x.device)
    with torch.cuda.device_of(x):
        _log_sum_kernel[(blocks, runs)](
            x, reach, sizes, energy.tau, words.start, words.word, words.bits, parts,
            rows.start, len(rows), n, num_words, each, words.steps,
            SHAPE=layout, D=d, F=len(layout), SQUARED=energy.squared, ROWS=_ROWS, GROUP=_GROUP, num_warps=_WARPS,
        )  # fmt: skip
    return parts[0] if runs == 1 else _combined(parts)


def _combined(parts: Tensor) -> Tensor:
    highest = parts.amax(0)
    safe = torch.where(highest > -torch.inf, highest, 0)
    return safe + (parts - safe).exp2().sum(0).log2()


def log_sum_gradient(
    points: Points, energy: Energy, shift: Tensor, weight: Tensor, words: tuple[Words, Words], rows: range
) -> tuple[Tensor, Tensor]:
    """Return weighted sums over pairs of half the slope of the energy by the row's point, and of those by energy and sizes."""
    found = [_log_sum_gradient(points, energy, shift, weight, words, block) for block in _blocks(rows, points)]
    if len(found) == 1:
        return found[0]
    return torch.cat([to_x for to_x, _ in found]), torch.stack([to_rest for _, to_rest in found]).sum(0)


def _log_sum_gradient(
    points: Points, energy: Energy, shift: Tensor, weight: Tensor, words: tuple[Words, Words], rows: range
) -> tuple[Tensor, Tensor]:
    x, reach, sizes, layout = points.x, points.reach, points.sizes, points.layout
    there, back = words
    n, d = x.shape
    num_words = triton.cdiv(n, WORD)
    blocks, runs, each = _grid(len(rows), num_words)
    to_x = torch.empty(runs, len(rows), d, dtype=x.dtype, device=x.device)
    to_rest = torch.empty(runs, len(rows), len(layout) + 1, dtype=x.dtype, device=x.device)
    with torch.cuda.device_of(x):
        _gradient_kernel[(blocks, runs)](
            x, reach, sizes, energy.tau, shift, weight,
            there.start, there.word, there.bits, back.start, back.word, back.bits, to_x, to_rest,
            rows.start, len(rows), n, num_words, each, there.steps, back.steps,
            SHAPE=layout, D=d, F=len(layout), SQUARED=energy.squared, SYMMETRIC=there is back, ROWS=_ROWS, num_warps=_WARPS,
        )  # fmt: skip
    return to_x.sum(0), to_rest.sum((0, 1))


def distances(points: Points, rows: range) -> Tensor:
    """Return distances from some rows to all points, shape ``(len(rows), N)``."""
    x, reach, sizes, layout = points.x, points.reach, points.sizes, points.layout
    n, d = x.shape
    each = 32
    out = torch.empty(len(rows), n, dtype=x.dtype, device=x.device)
    with torch.cuda.device_of(x):
        _distance_kernel[(triton.cdiv(n, _ROWS), triton.cdiv(len(rows), each))](
            x, reach, sizes, out, rows.start, len(rows), n, each,
            SHAPE=layout, D=d, F=len(layout), COLUMNS=_ROWS, num_warps=_WARPS,
        )  # fmt: skip
    return out


def edge_energy(points: Points, source: Tensor, target: Tensor, squared: bool) -> Tensor:
    """Return the energy of each edge, shape ``(E,)``."""
    x, reach, sizes, layout = points.x, points.reach, points.sizes, points.layout
    out = torch.empty(len(source), dtype=x.dtype, device=x.device)
    with torch.cuda.device_of(x):
        _edge_kernel[(triton.cdiv(len(source), _EDGES),)](
            x, reach, sizes, source, target, out, len(source),
            SHAPE=layout, D=x.shape[1], F=len(layout), SQUARED=squared, ROWS=_EDGES, num_warps=_WARPS,
        )  # fmt: skip
    return out


def edge_gradient(points: Points, source: Tensor, target: Tensor, weight: Tensor, squared: bool) -> tuple[Tensor, Tensor]:
    """Return weighted sums over the edges of the energy's slope by the points, shape ``(N, d)``, and by the sizes."""
    x, reach, sizes, layout = points.x, points.reach, points.sizes, points.layout
    ends = torch.empty(2, len(source), x.shape[1], dtype=x.dtype, device=x.device)
    to_sizes = torch.empty(len(source), len(layout), dtype=x.dtype, device=x.device)
    with torch.cuda.device_of(x):
        _edge_gradient_kernel[(triton.cdiv(len(source), _EDGES),)](
            x, reach, sizes, source, target, weight, ends[0], ends[1], to_sizes, len(source),
            SHAPE=layout, D=x.shape[1], F=len(layout), SQUARED=squared, ROWS=_EDGES, num_warps=_WARPS,
        )  # fmt: skip
    to_x = torch.zeros_like(x).index_add_(0, source, ends[0]).index_add_(0, target, ends[1])
    return to_x, to_sizes.sum(0)
