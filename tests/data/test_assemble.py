"""One shape for every graph: what is cleaned, how direction is kept, and how it is given up."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphs import check_form
from qgcn.data import degree_one_hot, undirected
from qgcn.data.assemble import assemble, count

NODES = 7
lists = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=30)


def of(edges, weights=None, **more):
    array = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return assemble(array, NODES, name="g", weights=None if weights is None else np.array(weights, dtype=float), **more)


def weighted(data):
    return dict(zip(map(tuple, data.edge_index.T.tolist()), data.edge_weight.tolist(), strict=True))


@given(lists)
def test_assemble_keeps_each_ordered_pair_once_and_sorted(edges):
    data = of(edges)
    check_form(data)
    assert [tuple(edge) for edge in data.edge_index.T.tolist()] == sorted({(a, b) for a, b in edges if a != b})
    assert data.node_ids.tolist() == list(range(NODES))


@given(lists)
def test_undirected_is_the_union_of_both_directions(edges):
    data = of(edges)
    before = data.edge_index.clone()
    both = undirected(data)
    check_form(both)
    assert not both.directed
    assert {tuple(edge) for edge in both.edge_index.T.tolist()} == {p for a, b in edges if a != b for p in ((a, b), (b, a))}
    assert undirected(both) is both
    assert (both is data) == (not data.directed)
    assert torch.equal(data.edge_index, before)


def test_assemble_says_what_it_cleaned():
    data = of([(0, 1), (0, 1), (1, 0), (2, 2), (3, 4)], [1, 2, 4, 9, 0], remarks=("read",))
    assert data.remarks == [
        "read",
        "1 self-loop removed",
        "1 edge of weight 0 removed",
        "1 repeated edge merged, weights averaged",
        "5 isolated nodes kept",
    ]
    assert weighted(data) == {(0, 1): 1.5, (1, 0): 4.0}
    assert data.edge_weight.dtype == torch.float32


@pytest.mark.parametrize(
    ("edges", "weights", "directed"),
    [
        ([(0, 1), (1, 0)], None, False),
        ([(0, 1), (1, 0), (1, 2)], None, True),
        ([(0, 1), (1, 0)], [2, 2], False),
        ([(0, 1), (1, 0)], [2, 3], True),
        ([(0, 1), (1, 0), (2, 3), (3, 2)], [2, 3, 3, 2], True),  # the same weights, at other edges
        ([(0, 1), (0, 1), (1, 0)], [1, 3, 2], False),
    ],
)
def test_directed_asks_for_each_reverse_and_its_weight(edges, weights, directed):
    assert of(edges, weights).directed is directed


def test_undirected_averages_the_directions_given():
    data = of([(0, 1), (1, 0), (1, 2), (4, 3)], [2, 5, 7, 1])
    both = undirected(data)
    assert weighted(both) == {(0, 1): 3.5, (1, 0): 3.5, (1, 2): 7, (2, 1): 7, (3, 4): 1, (4, 3): 1}
    assert both.edge_weight.dtype == torch.float32
    assert both.remarks[-1] == "2 edges given in one direction, now in both"
    assert undirected(of([(0, 1), (1, 0)], [2, 5])).remarks[-1] == "weights of the two directions averaged"


def test_undirected_of_unequal_repetition_is_the_mean_of_the_means():
    data = of([(0, 1), (0, 1), (0, 1), (1, 0)], [1, 2, 3, 6])
    assert weighted(undirected(data)) == {(0, 1): 4.0, (1, 0): 4.0}


def test_undirected_keeps_all_that_is_not_edges():
    y = torch.tensor([0, 1, 0, 1, 0, 1, -1])
    data = of([(0, 1), (2, 1)], x=torch.eye(NODES), y=y, node_ids=np.array(list("abcdefg")))
    data.classes = ["no", "yes"]
    remarks = list(data.remarks)
    both = undirected(data)
    assert set(both.keys()) == set(data.keys())
    for name in ("x", "y", "train_mask", "val_mask", "test_mask", "node_ids", "classes", "name", "num_nodes"):
        assert both[name] is data[name] or both[name] == data[name]
    assert data.remarks == remarks
    assert both.remarks == [*remarks, "2 edges given in one direction, now in both"]
    assert data.directed


def test_undirected_takes_graphs_that_do_not_say_whether_they_are():
    from torch_geometric.data import Data

    one_way = Data(edge_index=torch.tensor([[2, 0], [1, 1]]), num_nodes=3)
    assert undirected(one_way).edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    both = Data(edge_index=torch.tensor([[2, 1], [1, 2]]), num_nodes=3)
    assert undirected(both) is both


def test_labels_without_masks_are_split_by_the_seed():
    y = torch.tensor([0, 1, 0, 1, 0, 1, -1])
    first, second = (of([(0, 1)], y=y, split_seed=seed) for seed in (0, 1))
    assert not torch.equal(first.train_mask, second.train_mask)
    assert torch.equal(first.train_mask | first.val_mask | first.test_mask, y >= 0)
    masks = (y == 0, y == 1, y < 0)
    assert of([(0, 1)], y=y, masks=masks).val_mask is masks[1]


def test_degree_one_hot_counts_to_five():
    star = torch.tensor([[0] * 8 + list(range(1, 9)), list(range(1, 9)) + [0] * 8])
    found = degree_one_hot(star, 10)
    assert found.argmax(dim=1).tolist() == [5, *[1] * 8, 0]
    assert torch.equal(found.sum(dim=1), torch.ones(10))
    assert found.dtype == torch.float32


def test_count_has_a_plural():
    assert [count(number, "edge") for number in (0, 1, 2)] == ["0 edges", "1 edge", "2 edges"]
