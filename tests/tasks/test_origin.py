"""Nodes of a changed graph in the one a model was trained on."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from qgcn.tasks.origin import Origin


def graph(names):
    data = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=len(names))
    data.node_ids = np.array(names)
    return data


def test_nodes_are_found_by_name_and_keep_their_features():
    trained = graph(["a", "b", "c"])
    origin = Origin.of(graph(["c", "a"]), trained)
    assert origin.places.tolist() == [2, 0]
    assert (origin.num_nodes, origin.newcomer, origin.all_new) == (3, None, False)
    known, own = torch.arange(6.0).reshape(3, 2), torch.zeros(2, 2)
    assert origin.features(None, known).tolist() == [[4, 5], [0, 1]]
    assert origin.features(own, known) is own
    assert origin.features(None, None) is None


def test_integers_are_found_among_names_that_read_as_integers():
    # a file whose names all look like numbers is read as numbers, whatever the graph in training looked like
    assert Origin.of(graph([12, 7]), graph(["x", "7", "12"])).places.tolist() == [2, 1]
    assert Origin.of(graph(["12", "x"]), graph([7, 12])).places.tolist() == [1, -1]


def test_a_new_node_has_no_features():
    origin = Origin.of(graph(["a", "new", "other"]), graph(["a", "b"]))
    assert origin.places.tolist() == [0, -1, -1]
    with pytest.raises(ValueError, match="the new node 'new' has no features, which the model was trained with: give the"):
        origin.features(None, torch.zeros(2, 2))
    assert Origin.of(graph(["x", "y"]), graph(["a", "b"])).all_new


def test_other_features_than_those_in_training_are_refused():
    origin = Origin.of(graph(["a", "b"]), graph(["a", "b"]))
    with pytest.raises(ValueError, match="trained with 2 features of each node, but the graph given has 3"):
        origin.features(torch.zeros(2, 3), torch.zeros(2, 2))
    with pytest.raises(ValueError, match="trained without features, but the graph given has 3"):
        origin.features(torch.zeros(2, 3), None)


def test_known_nodes_keep_their_points_and_a_new_one_has_none():
    points = torch.arange(6.0).reshape(3, 2)
    assert Origin.of(graph(["c", "a"]), graph(["a", "b", "c"])).known(points, "shallow").tolist() == [[4, 5], [0, 1]]
    with pytest.raises(ValueError, match="'d' was not there in training, and shallow places no new nodes"):
        Origin.of(graph(["c", "d"]), graph(["a", "b", "c"])).known(points, "shallow")
