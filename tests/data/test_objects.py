"""Graphs in memory: what each kind of object says of edges, direction, weights and names."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from graphs import TRIANGLE, ordered, pairs, weights
from qgcn.data import read_graph


@pytest.mark.parametrize(
    "graph",
    [
        torch.tensor([[0, 1, 2], [1, 2, 0]]),
        np.array([[0, 1, 2], [1, 2, 0]], dtype=np.int32),
        Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), num_nodes=3),
        sp.csr_matrix(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])),
        sp.coo_array(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=bool)),
        nx.cycle_graph(3),
        nx.DiGraph([(0, 1), (1, 2), (2, 0)]),
        nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 0)]),
    ],
    ids=lambda graph: f"{type(graph).__module__.split('.')[0]}-{type(graph).__name__}",
)
def test_every_kind_of_object_is_read(graph):
    data = read_graph(graph)
    assert pairs(data) == TRIANGLE
    assert data.directed == (type(graph) not in (nx.Graph, nx.MultiGraph))
    if data.directed:
        assert ordered(data) == {(0, 1), (1, 2), (2, 0)}
    assert data.num_nodes == 3
    assert data.x is None
    assert data.y is None
    assert "edge_weight" not in data


def test_weights_of_a_matrix_and_of_networkx():
    matrix = sp.csr_matrix(np.array([[0, 2.5, 0], [2.5, 0, 1], [0, 1, 0]]))
    assert weights(read_graph(matrix)) == {frozenset((0, 1)): 2.5, frozenset((1, 2)): 1.0}
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=3)
    graph.add_edge("b", "c")
    graph.add_edge("c", "c", weight=9)
    graph.add_node("d")
    data = read_graph(graph)
    assert weights(data) == {frozenset("ab"): 3.0, frozenset("bc"): 1.0}
    assert data.node_ids.tolist() == ["a", "b", "c", "d"]
    assert data.remarks == ["1 self-loop removed", "1 isolated node kept"]


def test_data_keeps_what_it_has():
    y, mask = torch.tensor([5, 5, 9, -1]), torch.tensor([True, False, False, False])
    graph = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), x=torch.eye(4), y=y, train_mask=mask, val_mask=mask, test_mask=mask)
    data = read_graph(graph)
    assert torch.equal(data.x, torch.eye(4))
    assert data.y.tolist() == [0, 0, 1, -1]
    assert data.classes == ["5", "9"]
    data.classes = ["low", "high"]
    assert read_graph(data).classes == ["low", "high"]
    assert torch.equal(data.val_mask, mask)
    assert "1 node without label, in no mask" in data.remarks
    assert graph.edge_index.shape == (2, 2)  # the argument stays as it was


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (torch.tensor([[0.0], [1.0]]), r"edge_index must hold integers in shape \(2, E\), got float32 in \(2, 1\)"),
        (torch.empty((2, 0), dtype=torch.long), "has no edges"),
        (torch.tensor([[0], [1 << 40]]), "at most 2147483648 are possible"),
        (sp.csr_matrix((2, 3)), r"an adjacency matrix must be square, got \(2, 3\)"),
        (sp.csr_matrix(np.array([[0, -1.0], [0, 0]])), "a weight must be finite and not negative, got -1.0 between 0 and 1"),
        (sp.csr_matrix(np.array([[0, np.nan], [0, 0]])), "got nan between 0 and 1"),
        (sp.csr_matrix(np.array([[0, 1j], [0, 0]])), "must hold real numbers, got complex128"),
        (sp.csr_matrix((3, 3)), "has no edges"),
        (nx.Graph(), "has no nodes"),
        (nx.Graph([(1, 2), ("1", 3)]), "node ids are not unique: '1' names 2 nodes"),
        (nx.Graph([(1, 2, {"weight": "heavy"})]), "the edge attribute 'weight' of graph must be a number"),
        (Data(x=torch.eye(2)), "the Data has no edge_index"),
        (Data(edge_index=torch.tensor([[0], [5]]), num_nodes=3), r"must lie in \[0, 3\), got 5"),
    ],
)
def test_bad_objects_are_refused(graph, message):
    with pytest.raises(ValueError, match=message):
        read_graph(graph)


def test_other_objects_are_a_type_error():
    with pytest.raises(TypeError, match=r"graph must be a Data, .* got builtins\.dict"):
        read_graph({0: [1]})
