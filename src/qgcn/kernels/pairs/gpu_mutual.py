"""Sums over all pairs of points on a GPU that compute each unordered pair once, in Triton: half the distances of ``gpu.py``.

A thread holds a few points, as there, and meets those before them; what a pair adds to the other point is summed over the
threads of a block and written apart for each block, so that no sum depends on the order of threads. All rows are computed, or
none.
"""

from typing import Any, Final, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from qgcn.kernels.pairs.gpu import (
    _COUNTS,
    _LOWEST,
    _SHORT_PAIRS,
    _combined,
    _factors,
    _next_word,
    _seek,
    distances,
    edge_energy,
    edge_gradient,
    log_sum,
    log_sum_gradient,
)
from qgcn.kernels.pairs.gpu_pair import one_of, push, rows_of, squared_length, store_rows, zero_rows
from qgcn.kernels.pairs.neighbourhoods import WORD, Words
from qgcn.kernels.pairs.points import Energy, Points

__all__ = [
    "distances",
    "edge_energy",
    "edge_gradient",
    "is_mutual",
    "log_sum",
    "log_sum_gradient",
    "mutual_gradient",
    "mutual_log_sum",
    "rounds_of",
]


class Tiling(NamedTuple):
    """How a pass is cut.

    Attributes:
        rows: Points that the threads of a block hold.
        warps: Warps of a block; with one, sums over threads need no shared memory.
    """

    rows: int
    warps: int


FEWEST = 2**19
"""Points from which pairs are computed once: on an H200 that is level with passes by rows at 300,000, and faster at a million."""
FORWARD = Tiling(512, 4)
BACKWARD = Tiling(128, 1)
_PARTNERS: Final = 8192
"""Points that a run of blocks meets: what is written apart for each block is so long."""
_BLOCKS: Final = 1056
"""Blocks of threads in one launch: eight for each multiprocessor of the largest GPU."""


def is_mutual(points: Points) -> bool:
    """Tell whether these points are worth it."""
    return len(points) >= FEWEST


def rounds_of(n: int) -> int:
    """Return the number of rounds of ``n`` points: runs of partners."""
    return int(triton.cdiv(n, _PARTNERS))


@triton.jit
def _place(first_row, first_partner, n, partners_each, num_partners, ROWS: tl.constexpr):
    """Return the points of a block, which exist, and the words of partners it meets: those before its last point."""
    rows = first_row + tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    begin = first_partner + tl.program_id(1) * partners_each
    end = tl.minimum(tl.minimum(begin + partners_each, first_partner + num_partners), n)
    end = tl.minimum(end, first_row + tl.program_id(0) * ROWS + ROWS)
    return rows, rows < n, begin, end


@triton.jit(do_not_specialize=[*_COUNTS, "first_partner", "partners_each", "num_partners"])
def _mutual_log_sum_kernel(
    x_ptr, reach_ptr, sizes_ptr, tau_ptr, start_ptr, word_ptr, bits_ptr, back_start_ptr, back_word_ptr, back_bits_ptr,
    own_ptr, theirs_ptr, first_row, num_rows, first_partner, num_partners, partners_each, n, steps, back_steps,
    SHAPE: tl.constexpr, D: tl.constexpr, F: tl.constexpr, SQUARED: tl.constexpr, SYMMETRIC: tl.constexpr, ROWS: tl.constexpr,
    GROUP: tl.constexpr,
):  # fmt: skip
    """Add up ``2 ** (-energy)`` of some partners for each point, and of the block's points for each partner, as logarithms."""
    rows, inside, begin, end = _place(first_row, first_partner, n, partners_each, num_partners, ROWS)
    x, reach = rows_of(x_ptr, rows, inside, D), rows_of(reach_ptr, rows, inside, F)
    at, following, stop = _seek(start_ptr, word_ptr, rows, inside, begin // 32, steps)
    if not SYMMETRIC:
        back_at, back_following, back_stop = _seek(back_start_ptr, back_word_ptr, rows, inside, begin // 32, back_steps)
    tau = tl.load(tau_ptr)
    highest = tl.zeros([ROWS], tl.float32) + _LOWEST
    total = tl.zeros([ROWS], tl.float32)
    theirs = theirs_ptr + tl.program_id(0) * num_partners - first_partner
    for w in range(begin // 32, tl.cdiv(end, 32)):
        bits, at, following = _next_word(at, following, stop, word_ptr, bits_ptr, w)
        if SYMMETRIC:
            back_bits = bits
        else:
            back_bits, back_at, back_following = _next_word(back_at, back_following, back_stop, back_word_ptr, back_bits_ptr, w)
        for group in range(0, 32, GROUP):
            values = ()
            top = highest
            for i in tl.static_range(GROUP):
                j = w * 32 + group + i
                partner = tl.minimum(j, n - 1)
                y, y_reach = one_of(x_ptr, partner, D), one_of(reach_ptr, partner, F)
                length = squared_length(x, reach, y, y_reach, sizes_ptr, SHAPE, F)
                energy = tau * length if SQUARED else tau * tl.sqrt(length)
                out = (j >= rows) | (j >= end) | (rows >= n)
                value = tl.where(out | (((bits >> (group + i)) & 1) != 0), float("-inf"), -energy)
                other = tl.where(out | (((back_bits >> (group + i)) & 1) != 0), float("-inf"), -energy)
                largest = tl.maximum(tl.max(other, 0), _LOWEST)
                their_sum = largest + tl.log2(tl.sum(tl.exp2(other - largest), 0))
                tl.store(theirs + j, their_sum, mask=j < end)
                top = tl.maximum(top, value)
                values = values + (value,)
            total = total * tl.exp2(highest - top)
            for i in tl.static_range(GROUP):
                total += tl.exp2(values[i] - top)
            highest = top
    tl.store(own_ptr + tl.program_id(1) * num_rows + rows - first_row, highest + tl.log2(total), mask=inside)


@triton.jit(do_not_specialize=[*_COUNTS, "first_partner", "partners_each", "num_partners"])
def _mutual_gradient_kernel(
    x_ptr, reach_ptr, sizes_ptr, tau_ptr, shift_ptr, weight_ptr, start_ptr, word_ptr, bits_ptr,
    back_start_ptr, back_word_ptr, back_bits_ptr, own_ptr, theirs_ptr, rest_ptr,
    first_row, num_rows, first_partner, num_partners, partners_each, n, steps, back_steps,
    SHAPE: tl.constexpr, D: tl.constexpr, F: tl.constexpr, SQUARED: tl.constexpr, SYMMETRIC: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Add up what some partners change for each point, and the block's points for each partner; temperature and sizes, too."""
    rows, inside, begin, end = _place(first_row, first_partner, n, partners_each, num_partners, ROWS)
    x, reach = rows_of(x_ptr, rows, inside, D), rows_of(reach_ptr, rows, inside, F)
    row_shift = tl.load(shift_ptr + rows, mask=inside, other=0.0)
    row_weight = tl.load(weight_ptr + rows, mask=inside, other=0.0)
    at, following, stop = _seek(start_ptr, word_ptr, rows, inside, begin // 32, steps)
    if not SYMMETRIC:
        back_at, back_following, back_stop = _seek(back_start_ptr, back_word_ptr, rows, inside, begin // 32, back_steps)
    tau = tl.load(tau_ptr)
    to_x, to_rest = zero_rows(row_shift, D), zero_rows(row_shift, F + 1)
    theirs = theirs_ptr + (tl.program_id(0) * num_partners - first_partner).to(tl.int64) * D
    for w in range(begin // 32, tl.cdiv(end, 32)):
        bits, at, following = _next_word(at, following, stop, word_ptr, bits_ptr, w)
        if SYMMETRIC:
            back_bits = bits
        else:
            back_bits, back_at, back_following = _next_word(back_at, back_following, back_stop, back_word_ptr, back_bits_ptr, w)
        for i in range(32):
            j = w * 32 + i
            partner = tl.minimum(j, n - 1)
            y, y_reach = one_of(x_ptr, partner, D), one_of(reach_ptr, partner, F)
            length, sides, slopes, by_sizes = _factors(x, reach, y, y_reach, sizes_ptr, SHAPE, F)
            energy = length if SQUARED else tl.sqrt(length)
            cost = tau * energy
            out = (j >= rows) | (j >= end) | (rows >= n)
            both = tl.where(out | (((bits >> i) & 1) != 0), 0.0, row_weight * tl.exp2(row_shift - cost))
            back = tl.load(weight_ptr + partner) * tl.exp2(tl.load(shift_ptr + partner) - cost)
            both += tl.where(out | (((back_bits >> i) & 1) != 0), 0.0, back)
            rest = (tl.fma(both, energy, to_rest[0]),)
            if not SQUARED:  # the derivative of the root, zero at zero
                both *= tl.where(energy > 0, 0.5 / energy, 0.0)
            new = ()
            for f in tl.static_range(F):
                rest = rest + (tl.fma(both, by_sizes[f], to_rest[1 + f]),)
                force = both * slopes[f]
                new = push(new, to_x, x, y, sides[f], force, SHAPE, f)
                _store_partner(theirs, j, end, x, y, sides[f], -sides[f] * force * (reach[f] / y_reach[f]), D, SHAPE, f)
            to_x = new
            to_rest = rest
    place = tl.program_id(1) * num_rows + rows - first_row
    store_rows(own_ptr, place, to_x, inside, D)
    store_rows(rest_ptr, place, to_rest, inside, F + 1)


@triton.jit
def _store_partner(to_ptr, j, end, x, y, side, force, D: tl.constexpr, SHAPE: tl.constexpr, F: tl.constexpr):
    """Write the sum over the block of the force along the difference, in the coordinates of one factor."""
    FIRST: tl.constexpr = SHAPE[F][0]
    SIZE: tl.constexpr = SHAPE[F][1]
    TIME: tl.constexpr = SHAPE[F][2]
    for k in tl.static_range(SIZE):
        w = force * tl.fma(-side, y[FIRST + k], x[FIRST + k])
        tl.store(to_ptr + j * D + FIRST + k, tl.sum(-w if k < TIME else w, 0), mask=j < end)


class _Launch(NamedTuple):
    """One launch: which points its blocks hold, and which partners they meet."""

    first_row: int
    num_rows: int
    first_partner: int
    num_partners: int
    grid: tuple[int, int]
    each: int


def _launches(n: int, tiling: Tiling, rounds: range | None) -> list[_Launch]:
    """Cut the pairs of each point with those before it."""
    found = []
    held = tiling.rows * _BLOCKS
    for first_partner in range(rounds_of(n)) if rounds is None else rounds:
        begin = first_partner * _PARTNERS
        partners = min(_PARTNERS, n - begin)
        for first_row in range(begin // tiling.rows * tiling.rows, n, held):
            rows = min(held, n - first_row)
            blocks = int(triton.cdiv(rows, tiling.rows))
            runs = max(1, min(int(triton.cdiv(partners, WORD)), _BLOCKS // blocks))
            each = int(triton.cdiv(triton.cdiv(partners, runs), WORD)) * WORD
            found.append(_Launch(first_row, rows, begin, partners, (blocks, int(triton.cdiv(partners, each))), each))
    return found


def _waited(points: Points) -> None:
    """Wait for what was asked for, in a long pass, so that a signal is heard."""
    if len(points) ** 2 > _SHORT_PAIRS:
        torch.cuda.current_stream(points.x.device).synchronize()


def _named(launch: _Launch, points: Points, words: tuple[Words, Words]) -> tuple[Any, ...]:
    there, back = words
    return (
        launch.first_row, launch.num_rows, launch.first_partner, launch.num_partners, launch.each, len(points),
        there.steps, back.steps,
    )  # fmt: skip


def mutual_log_sum(points: Points, energy: Energy, words: tuple[Words, Words], rounds: range | None = None) -> Tensor:
    """Return the base-2 logarithm of each row's sum, shape ``(N,)``; ``tau`` is in units of base 2.

    Of some ``rounds`` only, a part of each sum is computed.
    """
    x, n, (there, back) = points.x, len(points), words
    log = x.new_full((n,), -torch.inf)
    for launch in _launches(n, FORWARD, rounds):
        _waited(points)
        own = x.new_full((launch.grid[1], launch.num_rows), -torch.inf)
        theirs = x.new_full((launch.grid[0], launch.num_partners), -torch.inf)
        with torch.cuda.device_of(x):
            _mutual_log_sum_kernel[launch.grid](
                x, points.reach, points.sizes, energy.tau, there.start, there.word, there.bits,
                back.start, back.word, back.bits, own, theirs, *_named(launch, points, words),
                SHAPE=points.layout, D=x.shape[1], F=len(points.layout), SQUARED=energy.squared,
                SYMMETRIC=there is back, ROWS=FORWARD.rows, GROUP=4, num_warps=FORWARD.warps,
            )  # fmt: skip
        for first, parts in ((launch.first_row, own), (launch.first_partner, theirs)):
            part = log[first : first + parts.shape[1]]
            part.copy_(_combined(torch.cat((part[None], parts))))
    return log


def mutual_gradient(
    points: Points, energy: Energy, shift: Tensor, weight: Tensor, words: tuple[Words, Words], rounds: range | None = None
) -> tuple[Tensor, Tensor]:
    """Return weighted sums over pairs of half the slope of the energy by the row's point, and of those by energy and sizes.

    Of some ``rounds`` only, a part of each sum is computed.
    """
    x, (n, d), (there, back), factors = points.x, points.x.shape, words, len(points.layout)
    to_x, to_rest = torch.zeros_like(x), x.new_zeros(factors + 1, dtype=torch.float64)
    for launch in _launches(n, BACKWARD, rounds):
        _waited(points)
        own, rest = (x.new_zeros(launch.grid[1], launch.num_rows, width) for width in (d, factors + 1))
        theirs = x.new_zeros(launch.grid[0], launch.num_partners, d)
        with torch.cuda.device_of(x):
            _mutual_gradient_kernel[launch.grid](
                x, points.reach, points.sizes, energy.tau, shift, weight, there.start, there.word, there.bits,
                back.start, back.word, back.bits, own, theirs, rest, *_named(launch, points, words), SHAPE=points.layout,
                D=d, F=factors, SQUARED=energy.squared, SYMMETRIC=there is back, ROWS=BACKWARD.rows, num_warps=BACKWARD.warps,
            )  # fmt: skip
        to_x[launch.first_row : launch.first_row + launch.num_rows] += own.sum(0)
        to_x[launch.first_partner : launch.first_partner + launch.num_partners] += theirs.sum(0)
        to_rest += rest.sum((0, 1), dtype=torch.float64)
    return to_x, to_rest.to(x.dtype)
