"""Drafts of a graph: indices in range, weights that are weights."""

import numpy as np
import pytest

from qgcn.data.draft import check_size, from_index, weight_array


def test_an_index_knows_its_nodes_or_leaves_the_last_ones_open():
    open_ended = from_index(np.array([[0, 1], [1, 4]], dtype=np.int32), "edge_index", "g", None)
    assert open_ended.edges.dtype == np.int64
    assert (len(open_ended.nodes.ids), open_ended.nodes.known) == (5, "index")
    assert (len(from_index(np.array([[0], [1]]), "e", "g", 9).nodes.ids)) == 9
    with pytest.raises(ValueError, match=r"^pairs must lie in \[0, 3\), got 4$"):
        from_index(np.array([[0], [4]]), "pairs", "g", 3)


def test_weights_are_checked_with_the_names_of_their_ends():
    weights = weight_array(np.array([1, 2], dtype=np.int8), 2)
    assert weights.dtype == np.float64
    draft = from_index(np.array([[0, 1], [1, 2]]), "e", "g", None, weights=np.array([1.0, -2.0]))
    with pytest.raises(ValueError, match=r"^a weight must be finite and not negative, got -2 between 1 and 2$"):
        draft.check_weights()
    with pytest.raises(ValueError, match=r"^edge_weight must hold 3 numbers, got float64 in \(2,\)$"):
        weight_array(weights, 3)


def test_a_weight_of_zero_is_a_weight():
    from_index(np.array([[0, 1], [1, 2]]), "e", "g", None, weights=np.array([0.0, 2.0])).check_weights()


def test_another_number_of_nodes_is_refused():
    check_size(None, 3)
    check_size(3, 3)
    with pytest.raises(ValueError, match=r"^num_nodes must be 3, the number of nodes of the graph, got 4$"):
        check_size(4, 3)
