"""Structural terms of links: against their definitions, and rows against pairs."""

import math

import networkx as nx
import pytest
import torch

from qgcn.data import undirected
from qgcn.data.own import as_data
from qgcn.tasks.link_terms import LinkTerms


@pytest.fixture(scope="module")
def graph():
    return nx.karate_club_graph()


@pytest.fixture(scope="module")
def terms(graph):
    return LinkTerms(undirected(as_data(nx.Graph(graph.edges()))).edge_index, graph.number_of_nodes())


def every_pair(n):
    return torch.cartesian_prod(torch.arange(n), torch.arange(n)).T


def test_terms_of_pairs_are_what_they_are_called(graph):
    order = sorted(graph)
    ordered = nx.Graph()
    ordered.add_nodes_from(order)
    ordered.add_edges_from(graph.edges())
    terms = LinkTerms(undirected(as_data(ordered)).edge_index, len(order))
    pairs = [(0, 33), (4, 10), (16, 25), (2, 3)]
    found = dict(zip(LinkTerms.NAMES, terms.of_pairs(torch.tensor(pairs).T).T.tolist(), strict=True))
    adamic = [score for _, _, score in nx.adamic_adar_index(graph, pairs)]
    assert found["constant"] == [1] * 4
    assert found["Adamic-Adar"] == pytest.approx([math.log1p(score) for score in adamic])
    assert found["shared neighbour"] == [float(score > 0) for score in adamic]
    degrees = [math.log1p(graph.degree[a]) + math.log1p(graph.degree[b]) for a, b in pairs]
    assert found["preferential attachment"] == pytest.approx(degrees, rel=1e-6)


def test_terms_of_a_node_with_itself_are_those_of_the_spectrum(terms):
    node = torch.arange(terms.num_nodes)
    angle = terms.of_pairs(torch.stack((node, node)))[:, LinkTerms.NAMES.index("spectral angle")]
    values, vectors = terms.spectrum
    units = vectors / (vectors**2).sum(1, keepdims=True) ** 0.5
    assert angle.tolist() == pytest.approx(((units**2) @ values).tolist(), abs=1e-5)


def test_the_spectral_embedding_has_as_many_eigenvectors_as_chosen(graph):
    edges, n = undirected(as_data(nx.Graph(graph.edges()))).edge_index, graph.number_of_nodes()
    terms = LinkTerms(edges, n, lambda values, vectors: (3, 2))
    values, vectors = terms.spectrum
    product = (vectors[:, :3] * values[:3] ** 2) @ vectors[:, :3].T
    a, b = pairs = every_pair(n)
    found = terms.of_pairs(pairs)[:, LinkTerms.NAMES.index("spectral embedding")]
    scale = abs(product[a, b] / (found.exp() - 1).numpy())[found.numpy() > 0.01]
    assert scale == pytest.approx(float(scale[0]), rel=1e-3)
    linked = abs(product[edges[0], edges[1]])
    assert (linked < scale[0]).mean() == pytest.approx(0.1, abs=0.03)  # a tenth of the links lies below the scale
    assert (found.sign().numpy() == [*map(float, (product[a, b] > 0) * 2 - 1)]).mean() > 0.99


@pytest.mark.parametrize("choice", [None, (5, 2)])
def test_rows_are_the_weighted_terms_of_their_pairs(terms, choice):
    if choice is not None:
        terms = LinkTerms(terms._edges, terms.num_nodes, lambda values, vectors: choice)
    n = terms.num_nodes
    weights = torch.tensor([0.3, -0.5, 2.0, 1.5, 0.7, -1.0, 4.0], dtype=torch.float64)
    expected = (terms.of_pairs(every_pair(n)) @ weights).reshape(n, n)
    torch.testing.assert_close(
        terms.of_rows(torch.tensor([7, 3, 30]), weights).double(), expected[[7, 3, 30]], rtol=1e-4, atol=1e-4
    )
    torch.testing.assert_close(terms.of_rows(torch.arange(n), weights).double(), expected, rtol=1e-4, atol=1e-4)
