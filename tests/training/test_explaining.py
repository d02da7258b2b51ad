"""Explanations of trained runs: PyG's explainer sees every aggregation, and finds the edges that matter."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.explain import Explainer, GNNExplainer

from qgcn.training import Config, Run, load_run
from qgcn.training.explaining import explained_model


def two_stars(weighted=False):
    """Two hubs with leaves of different features; a leaf's class is its hub's feature, which only the edge to it tells."""
    leaves = 12
    hub = torch.arange(leaves) % 2
    edges = torch.stack((torch.arange(leaves) + 2, hub))
    extra = torch.tensor([[2, 3], [4, 5]])  # between leaves of one hub
    edges = torch.cat((edges, extra), dim=1)
    x = torch.zeros(leaves + 2, 3)
    x[0, 0], x[1, 1], x[2:, 2] = 5.0, 5.0, 1.0
    y = torch.cat((torch.tensor([0, 1]), hub))
    mask = torch.ones(leaves + 2, dtype=torch.bool)
    data = Data(x=x, edge_index=torch.cat((edges, edges.flip(0)), dim=1), y=y, train_mask=mask, val_mask=mask, test_mask=mask)
    data.node_ids = np.array([f"n{i}" for i in range(leaves + 2)])
    if weighted:
        data.edge_weight = torch.linspace(0.5, 1.5, edges.shape[1]).repeat(2)
    return data


def trained(folder=None, data=None, **settings):
    given = {
        "task": "classification",
        "data": "stars",
        "space": "Q3,2",
        "epochs": 40,
        "seeds": 1,
        "device": "cpu",
    } | settings
    run = Run(Config.checked(given), data=two_stars() if data is None else data, folder=folder)
    run.train()
    return run


MODELS = {
    "qgcn": {},
    "attention": {"attention": True},
    "plain head": {"head": "linear"},
    "gcn": {"model": "gcn", "space": "E4"},
    "gat": {"model": "gat", "space": "E4"},
}


@pytest.mark.parametrize("name", MODELS)
def test_the_explained_model_says_what_the_run_says(name):
    run = trained(**MODELS[name])
    task, predictor = run.answering, run.predictor(0)
    model = explained_model(task, predictor)
    found = model(task.x.to_dense(), task.graph.edge_index)
    torch.testing.assert_close(found, task.class_logits(predictor.eval()), rtol=1e-4, atol=1e-4)


def test_weights_of_edges_are_kept():
    run = trained(data=two_stars(weighted=True))
    task, predictor = run.answering, run.predictor(0)
    model = explained_model(task, predictor)
    found = model(task.x.to_dense(), task.graph.edge_index)
    torch.testing.assert_close(found, task.class_logits(predictor.eval()), rtol=1e-4, atol=1e-4)


def test_the_edge_to_the_hub_matters_most():
    run = trained()
    names = run.node_ids
    assert (run.predict() == np.asarray([str(each) for each in run.answering.data.y.tolist()])).all()
    found = run.explain(names[6], k=3)
    assert list(found.columns) == ["source", "target", "importance"]
    assert {found["source"][0], found["target"][0]} == {names[0], names[6]}
    assert (np.diff(found["importance"]) <= 0).all()
    assert 0 < found["importance"].max() <= 1


def test_equal_questions_have_equal_answers():
    run = trained()
    one, two = (run.explain(run.node_ids[3], k=5, epochs=10) for _ in range(2))
    assert list(one) == list(two)


def test_edges_out_of_reach_are_left_out():
    run = trained()
    found = run.explain(run.node_ids[2], k=50, epochs=10)
    other = set(run.node_ids[[1, 3, 5, 7, 9, 11, 13]])  # the star of the other hub
    assert 0 < len(found) < 50
    assert not other & (set(found["source"]) | set(found["target"]))


def test_a_run_without_classes_explains_the_place_of_a_node_also_when_it_was_loaded(tmp_path):
    trained(tmp_path / "run", task="links", val=0.1, test=0.1, seeds=2, epochs=5)
    run = load_run(tmp_path / "run")
    found = run.explain(run.node_ids[2], k=4, epochs=10)
    assert 0 < len(found) <= 4
    alone = run.explain(run.node_ids[2], k=4, epochs=10, seed=1)
    assert list(alone) != list(found)


def test_the_explainer_of_pyg_takes_the_model_itself():
    run = trained()
    task = run.answering
    explainer = Explainer(
        explained_model(task, run.predictor(0)),
        GNNExplainer(epochs=5),
        explanation_type="phenomenon",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )
    found = explainer(task.x.to_dense(), task.graph.edge_index, index=2, target=task.data.y)
    assert found.edge_mask.shape == task.graph.edge_index.shape[1:]
    assert found.node_mask.shape == task.x.shape


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda run: run.explain("nobody"), "nobody"),
        (lambda run: run.explain(run.node_ids[0], k=0), "k must be a positive integer, got 0"),
        (lambda run: run.explain(run.node_ids[0], seed=5), "seed 0 alone, got 5"),
    ],
)
def test_what_cannot_be_asked_is_refused(ask, match):
    run = trained(epochs=1)
    with pytest.raises(ValueError, match=match):
        ask(run)


def test_a_model_without_a_graph_has_nothing_to_explain():
    run = trained(model="qnn", epochs=1)
    with pytest.raises(ValueError, match="the model qnn does not read the graph"):
        run.explain(run.node_ids[0])


PAIR_MODELS = {"qgcn": {}, "attention": {"attention": True}, "gcn": {"model": "gcn", "space": "E4"}}


@pytest.mark.parametrize("name", PAIR_MODELS)
def test_the_explained_pair_scores_what_the_run_scores(name):
    run = trained(task="links", val=0.1, test=0.1, epochs=5, blend=False, **PAIR_MODELS[name])
    task, predictor = run.answering, run.predictor(0)
    pair = torch.tensor([[2], [5]])
    found = explained_model(task, predictor, pair)(task.x.to_dense(), task.graph.edge_index)
    expected = predictor.eval().pair_logits(task.embed(predictor), pair)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_a_link_is_explained_by_edges_in_reach_of_either_end():
    run = trained(task="links", val=0.1, test=0.1, epochs=20)
    names = run.node_ids
    one, two = (run.explain(names[2], names[node], k=50, epochs=20) for node in (4, 5))
    own, other = set(names[::2]), set(names[1::2])  # the two stars
    assert len(one) > 0
    assert {*one["source"], *one["target"]} <= own
    assert {*two["source"], *two["target"]} & own
    assert {*two["source"], *two["target"]} & other
    assert (np.diff(two["importance"]) <= 0).all()
    assert 0 < two["importance"].max() <= 1
    again = run.explain(names[5], names[2], k=50, epochs=20)  # either way round
    np.testing.assert_allclose(again["importance"], two["importance"], atol=1e-5)


def test_every_step_of_all_seeds_is_reported():
    run, told = trained(seeds=2, epochs=1), []
    run.explain(run.node_ids[2], epochs=3, progress=lambda *step: told.append(step))
    assert {(stage, total) for stage, _, total in told} == {("explaining", 6)}
    assert [done for _, done, _ in told] == [0, 1, 2, 3, 3, 4, 5, 6]


def test_a_node_without_edges_has_none_that_matter():
    data = two_stars()
    data.edge_index = data.edge_index[:, (data.edge_index != 13).all(0)]
    run = trained(data=data, epochs=1)
    assert len(run.explain(run.node_ids[13], epochs=5)) == 0
    assert len(run.explain(run.node_ids[12], epochs=5)) > 0


def test_pairs_that_are_none_or_not_scored_are_refused():
    run = trained(epochs=1)
    with pytest.raises(ValueError, match="a run of classification predicts no links"):
        run.explain("n2", "n3")
    run = trained(task="links", val=0.1, test=0.1, epochs=1)
    with pytest.raises(ValueError, match="a link joins two nodes, got 'n2' twice"):
        run.explain("n2", "n2")
    with pytest.raises(ValueError, match="no node 'n99'"):
        run.explain("n2", "n99")


def test_a_model_that_multiplies_with_the_graph_says_so():
    run = trained(model="propagation", epochs=1)
    with pytest.raises(ValueError, match="the model propagation multiplies with the graph"):
        run.explain(run.node_ids[0])
