import doctest
import importlib
import inspect
import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import qgcn
from qgcn.data import as_data, ring_of_trees, stochastic_block
from qgcn.estimators import Estimator

ESTIMATORS = [qgcn.QGCNEmbedding, qgcn.QGCNClassifier, qgcn.QGCNLinkPredictor]
EDGES, LABELS = stochastic_block(sizes=(15, 15), within=0.5, between=0.02, seed=0)
LABELS = LABELS.numpy()
MATRIX = scipy.sparse.coo_matrix((np.ones(EDGES.shape[1]), EDGES.numpy()), shape=(30, 30)).toarray()


def quick(kind=qgcn.QGCNEmbedding, options=None, **changes):
    alone = {} if kind is qgcn.QGCNEmbedding else {"blend": False}
    settings = {"space": "Q3,2", "epochs": 5, "dropout": 0.0, "device": "cpu"} | changes
    return kind(**settings, options=alone | (options or {}))


def answers(estimator):
    """What an estimator of any kind says about the graph that it was fitted to."""
    if hasattr(estimator, "embedding_"):
        return estimator.embedding_
    return estimator.predict_proba([(0, 1), (2, 20)]) if hasattr(estimator, "recommend") else estimator.predict_proba()


@pytest.mark.parametrize("name", ["base", "classification", "embedding", "labels", "links", "rows"])
def test_examples_in_docstrings_run(name):
    assert doctest.testmod(importlib.import_module(f"qgcn.estimators.{name}")).failed == 0


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_estimator_has_the_common_parameters(kind):
    common = set(inspect.signature(Estimator.__init__).parameters)
    assert common <= set(inspect.signature(kind.__init__).parameters)
    given = {"space": "H4", "model": "hgcn", "epochs": 3, "layers": 2, "lr": 0.1, "dropout": 0.2, "weight_decay": 0.1}
    given |= {
        "affinity": "nearest_neighbors",
        "n_neighbors": 4,
        "random_state": 5,
        "device": "cpu",
        "verbose": 1,
        "options": {},
    }
    assert {name: value for name, value in clone(kind(**given)).get_params().items() if name in common} == given


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_fitted_estimators_survive_a_pickle(kind):
    estimator = quick(kind).fit(EDGES, LABELS)
    again = pickle.loads(pickle.dumps(estimator))  # noqa: S301
    np.testing.assert_array_equal(answers(again), answers(estimator))


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_seed_alone_decides(kind):
    first, same, other = (quick(kind, random_state=seed).fit(EDGES, LABELS) for seed in (1, np.int64(1), 2))
    np.testing.assert_array_equal(answers(first), answers(same))
    assert not np.array_equal(answers(first), answers(other))
    drawn = quick(kind, random_state=np.random.RandomState(3)).fit(EDGES, LABELS)
    assert drawn.run_.config.seed == np.random.RandomState(3).randint(2**31 - 1)


def test_parameters_reach_the_run_and_those_not_given_are_the_tasks():
    estimator = quick(qgcn.QGCNLinkPredictor, lr=0.02, dropout=0.3, options={"seeds": 2}).fit(EDGES)
    config, usual = estimator.run_.config, quick(qgcn.QGCNLinkPredictor).fit(EDGES).run_.config
    assert (config.lr, config.dropout, config.seeds, config.space) == (0.02, 0.3, 2, "Q3,2")
    assert usual.weight_decay == config.weight_decay == 0.0005
    assert quick(qgcn.QGCNClassifier, space=None).fit(EDGES, LABELS).run_.config.space == "Q15,1"


def test_verbose_prints_a_line_for_each_tenth(capsys):
    quick(epochs=1).fit(EDGES)
    assert capsys.readouterr().out == ""
    quick(epochs=40, verbose=1, options={"eval_every": 1}).fit(EDGES)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 11
    assert lines[0] == "seed 0: 0 of 40"
    assert lines[-1].startswith("seed 0: 40 of 40, loss ")


@pytest.mark.parametrize(
    "form", [np.asarray, lambda matrix: matrix.astype(int), lambda matrix: matrix > 0, scipy.sparse.csr_array]
)
def test_adjacency_matrices_are_the_graph(form):
    expected = quick().fit_transform(EDGES)
    estimator = quick().fit(form(MATRIX))
    np.testing.assert_array_equal(estimator.embedding_, expected)
    np.testing.assert_array_equal(estimator.transform(form(MATRIX)), expected)
    assert estimator.n_features_in_ == 30


def test_an_edge_index_of_integers_is_no_matrix():
    np.testing.assert_array_equal(quick().fit_transform(EDGES.numpy()), quick().fit_transform(EDGES))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (MATRIX[:20], "an adjacency matrix must be square, got \\(20, 30\\)"),
        (-MATRIX, "Negative values in data"),
        (np.where(MATRIX > 0, np.nan, 0), "contains NaN"),
        (MATRIX * 1j, "Complex data not supported"),
        (np.zeros((1, 1)), "1 sample"),
        ("nowhere.csv", "no file and no data set"),
    ],
)
def test_what_is_no_graph_is_refused(graph, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(graph)


def test_rows_of_a_matrix_are_links_of_new_nodes():
    classifier = quick(qgcn.QGCNClassifier, epochs=60, lr=0.05).fit(MATRIX, LABELS)
    rows = np.stack((MATRIX[2], MATRIX[20]))
    grown = nx.from_numpy_array(MATRIX)
    for new, row in enumerate(rows, 30):
        grown.add_edges_from((new, int(node)) for node in np.flatnonzero(row))
    np.testing.assert_allclose(classifier.predict_proba(rows), classifier.predict_proba(grown)[30:], atol=1e-6)
    integers = classifier.predict_proba(rows.astype(int))  # not an edge_index: a matrix was fitted
    np.testing.assert_array_equal(integers, classifier.predict_proba(rows))
    np.testing.assert_array_equal(classifier.predict(rows), [0, 1])


def test_rows_of_new_nodes_have_features_where_those_that_were_fitted_have():
    x = np.random.default_rng(0).normal(size=(31, 3))
    classifier = quick(qgcn.QGCNClassifier).fit(MATRIX, LABELS, features=x[:-1])
    assert classifier.predict_proba(MATRIX[:1], features=x[-1:]).shape == (1, 2)
    with pytest.raises(ValueError, match="new node '30' has no features"):
        classifier.predict(MATRIX[:1])


def test_a_square_block_that_may_be_rows_of_new_nodes_is_refused():
    classifier = quick(qgcn.QGCNClassifier).fit(MATRIX, LABELS)
    with pytest.raises(ValueError, match="must be symmetric"):
        classifier.predict(MATRIX[::-1])
    named = nx.relabel_nodes(nx.from_numpy_array(MATRIX), {k: f"n{k}" for k in range(30)})
    with pytest.raises(ValueError, match="must be square for nodes with names"):
        quick(qgcn.QGCNClassifier).fit(named, LABELS).predict(MATRIX[:2])


def test_cross_validation_splits_a_matrix():
    scores = cross_val_score(quick(qgcn.QGCNClassifier, epochs=60, lr=0.05), MATRIX, LABELS, cv=3)
    assert scores.min() > 0.8


def test_tables_of_features_are_graphs_of_their_nearest_rows():
    rng = np.random.default_rng(0)
    table = np.repeat([[0.0, 0.0], [4.0, 4.0]], 20, axis=0) + rng.normal(size=(40, 2))
    classifier = quick(qgcn.QGCNClassifier, affinity="nearest_neighbors", n_neighbors=4, epochs=100, lr=0.05)
    classifier.fit(table, np.repeat(["low", "high"], 20))
    assert classifier.n_features_in_ == 2
    assert classifier.run_.task.data.x.shape == (40, 2)
    assert classifier.predict([[-0.5, 0.1], [4.2, 4.4]]).tolist() == ["low", "high"]
    np.testing.assert_array_equal(classifier.predict_proba(table[7:9]), classifier.predict_proba()[7:9])
    with pytest.raises(ValueError, match="X has 3 features, but QGCNClassifier is expecting 2"):
        classifier.predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="features must be the rows themselves"):
        classifier.predict(table, features=table)
    classifier.set_params(val=0.4)  # of few labels: one or two are guessed right before anything is learned
    assert cross_val_score(classifier, table, np.repeat([0, 1], 20), cv=2).min() > 0.8


def test_wrong_parameters_are_named():
    with pytest.raises(ValueError, match="affinity must be one of 'precomputed', 'nearest_neighbors', got 'rbf'"):
        quick(affinity="rbf").fit(EDGES)
    with pytest.raises(ValueError, match="features must be the rows themselves"):
        quick(affinity="nearest_neighbors").fit(MATRIX, features=MATRIX)


def test_the_run_is_kept_and_can_be_asked():
    estimator = quick().fit(EDGES)
    assert estimator.run_.neighbors(0, 3)["node"].tolist() == [0, 0, 0]
    assert estimator.scores_ == estimator.run_.results[0]["test"]
    assert torch.equal(as_data(EDGES).edge_index, estimator.run_.data.edge_index)


def test_a_graph_that_was_fitted_in_other_order_or_with_other_edges_is_a_changed_one():
    estimator = quick(qgcn.QGCNLinkPredictor).fit(ring_of_trees())
    pairs = torch.tensor([[0, 5], [1, 90]])
    np.testing.assert_array_equal(estimator.predict_proba(pairs, graph=ring_of_trees().flip(1)), estimator.predict_proba(pairs))
    changed = torch.cat((ring_of_trees(), torch.tensor([[0], [90]])), dim=1)
    assert not np.array_equal(estimator.predict_proba(pairs, graph=changed), estimator.predict_proba(pairs))
