import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import qgcn
from qgcn.data import ring_of_trees, stochastic_block

EDGES = ring_of_trees(ring=5, branching=2, depth=1)
NODES = 15


def quick(**changes):
    return qgcn.QGCNEmbedding(**({"space": "Q3,2", "epochs": 30, "device": "cpu"} | changes))


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


def test_an_unfitted_estimator_says_so():
    for question in (quick().transform, quick().kneighbors):
        with pytest.raises(NotFittedError, match="not fitted"):
            question(EDGES)


def test_transform_places_new_nodes_beside_their_neighbours_and_leaves_the_others():
    graph = nx.relabel_nodes(nx.cycle_graph(30), {k: f"n{k}" for k in range(30)})
    estimator = quick(epochs=150).fit(graph)
    graph.add_edges_from([("new", "n3"), ("new", "n4")])
    found = estimator.transform(graph)
    np.testing.assert_array_equal(found[:-1], estimator.embedding_)
    points = torch.from_numpy(found)
    near = estimator.space_.dist(points[-1:], points[:-1]).argsort()[:2]
    assert set(near.tolist()) == {3, 4}


def test_transform_finds_nodes_by_their_names_in_any_order():
    graph = nx.relabel_nodes(nx.path_graph(6), dict(enumerate("abcdef")))
    estimator = quick().fit(graph)
    other = nx.Graph()
    other.add_nodes_from("fedcba")
    other.add_edges_from(graph.edges)
    np.testing.assert_array_equal(estimator.transform(other), estimator.embedding_[::-1])


def test_a_network_embeds_a_changed_graph_from_its_features():
    x = np.random.default_rng(0).normal(size=(NODES + 1, 4))
    estimator = quick(model="qgcn", options={"use_features": True}).fit(EDGES, features=x[:-1])
    np.testing.assert_array_equal(estimator.transform(EDGES), estimator.embedding_)
    np.testing.assert_array_equal(estimator.transform(EDGES, features=x[:-1]), estimator.embedding_)
    assert not np.allclose(estimator.transform(EDGES, features=2 * x[:-1]), estimator.embedding_)
    grown = torch.cat((EDGES, torch.tensor([[NODES], [0]])), dim=1)
    assert estimator.transform(grown, features=x).shape == (NODES + 1, 5)
    with pytest.raises(ValueError, match="new node '15' has no features"):
        estimator.transform(grown)
    with pytest.raises(ValueError, match="4 features of each node, but the graph given has 3"):
        estimator.transform(grown, features=x[:, :3])


def test_kneighbors_are_those_of_the_distances_in_the_space():
    estimator = quick(n_neighbors=3).fit(EDGES)
    distances, nodes = estimator.kneighbors()
    points = torch.from_numpy(estimator.embedding_)
    expected = estimator.space_.pairwise_dist(points, points).detach().fill_diagonal_(torch.inf).sort()
    np.testing.assert_array_equal(nodes, expected.indices[:, :3])
    np.testing.assert_allclose(distances, expected.values[:, :3], rtol=1e-4)
    np.testing.assert_array_equal(estimator.kneighbors(return_distance=False), nodes)


def test_kneighbors_of_some_nodes_by_name_or_position_in_the_order_asked_for():
    graph = nx.relabel_nodes(nx.cycle_graph(8), dict(enumerate("abcdefgh")))
    estimator = quick().fit(graph)
    everyone = estimator.kneighbors(n_neighbors=4)
    asked = [6, 0, 6]
    for nodes in (["g", "a", "g"], torch.tensor(asked)):
        for some, every in zip(estimator.kneighbors(nodes, 4), everyone, strict=True):
            np.testing.assert_array_equal(some, every[asked])
    assert estimator.kneighbors("g", 2, return_distance=False).shape == (1, 2)


@pytest.mark.parametrize(
    ("nodes", "count", "message"),
    [
        (["zz"], 3, "no node 'zz'"),
        (None, 0, r"must lie in \[1, 14\]"),
        (None, 15, "of 15 nodes, got 15"),
        (torch.tensor([15]), 3, r"positions in \[0, 15\)"),
        (torch.tensor([-1]), 3, r"positions in \[0, 15\)"),
        (torch.tensor([0.5]), 3, "torch.float32"),
    ],
)
def test_kneighbors_names_what_is_wrong(nodes, count, message):
    with pytest.raises(ValueError, match=message):
        quick(epochs=1).fit(EDGES).kneighbors(nodes, count)


def test_pandas_output_has_the_names_of_nodes_and_coordinates():
    pytest.importorskip("pandas")
    graph = nx.relabel_nodes(nx.cycle_graph(8), dict(enumerate("abcdefgh")))
    estimator = quick(epochs=2).set_output(transform="pandas")
    frame = estimator.fit_transform(graph)
    assert list(frame.index) == list("abcdefgh")
    assert list(frame.columns) == list(estimator.get_feature_names_out())
    assert frame.columns[4] == "qgcnembedding4"
    np.testing.assert_array_equal(frame.to_numpy(), estimator.embedding_)
    graph.add_edge("a", "new")
    assert estimator.transform(graph).index[-1] == "new"
    assert isinstance(clone(estimator).set_output(transform="default").fit_transform(graph), np.ndarray)


def test_pandas_output_of_a_table_keeps_its_index():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        np.random.default_rng(0).normal(size=(12, 3)), index=pandas.Index(range(100, 112)), columns=[*"abc"]
    )
    estimator = quick(epochs=2, affinity="nearest_neighbors", n_neighbors=3).set_output(transform="pandas")
    assert list(estimator.fit_transform(table).index) == list(table.index)
    assert list(estimator.transform(table[3:5]).index) == [103, 104]
    assert list(estimator.feature_names_in_) == [*"abc"]


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
        "Q1,4",
        "Q3,2",
        "S4",
    ]
    again = clone(estimator).fit(EDGES)
    assert again.suggestion_.ranking == suggestion.ranking
    np.testing.assert_array_equal(again.embedding_, estimator.embedding_)


def test_auto_has_16_dimensions_and_uses_the_labels_of_a_classification():
    edges, labels = stochastic_block(sizes=(15, 15), within=0.5, between=0.02, seed=0)
    estimator = quick(space="auto", task="classification", layers=2, options={"one_hot": True}).fit(edges, labels.numpy())
    assert estimator.suggestion_.task == "classification"
    assert "Q13,4" in [trial.space for trial in estimator.suggestion_.ranking]
    assert len(estimator.suggestion_.ranking) == 10


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
