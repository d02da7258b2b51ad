import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from torch_geometric.data import Data

import qgcn
from qgcn.data import as_data, stochastic_block

EDGES, LABELS = stochastic_block(sizes=(20, 20, 20), within=0.4, between=0.02, seed=0)
LABELS = LABELS.numpy()
NAMES = np.array(["red", "green", "blue"])[LABELS]
KNOWN = np.random.default_rng(0).permutation(60)[:24]


def quick(options=None, **changes):
    settings = {"space": "Q3,2", "epochs": 80, "lr": 0.05, "dropout": 0.0, "device": "cpu"} | changes
    return qgcn.QGCNClassifier(**settings, options={"blend": False} | (options or {}))


def partly(labels, none):
    """Labels of a few nodes alone."""
    found = np.full(len(labels), none, dtype=object if none is None else labels.dtype)
    found[KNOWN] = labels[KNOWN]
    return found


def test_a_few_labels_are_spread_to_the_other_nodes():
    classifier = quick().fit(EDGES, partly(NAMES, ""))
    others = np.setdiff1d(np.arange(60), KNOWN)
    assert classifier.classes_.tolist() == ["blue", "green", "red"]
    assert accuracy_score(NAMES[others], classifier.predict()[others]) > 0.8


@pytest.mark.parametrize(("labels", "none"), [(LABELS, -1), (LABELS.astype(float), np.nan), (NAMES, ""), (NAMES, None)])
def test_unlabelled_nodes_are_neither_trained_on_nor_scored(labels, none):
    y = partly(labels, none)
    classifier = quick(epochs=10).fit(EDGES, y)
    data = classifier.run_.data
    used = torch.cat((data.train_mask.nonzero(), data.val_mask.nonzero())).squeeze(1)
    assert sorted(used.tolist()) == sorted(KNOWN.tolist())
    assert classifier.score(EDGES, y) == accuracy_score(labels[KNOWN], classifier.predict()[KNOWN])
    assert classifier.predict().dtype == classifier.classes_.dtype


def test_labels_of_every_kind_give_the_same_model():
    expected = quick(epochs=5).fit(EDGES, LABELS).predict_proba()
    for y in (LABELS.tolist(), torch.from_numpy(LABELS), np.array(["a", "b", "c"])[LABELS], LABELS + 10):
        np.testing.assert_array_equal(quick(epochs=5).fit(EDGES, y).predict_proba(), expected)


def test_probabilities_are_the_runs_and_predictions_their_largest():
    classifier = quick(options={"seeds": 2}).fit(EDGES, NAMES)
    probability = classifier.predict_proba(EDGES)
    np.testing.assert_array_equal(probability, classifier.run_.predict_proba())
    np.testing.assert_allclose(probability.sum(1), 1)
    np.testing.assert_array_equal(classifier.predict(), classifier.classes_[probability.argmax(1)])


def test_the_share_for_validation_is_split_off_the_labelled_nodes():
    data = quick(epochs=1, val=0.25).fit(EDGES, LABELS).run_.data
    assert int(data.val_mask.sum()) == 15
    assert int(data.train_mask.sum()) == 45
    assert np.bincount(LABELS[data.val_mask.numpy()]).tolist() == [5, 5, 5]
    other = quick(epochs=1, val=0.25, random_state=1).fit(EDGES, LABELS).run_.data
    assert not torch.equal(data.val_mask, other.val_mask)


@pytest.mark.parametrize("blend", [False, True])
def test_the_score_of_the_nodes_kept_for_validation_is_the_runs_own(blend):
    classifier = quick({"blend": blend}, epochs=10).fit(EDGES, NAMES)
    held = np.where(classifier.run_.data.val_mask, NAMES, "")
    assert classifier.score(EDGES, held) == classifier.scores_["accuracy"]


def test_features_are_given_or_the_graphs_own():
    x = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    given = quick(epochs=5).fit(EDGES, LABELS, features=x)
    own = quick(epochs=5).fit(Data(edge_index=EDGES, x=torch.from_numpy(x)), LABELS)
    np.testing.assert_array_equal(given.predict_proba(), own.predict_proba())
    assert not np.array_equal(given.predict_proba(), quick(epochs=5).fit(EDGES, LABELS).predict_proba())
    assert given.run_.task.in_features == 5


def test_new_nodes_have_the_class_of_their_neighbours():
    graph = nx.relabel_nodes(nx.from_edgelist(EDGES.T.tolist()), {k: f"n{k}" for k in range(60)})
    names = [NAMES[int(node[1:])] for node in graph]
    classifier = quick().fit(graph, names)
    for color in NAMES[[0, 20, 40]]:
        graph.add_edges_from((color, f"n{k}") for k in np.flatnonzero(color == NAMES)[:6])
    assert classifier.predict(graph)[-3:].tolist() == ["red", "green", "blue"]
    assert classifier.score(graph, [*names, "red", "green", "blue"]) > 0.8


def test_without_y_labels_and_masks_of_the_graph_are_used():
    data = as_data(EDGES, labels=NAMES)
    classifier = quick(epochs=5).fit(data)
    assert classifier.classes_.tolist() == ["blue", "green", "red"]
    assert torch.equal(classifier.run_.data.test_mask, data.test_mask)
    assert set(classifier.predict()) <= set(NAMES)
    plain = as_data(EDGES, labels=LABELS)
    del plain.classes
    assert quick(epochs=1).fit(plain).classes_.tolist() in ([0, 1, 2], ["0", "1", "2"])


def test_one_class_is_always_predicted():
    assert set(quick(epochs=2).fit(EDGES, ["same"] * 60).predict()) == {"same"}


def test_weights_of_samples_count_in_the_score():
    classifier = quick(epochs=3).fit(EDGES, LABELS)
    right = classifier.predict() == LABELS
    assert classifier.score(EDGES, LABELS, sample_weight=right) == 1
    assert classifier.score(None, LABELS) == right.mean()


@pytest.mark.parametrize(
    ("y", "changes", "message"),
    [
        (None, {}, "requires y to be passed, but the target y is None, and the graph has no labels"),
        (LABELS[:50], {}, "a label for each of the 60 nodes, got 50"),
        ([-1] * 60, {}, "no label"),
        ([0, 1] + [-1] * 58, {}, "two nodes of a class"),
        (LABELS, {"val": 1.5}, "val must be a share"),
        (LABELS, {"model": "shallow", "dropout": None}, "nothing for classification"),
        (LABELS, {"options": {"epoch": 3}}, "did you mean 'epochs'"),
    ],
)
def test_what_is_wrong_is_named(y, changes, message):
    with pytest.raises(ValueError, match=message):
        quick(**changes).fit(EDGES, y)


def test_an_unfitted_classifier_says_so():
    with pytest.raises(NotFittedError):
        quick().predict()
