"""The undirected pairs of ``N`` nodes, numbered, so that sets of them are sorted arrays of integers."""

from typing import Any, TypeAlias

import numpy as np

__all__ = ["Ints", "draw_other_keys", "keys_of", "keys_to_pairs", "pairs_to_keys"]

Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


def pairs_to_keys(pairs: Ints, num_nodes: int) -> Ints:
    """Number the pairs ``i < j`` row by row, from 0 to ``N (N - 1) / 2 - 1``.

    Args:
        pairs: Pairs in either direction, repeated or not, shape ``(2, E)``; self-pairs are left out.
        num_nodes: Number of nodes ``N``.

    Returns:
        Sorted, unique keys.
    """
    return np.unique(keys_of(pairs[:, pairs[0] != pairs[1]], num_nodes))


def keys_of(pairs: Ints, num_nodes: int) -> Ints:
    """Return the number of each pair, shape ``(E,)``, in the order given; there must be no self-pairs."""
    i, j = pairs.min(axis=0), pairs.max(axis=0)
    return np.asarray(_row_starts(num_nodes)[i] + j - i - 1)


def keys_to_pairs(keys: Ints, num_nodes: int) -> Ints:
    """Undo :func:`pairs_to_keys`: pairs of shape ``(2, K)`` with ``i < j``."""
    starts = _row_starts(num_nodes)
    # the last row is empty and starts where the numbering ends, so that no key falls into it
    i = np.searchsorted(starts, keys, side="right") - 1
    return np.stack((i, keys - starts[i] + i + 1))


def draw_other_keys(keys: Ints, total: int, count: int, rng: np.random.Generator) -> Ints:
    """Draw ``count`` distinct numbers below ``total`` that are not in ``keys``, uniformly.

    Args:
        keys: Sorted, unique numbers, shape ``(K,)``.
        total: Upper bound, excluded.
        count: How many; at most ``total - K``.
        rng: Source of randomness.
    """
    ranks = rng.choice(total - len(keys), count, replace=False)
    return np.asarray(ranks + np.searchsorted(keys - np.arange(len(keys)), ranks, side="right"), dtype=np.int64)


def _row_starts(num_nodes: int) -> Ints:
    i = np.arange(num_nodes, dtype=np.int64)
    return i * (num_nodes - 1) - i * (i - 1) // 2
