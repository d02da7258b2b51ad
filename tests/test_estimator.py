import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

import qgcn
from qgcn.data import ring_of_trees, stochastic_block

EDGES = ring_of_trees(ring=5, branching=2, depth=1)
NODES = 15


def quick(**changes):
    return qgcn.QGCNEmbedding(**({"space": "Q3,2", "epochs": 30, "device": "cpu"} | changes))


# those of scikit-learn's checks that do not feed a table of samples where a graph is meant
CHECKS = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]


@pytest.mark.parametrize("name", CHECKS)
def test_estimator_keeps_the_habits_of_scikit_learn(name):
    getattr(estimator_checks, name)("QGCNEmbedding", quick())


def test_fit_transform_equals_fit_then_transform_and_repeats():
    first = quick().fit_transform(EDGES)
    estimator = quick()
    assert estimator.fit(EDGES) is estimator
    np.testing.assert_array_equal(first, estimator.transform(EDGES))
    np.testing.assert_array_equal(first, clone(estimator).fit_transform(EDGES))
    assert first.shape == (NODES, 5)
    assert not np.array_equal(first, quick(random_state=1).fit_transform(EDGES))


def test_points_lie_in_the_space_and_tangents_are_their_logarithms():
    estimator = quick().fit(EDGES)
    points = torch.from_numpy(estimator.embedding_)
    assert str(estimator.space_) == "Q3,2"
    assert estimator.space_.check_point_on_manifold(points, atol=1e-4, rtol=1e-4)
    tangent = quick(output="tangent").fit_transform(EDGES)
    np.testing.assert_allclose(tangent, estimator.space_.logmap0(points).detach().numpy(), atol=1e-6)


def test_training_finds_neighbours():
    untrained, trained = quick(epochs=1).fit(EDGES), quick(epochs=150).fit(EDGES)
    assert trained.scores_["map"] > 0.9 > untrained.scores_["map"]


def test_every_kind_of_graph_gives_the_same_embedding():
    expected = quick().fit_transform(EDGES)
    matrix = scipy.sparse.coo_matrix((np.ones(EDGES.shape[1]), EDGES.numpy()), shape=(NODES, NODES)).tocsr()
    graph = nx.from_scipy_sparse_array(matrix)
    for same in (matrix, graph):
        np.testing.assert_allclose(quick().fit_transform(same), expected, atol=1e-6)


def test_names_of_nodes_are_kept():
    graph = nx.relabel_nodes(nx.cycle_graph(8), dict(enumerate("abcdefgh")))
    assert list(quick().fit(graph).node_ids_) == list("abcdefgh")


def test_estimator_in_a_pipeline_with_a_classifier():
    edges, labels = stochastic_block(sizes=(15, 15), within=0.5, between=0.02, seed=0)
    pipeline = make_pipeline(quick(output="tangent", epochs=100), LogisticRegression())
    score = pipeline.fit(edges, labels.numpy()).score(edges, labels.numpy())
    assert score > 0.9


def test_transform_refuses_another_graph_and_an_unfitted_estimator():
    estimator = quick().fit(EDGES)
    with pytest.raises(ValueError, match="graph that was fitted"):
        estimator.transform(ring_of_trees(ring=6, branching=2, depth=1))
    with pytest.raises(ValueError, match="not fitted"):
        quick().transform(EDGES)


def test_transform_takes_the_same_graph_in_one_direction():
    estimator = quick().fit(EDGES)
    one_way = EDGES[:, EDGES[0] < EDGES[1]]
    np.testing.assert_array_equal(estimator.transform(one_way), estimator.embedding_)


def test_auto_chooses_a_space_by_trials_and_repeats():
    estimator = quick(space="auto:4", epochs=100).fit(EDGES)
    suggestion = estimator.suggestion_
    assert str(estimator.space_) == suggestion.space
    assert estimator.embedding_.shape == (NODES, estimator.space_.ambient_dim)
    assert [trial.space for trial in sorted(suggestion.ranking, key=lambda trial: trial.space)] == [
        "E4",
        "H2xS2",
        "H4",
        "Q2,2",
        "Q3,1",
        "S4",
    ]
    again = clone(estimator).fit(EDGES)
    assert again.suggestion_.ranking == suggestion.ranking
    np.testing.assert_array_equal(again.embedding_, estimator.embedding_)


def test_auto_has_16_dimensions_and_uses_the_labels_of_a_classification():
    edges, labels = stochastic_block(sizes=(15, 15), within=0.5, between=0.02, seed=0)
    estimator = quick(space="auto", task="classification", layers=2, options={"one_hot": True}).fit(edges, labels.numpy())
    assert estimator.suggestion_.task == "classification"
    assert "Q12,4" in [trial.space for trial in estimator.suggestion_.ranking]
    assert len(estimator.suggestion_.ranking) == 8


@pytest.mark.parametrize(("model", "spaces"), [("hgcn", {"H4"}), ("gcn", {"E4", "S4"})])
def test_auto_tries_the_spaces_that_the_model_lives_in(model, spaces):
    estimator = quick(space="auto:4", model=model, task="links", layers=2, epochs=2, options={"one_hot": True}).fit(
        ring_of_trees()
    )
    assert {trial.space for trial in estimator.suggestion_.ranking} == spaces


def test_a_named_space_is_taken_without_trials():
    assert quick().fit(EDGES).suggestion_ is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"space": "auto:many"}, "auto:DIM with a dimension"),
        ({"space": "auto", "epochs": 0}, "epochs"),
        ({"space": "auto", "task": "guessing"}, "guessing"),
        ({"space": "Q0,0"}, "Q0,0"),
        ({"output": "images"}, "output must be"),
        ({"options": {"epoch": 3}}, "did you mean 'epochs'"),
        ({"task": "classification", "layers": 2}, "needs labels"),
    ],
)
def test_wrong_arguments_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        quick(**changes).fit(EDGES)


def test_classification_uses_labels():
    edges, labels = stochastic_block(sizes=(15, 15), within=0.5, between=0.02, seed=0)
    estimator = quick(task="classification", layers=2, epochs=60, options={"one_hot": True}).fit(edges, labels.numpy())
    assert set(estimator.scores_) == {"accuracy", "f1_micro", "f1_macro"}
