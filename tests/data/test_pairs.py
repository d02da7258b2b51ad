"""Pairs as numbers: one for each, in order, and draws among the others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgcn.data.pairs import draw_other_keys, keys_of, keys_to_pairs, pairs_to_keys


@pytest.mark.parametrize("nodes", [2, 3, 11])
def test_pairs_and_keys_are_inverse(nodes):
    keys = np.arange(nodes * (nodes - 1) // 2)
    pairs = keys_to_pairs(keys, nodes)
    assert pairs.T.tolist() == [[i, j] for i in range(nodes) for j in range(i + 1, nodes)]
    np.testing.assert_array_equal(pairs_to_keys(pairs, nodes), keys)
    np.testing.assert_array_equal(keys_of(pairs[::-1, ::-1], nodes), keys[::-1])  # in the order given


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=40))
def test_keys_are_the_set_of_unordered_pairs(edges):
    keys = pairs_to_keys(np.array(edges, dtype=np.int64).reshape(-1, 2).T, 9)
    assert (np.diff(keys) > 0).all()
    assert {tuple(pair) for pair in keys_to_pairs(keys, 9).T.tolist()} == {(min(e), max(e)) for e in edges if e[0] != e[1]}


def test_keys_of_many_nodes_do_not_overflow():
    nodes = 3_000_000_000
    last = nodes * (nodes - 1) // 2 - 1
    assert last > 2**61
    few = 1 << 20
    pair = np.array([[few - 2], [few - 1]])
    assert pairs_to_keys(pair, few).tolist() == [few * (few - 1) // 2 - 1]


@given(st.sets(st.integers(0, 29)), st.integers(0, 1000))
def test_draws_are_distinct_and_elsewhere(taken, seed):
    keys = np.array(sorted(taken), dtype=np.int64)
    drawn = draw_other_keys(keys, 30, 30 - len(keys), np.random.default_rng(seed))
    assert sorted(drawn.tolist()) == sorted(set(range(30)) - taken)


def test_draws_are_uniform():
    rng = np.random.default_rng(0)
    keys = np.array([1, 2, 7])
    hits = np.bincount(np.concatenate([draw_other_keys(keys, 10, 2, rng) for _ in range(7000)]), minlength=10)
    assert hits[keys].tolist() == [0, 0, 0]
    expected = 2000
    others = np.delete(hits, keys)
    assert ((others - expected) ** 2 / expected).sum() < 30  # 6 degrees of freedom: exceeded once in 25,000 seeds
