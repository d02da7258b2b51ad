import numpy as np
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data

from graphs import pairs, weights
from qgcn.data import as_data
from qgcn.estimators.rows import RowGraph, grown

LINE = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [7.0, 0.0]])


def values(data, fitted=4):
    """A question: the sum of the neighbours' first features, of a known answer for the fitted graph."""
    if data is None:
        return np.arange(10.0, 10.0 + fitted)
    found = torch.zeros(data.num_nodes).index_add(0, data.edge_index[0], data.x[data.edge_index[1], 0])
    return found.double().numpy()


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_rows_are_linked_to_their_nearest_ones(form):
    data = RowGraph(form(LINE), 1).data
    assert pairs(data) == {frozenset(pair) for pair in [(0, 1), (1, 2), (2, 3)]}
    np.testing.assert_array_equal(data.x, LINE)
    assert "edge_weight" not in data


def test_more_neighbours_than_rows_are_all_of_them():
    assert len(pairs(RowGraph(LINE, 100).data)) == 6


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csr_matrix])
def test_known_rows_are_found_and_new_ones_are_linked_to_the_nearest(form):
    graph = RowGraph(form(LINE), 2)
    asked = form(np.array([[3.0, 0.0], [2.2, 0.0], [0.0, 0.0], [6.0, 0.0]]))
    np.testing.assert_allclose(graph.answer(asked, values), [12, 3 + 1, 10, 7 + 3])


def test_the_whole_table_is_recognised_even_if_rows_repeat():
    rows = np.concatenate((LINE, LINE))
    found = RowGraph(rows, 2).answer(rows.copy(), lambda data: values(data, 8))
    np.testing.assert_array_equal(found, np.arange(10.0, 18.0))


@pytest.mark.parametrize("count", [0, -3, True])
def test_a_wrong_number_of_neighbours_is_named(count):
    with pytest.raises(ValueError, match="n_neighbors must be a positive number"):
        RowGraph(LINE, count)


def test_grown_graphs_keep_their_own_links_and_have_new_ones_in_both_directions():
    path = as_data(torch.tensor([[0, 1], [1, 2]]))
    more = grown(path, scipy.sparse.coo_array(np.array([[1.0, 0, 1], [0, 1, 0]])))
    assert pairs(more) == {frozenset(pair) for pair in [(0, 1), (1, 2), (3, 0), (3, 2), (4, 1)]}
    assert "edge_weight" not in more
    assert "x" not in more


def test_grown_graphs_have_weights_if_either_part_has():
    path = as_data(torch.tensor([[0, 1], [1, 0]]))
    more = grown(path, scipy.sparse.coo_array(np.array([[0.5, 0]])))
    assert weights(more) == {frozenset((0, 1)): 1.0, frozenset((0, 2)): 0.5}
    heavy = as_data(Data(edge_index=path.edge_index, edge_weight=torch.full((2,), 3.0), num_nodes=2))
    assert weights(grown(heavy, scipy.sparse.coo_array(np.array([[1.0, 0]])))) == {
        frozenset((0, 1)): 3.0,
        frozenset((0, 2)): 1.0,
    }
