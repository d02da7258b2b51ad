import pytest
import torch

from qgcn.kernels import Neighbourhoods
from qgcn.kernels.graph import CHUNK_ENTRIES, rows_at_once


def test_neighbourhoods_are_sorted_sets_without_loops():
    edges = torch.tensor([[3, 0, 0, 2, 0, 3], [1, 2, 1, 2, 2, 0]])
    graph = Neighbourhoods.of(edges, 5)
    assert torch.stack((graph.source, graph.target)).tolist() == [[0, 0, 3, 3], [1, 2, 0, 1]]
    assert graph.degree.tolist() == [2, 0, 0, 2, 0]
    assert graph.start.tolist() == [0, 2, 2, 2, 4, 4]
    assert (graph.num_nodes, graph.num_edges) == (5, 4)


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 9])
def test_chunks_cover_every_node_and_edge_once(rows):
    graph = Neighbourhoods.of(torch.tensor([[3, 0, 0, 3], [1, 2, 1, 0]]), 5)
    chunks = list(graph.chunks(rows))
    nodes = [node for chunk in chunks for node in range(chunk.first, chunk.first + chunk.rows)]
    assert nodes == list(range(5))
    for chunk in chunks:
        inside = (graph.source >= chunk.first) & (graph.source < chunk.first + chunk.rows)
        assert graph.source[chunk.edges].tolist() == graph.source[inside].tolist()


@pytest.mark.parametrize("num_nodes", [1, 10, 4096, 5000, 10**6, 10**9])
def test_rows_at_once_bound_the_entries(num_nodes):
    rows = rows_at_once(num_nodes)
    assert 1 <= rows <= num_nodes
    assert rows * num_nodes <= max(CHUNK_ENTRIES, num_nodes)
    assert rows_at_once(num_nodes, 7) == 7


@pytest.mark.parametrize(
    ("edges", "error", "message"),
    [
        ([[0, 1], [1, 0]], TypeError, "edge_index must be a torch.Tensor, got list"),
        (torch.zeros(2, 3), TypeError, "edge_index must hold integers, got torch.float32"),
        (torch.zeros(2, 3, dtype=torch.bool), TypeError, "edge_index must hold integers, got torch.bool"),
        (torch.zeros(3, 2, dtype=torch.long), ValueError, r"edge_index must have shape \(2, E\), got \(3, 2\)"),
        (torch.zeros(2, 0, dtype=torch.long), ValueError, "edge_index must have at least one column"),
        (torch.tensor([[0], [4]]), ValueError, r"edge_index must lie in \[0, 4\).* got values from 0 to 4"),
        (torch.tensor([[-1], [2]]), ValueError, r"edge_index must lie in \[0, 4\).* got values from -1 to 2"),
        (torch.tensor([[1, 2], [1, 2]]), ValueError, "at least one edge between two nodes, got 2 loops"),
    ],
)
def test_edges_that_are_none_are_refused(edges, error, message):
    with pytest.raises(error, match=message):
        Neighbourhoods.of(edges, 4)


def test_rows_at_once_refuses_what_is_no_number_of_rows():
    with pytest.raises(ValueError, match="chunk must be at least 1, got 0"):
        rows_at_once(5, 0)
    with pytest.raises(TypeError, match="chunk must be an int or None, got float"):
        rows_at_once(5, 2.0)
