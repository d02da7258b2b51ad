import math

import networkx as nx
import pytest
import torch

from qgcn.data import (
    cycle,
    grid,
    ring_of_trees,
    sphere_graph,
    sphere_with_trees,
    spreading_graph,
    spreading_tree,
    stochastic_block,
    torus_graph,
    torus_with_trees,
    tree,
    tree_with_cycles,
)
from qgcn.data.catalogue import GENERATORS

ALL = list(GENERATORS.values())
RANDOM = [sphere_graph, sphere_with_trees, spreading_graph, spreading_tree, stochastic_block, torus_graph, tree_with_cycles]


def edges_of(made):
    return made[0] if isinstance(made, tuple) else made


def networkx_of(edge_index):
    return nx.Graph(edge_index.T.tolist())


@pytest.mark.parametrize("generator", ALL)
def test_each_edge_stands_once_in_each_direction(generator):
    edges = edges_of(generator())
    assert edges.dtype == torch.int64
    pairs = [tuple(edge) for edge in edges.T.tolist()]
    assert len(set(pairs)) == len(pairs) > 0
    assert {(j, i) for i, j in pairs} == set(pairs)
    assert all(i != j for i, j in pairs)


@pytest.mark.parametrize("generator", RANDOM)
def test_seed_fixes_the_graph(generator):
    assert torch.equal(edges_of(generator(seed=3)), edges_of(generator(seed=3)))
    other = edges_of(generator(seed=4))
    assert other.shape != edges_of(generator(seed=3)).shape or not torch.equal(edges_of(generator(seed=3)), other)


def test_ring_of_trees_is_a_cycle_with_a_tree_on_each_node():
    edges = ring_of_trees(ring=5, branching=3, depth=2)
    nodes = 5 * (1 + 3 + 9)
    assert int(edges.max()) == nodes - 1
    assert edges.shape == (2, 2 * nodes)  # a tree on each node, and one edge more to close the ring
    degree = torch.bincount(edges[0])
    assert (degree[:5] == 2 + 3).all()
    assert (degree[5:20] == 1 + 3).all()
    assert (degree[20:] == 1).all()
    assert nx.is_connected(networkx_of(edges))


def test_ring_of_trees_without_depth_is_the_bare_ring():
    assert ring_of_trees(ring=4, depth=0).tolist() == [[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]]


@pytest.mark.parametrize(("branching", "depth"), [(1, 4), (2, 1), (3, 3)])
def test_tree_agrees_with_networkx(branching, depth):
    expected = {frozenset(edge) for edge in nx.balanced_tree(branching, depth).edges}
    assert {frozenset(edge) for edge in networkx_of(tree(branching, depth)).edges} == expected


@pytest.mark.parametrize("periodic", [False, True])
def test_grid_agrees_with_networkx(periodic):
    expected = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 5, periodic=periodic), ordering="sorted")
    assert {frozenset(edge) for edge in networkx_of(grid(4, 5, periodic)).edges} == {frozenset(edge) for edge in expected.edges}


def test_cycle_agrees_with_networkx():
    assert {frozenset(edge) for edge in networkx_of(cycle(7)).edges} == {frozenset(edge) for edge in nx.cycle_graph(7).edges}


def test_sphere_with_trees_is_the_sphere_with_a_tree_on_each_node():
    edges = sphere_with_trees(30, 0.9, branching=3, depth=2, seed=4)
    on_sphere = (edges < 30).all(0)
    assert torch.equal(edges[:, on_sphere], sphere_graph(30, 0.9, seed=4))
    hung = edges[:, ~on_sphere]
    parents = hung[:, hung[0] < hung[1]]
    assert parents.shape[1] == 30 * (3 + 9)
    assert int(edges.max()) == 30 * 13 - 1
    assert torch.equal(torch.bincount(parents[0]), torch.full((30 + 90,), 3))
    assert torch.equal(torch.bincount(parents[1], minlength=390)[30:], torch.ones(360, dtype=torch.long))


def test_torus_with_trees_has_a_tree_on_each_node_of_the_torus():
    edges = torus_with_trees(3, 4, branching=2, depth=2)
    graph = networkx_of(edges)
    assert len(graph) == 12 * 7
    assert nx.is_connected(graph)
    assert {frozenset(edge) for edge in graph.subgraph(range(12)).edges} == {
        frozenset(edge) for edge in networkx_of(grid(3, 4, periodic=True)).edges
    }
    graph.remove_edges_from(list(graph.subgraph(range(12)).edges))
    assert nx.is_forest(graph)
    assert {len(part) for part in nx.connected_components(graph)} == {7}


def test_tree_with_cycles_adds_as_many_cycles_as_asked():
    graph = networkx_of(tree_with_cycles(2, 4, extra=9, seed=1))
    assert len(nx.cycle_basis(graph)) == 9
    assert {frozenset(edge) for edge in networkx_of(tree(2, 4)).edges} <= {frozenset(edge) for edge in graph.edges}
    everything = tree_with_cycles(2, 2, extra=15)
    assert everything.shape == (2, 7 * 6)


def test_stochastic_block_keeps_its_probabilities():
    edges, labels = stochastic_block([150, 100, 50], within=0.3, between=0.05, seed=2)
    assert torch.bincount(labels).tolist() == [150, 100, 50]
    same = labels[edges[0]] == labels[edges[1]]
    inside = (150 * 149 + 100 * 99 + 50 * 49) / 2
    between = 150 * 100 + 150 * 50 + 100 * 50
    assert int(same.sum()) / 2 == pytest.approx(0.3 * inside, rel=0.05)
    assert int((~same).sum()) / 2 == pytest.approx(0.05 * between, rel=0.1)


def test_stochastic_block_at_the_extremes_of_probability():
    edges, labels = stochastic_block([3, 1, 2], within=1.0, between=0.0)
    assert {frozenset(edge) for edge in edges.T.tolist()} == {frozenset(pair) for pair in [(0, 1), (0, 2), (1, 2), (4, 5)]}
    assert labels.tolist() == [0, 0, 0, 1, 2, 2]
    assert stochastic_block([2, 3], within=0.0, between=1.0)[0].shape == (2, 12)


def test_sphere_graph_joins_all_within_half_a_turn_and_the_right_share_below():
    assert sphere_graph(20, math.pi).shape == (2, 20 * 19)
    # a cap of angle r covers (1 - cos r) / 2 of the sphere
    for radius in (0.5, 2.0):
        edges = sphere_graph(1000, radius, seed=1)
        assert edges.shape[1] / (1000 * 999) == pytest.approx((1 - math.cos(radius)) / 2, rel=0.05)


def test_torus_graph_wraps_around():
    # a disc of radius r covers pi r^2 of the torus everywhere: there is no border that would lose some
    edges = torus_graph(1500, 0.2, seed=1)
    assert edges.shape[1] / (1500 * 1499) == pytest.approx(math.pi * 0.2**2, rel=0.03)


@pytest.mark.parametrize(
    ("generator", "options", "message"),
    [
        (ring_of_trees, {"ring": 2}, "ring must be at least 3, got 2"),
        (ring_of_trees, {"branching": 0}, "branching must be at least 1"),
        (ring_of_trees, {"depth": -1}, "depth must not be negative"),
        (tree, {"depth": 0}, "depth must be at least 1"),
        (tree, {"branching": 0}, "branching must be"),
        (cycle, {"nodes": 2}, "nodes must be at least 3"),
        (grid, {"rows": 2, "periodic": True}, "rows must be at least 3"),
        (grid, {"rows": 1, "columns": 1}, "at least 2 nodes, got 1 x 1"),
        (torus_with_trees, {"columns": 2}, "columns must"),
        (sphere_with_trees, {"depth": -1}, "depth must"),
        (tree_with_cycles, {"extra": -1}, "extra must not be negative"),
        (tree_with_cycles, {"branching": 2, "depth": 2, "extra": 16}, "extra must be at most 15 for a tree of 7 nodes, got 16"),
        (stochastic_block, {"sizes": []}, "sizes must"),
        (stochastic_block, {"sizes": [3, 0]}, "size must be at least 1, got 0"),
        (stochastic_block, {"within": 1.5}, "within must be a probability, got 1.5"),
        (sphere_graph, {"radius": 4.0}, r"radius must be in \(0, pi\], got 4.0"),
        (torus_graph, {"radius": 0.5}, r"radius must be in \(0, 0.5\), got 0.5"),
        (torus_graph, {"nodes": 1}, "nodes must be at least 2"),
    ],
)
def test_impossible_shapes_are_refused(generator, options, message):
    with pytest.raises(ValueError, match=message):
        generator(**options)
