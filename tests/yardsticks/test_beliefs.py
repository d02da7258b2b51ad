"""Belief propagation: neighbours count as their classes meet, by hand, whatever the names of classes."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from qgcn.yardsticks import adjacency, propagate_beliefs


def blocks(inside, nodes=300, seed=0):
    """A graph of two classes with such a share of edges within them, 40 known labels, and weak features of each node."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=nodes)
    pairs = rng.integers(nodes, size=(2, 12 * nodes))
    kept = (rng.random(pairs.shape[1]) < np.where(y[pairs[0]] == y[pairs[1]], inside, 1 - inside)) & (pairs[0] != pairs[1])
    pairs = pairs[:, kept]
    own = rng.standard_normal((nodes, 2)) + np.eye(2)[y]
    return adjacency(np.concatenate((pairs, pairs[::-1]), axis=1), nodes), own - np.log(np.exp(own).sum(1, keepdims=True)), y


@pytest.mark.parametrize("inside", [0.8, 0.2])
def test_neighbours_help_whether_like_attracts_like_or_not(inside):
    matrix, own, y = blocks(inside)
    train = np.arange(40)
    guess = np.where(np.eye(2)[y] > 0, 0.8, 0.2)
    found = propagate_beliefs(matrix, own, guess, y, train).argmax(1)[40:] == y[40:]
    alone = own.argmax(1)[40:] == y[40:]
    assert found.mean() > alone.mean() + 0.1


def test_nodes_without_neighbours_keep_their_own_logits_and_loops_do_not_count():
    matrix, own, y = blocks(0.8)
    coo = matrix.tocoo()
    kept = (coo.row > 10) & (coo.col > 10)
    loops = np.arange(10)
    rows, columns = np.concatenate((coo.row[kept], loops)), np.concatenate((coo.col[kept], loops))
    lonely = csr_array((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=matrix.shape)
    found = propagate_beliefs(lonely, own, np.exp(own), y, np.arange(50, 90))[:10]
    np.testing.assert_allclose(found - found.max(1, keepdims=True), own[:10] - own[:10].max(1, keepdims=True))


def test_one_round_by_hand():
    # 0 - 1 - 2: the class of 0 and of 2 is known; both classes have been met as often as chance says but for the smoothing
    matrix = adjacency(np.array([[0, 1, 1, 2], [1, 0, 2, 1]]), 3)
    own, guess = np.log(np.full((3, 2), 0.5)), np.full((3, 2), 0.5)
    y, train = np.array([0, 0, 0]), np.array([0, 2])
    classes = np.array([[1, 0], [0.5, 0.5], [1, 0]])
    share = (classes.sum(0) + 1) / 5
    met = classes.T @ matrix.toarray() @ classes + 2 * np.outer(share, share)
    ratio = met * met.sum() / np.outer(met.sum(1), met.sum(0))
    z = np.log(0.5) + 2 * np.log(ratio[:, 0])  # two neighbours of class 0
    found = propagate_beliefs(matrix, own, guess, y, train, rounds=1)
    np.testing.assert_allclose(found[1], z - z.max())


def test_renaming_classes_renames_the_result():
    matrix, own, y = blocks(0.8)
    train = np.arange(40)
    once = propagate_beliefs(matrix, own, np.exp(own), y, train)
    swapped = propagate_beliefs(matrix, own[:, ::-1], np.exp(own)[:, ::-1], 1 - y, train)
    np.testing.assert_allclose(swapped[:, ::-1], once, atol=1e-8)


def test_arguments_are_left_alone():
    matrix, own, y = blocks(0.8)
    before = own.copy()
    propagate_beliefs(matrix, own, np.exp(own), y, np.arange(40))
    np.testing.assert_array_equal(own, before)
