"""What all tasks share: features, graphs, what can be batched."""

import pytest
import torch
from torch_geometric.data import Data

from cases import batch_of, problem, step_graph
from cases import two_communities as graph
from qgcn import data
from qgcn.nn import Adjacency
from qgcn.tasks import TASKS, LinkPrediction, NodeClassification, Reconstruction
from qgcn.tasks.features import check_features, normalize_rows


@pytest.fixture(params=[name for name, task in TASKS.items() if not task.directed])
def kind(request):
    return TASKS[request.param]


def test_every_task_has_a_name_and_the_metric_it_scores(kind):
    task = problem(kind, graph(), space="Q2,2")
    assert TASKS[task.name] is kind
    predictor = task.build_predictor().eval()
    with torch.no_grad():
        prediction = predictor.predict(task.x, task.graph, *task.targets("test"))
    assert task.metric in task.score(prediction, "test", predictor.space)


def test_a_graph_given_in_one_direction_is_the_graph_given_in_both(kind):
    both = graph()
    one_way = both.clone()
    one_way.edge_index = both.edge_index[:, both.edge_index[0] < both.edge_index[1]]
    sorted_both = both.clone()
    sorted_both.edge_index = data.undirected(one_way).edge_index
    tasks = [problem(kind, each, space="Q2,2") for each in (one_way, sorted_both)]
    torch.testing.assert_close(tasks[0].graph.to_dense(), tasks[1].graph.to_dense(), rtol=0, atol=0)
    for first, second in zip(*(task.targets("test") for task in tasks), strict=True):
        assert torch.equal(first, second)


@pytest.mark.parametrize("model", ["qgcn", "qnn", "hgcn", "kappa-gcn", "gcn", "gat", "sage", "sgc", "mlp"])
def test_every_model_solves_every_task(kind, model):
    torch.manual_seed(0)
    task = problem(kind, graph(), model=model)
    predictor = task.build_predictor()
    loss = predictor("loss", *batch_of(task))
    assert loss.shape == ()
    assert loss.isfinite()
    loss.backward()
    weights = [value.grad for name, value in predictor.named_parameters() if "weight" in name]
    assert all(gradient is not None and gradient.isfinite().all() for gradient in weights)
    score = task.selection(predictor.eval()("predict", task.x, task.graph, *task.targets("val")), predictor.space)
    assert score.shape == ()
    assert score.dtype == torch.float64
    assert 0 <= score <= 1
    assert predictor.embed(task.x, task.graph).shape[0] == 24


# --- features --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_feature_that_is_not_finite_is_refused_with_its_node(kind, value):
    bad = graph()
    bad.x[7, 2] = value
    options = {"use_features": True} if kind is Reconstruction else {}
    with pytest.raises(ValueError, match=f"features must be finite, but feature 2 of node 7 is {value}"):
        problem(kind, bad, **options)
    with pytest.raises(ValueError, match="node 7"):
        check_features(bad.x)
    check_features(graph().x)


@pytest.mark.parametrize("model", ["qgcn", "gcn"])
def test_without_features_nodes_are_told_apart_and_with_one_hot_they_have_both(model):
    bare = graph()
    bare.x = None
    task = problem(LinkPrediction, bare, model=model)
    assert torch.equal(task.x.to_dense(), torch.eye(24))
    assert task.in_features == 24
    both = problem(LinkPrediction, graph(), model=model, one_hot=True, row_normalize=True)
    assert both.in_features == 30
    torch.testing.assert_close(both.x.to_dense(), torch.cat((normalize_rows(graph().x), torch.eye(24)), dim=1))


# --- graphs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("aggregation", ["sum", "mean", "sym"])
def test_the_graph_is_the_adjacency_of_the_message_edges(aggregation):
    given = graph()
    given.edge_weight = torch.full((given.edge_index.shape[1],), 2.0)
    task = problem(NodeClassification, given, aggregation=aggregation)
    expected = Adjacency.of(given.edge_index, 24, given.edge_weight, aggregation=aggregation)
    torch.testing.assert_close(task.graph.to_dense(), expected.to_dense())
    assert torch.equal(problem(NodeClassification, given, model="gat").graph.edge_index, given.edge_index)


def test_everything_moves_to_another_type(kind):
    task = problem(kind, graph(), edge_dropout=0.3, space="Q2,2", precision="float64")
    assert task.x.dtype == task.graph.dtype == step_graph(task, 0).dtype == torch.float64
    predictor = task.build_predictor().double()
    assert predictor("loss", *batch_of(task)).dtype == torch.float64


# --- what can be batched -------------------------------------------------------------------------------------------------


def test_seeds_are_batched_where_all_randomness_is_keyed():
    for kind in (NodeClassification, LinkPrediction):
        assert problem(kind, graph(), dropout=0.5, feature_dropout=0.5, edge_dropout=0.5).can_batch()
        assert problem(kind, graph(), model="kappa-gcn", space="H2xS2").can_batch()
        assert not problem(kind, graph(), model="gcn").can_batch()
    assert problem(Reconstruction, graph()).can_batch()
    assert not problem(Reconstruction, graph(), model="gcn").can_batch()


@pytest.mark.parametrize("value", [-0.1, 1.0, float("nan")])
def test_an_edge_dropout_out_of_range_is_refused(kind, value):
    with pytest.raises(ValueError, match=r"edge_dropout: input should be .*, got"):
        problem(kind, graph(), edge_dropout=value)


def test_what_does_not_fit_is_refused(kind):
    with pytest.raises(ValueError, match="no model 'qgnc'"):
        problem(kind, graph(), model="qgnc")
    with pytest.raises(ValueError, match="hgcn lives in"):
        problem(kind, graph(), model="hgcn", space="Q2,2")
    with pytest.raises(ValueError, match="unknown key 'nonsense'"):
        problem(kind, graph(), nonsense=3)


def test_a_graph_of_one_node_is_refused(kind):
    with pytest.raises(ValueError, match="a graph needs at least 2 nodes, got 1"):
        kind.of(Data(edge_index=torch.empty(2, 0, dtype=torch.int64), num_nodes=1))


def test_a_problem_reconfigured_shares_data_split_and_matrices(kind):
    first = problem(kind, graph(), space="Q2,2")
    again = first.reconfigured(problem(kind, graph(), space="H3", epochs=7).config)
    assert (again.config.space, first.config.space) == ("H3", "Q2,2")
    assert again.graph is first.graph
    assert again.x is first.x
    assert again.split is first.split
    assert again.loader.task is again


@pytest.mark.parametrize("changed", [{"degree_features": True}, {"split_seed": 3}, {"one_hot": True}], ids=str)
def test_a_problem_is_not_reconfigured_into_another_one(kind, changed):
    made = problem(kind, graph(), space="Q2,2")
    with pytest.raises(ValueError, match=f"{next(iter(changed))} is fixed by the problem"):
        made.reconfigured(problem(kind, graph(), space="Q2,2", **changed).config)


def test_a_split_is_not_reconfigured():
    made, other = (problem(LinkPrediction, graph(), protocol=name) for name in ("leak-free", "hgcn"))
    with pytest.raises(ValueError, match="protocol is fixed by the problem"):
        made.reconfigured(other.config)


def test_a_problem_with_nothing_held_out_is_built_where_there_is_one(kind):
    if kind.everything:
        again = problem(kind, graph(), space="Q2,2", refit=True).refitted()
        assert type(again) is kind
        assert again.config.refit
    else:
        with pytest.raises(ValueError, match=rf"^refit does nothing for {kind.name}: nothing is held out; leave it out$"):
            problem(kind, graph(), space="Q2,2", refit=True)
        with pytest.raises(ValueError, match="does not say what a model is refitted on"):
            problem(kind, graph(), space="Q2,2").refitted()


@pytest.mark.parametrize(("model", "weighted", "told"), [("gat", True, True), ("gat", False, False), ("gcn", True, False)])
def test_weights_that_a_model_does_not_use_are_told_if_there_are_any(model, weighted, told):
    given = graph()
    given.edge_weight = torch.ones(given.num_edges) if weighted else None
    remarks = problem(NodeClassification, given, model=model, space="E4").remarks()
    assert remarks == (["weights of edges are not used"] if told else [])
