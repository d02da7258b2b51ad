"""Graphs in memory: what each kind of object says of edges, direction, weights and names."""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from graphs import TRIANGLE, ordered, pairs, weights
from qgcn.data import read_graph

CYCLE = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
"""Adjacency of the directed triangle."""


def csr(matrix, dtype=torch.float32):
    """Build a compressed tensor, of which PyTorch warns once that it is new."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.tensor(matrix, dtype=dtype).to_sparse_csr()


def csc(matrix):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.tensor(matrix).double().to_sparse_csc()


@pytest.mark.parametrize(
    "graph",
    [
        torch.tensor([[0, 1, 2], [1, 2, 0]]),
        np.array([[0, 1, 2], [1, 2, 0]], dtype=np.int32),
        Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), num_nodes=3),
        sp.csr_matrix(CYCLE),
        sp.coo_array(CYCLE.astype(bool)),
        CYCLE,
        CYCLE.astype(bool),
        CYCLE.astype(np.float32),
        CYCLE.tolist(),
        torch.tensor(CYCLE),
        torch.tensor(CYCLE).to_sparse(),
        csr(CYCLE, torch.float16),
        csc(CYCLE),
        np.array([[0, 1], [1, 2], [2, 0]]),
        torch.tensor([[0, 1], [1, 2], [2, 0]]),
        [[0, 1], [1, 2], [2, 0]],
        [[0, 1, 2], [1, 2, 0]],
        [(0, 1), (1, 2), (2, 0)],
        ((0, 1), (1, 2), (2, 0)),
        np.nonzero(CYCLE),
        pd.DataFrame({"a": [0, 1, 2], "b": [1, 2, 0]}),
        Data(adj_t=torch.tensor(CYCLE.T).to_sparse(), num_nodes=3),
        Data(adj_t=csr(CYCLE.T)),
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


def test_weights_of_dense_and_sparse_matrices_in_every_form():
    matrix = np.array([[0, 2.5, 0], [0, 0, 1], [0.5, 0, 0]])
    expected = {frozenset((0, 1)): 2.5, frozenset((1, 2)): 1.0, frozenset((0, 2)): 0.5}
    forms = [matrix, matrix.tolist(), torch.tensor(matrix), torch.tensor(matrix).to_sparse(), csr(matrix)]
    for form in [*forms, Data(adj_t=csr(matrix.T))]:
        data = read_graph(form)
        assert weights(data) == expected
        assert ordered(data) == {(0, 1), (1, 2), (2, 0)}
    doubled = torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2))
    assert read_graph(doubled).edge_weight.tolist() == [3.0]  # an entry given twice is the sum, as PyTorch has it


def test_two_by_two_integers_are_an_edge_index_and_other_numbers_a_matrix():
    assert ordered(read_graph(np.array([[0, 5], [1, 2]]))) == {(0, 1), (5, 2)}
    assert ordered(read_graph([[0, 5], [1, 2]])) == {(0, 1), (5, 2)}
    assert ordered(read_graph([(0, 5), (1, 2)])) == {(0, 5), (1, 2)}  # tuples are pairs
    assert read_graph(np.array([[0.0, 5.0], [1.0, 0.0]])).edge_weight.tolist() == [5.0, 1.0]
    assert ordered(read_graph(np.array([[False, True], [False, False]]))) == {(0, 1)}


@pytest.mark.parametrize(
    "listed",
    [
        [("a", "b"), ("b", "c")],
        [["a", "b"], ["b", "c"]],
        np.array([["a", "b"], ["b", "c"]]),
        np.array([["a", "b"], ["b", "c"]], dtype=object),
    ],
    ids=lambda listed: type(listed).__name__,
)
def test_pairs_of_names(listed):
    data = read_graph(listed)
    assert ordered(data) == {("a", "b"), ("b", "c")}
    assert data.remarks == []


def test_the_first_of_a_list_of_pairs_is_never_a_header():
    assert ordered(read_graph([("source", "target"), ("a", "b")])) == {("source", "target"), ("a", "b")}


def test_a_square_frame_whose_index_equals_its_columns_is_a_matrix():
    import pandas as pd

    frame = pd.DataFrame([[0, 1, 0], [0, 0, 2.5], [0, 0, 0]], index=list("abc"), columns=list("abc"))
    data = read_graph(frame)
    assert ordered(data) == {("a", "b"), ("b", "c")}
    assert data.edge_weight.tolist() == [1, 2.5]
    numbered = pd.DataFrame(np.eye(5, k=1), index=range(5), columns=range(5))
    assert ordered(read_graph(numbered)) == {(k, k + 1) for k in range(4)}
    with pytest.raises(ValueError, match="must hold real numbers"):
        read_graph(pd.DataFrame([["x", "y"], ["y", "z"]], index=["p", "q"], columns=["p", "q"]))


def test_a_square_frame_of_edges_is_a_table():
    import pandas as pd

    named = pd.DataFrame({"source": [0, 1], "target": [1, 2]})
    assert ordered(read_graph(named)) == {(0, 1), (1, 2)}
    assert ordered(read_graph(pd.DataFrame([[0, 1], [1, 2]]))) == {(0, 1), (1, 2)}
    asked = pd.DataFrame([["x", "y"], ["y", "z"]], index=["p", "q"], columns=["p", "q"])
    assert ordered(read_graph(asked, source="p", target="q")) == {("x", "y"), ("y", "z")}


def test_pairs_with_weights_and_ids_that_are_no_index():
    for triples in ([("a", "b", 2), ("b", "c", 0.5)], [["a", "b", 2.0], ["b", "c", 0.5]]):
        assert weights(read_graph(triples)) == {frozenset("ab"): 2.0, frozenset("bc"): 0.5}
    for triples in ([(10, 20, 2), (20, 30, 0.5)], [[10, 20, 2.0], [20, 30, 0.5]]):
        data = read_graph(triples)
        assert data.node_ids.tolist() == [10, 20, 30]
        assert data.edge_weight.tolist() == [2.0, 0.5]
    four = [[0, 1, 7], [1, 2, 8], [2, 3, 9], [3, 0, 1]]  # neither square nor an index
    assert read_graph(four).edge_weight.tolist() == [7, 8, 9, 1]
    assert read_graph([(0, 1)], num_nodes=3).num_nodes == 3
    data = read_graph([(0, 1), (1, 3)], features=np.eye(5))
    assert data.num_nodes == 5


class SparseTensor:
    """As torch_sparse has it, in what is asked of it."""

    def __init__(self, matrix):
        self.matrix = matrix

    def to_torch_sparse_coo_tensor(self):
        return torch.tensor(self.matrix).to_sparse()


def test_adj_t_stands_for_edges_and_keeps_the_rest():
    graph = Data(x=torch.eye(3), y=torch.tensor([0, 1, 0]))
    graph.adj_t = SparseTensor(CYCLE.T * 2.0)
    data = read_graph(graph)
    assert ordered(data) == {(0, 1), (1, 2), (2, 0)}
    assert data.edge_weight.tolist() == [2.0, 2.0, 2.0]
    assert torch.equal(data.x, torch.eye(3))
    assert data.y.tolist() == [0, 1, 0]
    graph.edge_index = torch.tensor([[0], [2]])
    assert ordered(read_graph(graph)) == {(0, 2)}


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
        (sp.csr_matrix(np.array([[0, -1.0], [0, 0]])), "a weight must be finite and not negative, got -1 between 0 and 1"),
        (sp.csr_matrix(np.array([[0, np.nan], [0, 0]])), "got nan between 0 and 1"),
        (sp.csr_matrix(np.array([[0, 1j], [0, 0]])), "must hold real numbers, got complex128"),
        (sp.csr_matrix((3, 3)), "has no edges"),
        (nx.Graph(), "has no nodes"),
        (nx.Graph([(1, 2), ("1", 3)]), "node ids are not unique: '1' names 2 nodes"),
        (nx.Graph([(1, 2, {"weight": "heavy"})]), "the edge attribute 'weight' of graph must be a number"),
        (Data(x=torch.eye(2)), "the Data has no edge_index"),
        (Data(edge_index=torch.tensor([[0], [5]]), num_nodes=3), r"must lie in \[0, 3\), got 5"),
        (
            np.ones((3, 5)),
            r"edge_index of shape \(2, E\) or pairs of shape \(E, 2\), .* matrix, got float64 in \(3, 5\)$",
        ),
        (np.ones((4, 2)), r"got float64 in \(4, 2\)$"),
        (np.arange(4), r"edge_index must hold integers in shape \(2, E\), got int64 in \(4,\)"),
        (-np.ones((3, 3)), "a weight must be finite and not negative, got -1 between 0 and 0"),
        (np.full((3, 3), np.nan), "got nan between 0 and 0"),
        (np.ones((3, 3), dtype=complex), "must hold real numbers, got complex128"),
        (np.zeros((3, 3)), "has no edges"),
        (torch.ones(2, 3).to_sparse(), r"an adjacency matrix must be square, got \(2, 3\)"),
        (torch.ones(3, 3, dtype=torch.cfloat).to_sparse(), "must hold real numbers, got complex64"),
        ([], "^graph has no edges$"),
        (["a", "b"], "^the list of pairs, entry 0: expected two ids and perhaps a weight, as in every entry, got 'a'$"),
        ([("a", "b"), ("b",)], r"^the list of pairs, entry 1: expected two ids .* got \('b',\)$"),
        (
            [("a", "b"), ("b", "c", 1)],
            r"entry 1: expected two ids and perhaps a weight, as in every entry, got \('b', 'c'",
        ),
        ([("a", "b"), ("b", 3)], r"entry 1: ids must be all strings or all integers, here strings, got \('b', 3\)$"),
        ([(2**63, 1), (1, 3)], "^the list of pairs: integers must fit into 64 bits"),
        ([("a", "b", 10**400)], "weights into a float; larger ids may be strings$"),
        ([("a", "b\0")], "entry 0: an id must not hold a zero character"),
        ([(1, 2), (2, "b")], r"entry 1: ids must be all strings or all integers, here integers, got \(2, 'b'\)$"),
        ([(0.5, 1.0)], "entry 0: ids must be all strings or all integers"),
        ([("a", "b", "heavy")], "entry 0: a weight must be a number, got 'heavy'$"),
        ([("a", "b", -1)], "entry 0, column 'weight': a weight must be finite and not negative, got -1"),
        ([("a", "")], "entry 0: column 'target' is empty"),
        ([[0, 1], [1]], r"entry 1: expected two ids"),
    ],
)
def test_bad_objects_are_refused(graph, message):
    with pytest.raises(ValueError, match=message):
        read_graph(graph)


def test_other_objects_are_a_type_error():
    with pytest.raises(TypeError, match=r"graph must be a Data, .* got builtins\.dict"):
        read_graph({0: [1]})
