"""Eigenvectors of graphs, against dense linear algebra."""

import networkx as nx
import numpy as np
import pytest

from qgcn.yardsticks import (
    adjacency,
    laplacian_eigenmap,
    leading_eigenvectors,
    normalized,
    pair_scores,
    spectral,
    spectral_features,
)


def matrix_of(graph):
    edges = np.array(graph.edges).T
    return adjacency(np.concatenate((edges, edges[::-1]), axis=1), len(graph))


def cliques(count, size):
    return nx.disjoint_union_all([nx.complete_graph(size) for _ in range(count)])


def test_adjacency_holds_edges_and_weights():
    found = adjacency(np.array([[0, 1, 2], [1, 0, 2]]), 3, np.array([2.0, 3.0, 0.5]))
    np.testing.assert_array_equal(found.toarray(), [[0, 2, 0], [3, 0, 0], [0, 0, 0.5]])


def test_normalized_is_the_formula_and_isolated_nodes_stay_zero():
    matrix = matrix_of(nx.star_graph(4))
    degree = np.array([4, 1, 1, 1, 1])
    np.testing.assert_allclose(normalized(matrix).toarray(), matrix.toarray() / np.sqrt(np.outer(degree, degree)), rtol=1e-6)
    looped = (matrix.toarray() + np.eye(5)) / np.sqrt(np.outer(degree + 1, degree + 1))
    np.testing.assert_allclose(normalized(matrix, loops=True).toarray(), looped, rtol=1e-6)
    alone = adjacency(np.array([[0, 1], [1, 0]]), 3)
    np.testing.assert_array_equal(normalized(alone).toarray()[2], 0)


@pytest.mark.parametrize("which", ["largest", "magnitude"])
@pytest.mark.parametrize("nodes", [60, spectral.SMALL + 50])  # all at once, and by iteration
def test_leading_eigenvectors_are_those_of_dense_algebra(nodes, which):
    matrix = matrix_of(nx.powerlaw_cluster_graph(nodes, 4, 0.5, seed=1))
    values, vectors = leading_eigenvectors(matrix, 5, which)
    every = np.linalg.eigvalsh(matrix.toarray())
    best = every[np.argsort(-(every if which == "largest" else np.abs(every)))][:5]
    np.testing.assert_allclose(values, best, rtol=2 * spectral.TOLERANCE)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=0.1)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-4)
    np.testing.assert_array_equal(leading_eigenvectors(matrix, 5, which)[1], vectors)


def test_what_has_not_converged_is_left_out(monkeypatch):
    matrix = normalized(matrix_of(nx.cycle_graph(3000)))  # eigenvalues that lie closer together than anything
    monkeypatch.setattr(spectral, "NODES_VISITED", 0)
    monkeypatch.setattr(spectral, "TOLERANCE", 0.00001)
    values, vectors = leading_eigenvectors(matrix, 64)
    assert 1 <= len(values) < 64
    assert vectors.shape == (3000, len(values))


def test_more_eigenvectors_than_nodes_are_not_there():
    values, vectors = leading_eigenvectors(matrix_of(nx.path_graph(3)), 64)
    np.testing.assert_allclose(values, [2**0.5, 0, -(2**0.5)], atol=1e-6)
    assert vectors.shape == (3, 3)


def test_pair_scores_of_all_eigenvectors_are_powers_of_the_matrix():
    matrix = matrix_of(nx.path_graph(6))
    values, vectors = leading_eigenvectors(matrix, 6)
    pairs = np.stack(np.triu_indices(6, 1))
    for power in (1, 2):
        whole = np.linalg.matrix_power(matrix.toarray(), power)
        np.testing.assert_allclose(pair_scores(values, vectors, pairs, power), whole[pairs[0], pairs[1]], atol=1e-5)


def test_laplacian_eigenmap_puts_a_clique_into_one_place():
    points = laplacian_eigenmap(matrix_of(cliques(3, 5)), 2)
    assert points.shape == (15, 2)
    groups = points.reshape(3, 5, 2)
    within = np.ptp(groups, axis=1).max()
    between = min(np.abs(groups[a, 0] - groups[b, 0]).max() for a, b in ((0, 1), (0, 2), (1, 2)))
    assert within < 1e-5 < 0.1 < between


def test_laplacian_eigenmap_is_the_formula_with_a_tenth_of_the_largest_gap_added():
    matrix = matrix_of(nx.path_graph(7))  # no eigenvalue twice
    degree = matrix.toarray().sum(1)
    values, vectors = np.linalg.eigh(matrix.toarray() / np.sqrt(np.outer(degree, degree)))
    gap = 1 - values[::-1][1:4]
    expected = vectors[:, ::-1][:, 1:4] / np.sqrt(gap + 0.1 * gap.max()) / np.sqrt(degree)[:, None]
    np.testing.assert_allclose(np.abs(laplacian_eigenmap(matrix, 3)), np.abs(expected), atol=1e-5)


def test_spectral_features_tell_degree_and_place():
    features = spectral_features(matrix_of(nx.star_graph(6)), 3)
    assert features.shape == (7, 4)
    np.testing.assert_allclose(features[:, -1], np.log([7, 2, 2, 2, 2, 2, 2]))
