"""Contagions: who can catch one, what is observed of it, and the graphs it spreads on."""

import networkx as nx
import pytest
import torch

from qgcn.data import load, spreading_graph, spreading_tree

BOTH = [spreading_tree, spreading_graph]


def networkx_of(edges, nodes):
    graph = nx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(edges.T.tolist())
    return graph


def test_the_tree_is_one_with_parents_first():
    edges, _, _ = spreading_tree(nodes=300, branching=1.7, seed=2)
    assert nx.is_tree(networkx_of(edges, 300))
    parent, child = edges[:, :299]
    assert (parent < child).all()
    assert child.tolist() == list(range(1, 300))
    assert nx.is_isomorphic(networkx_of(spreading_tree(nodes=9, branching=1)[0], 9), nx.path_graph(9))


def test_the_graph_is_a_ring_of_near_nodes_of_which_some_edges_are_replaced():
    edges, _, _ = spreading_graph(nodes=200, neighbours=6, rewired=0.0)
    assert edges.shape == (2, 2 * 600)
    around = (edges[0] - edges[1]).abs()
    assert torch.minimum(around, 200 - around).max() == 3
    mixed = spreading_graph(nodes=200, neighbours=6, rewired=0.3, seed=1)[0]
    assert mixed.shape == (2, 2 * 600)
    far = (mixed[0] - mixed[1]).abs()
    assert (torch.minimum(far, 200 - far) > 3).double().mean() == pytest.approx(0.3, abs=0.06)


@pytest.mark.parametrize("generator", BOTH)
def test_a_contagion_reaches_those_joined_to_where_it_starts(generator):
    edges, y, _ = generator(nodes=500, seed=1)
    graph = networkx_of(edges, 500).subgraph((y == 1).nonzero().flatten().tolist())
    assert 10 < len(graph) < 500
    assert nx.number_connected_components(graph) <= 10  # one in fifty nodes has it from the start
    assert int(generator(nodes=500, infectivity=0.0)[1].sum()) == 10


def test_a_strain_that_is_always_caught_reaches_everyone(monkeypatch):
    monkeypatch.setattr("qgcn.data.spreading.SUSCEPTIBLE", (10.0**6, 1.0))
    assert (spreading_tree(nodes=200)[1] == 1).all()


@pytest.mark.parametrize("generator", BOTH)
def test_exposure_is_what_a_node_and_its_neighbours_caught(generator):
    edges, y, x = generator(nodes=400, features=5, noise=0.0, seed=3)
    assert (x.shape, x.dtype, y.dtype) == ((400, 5), torch.float32, torch.int64)
    torch.testing.assert_close(x.mean(0), torch.zeros(5), atol=1e-5, rtol=0)
    torch.testing.assert_close(x.std(0, correction=0), torch.ones(5), atol=1e-5, rtol=0)
    near = y.clone().index_add_(0, edges[0], y[edges[1]]) > 0
    none = x[:, 1].min()
    assert (x[~near, 1] == none).all()
    assert (x[near, 1] > none).all()


@pytest.mark.parametrize("generator", BOTH)
def test_noise_is_added_to_what_is_observed_and_changes_nothing_else(generator):
    quiet, loud = (generator(nodes=400, noise=noise, seed=5) for noise in (0.0, 0.3))
    assert torch.equal(quiet[0], loud[0])
    assert torch.equal(quiet[1], loud[1])
    assert float((loud[2] - quiet[2]).std()) == pytest.approx(0.3, rel=0.05)


@pytest.mark.parametrize("generator", BOTH)
def test_the_seed_fixes_everything(generator):
    first, again, other = (generator(nodes=100, seed=seed) for seed in (3, 3, 4))
    assert all(map(torch.equal, first, again))
    assert not torch.equal(first[2], other[2])


@pytest.mark.parametrize("name", ["spreading-tree", "spreading-graph"])
def test_they_are_data_sets_with_features_labels_and_a_split(name):
    data = load(name, nodes=120, features=4, split_seed=1)
    assert data.x.shape == (120, 4)
    assert torch.equal(data.train_mask.long() + data.val_mask + data.test_mask, torch.ones(120, dtype=torch.long))
    assert set(data.y.tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("generator", "options", "message"),
    [
        (spreading_tree, {"nodes": 1}, "nodes must be at least 2, got 1"),
        (spreading_tree, {"branching": 0.5}, "branching must be at least 1, got 0.5"),
        (spreading_tree, {"features": 1}, "features must be at least 2, got 1"),
        (spreading_tree, {"noise": -1.0}, "noise must not be negative, got -1.0"),
        (spreading_tree, {"infectivity": 2.0}, "infectivity must be a probability, got 2.0"),
        (spreading_graph, {"neighbours": 3}, "neighbours must be even and less than nodes, got 3 and 1500 nodes"),
        (spreading_graph, {"nodes": 4}, "neighbours must be even and less than nodes, got 4 and 4 nodes"),
        (spreading_graph, {"rewired": 1.5}, "rewired must be a probability, got 1.5"),
    ],
)
def test_impossible_ones_are_refused(generator, options, message):
    with pytest.raises(ValueError, match=message):
        generator(**options)
