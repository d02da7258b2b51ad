"""Layouts of features and graphs, each made once."""

import pytest
import torch
from torch_geometric.data import Data

from qgcn.nn import SparseMatrix
from qgcn.tasks.inputs import Inputs, check_one_way, check_part


def test_layouts_are_made_once_and_as_asked_for():
    edges = torch.tensor([[0, 1], [1, 0]])
    inputs = Inputs(edges, None, torch.eye(8)[:, :6], 8)
    cpu = torch.device("cpu")
    sparse = inputs.features(True, cpu, torch.float64)
    assert isinstance(sparse, SparseMatrix)
    assert sparse.dtype == torch.float64
    assert inputs.features(True, cpu, torch.float64) is sparse
    assert torch.equal(inputs.features(False, cpu, torch.float32), torch.eye(8)[:, :6])
    plain, looped = (inputs.graph(loops, "sum", cpu, torch.float32) for loops in (False, True))
    assert plain.matrix.to_dense().trace() == 0
    assert looped.matrix.to_dense().trace() == 8
    assert inputs.graph(True, "sum", cpu, torch.float32) is looped


def test_a_part_of_a_split_has_its_name_type_and_shape():
    split = {"val_mask": torch.ones(3, dtype=torch.bool), "start": torch.zeros(3, 2)}
    check_part(split, "val_mask", torch.bool, (3,))
    check_part(split, "start", torch.float32, (3, None))
    with pytest.raises(ValueError, match=r"^the split has no test_mask, expected bool in \(3\)$"):
        check_part(split, "test_mask", torch.bool, (3,))
    with pytest.raises(ValueError, match=r"^the split has bool in \(3,\) for val_mask, expected bool in \(4\)$"):
        check_part(split, "val_mask", torch.bool, (4,))
    with pytest.raises(ValueError, match=r"^the split has float32 in \(3, 2\) for start, expected bool in \(3, \*\)$"):
        check_part(split, "start", torch.bool, (3, None))


def test_edges_are_turned_as_asked_for():
    inputs = Inputs(torch.tensor([[0, 1, 0], [1, 0, 2]]), torch.ones(3), torch.eye(3), 3)
    assert inputs.turned("forward") is inputs
    assert inputs.turned("backward").edges.tolist() == [[1, 0, 2], [0, 1, 0]]
    both = inputs.turned("both")
    assert both.edges.tolist() == [[0, 0, 1, 2], [1, 2, 0, 0]]
    assert both.weights is None
    assert both.oriented is inputs is inputs.oriented
    assert inputs.turned("both") is both


def test_a_graph_whose_edges_all_lead_both_ways_is_refused():
    edges = torch.tensor([[0, 1], [1, 2]])
    both = torch.cat((edges, edges.flip(0)), dim=1)
    check_one_way(Data(edge_index=edges, num_nodes=3), "do something else")
    check_one_way(Data(edge_index=both[:, 1:], num_nodes=3), "do something else")
    with pytest.raises(ValueError, match=r"^the graph is undirected, .*: expected edges that lead one way; do something else$"):
        check_one_way(Data(edge_index=both, num_nodes=3), "do something else")
