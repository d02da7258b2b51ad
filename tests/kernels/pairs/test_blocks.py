"""Passes cut into blocks of rows."""

import time

import pytest

from qgcn.kernels.pairs.blocks import FIRST_PAIRS, SECONDS, blocks


@pytest.mark.parametrize("rows", [range(0, 1), range(3, 100), range(0, 1000), range(5, 5)], ids=str)
@pytest.mark.parametrize("columns", [1, 7, 1000])
@pytest.mark.parametrize("first", [1, 50, 10_000])
def test_runs_are_consecutive_and_together_the_rows(rows, columns, first):
    found = list(blocks(rows, columns, first))
    assert all(found)
    assert [row for run in found for row in run] == list(rows)


def test_runs_grow_while_they_are_quick_and_shrink_when_they_are_slow():
    sizes = []
    for run in blocks(range(100), 10, 40):
        sizes.append(len(run))
        if len(run) == 16:
            time.sleep(1.1 * SECONDS)
    assert sizes[:4] == [4, 8, 16, 8]
    assert sum(sizes) == 100


def test_the_first_run_is_no_longer_than_it_may_be_but_for_one_row():
    assert len(next(blocks(range(10**6), 10**6))) == FIRST_PAIRS // 10**6
    assert len(next(blocks(range(10), 10 * FIRST_PAIRS))) == 1
