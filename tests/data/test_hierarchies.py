"""Hierarchies: cycles, closures, depths and splits, against going along the edges one by one."""

import networkx as nx
import numpy as np
import pytest
import torch

from qgcn.data import depths, find_cycle, split_hierarchy, transitive_closure
from qgcn.data import hierarchies as module
from qgcn.data.hierarchies import implied_pairs, published_split


def random_hierarchy(nodes=60, edges=90, seed=0):
    """Return edges that lead from smaller to larger numbers, then renamed at random."""
    rng = np.random.default_rng(seed)
    pairs = np.unique(np.sort(rng.integers(nodes, size=(edges, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    return torch.from_numpy(rng.permutation(nodes)[pairs].T.copy()), nodes


def pairs_of(tensor):
    return {tuple(pair) for pair in tensor.t().tolist()}


@pytest.mark.parametrize("seed", range(4))
def test_the_closure_has_every_pair_that_a_path_joins(seed):
    edges, nodes = random_hierarchy(seed=seed)
    graph = nx.DiGraph(edges.t().tolist())
    found = transitive_closure(edges, nodes)
    assert pairs_of(found) == set(nx.transitive_closure_dag(graph).edges)
    keys = found[0] * nodes + found[1]
    assert bool((keys[1:] > keys[:-1]).all())
    assert pairs_of(implied_pairs(found, edges, nodes)) == pairs_of(found) - pairs_of(edges)
    assert find_cycle(edges, nodes) == []


def test_a_dense_hierarchy_is_not_too_large_for_its_pairs(monkeypatch):
    every = torch.triu_indices(40, 40, 1)  # many paths join each pair
    monkeypatch.setattr(module, "MOST_PAIRS", every.shape[1])
    assert torch.equal(transitive_closure(every.flip(1), 40), every)


def test_depth_is_that_of_the_longest_path():
    edges = torch.tensor([[0, 1, 0, 3], [1, 2, 2, 2]])
    assert depths(edges, 5).tolist() == [0, 1, 2, 0, 0]


def test_a_cycle_is_found_and_told():
    edges = torch.tensor([[0, 1, 2, 4, 3], [1, 2, 4, 1, 0]])
    cycle = find_cycle(edges, 5)
    assert sorted(cycle) == [1, 2, 4]
    assert all((a, b) in pairs_of(edges) for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True))
    with pytest.raises(ValueError, match=r"the graph has a cycle of 3 nodes, 1 -> 2 -> 4 -> 1: expected a hierarchy"):
        transitive_closure(edges, 5)
    long = torch.stack((torch.arange(9), (torch.arange(9) + 1) % 9))
    with pytest.raises(ValueError, match=r"0 -> 1 -> 2 -> 3 -> \.\.\. -> 0"):
        transitive_closure(long, 9)


@pytest.mark.parametrize(
    ("edges", "told"),
    [([[0], [0]], "a cycle of 1 node, 0 -> 0:"), ([[0, 1, 2], [1, 2, 1]], "a cycle of 2 nodes, 1 -> 2 -> 1:")],
)
def test_whatever_needs_a_hierarchy_refuses_a_cycle(edges, told):
    cyclic = torch.tensor(edges)
    assert find_cycle(cyclic, 3) == sorted(set(edges[0]) & set(edges[1]))
    for asked in (transitive_closure, depths, split_hierarchy):
        with pytest.raises(ValueError, match=told):
            asked(cyclic, 3)


def test_too_large_a_closure_is_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST_PAIRS", 50)
    edges, nodes = random_hierarchy()
    with pytest.raises(ValueError, match="too many pairs: expected at most 50"):
        transitive_closure(edges, nodes)


def test_a_split_holds_out_implied_pairs_with_negatives_that_are_not():
    edges, nodes = random_hierarchy(80, 110)
    closure = pairs_of(transitive_closure(edges, nodes))
    parts = split_hierarchy(edges, nodes, share=0.3, val=0.1, test=0.2, negatives=10, seed=3)
    train, val, test = (pairs_of(parts[name]) for name in ("train", "val", "test"))
    implied = closure - pairs_of(edges)
    assert pairs_of(edges) <= train <= closure
    assert (len(val), len(test)) == (round(0.1 * len(implied)), round(0.2 * len(implied)))
    assert len(train - pairs_of(edges)) == pytest.approx(0.3 * len(implied), abs=1)
    assert not val & test
    assert not (val | test) & train
    for name in ("val", "test"):
        negatives = parts[f"{name}_negative"]
        assert not pairs_of(negatives) & closure
        assert bool((negatives[0] != negatives[1]).all())
        assert negatives.shape[1] == 10 * parts[name].shape[1]
        first, second = (set(parts[name][row].tolist()) for row in (0, 1))
        half = negatives.shape[1] // 2
        assert set(negatives[0, :half].tolist()) <= first
        assert set(negatives[1, half:].tolist()) <= second
    again = split_hierarchy(edges, nodes, share=0.3, val=0.1, test=0.2, negatives=10, seed=3)
    assert all(torch.equal(again[name], parts[name]) for name in parts)


def test_a_root_of_everything_has_fewer_negatives():
    path = torch.stack((torch.arange(9), torch.arange(1, 10)))
    parts = split_hierarchy(path, 10, val=0.4, test=0.4)
    assert 0 < parts["test_negative"].shape[1] <= 10 * parts["test"].shape[1]
    assert bool((parts["test_negative"][0] > parts["test_negative"][1]).all())


def test_a_part_without_negatives_is_refused():
    path = torch.stack((torch.arange(4), torch.arange(1, 5)))  # implies 0 -> 4, which has no negatives, and others
    with pytest.raises(ValueError, match="no negatives were found for the implied pairs held out for test, whose ancestors"):
        split_hierarchy(path, 5, seed=0)
    parts = split_hierarchy(path, 5, seed=1)
    assert min(parts[f"{name}_negative"].shape[1] for name in ("val", "test")) > 0


def test_shares_and_paths_must_be_enough():
    edges, nodes = random_hierarchy()
    with pytest.raises(ValueError, match=r"must be shares of one whole, got 0\.5, 0\.3 and 0\.3"):
        split_hierarchy(edges, nodes, share=0.5, val=0.3, test=0.3)
    with pytest.raises(ValueError, match="implies 0 pairs beyond its edges, too few"):
        split_hierarchy(torch.tensor([[0, 0], [1, 2]]), 3)


def test_published_splits_are_checked():
    pair = np.array([[0, 1]], dtype=np.int32)
    arrays = dict.fromkeys(("train_0percent", "train_25percent", "valid", "valid_neg", "test", "test_neg"), pair)
    parts = published_split(arrays, 0.25, "here")
    assert {name: part.tolist() for name, part in parts.items()} == {key: [[0], [1]] for key in parts}
    with pytest.raises(ValueError, match=r"share must be one of 0\.0, 0\.25 for here, got 0\.1"):
        published_split(arrays, 0.1, "here")
    with pytest.raises(ValueError, match=r"here must hold the array 'test_neg' \(P, 2\)"):
        published_split(arrays | {"test_neg": pair[0]}, 0.0, "here")
