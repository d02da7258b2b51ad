"""Edges and weights under an aggregation."""

import pytest
import torch

from qgcn.nn.weighted_edges import WeightedEdges

EDGES, WEIGHTS = torch.tensor([[0, 1, 2, 2], [1, 0, 2, 0]]), torch.tensor([2.0, 3.0, 5.0, 7.0])


@pytest.mark.parametrize("loops", [False, True])
def test_weights_are_by_target_and_loops_keep_theirs(loops):
    dense = WeightedEdges(EDGES, WEIGHTS, 3, "sum", loops).weights.to_dense()
    expected = torch.tensor([[0.0, 3, 7], [2, 0, 0], [0, 0, 5]]).double()
    assert torch.equal(dense, expected + torch.diag(torch.tensor([1.0, 1, 0]).double()) * loops)


def test_means_add_up_to_one_in_each_row():
    edges = WeightedEdges(EDGES, WEIGHTS, 3, "mean", True)
    rows = edges.weights.with_values(edges.normalized(edges.weights.values)).to_dense().sum(1)
    torch.testing.assert_close(rows, torch.ones(3).double())
