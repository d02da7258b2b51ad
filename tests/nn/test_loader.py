"""Mini-batches for models of PyTorch Geometric."""

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv

from cases import generator
from qgcn.nn import NeighborLoader


def graph(num_nodes=50, count=300):
    edges = torch.randint(num_nodes, (2, count), generator=generator(0))
    return Data(
        x=torch.randn(num_nodes, 4, generator=generator(1)),
        y=torch.arange(num_nodes),
        edge_index=edges,
        edge_weight=torch.arange(float(count)),
        name="drawn",
    )


def test_batches_cover_the_nodes_and_carry_what_belongs_to_them():
    data = graph()
    loader = NeighborLoader(data, [3, 2], input_nodes=torch.arange(50) < 23, batch_size=5, shuffle=True, seed=4)
    assert len(loader) == 5
    asked = []
    for batch in loader:
        assert torch.equal(
            batch.n_id, batch.n_id[: len(batch.n_id)].unique(sorted=False)[batch.n_id.unique(return_inverse=True)[1]]
        )
        assert torch.equal(batch.x, data.x[batch.n_id])
        assert torch.equal(batch.y, data.y[batch.n_id])
        assert torch.equal(batch.edge_weight, data.edge_weight[batch.e_id])
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
        assert batch.name == "drawn"
        assert batch.num_nodes == sum(batch.num_sampled_nodes) == len(batch.n_id)
        assert batch.edge_index.shape[1] == sum(batch.num_sampled_edges)
        into = torch.bincount(batch.edge_index[1], minlength=batch.num_nodes)
        assert int(into[: batch.batch_size].max()) <= 3
        asked += batch.n_id[: batch.batch_size].tolist()
    assert sorted(asked) == list(range(23))
    assert asked != sorted(asked)


def test_epochs_are_a_function_of_seed_and_number():
    def drawn(loader):
        return [(batch.n_id.tolist(), batch.e_id.tolist()) for batch in loader]

    loader = NeighborLoader(graph(), [3, 2], batch_size=8, shuffle=True, seed=4)
    first, second = drawn(loader), drawn(loader)
    assert first != second
    again = NeighborLoader(graph(), [3, 2], batch_size=8, shuffle=True, seed=4)
    again.set_epoch(1)
    assert drawn(again.batches(first=3)) == second[3:]
    other = NeighborLoader(graph(), [3, 2], batch_size=8, shuffle=True, seed=5)
    assert drawn(other) != first


def test_a_model_of_pyg_computes_with_all_neighbours_what_it_computes_on_the_whole_graph():
    data = graph()
    torch.manual_seed(0)
    first, second = SAGEConv(4, 6), SAGEConv(6, 3)

    def outputs(x, edge_index):
        return second(first(x, edge_index).relu(), edge_index)

    whole = outputs(data.x, data.edge_index)
    for batch in NeighborLoader(data, [-1, -1], batch_size=7):
        found = outputs(batch.x, batch.edge_index)[: batch.batch_size]
        torch.testing.assert_close(found, whole[batch.n_id[: batch.batch_size]])


def test_the_last_batch_can_be_left_out_and_batches_transformed():
    loader = NeighborLoader(graph(), [2], batch_size=8, drop_last=True, transform=lambda batch: batch.n_id[:1])
    assert [each.tolist() for each in loader] == [[0], [8], [16], [24], [32], [40]]
    assert len(loader) == 6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"num_neighbors": []}, "num_neighbors must be positive numbers"),
        ({"num_neighbors": [3, 0]}, r"got \[3, 0\]"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"input_nodes": torch.tensor([50])}, r"input_nodes must lie in \[0, 50\), got 50 to 50"),
        ({"input_nodes": torch.tensor([3, 3])}, "one is given twice"),
        ({"input_nodes": torch.ones(4, dtype=torch.bool)}, r"must have shape \(50,\), got \(4,\)"),
    ],
)
def test_what_is_not_possible_is_said(given, message):
    with pytest.raises(ValueError, match=message):
        NeighborLoader(graph(), **({"num_neighbors": [3]} | given))
    with pytest.raises(ValueError, match="no edge_index"):
        NeighborLoader(Data(x=torch.zeros(3, 1)), [3])


@pytest.mark.parametrize("edge", [(10, 0), (0, 9), (-1, 0), (0, -1)])
def test_edges_between_nodes_that_are_not_there_are_refused(edge):
    data = Data(edge_index=torch.tensor([[0, edge[0]], [1, edge[1]]]), num_nodes=3)
    with pytest.raises(ValueError, match="edge_index must hold numbers of nodes, 0 to 2, got"):
        NeighborLoader(data, [1, 1], batch_size=3)


def test_more_edges_than_32_bits_count_are_refused():
    edges = torch.zeros(2, 1, dtype=torch.long).expand(2, 2**31)  # in no memory
    with pytest.raises(ValueError, match=r"fewer than 2\^31 nodes and edges, got 1 and 2147483648"):
        NeighborLoader(Data(edge_index=edges, num_nodes=1), [1])


def test_batches_begin_at_one_that_is_there():
    loader = NeighborLoader(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=3), [1], batch_size=2)
    assert len(list(loader.batches(1))) == 1
    for first in (-1, 3):
        with pytest.raises(ValueError, match=r"first must lie in \[0, 2\], got"):
            loader.batches(first)
