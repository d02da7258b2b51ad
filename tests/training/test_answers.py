"""Questions to a trained run: equal to its own scores, to brute force, and for graphs that have changed."""

import copy

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from qgcn import metrics
from qgcn.data import load
from qgcn.tasks import Config
from qgcn.training import Run, load_run

NAMES = [f"node {k}" for k in range(180)]


def graph(features=False):
    """A ring of trees whose nodes have names, classes and perhaps features."""
    data = load("ring-of-trees")
    made = Data(edge_index=data.edge_index, num_nodes=180, name="ring")
    made.node_ids = np.array(NAMES)
    g = torch.Generator().manual_seed(0)
    made.y = torch.arange(180) % 3
    if features:
        made.x = torch.nn.functional.one_hot(made.y, 3).float() + 0.5 * torch.randn(180, 3, generator=g)
    return made


def trained(task, given=None, **settings):
    values = {"task": task, "data": "ring", "space": "Q2,2", "epochs": 15, "yardsticks": False} | settings
    run = Run(Config.checked(values), data=graph() if given is None else given)
    run.train()
    return run


@pytest.fixture(scope="module")
def linked():
    return trained("links", seeds=2, val=0.1, test=0.2)


@pytest.fixture(scope="module")
def classified():
    return trained("classification", graph(features=True), seeds=2)


@pytest.fixture(scope="module")
def embedded():
    return trained("reconstruction", epochs=200)


# --- scores ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"seeds": 3},
        {"space": "H2xS2"},
        {"space": "Q1,3", "blend": False},
        {"model": "gat", "space": "E4"},
        {"model": "hgcn", "space": "H3"},
    ],
    ids=str,
)
def test_scores_of_links_are_the_runs_own_to_the_last_digit(settings):
    run = trained("links", graph(features=True), **settings)
    for result in run.results:
        scores = [
            torch.from_numpy(run.score_links(pairs, seed=result["seed"], raw=True)).to(run.task.device)
            for pairs in (run.task.links.test, run.task.links.test_negative)
        ]
        assert float(metrics.roc_auc(*scores)) == result["test"]["roc_auc"]
        assert float(metrics.average_precision(*scores)) == result["test"]["average_precision"]


def test_predictions_are_the_runs_own(classified):
    right = np.asarray(classified.classes)[classified.task.data.y]
    tested = classified.task.data.test_mask.numpy()
    for result in classified.results:
        found = classified.predict(seed=result["seed"])
        assert (found == right)[tested].mean() == pytest.approx(result["test"]["accuracy"], abs=0)
    probability, spread = classified.predict_proba(return_std=True)
    each = np.stack([classified.predict_proba(seed=seed) for seed in (0, 1)])
    np.testing.assert_allclose(probability, each.mean(0))
    np.testing.assert_allclose(spread, each.std(0, ddof=1))
    np.testing.assert_allclose(probability.sum(1), 1)
    table = classified.predictions()
    assert table["class"].tolist() == np.asarray(classified.classes)[probability.argmax(1)].tolist()
    assert table["node"].tolist() == NAMES


# --- pairs -------------------------------------------------------------------------------------------------------------


def brute_force(run, seed=None):
    """Probability of every pair, a matrix."""
    everyone = torch.cartesian_prod(torch.arange(180), torch.arange(180)).T
    return run.score_links(everyone, seed=seed).reshape(180, 180)


def test_a_node_has_no_link_to_itself(linked):
    for seed in (None, 1):
        assert np.array_equal(np.isnan(brute_force(linked, seed)), np.eye(180, dtype=bool))
    (table,) = linked.link_scores([("node 3", "node 3"), ("node 0", "node 1")])
    assert np.isnan(table["probability"]).tolist() == np.isnan(table["spread"]).tolist() == [True, False]


def known_pairs(run):
    return {tuple(pair) for pair in run.task.data.edge_index.T.tolist()}


@pytest.mark.parametrize("exclude", [True, False])
@pytest.mark.parametrize("seed", [None, 1])
def test_recommendations_are_those_of_brute_force(linked, exclude, seed):
    probability, known = brute_force(linked, seed), known_pairs(linked)
    nodes = [170, 3, 4, 90]
    found = linked.recommend([NAMES[k] for k in nodes], 7, exclude, seed=seed)
    assert list(dict.fromkeys(found["node"].tolist())) == [NAMES[k] for k in nodes]
    for node in nodes:
        mine = found["node"] == NAMES[node]
        others = [k for k in range(180) if k != node and not (exclude and (node, k) in known)]
        best = np.sort(probability[node, others])[::-1][:7]
        np.testing.assert_allclose(found["probability"][mine], best, rtol=1e-3)  # of ties, any
        partners = [NAMES.index(name) for name in found["other"][mine]]
        np.testing.assert_allclose(found["probability"][mine], probability[node, partners])
        assert not exclude or not {(node, k) for k in partners} & known


def test_missing_links_are_the_best_of_all_pairs_each_once(linked):
    probability, known = brute_force(linked), known_pairs(linked)
    found = linked.missing_links(25)
    pairs = [(a, b) for a in range(180) for b in range(a + 1, 180) if (a, b) not in known]
    best = np.sort([probability[pair] for pair in pairs])[::-1][:25]
    np.testing.assert_allclose(found["probability"], best, rtol=1e-3)
    assert len({frozenset(pair) for pair in zip(found["node"], found["other"], strict=True)}) == 25


def test_recommendations_for_all_nodes_come_in_blocks(linked, monkeypatch):
    whole = linked.recommend(k=3)
    (block,) = linked.recommendations(k=3)
    assert list(block) == list(whole)
    monkeypatch.setattr("qgcn.training.pairs.BLOCK_ENTRIES", 180 * 7)  # seven nodes are scored at a time
    monkeypatch.setattr("qgcn.training.pairs.BLOCK_ROWS", 50)
    done = []
    blocks = list(linked.recommendations(k=3, progress=lambda stage, now, of: done.append((now, of))))
    assert [len(block) for block in blocks] == [63] * 8 + [36]
    assert done == [(min(now, 180), 180) for now in range(7, 187, 7)]
    np.testing.assert_allclose(np.concatenate([block["probability"] for block in blocks]), whole["probability"], rtol=1e-3)


def test_neighbors_are_the_nearest_points(embedded):
    points, space, _ = embedded.embedding()
    distance = space.pairwise_dist(points)[5].double().cpu()
    distance[5] = torch.inf
    found = embedded.neighbors("node 5", 6)
    np.testing.assert_allclose(found["distance"], distance.sort().values[:6], rtol=1e-3, atol=2e-5)
    linked = {NAMES[k] for _, k in known_pairs(embedded) if _ == 5}
    assert [name in linked for name in found["neighbor"]] == found["linked"].tolist()


def test_pairs_are_taken_by_name_by_position_and_from_a_table(linked, tmp_path):
    (tmp_path / "pairs.csv").write_text("from,to,why\nnode 3,node 90,x\nnode 0,node 1,y\n")
    by_name = linked.score_links([("node 3", "node 90"), ("node 0", "node 1")])
    assert linked.score_links(torch.tensor([[3, 0], [90, 1]])).tolist() == by_name.tolist()
    assert linked.score_links(tmp_path / "pairs.csv").tolist() == by_name.tolist()
    assert linked.score_links(np.array([["node 3", "node 90"]])).tolist() == by_name[:1].tolist()
    (table,) = linked.link_scores(tmp_path / "pairs.csv")
    assert table["node"].tolist() == ["node 3", "node 0"]
    assert table["probability"].tolist() == by_name.tolist()


# --- changed graphs ----------------------------------------------------------------------------------------------------


def with_twin(data, node):
    """Return a graph with a new node that has the features and the neighbours of a known one."""
    twin = int(data.num_nodes)
    others = data.edge_index[1][data.edge_index[0] == node]
    both = torch.stack((torch.full_like(others, twin), others))
    made = Data(edge_index=torch.cat((data.edge_index, both, both.flip(0)), dim=1), num_nodes=twin + 1)
    made.node_ids = np.array([*NAMES, "twin"])
    if data.get("x") is not None:
        made.x = torch.cat((data.x, data.x[node : node + 1]))
    return made


def test_a_new_node_with_the_features_and_neighbours_of_another_is_classified_alike(classified):
    changed = classified.with_graph(with_twin(classified.task.source, 100))
    probability = changed.predict_proba()
    assert probability.shape == (181, 3)
    np.testing.assert_allclose(probability[180], probability[100], atol=0.15)
    assert changed.predictions()["node"][-1] == "twin"


def test_an_unchanged_graph_gives_the_same_answers(classified):
    same = classified.with_graph(copy.copy(classified.task.source))
    np.testing.assert_allclose(same.predict_proba(), classified.predict_proba(), rtol=1e-9)
    assert classified.with_graph() is classified


def test_links_of_a_new_node_without_features_come_through_its_neighbours(linked):
    changed = linked.with_graph(with_twin(linked.task.source, 100))
    found = changed.recommend("twin", 5)
    assert len(found) == 5
    assert "twin" not in found["other"]
    assert 0 <= changed.score_links([("twin", "node 3")])[0] <= 1


def test_a_new_node_is_placed_by_the_shallow_model(embedded):
    changed = embedded.with_graph(with_twin(embedded.task.source, 4))
    points, _, ids = changed.embedding()
    assert ids[-1] == "twin"
    assert torch.equal(points[:180].cpu(), embedded.embedding().points.cpu())
    found = changed.neighbors("twin", 5)
    assert found["linked"].sum() >= 2


def strangers(data, x=True):
    """Return the same graph with nodes that nobody has heard of."""
    made = Data(edge_index=data.edge_index, num_nodes=data.num_nodes)
    made.node_ids = np.array([f"stranger {k}" for k in range(data.num_nodes)])
    if x and data.get("x") is not None:
        made.x = data.x
    return made


def test_a_graph_of_new_nodes_alone_is_answered_from_its_features(classified):
    changed = classified.with_graph(strangers(classified.task.source))
    assert changed.answering.origin.all_new
    assert all(len(nodes) == 0 for nodes in changed.answering.nodes.values())
    assert not changed.answering.class_terms().any()  # no label to learn from
    logits = [run.answering.class_logits(run.predictor(run.seeds[0])) for run in (changed, classified)]
    torch.testing.assert_close(*logits)  # the network sees the same features and edges
    probability = changed.predict_proba()
    np.testing.assert_allclose(probability.sum(1), 1)
    assert changed.predictions()["node"][0] == "stranger 0"


def test_a_graph_of_new_nodes_alone_without_features_is_refused(classified, linked):
    with pytest.raises(ValueError, match="the new node 'stranger 0' has no features"):
        classified.with_graph(strangers(classified.task.source, x=False))
    with pytest.raises(ValueError, match="no node of the graph given was there in training: 'stranger 0'"):
        linked.with_graph(strangers(linked.task.source))


def test_other_features_than_the_models_are_refused(classified):
    data = with_twin(classified.task.source, 3)
    data.x = torch.zeros(181, 5)
    with pytest.raises(ValueError, match="trained with 3 features of each node, but the graph given has 5"):
        classified.with_graph(data)
    data.x = None
    with pytest.raises(ValueError, match="the new node 'twin' has no features"):
        classified.with_graph(data)


# --- everything --------------------------------------------------------------------------------------------------------


def test_table_frame_and_networkx_hold_coordinates_labels_and_predictions(classified):
    frame = classified.to_frame(seed=1)
    assert list(frame.columns) == ["node", "x0", "x1", "x2", "x3", "label", "predicted", "probability"]
    np.testing.assert_array_equal(frame[["x0", "x1", "x2", "x3"]].to_numpy(), classified.embedding(1).points.cpu().numpy())
    made = classified.to_networkx(seed=1)
    assert made.number_of_edges() == classified.task.data.num_edges // 2
    assert made.nodes["node 7"]["predicted"] == frame["predicted"][7]


def test_the_embedding_has_the_learned_curvature(embedded):
    assert embedded.embedding().space.curvatures != (-1.0,)
    assert not embedded.embedding().space.beta.requires_grad


# --- what cannot be answered -------------------------------------------------------------------------------------------


def test_questions_that_have_no_answer_say_so(linked, classified, embedded):
    with pytest.raises(ValueError, match="a run of links predicts no classes: train one with qgcn train classification"):
        linked.predict()
    for run in (classified, embedded):
        with pytest.raises(ValueError, match=r"predicts no links: train one with .*qgcn train links"):
            run.recommend()
    with pytest.raises(ValueError, match="the run has seeds 0 to 1, got 9"):
        linked.score_links([("node 1", "node 2")], seed=9)
    with pytest.raises(ValueError, match=r"no node 'node 1800' in the graph; did you mean 'node 1"):
        linked.neighbors("node 1800")
    with pytest.raises(ValueError, match="k must be a positive integer, got 0"):
        linked.recommend(k=0)


def test_a_run_that_is_not_finished_is_not_asked(tmp_path):
    run = Run.start(Config.checked({"task": "links", "data": "ring", "space": "Q2,2", "epochs": 2}), tmp_path / "run", graph())
    with pytest.raises(ValueError, match="the run is not finished; resume it: qgcn resume"):
        run.recommend()
    run.train()
    assert (
        load_run(tmp_path / "run").recommend("node 1", 2)["probability"].tolist()
        == run.recommend("node 1", 2)["probability"].tolist()
    )
