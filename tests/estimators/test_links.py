import networkx as nx
import numpy as np
import pytest
import torch
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

import qgcn
from qgcn.data import stochastic_block

EDGES, _ = stochastic_block(sizes=(20, 20), within=0.5, between=0.02, seed=0)
GRAPH = nx.relabel_nodes(nx.from_edgelist(EDGES.T.tolist()), {k: f"n{k}" for k in range(40)})
PAIRS = [("n0", "n1"), ("n0", "n30"), ("n21", "n30")]


def quick(options=None, **changes):
    settings = {"space": "Q3,2", "epochs": 60, "device": "cpu"} | changes
    return qgcn.QGCNLinkPredictor(**settings, options={"blend": False} | (options or {}))


@pytest.fixture(scope="module")
def links():
    return quick().fit(GRAPH)


@pytest.mark.parametrize("blend", [False, True])
def test_the_score_of_held_out_links_is_the_runs_own(blend):
    links = quick({"blend": blend}, epochs=30).fit(GRAPH)
    task = links.run_.task.links
    pairs = torch.cat((task.test, task.test_negative), dim=1)
    y = np.repeat([1, 0], [task.test.shape[1], task.test_negative.shape[1]])
    assert links.score(pairs, y) == links.scores_["roc_auc"] > 0.5


def test_links_within_a_block_are_more_probable_than_between(links):
    blocks = np.array([(0, 1), (2, 3), (21, 30), (25, 36), (0, 30), (5, 25), (7, 33), (12, 39)])
    found = links.predict_proba([(f"n{a}", f"n{b}") for a, b in blocks])[:, 1]
    assert found[:4].min() > found[4:].max()


@pytest.mark.parametrize("seeds", [1, 3])
def test_probabilities_decisions_and_predictions_agree(seeds):
    links = quick(options={"seeds": seeds}, epochs=20).fit(GRAPH)
    a, b = np.triu_indices(40, 1)
    pairs = torch.from_numpy(np.stack((a, b)))
    probability, decision = links.predict_proba(pairs), links.decision_function(pairs)
    assert probability.shape == (780, 2)
    np.testing.assert_allclose(probability.sum(1), 1)
    np.testing.assert_allclose(expit(decision), probability[:, 1], rtol=1e-6)
    np.testing.assert_array_equal(links.predict(pairs), decision > 0)
    np.testing.assert_array_equal(probability[:, 1], links.run_.score_links(pairs))


def test_recommendations_are_the_most_probable_pairs_that_are_no_links(links):
    found = links.recommend("n0", k=4)
    others = [node for node in links.node_ids_ if node != "n0" and not GRAPH.has_edge("n0", node)]
    probability = links.predict_proba([("n0", node) for node in others])[:, 1]
    best = np.argsort(-probability, kind="stable")[:4]
    np.testing.assert_array_equal(found["other"], np.array(others)[best])
    np.testing.assert_array_equal(found["probability"], probability[best])
    assert len(links.recommend(k=2)) == 80
    assert links.recommend("n0", k=1, exclude_known=False)["other"][0] in links.node_ids_


def test_new_nodes_are_linked_to_the_block_of_their_neighbours(links):
    grown = nx.Graph(GRAPH)
    grown.add_edges_from(("new", f"n{k}") for k in range(21, 29))
    near, far = links.predict_proba([("new", "n35"), ("new", "n5")], graph=grown)[:, 1]
    assert near > far
    assert links.recommend("new", k=1, graph=grown)["node"].tolist() == ["new"]
    with pytest.raises(ValueError, match="no node 'new' in the graph"):
        links.predict([("new", "n5")])


def test_features_are_used():
    x = np.random.default_rng(0).normal(size=(40, 3))
    links = quick(epochs=5).fit(EDGES, features=x)
    assert links.run_.task.in_features == 3
    assert not np.array_equal(links.predict_proba([(0, 1)]), links.predict_proba([(0, 1)], features=2 * x))


@pytest.mark.parametrize(
    ("pairs", "message"),
    [([("n0", "n1", "n2")], "two nodes each"), ([("n0", "zz")], "no node 'zz'"), (np.zeros((4, 3)), r"shape \(P, 2\)")],
)
def test_wrong_pairs_are_named(links, pairs, message):
    for question in (links.predict, links.predict_proba, links.decision_function):
        with pytest.raises(ValueError, match=message):
            question(pairs)


@pytest.mark.parametrize("y", [[1, 1, 1], [0, 1], [0, 1, 2], ["yes", "no", "no"]])
def test_scores_need_links_and_others(links, y):
    with pytest.raises(ValueError, match="y must hold 0 and 1, both of them, for 3 pairs"):
        links.score(PAIRS, y)


def test_the_score_is_the_area_under_the_curve(links):
    y = np.random.default_rng(0).integers(0, 2, 780)
    pairs = torch.from_numpy(np.stack(np.triu_indices(40, 1)))
    assert links.score(pairs, y) == pytest.approx(roc_auc_score(y, links.decision_function(pairs)), abs=1e-12)
    assert links.score(pairs, y == 1) == links.score(pairs, y)


def test_a_complete_graph_has_nothing_to_tell_links_from():
    with pytest.raises(ValueError, match="leave no others"):
        quick().fit(nx.complete_graph(12))


def test_an_unfitted_predictor_says_so():
    for question in (quick().predict, quick().predict_proba, quick().decision_function, quick().recommend):
        with pytest.raises(NotFittedError):
            question(PAIRS)
