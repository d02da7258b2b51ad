"""Scores of pairs from their neighbours, against NetworkX."""

import networkx as nx
import numpy as np
import pytest

from qgcn.yardsticks import adamic_adar, adjacency, common_neighbours, neighbours, preferential_attachment


def drawn(nodes=40, chance=0.2, seed=3):
    """A graph with an isolated node, and pairs that are no edges."""
    graph = nx.gnp_random_graph(nodes - 1, chance, seed=seed)
    graph.add_node(nodes - 1)
    edges = np.array(graph.edges).T
    return graph, adjacency(np.concatenate((edges, edges[::-1]), axis=1), nodes), np.array(list(nx.non_edges(graph))).T


def expected(method, graph, pairs):
    return [score for _, _, score in method(graph, pairs.T.tolist())]


def test_common_neighbours_are_counted():
    graph, matrix, pairs = drawn()
    counts = [len(list(nx.common_neighbors(graph, *pair))) for pair in pairs.T.tolist()]
    np.testing.assert_array_equal(common_neighbours(matrix, pairs), counts)
    assert max(counts) > 2


def test_adamic_adar_weighs_rare_neighbours_more():
    graph, matrix, pairs = drawn()
    np.testing.assert_allclose(adamic_adar(matrix, pairs), expected(nx.adamic_adar_index, graph, pairs))


def test_preferential_attachment_is_the_product_of_degrees():
    graph, matrix, pairs = drawn()
    np.testing.assert_array_equal(preferential_attachment(matrix, pairs), expected(nx.preferential_attachment, graph, pairs))


@pytest.mark.parametrize("block", [1, 7, 100])
def test_blocks_do_not_change_the_scores(monkeypatch, block):
    _, matrix, pairs = drawn()
    whole = adamic_adar(matrix, pairs)
    monkeypatch.setattr(neighbours, "BLOCK", block)
    np.testing.assert_array_equal(adamic_adar(matrix, pairs), whole)


def test_a_graph_without_edges_and_no_pairs_at_all():
    empty = adjacency(np.zeros((2, 0), dtype=np.int64), 4)
    np.testing.assert_array_equal(common_neighbours(empty, np.array([[0, 1], [2, 3]])), [0, 0])
    _, matrix, _ = drawn()
    assert common_neighbours(matrix, np.zeros((2, 0), dtype=np.int64)).shape == (0,)
