import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from qgcn.answer import Answer
from qgcn.tasks.insights import Group, Listing, auc_by_degree, by_class, by_degree, degree_bands, split_column


def test_degree_bands_double_and_hold_every_node_once():
    degree = torch.tensor([0, 1, 2, 3, 4, 5, 8, 9, 100])
    bands = degree_bands(degree)
    assert [name for name, _ in bands] == ["0", "1", "2", "3–4", "5–8", "9–16", "65–128"]  # noqa: RUF001
    assert torch.stack([mask for _, mask in bands]).sum(0).tolist() == [1] * 9


def test_groups_are_means_of_what_is_known():
    values = torch.tensor([1.0, 0.0, torch.nan, 0.5])
    assert by_degree(values, torch.tensor([1, 1, 1, 2])) == [Group("1", 2, 0.5), Group("2", 1, 0.5)]
    assert by_class(values, torch.tensor([0, 1, 1, -1]), ["a", "b", "c"]) == [Group("a", 1, 1.0), Group("b", 1, 0.0)]


def test_auc_by_degree_sorts_edges_by_their_lower_end():
    pairs = torch.tensor([[0, 1, 0, 1], [2, 2, 1, 2]])  # two edges, then two pairs that are none
    logits = torch.tensor([2.0, 0.0, 1.0, 1.0])
    found = auc_by_degree(pairs, logits, 2, torch.tensor([1, 2, 5]))
    assert found == [Group("1", 1, 1.0), Group("2", 1, 0.0)]


def test_a_listing_names_columns_that_are_there_and_a_file():
    table = Answer({"node": np.arange(3), "share": np.zeros(3)})
    assert Listing("to-check-2", "To check", "About.", table, shares=("share",)).nodes == ("node",)
    with pytest.raises(ValueError, match=r"the listing pairs has no column 'other' \(there are: node, share\)"):
        Listing("pairs", "Pairs", "", table, nodes=("node", "other"))
    with pytest.raises(ValueError, match=r"lower-case letters, digits and hyphens, got '\.\./etc'"):
        Listing("../etc", "", "", table)


def test_split_column_tells_the_part_of_each_node():
    masks = {"train_mask": torch.tensor([True, False, False, False]), "test_mask": torch.tensor([False, False, True, False])}
    column = split_column(Data(num_nodes=4, **masks))
    assert column.labels == ("training", "validation", "test")
    assert column.values.tolist() == [0, -1, 2, -1]
    assert split_column(Data(num_nodes=2)).values.tolist() == [-1, -1]
