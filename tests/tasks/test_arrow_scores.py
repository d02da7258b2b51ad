"""Scores of arrows: direction, three ways, and what training edges alone say."""

import numpy as np
import pytest
import torch

from qgcn.tasks import arrow_scores
from qgcn.tasks.arrow_scores import (
    direction_accuracy,
    three_way,
    three_way_accuracy,
    three_way_threshold,
    yardstick_scores,
)

EDGES = np.array([[0, 0, 1, 2, 3], [4, 5, 4, 5, 5]])


def test_a_tie_is_half_right():
    forth, back = torch.tensor([[1.0, 2.0, 3.0, 0.0], [1.0, 1.0, 1.0, 1.0]]), torch.tensor([0.0, 2.0, 4.0, 1.0])
    assert direction_accuracy(forth, back).tolist() == [1.5 / 4, 1.5 / 4]
    assert direction_accuracy(forth, back).dtype == torch.float64


def test_the_likeliest_of_three_is_told():
    logits = torch.tensor([[3.0, -3.0], [-3.0, 3.0], [3.0, 3.0], [-3.0, -3.0], [1.0, -2.0]])
    assert three_way(logits[:, 0], logits[:, 1], 0.0).tolist() == [0, 1, 2, 2, 0]
    assert three_way(logits[:, 0], logits[:, 1], 4.0).tolist() == [2, 2, 2, 2, 2]
    p, q = (torch.sigmoid(torch.tensor(each, dtype=torch.float64)) for each in (1.0, -2.0))
    chances = torch.stack((p * (1 - q), q * (1 - p), p * q + (1 - p) * (1 - q)))
    assert int(chances.argmax()) == int(three_way(torch.tensor([1.0]), torch.tensor([-2.0]), 0.0))


def test_the_threshold_is_the_best_there_is():
    source = torch.Generator().manual_seed(0)
    truth = torch.randint(3, (300,), generator=source)
    forth = torch.where(truth == 0, 7.0, 4.0) + torch.randn(300, generator=source)
    back = torch.where(truth == 1, 7.0, 4.0) + torch.randn(300, generator=source)
    threshold = three_way_threshold(forth, back, truth)
    best = float(three_way_accuracy(forth, back, truth, threshold))
    assert 4 < threshold < 8
    assert best > 0.8
    assert all(best >= float(three_way_accuracy(forth, back, truth, each)) - 0.02 for each in torch.linspace(0, 10, 40))
    assert best > float(three_way_accuracy(forth, back, truth, 0.0))


def test_the_threshold_of_many_pairs_is_found_from_some(monkeypatch):
    source = torch.Generator().manual_seed(1)
    truth = torch.randint(3, (3000,), generator=source)
    forth, back = (torch.where(truth == one, 3.0, 0.0) + torch.randn(3000, generator=source) for one in (0, 1))
    exact = three_way_threshold(forth, back, truth)
    monkeypatch.setattr(arrow_scores, "MOST", 2000)
    sizes = []
    monkeypatch.setattr(torch, "quantile", lambda x, q, own=torch.quantile: sizes.append(len(x)) or own(x, q))
    assert three_way_threshold(forth, back, truth) == pytest.approx(exact, abs=0.5)
    assert sizes == [2000]


def test_degrees_by_hand():
    found = yardstick_scores("degrees", EDGES, 6, np.array([[0, 1, 4], [5, 4, 0]]))
    assert found.tolist() == [3 * 4, 2 * 3, 1]


def test_paths_turn_twice():
    found = yardstick_scores("paths", EDGES, 6, np.array([[1, 1, 0, 4], [5, 0, 5, 0]]))
    # 1 points where 0 does, at 4, and 0 points at 5
    assert found[0] == pytest.approx(1 / np.log(2 + 2))
    assert found[1] == found[3] == 0
    assert found[2] == pytest.approx(2 / np.log(2 + 3) + (1 / np.log(2 + 2) + 1 / np.log(2 + 3)))


def test_paths_in_blocks_are_paths():
    pairs = np.random.default_rng(0).integers(6, size=(2, 9000))
    whole = yardstick_scores("paths", EDGES, 6, pairs)
    np.testing.assert_array_equal(whole[:100], yardstick_scores("paths", EDGES, 6, pairs[:, :100]))


def test_singular_vectors_give_the_matrix_back():
    """The matrix has rank 3; of 24 nodes 6 vectors are taken."""
    pairs = np.stack(np.divmod(np.arange(576), 24))
    found = yardstick_scores("truncated SVD", EDGES, 24, pairs).reshape(24, 24)
    matrix = np.zeros((24, 24))
    matrix[tuple(EDGES)] = 1
    np.testing.assert_allclose(found, matrix, atol=1e-8)
    assert yardstick_scores("truncated SVD", EDGES[:, :0], 24, pairs).tolist() == [0.0] * 576
    assert yardstick_scores("truncated SVD", np.array([[0], [1]]), 2, pairs[:, :1]).tolist() == [0.0]


def test_singular_vectors_are_the_same_every_time():
    rng = np.random.default_rng(0)
    edges, pairs = rng.integers(60, size=(2, 300)), rng.integers(60, size=(2, 50))
    first, second = (yardstick_scores("truncated SVD", edges, 60, pairs) for _ in range(2))
    np.testing.assert_allclose(first, second, rtol=1e-9)
    assert np.abs(first).max() > 0.01


@pytest.mark.parametrize("edges", [lambda i: i[:-1] // 2, lambda i: i[:-1], lambda i: (i[:-1] * 7 + 3) % 41])
def test_singular_vectors_of_equal_values_are_the_same_every_time(edges):
    """Trees, paths and rings: their singular values are not distinct."""
    nodes = np.arange(41)
    tree = np.stack((edges(nodes), nodes[1:]))
    pairs = np.stack(np.divmod(np.arange(41**2), 41))
    first, *others = (yardstick_scores("truncated SVD", tree, 41, pairs) for _ in range(3))
    assert all(np.array_equal(first, other) for other in others)
    assert np.abs(first).max() > 0.01


def test_singular_vectors_say_nothing_of_nodes_that_no_walk_joins():
    rng = np.random.default_rng(0)
    edges = np.concatenate([rng.integers(30, size=(2, 90)), 30 + rng.integers(30, size=(2, 90))], axis=1)
    pairs = np.stack((np.arange(30), 30 + np.arange(30)))
    assert yardstick_scores("truncated SVD", edges, 61, pairs).tolist() == [0.0] * 30
    assert yardstick_scores("truncated SVD", edges, 61, np.array([[3, 60], [60, 3]])).tolist() == [0.0, 0.0]
