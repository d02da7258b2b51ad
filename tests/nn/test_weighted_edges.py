"""Weights of edges, and their normalisation by direction."""

import pytest
import torch

from qgcn.nn import AGGREGATIONS, Adjacency
from qgcn.nn.weighted_edges import WeightedEdges

EDGES = torch.tensor([[0, 0, 0, 1, 3], [1, 2, 3, 2, 0]])


def dense(loops):
    matrix = torch.zeros(4, 4, dtype=torch.float64)
    matrix[EDGES[1], EDGES[0]] = torch.tensor([1.0, 2.0, 1.0, 3.0, 1.0], dtype=torch.float64)
    return matrix + torch.eye(4) if loops else matrix


@pytest.mark.parametrize("loops", [True, False])
def test_each_end_of_an_edge_is_divided_by_its_own_degree(loops):
    weight = torch.tensor([1.0, 2.0, 1.0, 3.0, 1.0])
    matrix = dense(loops)
    into, out_of = (torch.where(matrix.sum(axis) > 0, matrix.sum(axis), 1.0) for axis in (1, 0))
    expected = {
        "sum": (matrix, matrix.T),
        "mean": (matrix / into[:, None], (matrix / out_of).T),
        "sym": (matrix / (into[:, None] * out_of).sqrt(), (matrix / (into[:, None] * out_of).sqrt()).T),
    }
    for aggregation in AGGREGATIONS:
        graph = Adjacency.of(EDGES, 4, weight, aggregation=aggregation, self_loops=loops)
        for found, wanted in zip(graph.arrows, expected[aggregation], strict=True):
            torch.testing.assert_close(found.to_dense(), wanted.float())


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_with_both_directions_arrows_are_the_matrix(aggregation):
    graph = Adjacency.of(torch.cat((EDGES[:, :4], EDGES[:, :4].flip(0)), dim=1), 4, aggregation=aggregation)
    for each in graph.arrows:
        torch.testing.assert_close(each.to_dense(), graph.to_dense())


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_arrows_of_what_is_left_are_those_of_a_smaller_graph(aggregation):
    graph = Adjacency.of(EDGES, 4, aggregation=aggregation)
    kept = graph.decide(0.5, torch.Generator().manual_seed(3))
    left = graph.keeping(kept)
    assert 0 < left.edge_index.shape[1] < 5
    smaller = Adjacency.of(left.edge_index, 4, aggregation=aggregation)
    for found, wanted in zip(left.arrows, smaller.arrows, strict=True):
        torch.testing.assert_close(found.to_dense(), wanted.to_dense())


def test_edges_that_are_there_stay_where_they_are():
    edges = WeightedEdges(EDGES, None, 4, "sym", True)
    assert edges.to(torch.device("cpu")) is edges


FEW, WEIGHTS = torch.tensor([[0, 1, 2, 2], [1, 0, 2, 0]]), torch.tensor([2.0, 3.0, 5.0, 7.0])


@pytest.mark.parametrize("loops", [False, True])
def test_weights_are_by_target_and_loops_keep_theirs(loops):
    dense = WeightedEdges(FEW, WEIGHTS, 3, "sum", loops).weights.to_dense()
    expected = torch.tensor([[0.0, 3, 7], [2, 0, 0], [0, 0, 5]]).double()
    assert torch.equal(dense, expected + torch.diag(torch.tensor([1.0, 1, 0]).double()) * loops)


def test_means_add_up_to_one_in_each_row():
    edges = WeightedEdges(FEW, WEIGHTS, 3, "mean", True)
    rows = edges.weights.with_values(edges.normalized(edges.weights.values)).to_dense().sum(1)
    torch.testing.assert_close(rows, torch.ones(3).double())
