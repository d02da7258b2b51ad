"""The one door for graphs: names, files, objects; read once or twice."""

import pytest
import torch
from torch_geometric.data import Data

from graphs import TRIANGLE, pairs
from qgcn.data import as_data, load, read_graph, undirected


def test_reading_twice_changes_nothing(write):
    once = read_graph(write("a,b,1\nb,a,2\nb,c,0.5\n"))
    twice = read_graph(once)
    assert torch.equal(once.edge_index, twice.edge_index)
    assert torch.equal(once.edge_weight, twice.edge_weight)
    assert twice.node_ids.tolist() == ["a", "b", "c"]
    assert twice.remarks == once.remarks
    assert twice.directed
    both = undirected(once)
    assert torch.equal(read_graph(both).edge_index, both.edge_index)
    assert not read_graph(both).directed


def test_as_data_takes_names_and_graphs(write):
    assert as_data("ring-of-trees", ring=4, depth=0).num_nodes == 4
    assert pairs(as_data(str(write("0,1\n1,2\n2,0\n")))) == TRIANGLE
    assert pairs(as_data(torch.tensor([[0, 1, 2], [1, 2, 0]]))) == TRIANGLE
    data = as_data("cycle", nodes=5, features=torch.eye(5), labels=["a", "b", "a", "b", ""])
    assert data.name == "cycle"
    assert torch.equal(data.x, torch.eye(5))
    assert data.y.tolist() == [0, 1, 0, 1, -1]
    assert torch.equal(data.edge_index, load("cycle", nodes=5).edge_index)


def test_as_data_refuses_what_is_neither_name_nor_file(write):
    with pytest.raises(ValueError, match=r"^no file and no data set 'coraa'; did you mean 'cora'\?$"):
        as_data("coraa")
    with pytest.raises(ValueError, match=r"^no file and no data set 'edges\.csv'$"):
        as_data("edges.csv")
    with pytest.raises(ValueError, match="option 'depth' is for named data sets only"):
        as_data(write("0,1\n"), depth=3)


def test_masks_belong_to_the_labels_they_came_with():
    edges = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]])
    masks = {name: torch.arange(6) % 3 == k for k, name in enumerate(("train_mask", "val_mask", "test_mask"))}
    data = Data(edge_index=edges, num_nodes=6, **masks)
    assert read_graph(data).get("train_mask") is None
    data.y = torch.tensor([0, 1, 0, 1, 0, 1])
    for name, mask in masks.items():
        assert torch.equal(read_graph(data)[name], mask)
    labels = ["a", "b", "a", "b", "a", ""]
    drawn = read_graph(data, labels=labels)
    assert not drawn.train_mask[5]
    assert not drawn.val_mask[5]
    assert not drawn.test_mask[5]


def test_labels_for_more_nodes_than_features_are_refused(write):
    with pytest.raises(ValueError, match=r"labels|rows"):
        read_graph(torch.tensor([[0, 1], [1, 2]]), features=torch.eye(3), labels=[0, 1, 0, 1])
