"""Graphs as PyG's users have them: every form is read as the same edges."""

import pytest
import torch
import torch_geometric
from torch_geometric.data import Data
from torch_geometric.transforms import ToSparseTensor

from qgcn.kernels.edges import Ends
from qgcn.nn import Adjacency
from qgcn.nn.edges import Edges, is_sparse

EDGES = torch.tensor([[0, 1, 2, 0, 3, 3], [1, 2, 1, 3, 1, 3]])  # directed, with a loop
WEIGHT = torch.tensor([0.5, 1.5, 2.0, 0.7, 0.9, 3.0])
ENDS = Ends(4, 4, True)


class Sparse:
    """What a ``torch_sparse.SparseTensor``, which is not installed here, is asked for."""

    def __init__(self, row, col, value):
        self._coo = row, col, value

    def coo(self):
        return self._coo

    def sparse_sizes(self):
        return 4, 4


def forms():
    adj_t = torch.sparse_coo_tensor(EDGES.flip(0), WEIGHT, (4, 4))
    data = ToSparseTensor(attr="edge_weight")(Data(edge_index=EDGES.clone(), edge_weight=WEIGHT, num_nodes=4))
    return {
        "edge_index": (EDGES, WEIGHT),
        "int32": (EDGES.int(), WEIGHT),
        "EdgeIndex": (torch_geometric.EdgeIndex(EDGES, sparse_size=(4, 4)), WEIGHT),
        "coo": (adj_t, None),
        "csr": (adj_t.to_sparse_csr(), None),
        "csc": (adj_t.to_sparse_csc(), None),
        "ToSparseTensor": (data.adj_t, None),
        "SparseTensor": (Sparse(EDGES[1], EDGES[0], WEIGHT), None),
    }


@pytest.mark.parametrize("form", forms())
def test_every_form_is_read_as_the_same_edges(form):
    graph, weight = forms()[form]
    assert is_sparse(graph) == (weight is None)
    edges = Edges.read(graph, weight, ENDS, "sym", True)
    dense = torch.zeros(4, 4).index_put((edges.index[1].long(), edges.index[0].long()), edges.weight)
    assert torch.equal(dense, torch.zeros(4, 4).index_put((EDGES[1], EDGES[0]), WEIGHT))


@pytest.mark.parametrize("aggregation", ["sum", "mean", "sym"])
@pytest.mark.parametrize("loops", [False, True])
def test_messages_are_the_entries_of_the_adjacency(loops, aggregation):
    edges = Edges.read(EDGES, WEIGHT, ENDS, aggregation, loops)
    found = edges.messages(*edges.coefficients(torch.float32))
    dense = torch.zeros(4, 4).index_put((found.index[1], found.index[0]), found.weight, accumulate=True)
    expected = Adjacency.of(EDGES, 4, WEIGHT, aggregation=aggregation, self_loops=loops)
    torch.testing.assert_close(dense, expected.to_dense())
    raw = edges.messages(*edges.weights(torch.float32))
    dense = torch.zeros(4, 4).index_put((raw.index[1], raw.index[0]), raw.weight, accumulate=True)
    torch.testing.assert_close(dense, expected.weights.to_dense())


def test_messages_come_in_the_order_of_pyg():
    edges = Edges.read(EDGES, WEIGHT, ENDS, "sum", True)
    found = edges.messages(*edges.weights(torch.float32))
    assert found.index.tolist() == [[0, 1, 2, 0, 3, 0, 1, 2, 3], [1, 2, 1, 3, 1, 0, 1, 2, 3]]
    assert found.weight.tolist() == pytest.approx([0.5, 1.5, 2.0, 0.7, 0.9, 1.0, 1.0, 1.0, 3.0])
    assert found.of(torch.arange(1.0, 7.0).unsqueeze(1)).flatten().tolist() == [1, 2, 3, 4, 5, 0, 0, 0, 0]
    complete = torch.tensor([[1, 0, 0], [1, 1, 0]])  # each node has a loop: an edge mask follows the order given
    edges = Edges.read(complete, torch.tensor([2.0, 1.0, 3.0]), Ends(2, 2, True), "sum", True)
    found = edges.messages(*edges.weights(torch.float32))
    assert torch.equal(found.index, complete)
    assert found.weight.tolist() == [2.0, 1.0, 3.0]


@pytest.mark.parametrize(
    ("graph", "weight", "error", "match"),
    [
        (EDGES.t(), None, ValueError, r"shape \(2, E\), got \(6, 2\)"),
        (EDGES.float(), None, TypeError, "must hold integers, got torch.float32"),
        (EDGES, WEIGHT[:2], ValueError, r"shape \(6,\), got \(2,\)"),
        (EDGES + 2, None, ValueError, r"\[0, 4\), got 5"),
        (-EDGES, None, ValueError, r"\[0, 4\), got -3"),
        (torch.eye(4).to_sparse(), WEIGHT, ValueError, "holds its weights, got edge_weight too"),
        (torch.eye(3).to_sparse(), None, ValueError, r"shape \(4, 4\), targets by sources, got \(3, 3\)"),
    ],
)
def test_what_does_not_fit_is_refused(graph, weight, error, match):
    with pytest.raises(error, match=match):
        Edges.read(graph, weight, ENDS, "sym", True)
