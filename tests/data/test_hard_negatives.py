"""Hard non-edges: which they are by an independent computation, and what they must not depend on."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from qgcn.data import hard_negatives, split_links
from qgcn.data.hard_negatives import HardNegatives

NODES = 30


def random_pairs(share, seed):
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.combinations(torch.arange(NODES))
    return pairs[torch.rand(len(pairs), generator=generator) < share].T


def undirected(pairs):
    return {(min(pair), max(pair)) for pair in pairs.T.tolist()}


def expected(chooser, train, node, allowed, count, x):
    """Return the best candidates of a node by dense matrices and plain loops."""
    known = np.zeros((NODES, NODES))
    known[train[0], train[1]] = known[train[1], train[0]] = 1
    walk = known / np.maximum(known.sum(1, keepdims=True), 1)
    heuristics = [known @ walk, 0.15 * sum(np.linalg.matrix_power(0.85 * walk, k) for k in range(11))]
    if x is not None:
        unit = x / x.norm(dim=1, keepdim=True)
        heuristics.append((unit @ unit.T).numpy())
    ties = chooser._ties(np.array([node]))[0]
    places = {}
    for number, scores in enumerate(heuristics):
        of_node = {other: max(float(np.float32(scores[node, other])), 0.0) for other in allowed}
        ranked = sorted(allowed, key=lambda other: (round(of_node[other], 6), ties[other]), reverse=True)
        for place, other in enumerate(ranked):
            key = (place if of_node[other] > 0 else place + count, number)
            places[other] = min(places.get(other, key), key) if place < count else places.get(other, (10**6, number))
    return sorted(allowed, key=places.__getitem__)[:count]


@pytest.mark.parametrize("features", [False, True])
def test_they_are_the_best_by_any_heuristic(features):
    train, extra = random_pairs(0.1, 0).numpy(), np.array([[0, 5], [7, 9]])
    edges = np.concatenate((train, extra), axis=1)
    x = torch.rand(NODES, 5, generator=torch.Generator().manual_seed(1)) - 0.2 if features else None
    chooser = HardNegatives(train, edges, NODES, x, seed=3)
    joined = undirected(edges)
    for half in (0, 1):
        found = chooser.of(extra, 6, half).reshape(2, 2, 6)
        for k, ends in enumerate(extra.T):
            assert found[0, k].tolist() == [ends[0]] * 3 + [ends[1]] * 3
            for node, chosen in zip(ends, (found[1, k, :3], found[1, k, 3:]), strict=True):
                ties = chooser._ties(np.array([node]))[0]
                allowed = [
                    other
                    for other in range(NODES)
                    if other != node and (min(node, other), max(node, other)) not in joined and ties[other] % 2 == half
                ]
                assert chosen.tolist() == expected(chooser, train, node, allowed, 3, x)


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), share=st.floats(0.1, 0.3), count=st.integers(1, 5))
def test_they_share_an_end_and_are_no_edges_and_in_one_half(seed, share, count):
    graph = random_pairs(share, seed)
    split = split_links(graph, NODES, val=0.1, test=0.2, protocol="hard", negatives=count, seed=seed)
    edges = undirected(graph)
    for part in ("val", "test"):
        positive, negative = split.parts()[part], split.parts()[f"{part}_negative"]
        rows = negative.view(2, positive.shape[1], count)
        first = count - count // 2
        assert (rows[0, :, :first] == positive[0, :, None]).all()
        assert (rows[0, :, first:] == positive[1, :, None]).all()
        assert not undirected(negative) & edges
        assert (negative[0] != negative[1]).all()
        assert all(len(undirected(rows[:, k])) == count for k in range(positive.shape[1]))
    assert not undirected(split.val_negative) & undirected(split.test_negative)
    assert undirected(split.train) | undirected(split.val) | undirected(split.test) == edges


def test_training_negatives_are_neither_edges_nor_held_out_non_edges():
    split = split_links(random_pairs(0.15, 6), NODES, val=0.1, test=0.2, protocol="hard", negatives=4)
    forbidden = set().union(*(undirected(part) for part in split.parts().values()))
    drawn = undirected(split.negatives.sample(30_000, torch.Generator().manual_seed(0)))
    assert drawn == {(i, j) for i in range(NODES) for j in range(i + 1, NODES)} - forbidden


def test_they_know_nothing_of_held_out_edges_but_that_they_are_not_to_be_chosen():
    train, asked = random_pairs(0.1, 4).numpy(), np.array([[0], [9]])
    elsewhere = random_pairs(0.2, 5).numpy()
    elsewhere = elsewhere[:, ~np.isin(elsewhere, (0, 9)).any(axis=0)]
    alone, among = (
        HardNegatives(train, np.concatenate((train, asked, more), axis=1), NODES, seed=1).of(asked, 8, 0)
        for more in (asked, elsewhere)
    )
    assert np.array_equal(alone, among)


def test_one_that_is_an_edge_after_all_is_left_out():
    train, asked = random_pairs(0.1, 4).numpy(), np.array([[0], [9]])
    edges = np.concatenate((train, asked), axis=1)
    before = HardNegatives(train, edges, NODES).of(asked, 2, 0)
    more = np.concatenate((edges, before), axis=1)
    assert not undirected(HardNegatives(train, more, NODES).of(asked, 2, 0)) & undirected(before)


def test_blocks_make_no_difference(monkeypatch):
    graph, x = random_pairs(0.15, 2), torch.rand(NODES, 4)
    whole = split_links(graph, NODES, val=0.2, test=0.2, protocol="hard", negatives=4, x=x)
    monkeypatch.setattr(hard_negatives, "BLOCK", 2 * NODES)
    parts = split_links(graph, NODES, val=0.2, test=0.2, protocol="hard", negatives=4, x=x)
    assert torch.equal(whole.val_negative, parts.val_negative)
    assert torch.equal(whole.test_negative, parts.test_negative)


def test_the_seed_fixes_them():
    train, asked = random_pairs(0.1, 4).numpy(), np.array([[0, 3], [9, 8]])
    first, again, other = (HardNegatives(train, train, NODES, seed=seed).of(asked, 6, 1) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_nodes_alike_are_found_where_there_are_no_edges():
    x = torch.nn.functional.one_hot(torch.arange(NODES) % 3).float()
    none = np.empty((2, 0), dtype=np.int64)
    found = HardNegatives(none, none, NODES, x).of(np.array([[0], [1]]), 4, 0).reshape(2, 4)
    assert (found[0] % 3).tolist() == (found[1] % 3).tolist()


def test_too_many_are_refused():
    with pytest.raises(ValueError, match=r"at most \d+ hard non-edges in this graph of 30 nodes, and negatives asks"):
        split_links(random_pairs(0.1, 0), NODES, val=0.1, test=0.2, protocol="hard", negatives=60)
    with pytest.raises(ValueError, match="negatives must be at least 1, got 0"):
        split_links(random_pairs(0.1, 0), NODES, protocol="hard", negatives=0)
