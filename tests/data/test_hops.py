"""Distances from many nodes at once, components and blocks, against SciPy and NetworkX."""

import networkx as nx
import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path

from qgcn.data import cycle, grid, hops, tree
from qgcn.data.hops import Shape


@pytest.mark.parametrize(
    "graph",
    [tree(3, 4), cycle(7), grid(5, 9), nx.barabasi_albert_graph(700, 3, seed=0), nx.path_graph(300), nx.path_graph(2)],
    ids=["tree", "cycle", "grid", "hubs", "long path", "edge"],
)
def test_hops_are_the_shortest_paths(graph):
    component = Shape.of(graph).components[0]
    expected = shortest_path(component.matrix(), unweighted=True)
    np.testing.assert_array_equal(component.hops(), expected)
    some = np.array([component.size - 1, 0])
    np.testing.assert_array_equal(component.hops(some), expected[some])
    np.testing.assert_array_equal(component.hops(some, ends=some[:1]), expected[some][:, some[:1]])


def test_hops_of_a_path_longer_than_a_byte(monkeypatch):
    component = Shape.of(nx.path_graph(300)).components[0]
    far = component.hops()
    monkeypatch.setattr(hops, "_DEEPEST", 1000)  # the search level by level, which is slower there, finds the same
    np.testing.assert_array_equal(component.hops(), far)
    some = np.array([5, 0, 299])
    for size in (1, 1 << 16):  # a few nodes at a time, or all of them
        monkeypatch.setattr(hops, "_UNPACKED", size)
        np.testing.assert_array_equal(component.hops(some), far[some])
        np.testing.assert_array_equal(component.hops(some, ends=some), far[some][:, some])
    monkeypatch.setattr(hops, "_DEEPEST", 1)
    for size in (1, 1 << 25):
        monkeypatch.setattr(hops, "_FAR", size)
        np.testing.assert_array_equal(component.hops(some), far[some])
        np.testing.assert_array_equal(component.hops(some, ends=some), far[some][:, some])
    assert far.max() == 299


def test_levels_hold_each_source_once():
    component = Shape.of(grid(6, 6)).components[0]
    total = np.zeros((36, 1), dtype=np.uint64)
    for _, fresh in component.levels(np.arange(36)):
        assert not (total & fresh).any()
        total |= fresh
    others = (np.uint64(1) << np.uint64(36)) - np.uint64(1) - (np.uint64(1) << np.arange(36, dtype=np.uint64))
    np.testing.assert_array_equal(total[:, 0], others)


def test_progress_counts_to_the_end():
    heard = []
    Shape.of(nx.path_graph(1200)).components[0].hops(np.arange(1200), lambda *told: heard.append(told), "search")
    assert heard == [("search", 512, 1200), ("search", 1024, 1200), ("search", 1200, 1200)]


def test_components_keep_the_numbers_of_the_graph():
    graph = nx.disjoint_union_all([nx.path_graph(2), nx.cycle_graph(5), nx.empty_graph(1), nx.path_graph(3)])
    shape = Shape.of(graph)
    assert [component.size for component in shape.components] == [5, 3, 2]
    assert [component.nodes.tolist() for component in shape.components] == [[2, 3, 4, 5, 6], [8, 9, 10], [0, 1]]
    assert (shape.num_nodes, shape.num_edges, shape.isolated) == (11, 8, 1)
    assert shape.remarks[-1] == "4 components, the largest with 5 of 11 nodes: distances are within components"
    for component in shape.components:
        for node, name in enumerate(component.nodes):
            around = component.neighbours[component.start[node] : component.start[node + 1]]
            assert set(component.nodes[around]) == set(graph[name])


def test_blocks_are_the_biconnected_components():
    graph = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 4), (8, 9)])
    blocks = Shape.of(graph).components[0].blocks()
    assert [sorted(block.nodes.tolist()) for block in blocks] == [[4, 5, 6, 7, 8], [0, 1, 2, 3]]
    assert [block.num_edges for block in blocks] == [5, 4]
    assert blocks[1].hops().max() == 2


def test_direction_and_weights_are_left_out_and_said_so():
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 5.0), (1, 2, 0.5), (2, 3, 1.0)])
    shape = Shape.of(graph)
    assert shape.components[0].hops()[0].tolist() == [0, 1, 2, 3]
    assert "weights are not used: distances count edges" in shape.remarks
    assert any("one direction" in remark for remark in shape.remarks)


def test_shape_of_a_shape_is_itself():
    shape = Shape.of(cycle(5))
    assert Shape.of(shape) is shape
