"""Passes over all pairs, cut into blocks of rows: a signal is heard between two of them."""

import time
from collections.abc import Iterator
from typing import Final

__all__ = ["FIRST_PAIRS", "SECONDS", "blocks"]

FIRST_PAIRS: Final = 2**24
"""Pairs of the first block: all of 4,096 nodes, about 0.1 s on two cores."""
SECONDS: Final = 0.3
"""Time that a block may take before the next one is made smaller."""


def blocks(rows: range, columns: int, first_pairs: int = FIRST_PAIRS) -> Iterator[range]:
    """Cut the rows of a pass over all pairs into runs that take a fraction of a second each.

    Python calls the handler of a signal between two calls of compiled functions, not within one. The time that a run took says
    how many rows the next one has; what is computed of a row must not depend on the rows beside it.

    Laws: the runs are consecutive and not empty; together they are the rows.

    Args:
        rows: The rows, consecutive.
        columns: Number of pairs of each row.
        first_pairs: Pairs of the first run, or those of one row if these are more.
    """
    count = max(1, first_pairs // columns)
    begin = rows.start
    while begin < rows.stop:
        run = range(begin, min(begin + count, rows.stop))
        began = time.perf_counter()
        yield run
        taken = time.perf_counter() - began
        if taken > SECONDS:
            count = max(1, count // 2)
        elif taken < SECONDS / 2:
            count *= 2
        begin = run.stop
