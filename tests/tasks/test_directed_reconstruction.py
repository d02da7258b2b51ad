"""Reconstruction of directed pairs: what is learned from, what is scored, and what a user is told."""

import pytest
import torch
from torch_geometric.data import Data

from cases import batch_of, generator, train
from qgcn import QGCNEmbedding, kernels, load_run, metrics
from qgcn.data import read_graph, transitive_closure
from qgcn.kernels import Neighbourhoods
from qgcn.tasks import Config, DirectedReconstruction, sampling
from qgcn.training import Run


def closure(count=31):
    """Return the pairs (descendant, ancestor) of a binary tree."""
    child = torch.arange(1, count)
    return transitive_closure(torch.stack((child, (child - 1) // 2)), count)


def graph():
    return read_graph(closure())


def trained(**options):
    options = {"space": "M4", "epochs": 300, "lr": 0.1, "eval_every": 50} | options
    return train(DirectedReconstruction, graph(), [0], **options)


@pytest.mark.parametrize("space", ["M4", "M1xH3", "M1xS3", "E2xM2", "M1xH2xE2"])
def test_the_loss_falls_in_every_spacetime(space):
    trainer, losses = trained(space=space, epochs=30, eval_every=1)
    assert losses[-1][0] < 0.7 * losses[0][0]
    assert set(trainer.results()[0]["test"]) == {"map", "map_in"}


def test_a_hierarchy_is_read_off_light_cones_from_both_ends():
    trainer, _ = trained()
    found = trainer.results()[0]["test"]
    assert found["map"] > 0.99
    assert found["map_in"] > 0.99
    task, points, space = trainer.task, trainer.predictor.embed(None, None).detach(), trainer.predictor.space
    edges = task.data.edge_index
    forth = space.light_margin(points[edges[0]], points[edges[1]])
    back = space.light_margin(points[edges[1]], points[edges[0]])
    assert bool((forth < back).all())  # every pair leads the right way


def test_a_model_of_targets_alone_is_asked_for_nothing_else():
    task = DirectedReconstruction.of(graph(), space="M4", ends="targets", negatives="exact")
    predictor = task.build_predictor()
    points = task.embed(predictor).detach()
    assert task.selection(points, predictor.space) == task.score(points, "test", predictor.space)["map"]
    both = DirectedReconstruction.of(graph(), space="M4")
    scores = both.score(points, "test", predictor.space)
    assert both.selection(points, predictor.space) == pytest.approx((scores["map"] + scores["map_in"]) / 2)


@pytest.mark.parametrize("space", ["M4", "M1xH3"])
def test_scores_are_precisions_in_the_order_of_the_margin(space):
    task = DirectedReconstruction.of(graph(), space=space)
    predictor = task.build_predictor().double()
    points = predictor.embed(task.x, task.graph).detach()
    margin = predictor.space.light_margin(points[:, None], points[None])
    edges = torch.zeros(31, 31, dtype=torch.bool)
    edges[tuple(task.data.edge_index)] = True
    found = task.score(points, "test", predictor.space)
    for name, ranked, near in (("map", margin, edges), ("map_in", margin.T, edges.T)):
        each = []
        for u in near.any(1).nonzero().flatten().tolist():
            kept = torch.arange(31) != u
            score, right = -ranked[u, kept], near[u, kept]
            lowest = torch.full((1,), -torch.inf, dtype=score.dtype)  # the root has no other node to be told from
            each.append(metrics.average_precision(score[right], torch.cat((score[~right], lowest))))
        assert found[name] == pytest.approx(float(torch.stack(each).mean()))


@pytest.mark.parametrize("negatives", ["exact", "32"])
@pytest.mark.parametrize("ends", ["both", "targets"])
def test_loss_by_hand(ends, negatives):
    given = read_graph(closure(63))
    task = DirectedReconstruction.of(given, space="M1xH3", ends=ends, negatives=negatives, temperature=3.0)
    predictor = task.build_predictor()
    x, adjacency, pairs, others, counted, *drawn = batch_of(task)
    points = predictor.embed(x, adjacency)
    times, places = points[:, 0], points[:, 1:]
    forth = Neighbourhoods.of(given.edge_index, 63)
    ways = [(times, forth), (-times, forth.turned)][: 2 if ends == "both" else 1]
    assert len(drawn) == (0 if negatives == "exact" else 2 * len(ways))
    costs = []
    for number, (t, way) in enumerate(ways):
        columns, weights = drawn[2 * number : 2 * number + 2] if drawn else (None, None)
        options = {"weights": weights, "temperature": 3.0, "balance": True}
        costs.append(kernels.ordered_loss(places, t, way, predictor.space.spatial, columns, **options))
    logits = [-4 * predictor.space.light_margin(*points[each]) for each in (pairs, others)]
    fit = torch.nn.functional.softplus(-logits[0]).mean() + (torch.nn.functional.softplus(logits[1]) * counted).mean()
    torch.testing.assert_close(predictor.loss(x, adjacency, *batch_of(task)[2:]), torch.stack(costs).mean() + fit)


def test_logits_are_fitted_and_move_neither_points_nor_curvatures(monkeypatch):
    monkeypatch.setattr(kernels, "ordered_loss", lambda places, *_, **__: 0 * places.sum())
    task = DirectedReconstruction.of(graph(), space="M1xH3")
    predictor = task.build_predictor()
    predictor("loss", *batch_of(task)).backward()
    assert predictor.cone.threshold.grad != 0
    assert predictor.cone.log_steepness.grad != 0
    for name, each in predictor.encoder.named_parameters():
        assert each.grad is None or not each.grad.any(), name
    edges, others, counted = batch_of(task)[2:5]
    known = {tuple(pair) for pair in task.data.edge_index.T.tolist()}
    assert {tuple(pair) for pair in edges.T.tolist()} <= known
    assert not {tuple(pair) for pair in others.T[counted].tolist()} & known
    assert {tuple(pair) for pair in others.T[~counted].tolist()} <= known | {(u, u) for u in range(31)}


def test_rows_and_pairs_have_the_same_logits():
    task = DirectedReconstruction.of(graph(), space="M2xH3")
    predictor = task.build_predictor().double()
    points, nodes = task.embed(predictor).detach(), torch.tensor([3, 0, 30])
    rows = predictor.row_logits(points, nodes)
    every = torch.stack((nodes.repeat_interleave(31), torch.arange(31).repeat(3)))
    torch.testing.assert_close(rows.flatten(), predictor.pair_logits(points, every))


def test_draws_are_of_both_kinds_of_nodes():
    way = Neighbourhoods.of(closure(100), 100)  # half the nodes are an ancestor
    columns, weights = sampling.draw_by_kind(way, 40, generator(0))
    assert len(columns.unique()) == 40
    inner = torch.isin(columns, way.target)
    assert int(inner.sum()) == 20
    assert weights[inner].unique().tolist() == [50 / 20]
    assert weights[~inner].unique().tolist() == [50 / 20]
    columns, weights = sampling.draw_by_kind(way, 90, generator(0))  # leaves 45 of either
    assert float(weights.sum()) == pytest.approx(100)
    columns, weights = sampling.draw_by_kind(way.turned, 98, generator(0))  # all but the root have an ancestor
    assert len(columns.unique()) == 98
    assert float(weights.sum()) == pytest.approx(100)


def test_training_on_draws_learns_the_graph_and_says_what_is_drawn():
    given = read_graph(closure(127))
    options = {"space": "M4", "epochs": 300, "lr": 0.1, "negatives": "32", "eval_every": 300}
    trainer, _ = train(DirectedReconstruction, given, [0], **options)
    assert trainer.task.remarks()[-1] == "negatives are drawn: 32 of 127 nodes each step (all: --negatives exact)"
    assert trainer.results()[0]["test"]["map"] > 0.95
    again, _ = train(DirectedReconstruction, given, [0], **options)
    assert all(torch.equal(one, again.parameters[name]) for name, one in trainer.parameters.items())


def test_a_large_graph_is_scored_by_some_of_its_nodes(monkeypatch):
    monkeypatch.setattr(sampling, "EXACT", 20)
    monkeypatch.setattr(sampling, "JUDGES", 10)
    task = DirectedReconstruction.of(graph(), space="M4", negatives="exact")
    predictor = task.build_predictor()
    points = task.embed(predictor).detach()
    whole = task.selection(points, predictor.space)  # negatives are not drawn: of all nodes
    scores = task.score(points, "test", predictor.space)
    assert set(scores) == {"map", "map_margin", "map_in", "map_in_margin"}
    assert abs((scores["map"] + scores["map_in"]) / 2 - whole) < scores["map_margin"] + scores["map_in_margin"]
    assert task.scored_on() == "the graph that was embedded, 10 of its nodes against all others"


@pytest.mark.parametrize("space", ["E10", "H10", "Q7,3", "AdS10", "dS10", "M1", "H2xS2", "M2xM2"])
def test_a_space_that_is_not_time_beside_another_is_refused(space):
    with pytest.raises(ValueError, match="needs time beside a space, such as M10, M1xH9 or M1xS9, got"):
        Config.checked({"task": "directed-reconstruction", "data": "x", "space": space})


def test_an_undirected_graph_is_refused():
    edges = closure()
    with pytest.raises(ValueError, match="expected edges that lead one way; qgcn train reconstruction takes both"):
        DirectedReconstruction.of(read_graph(torch.cat((edges, edges.flip(0)), dim=1)), space="M4")


def test_networks_learn_it_too():
    given = graph()
    given.x = torch.randn(given.num_nodes, 5, generator=generator(1))
    torch.manual_seed(0)
    task = DirectedReconstruction.of(given, model="qgcn", space="M4")
    predictor = task.build_predictor()
    predictor("loss", *batch_of(task)).backward()
    assert all(bool(each.grad.isfinite().all()) for each in predictor.parameters() if each.grad is not None)


def test_a_run_is_asked_for_what_nodes_point_at(tmp_path):
    config = {"task": "directed-reconstruction", "data": "tree", "space": "M4", "epochs": 300, "lr": 0.1}
    run = Run.start(Config.checked(config), tmp_path / "run", data=graph())
    run.train()
    assert set(run.results[0]["test"]) == {"map", "map_in"}
    asked = load_run(tmp_path / "run")
    pairs = asked.task.data.edge_index.T.tolist()
    forth, back = (asked.score_links([pair[::way] for pair in pairs]) for way in (1, -1))
    assert forth.mean() > 0.8
    assert back.mean() < 0.2


def test_nodes_have_a_time_and_edges_at_both_ends():
    trainer, _ = trained()
    (time, out, into), _ = trainer.task.insights(trainer.predictor)
    assert (time.name, out.name, into.name) == ("time", "edges out", "edges in")
    assert time.values[0] == time.values.max()
    assert into.values[0] == 30
    assert out.values[30] == 4


def test_the_estimator_embeds_a_directed_graph():
    embedding = QGCNEmbedding("M4", task="directed-reconstruction", epochs=100, device="cpu")
    assert embedding.fit_transform(closure()).shape == (31, 4)
    assert embedding.scores_["map"] > 0.9


def test_a_changed_graph_has_its_known_nodes_alone():
    task = DirectedReconstruction.of(graph(), space="M4")
    predictor = task.build_predictor()
    some = read_graph(closure(15))
    made = task.changed(some)
    torch.testing.assert_close(made.embed(predictor), task.embed(predictor)[:15])
    assert made.neighbourhoods.num_nodes == 15
    with pytest.raises(ValueError, match="'31' was not there in training, and shallow places no new nodes"):
        task.changed(read_graph(closure(32))).embed(predictor)


def test_yardsticks_rank_by_the_number_of_edges():
    task = DirectedReconstruction.of(graph(), space="M4")
    found = {name: made() for name, made in task.yardsticks().items()}
    assert set(found) == {"random points", "number of edges"}
    rank = torch.bincount(task.data.edge_index[1], minlength=31).float()  # more for those nearer to the root
    near = rank[torch.tensor([14, 6, 2, 0])]
    assert found["number of edges"]["map"] > 0.5
    assert near.tolist() == sorted(near.tolist())
    assert set(found["random points"]) == {"map", "map_in"}


def test_loops_count_for_nothing():
    edges = closure()
    loops = torch.arange(31).expand(2, -1)
    task = DirectedReconstruction.of(Data(edge_index=torch.cat((edges, loops), dim=1), num_nodes=31), space="M4")
    assert task.neighbourhoods.num_edges == edges.shape[1]
