"""Graph reconstruction: objectives, scores, and what they are computed from."""

import networkx
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_networkx

from cases import generator, problem, train
from qgcn import data, kernels, metrics, parse_space
from qgcn.tasks import Reconstruction, reconstruction
from qgcn.tasks.reconstruction import OBJECTIVES


def graph():
    edge_index = data.ring_of_trees(5, 2, 1)
    return Data(x=torch.randn(15, 4, generator=generator(0)), edge_index=edge_index, num_nodes=15)


def trained(given=None, **options):
    options = {"space": "Q3,2", "epochs": 21, "lr": 0.05, "eval_every": 4, **options}
    trainer, losses = train(Reconstruction, graph() if given is None else given, [0], **options)
    return trainer, torch.tensor(losses).squeeze(1)


@pytest.mark.parametrize(
    ("space", "objective"),
    [*(("Q3,2", objective) for objective in OBJECTIVES), *((name, OBJECTIVES[0]) for name in ("E4", "H4", "S4", "H2xS2"))],
)
def test_the_loss_is_finite_and_falls(space, objective):
    trainer, losses = trained(space=space, objective=objective)
    assert losses.isfinite().all()
    assert losses[-1] < losses[0] - 0.1 * losses[0].abs()
    (result,) = trainer.results()
    assert set(result["test"]) == {"map", "distortion", "worst_distortion"}
    assert result["test"]["map"] == pytest.approx(trainer.best_score.item())


@pytest.mark.parametrize(
    "options",
    [{"model": "gcn", "space": "E8"}, {"model": "qnn"}, {"balance": False}, {"model": "qgcn", "use_features": True}],
    ids=str,
)
def test_other_models_and_options_learn_too(options):
    _, losses = trained(**options)
    assert losses.isfinite().all()
    assert losses[-1] < 0.95 * losses[0]


def test_training_separates_neighbours_from_the_others():
    trainer, _ = trained(epochs=80, eval_every=20, model="qnn", space="Q4,2")
    assert trainer.results()[0]["test"]["map"] > 0.9


@pytest.mark.parametrize("balance", [False, True])
def test_losses_are_those_of_the_kernels(balance):
    given = graph()
    neighbourhoods = kernels.Neighbourhoods.of(given.edge_index, 15)
    for objective in OBJECTIVES:
        torch.manual_seed(0)
        task = problem(Reconstruction, given, space="Q3,2", objective=objective, balance=balance)
        predictor = task.build_predictor()
        points = predictor.embed(task.x, task.graph)
        found = predictor.loss(task.x, task.graph, *task.targets("train"))
        if objective == "distortion":
            pairs, hops = task.targets("train")
            expected = kernels.distortion_loss(points, pairs, hops.float(), predictor.space)
        elif objective == "paper":
            options = {"squared": False, "denominator": "paper", "balance": balance}
            expected = kernels.reconstruction_loss(points, neighbourhoods, predictor.space, **options)
        else:
            with torch.no_grad():
                predictor.log_temperature.fill_(0.5)
            found = predictor.loss(task.x, task.graph)
            temperature = torch.tensor(0.5).exp()
            expected = kernels.reconstruction_loss(
                points, neighbourhoods, predictor.space, temperature=temperature, balance=balance
            )
        torch.testing.assert_close(found, expected)


def test_the_temperature_is_learned_with_the_neighbours_objective_only():
    trainer, _ = trained(epochs=5)
    assert trainer.parameters["log_temperature"] != 0
    for objective in ("paper", "distortion"):
        assert problem(Reconstruction, graph(), objective=objective).build_predictor().log_temperature is None


def test_the_temperature_starts_at_20_for_coordinates_at_1_for_networks_and_where_it_is_asked_to():
    def start(**options):
        return Reconstruction.of(graph(), space="Q3,2", **options).build_predictor().log_temperature.exp().item()

    assert start(model="shallow") == pytest.approx(20)
    assert start(model="qgcn") == 1
    assert start(model="shallow", temperature=3.0) == pytest.approx(3)


def test_distances_of_the_distortion_objective_are_those_of_the_graph():
    edge_index = torch.cat((data.ring_of_trees(4, 1, 1), torch.tensor([[8, 9], [9, 8]])), dim=1)
    given = Data(edge_index=edge_index, num_nodes=11)  # two components and a node alone
    task = problem(Reconstruction, given, objective="distortion")
    pairs, hops = task.targets("train")
    truth = dict(networkx.all_pairs_shortest_path_length(to_networkx(given, to_undirected=True)))
    expected = {(i, j): steps for i, row in truth.items() for j, steps in row.items() if i < j}
    assert {tuple(pair): step for pair, step in zip(pairs.t().tolist(), hops.tolist(), strict=True)} == expected
    assert len(expected) == 8 * 7 // 2 + 1
    assert problem(Reconstruction, given).targets("train") == ()


def test_features_are_used_only_if_asked_for_and_the_graph_is_left_as_it_was():
    given = graph()
    assert torch.equal(problem(Reconstruction, given).x.to_dense(), torch.eye(15))
    assert torch.equal(problem(Reconstruction, given, use_features=True).x.to_dense(), given.x)
    assert given.x.shape == (15, 4)


def test_scores_are_those_of_the_metrics_and_the_selection_is_the_map():
    given = graph()
    task = problem(Reconstruction, given, space="Q3,2")
    space = parse_space("Q3,2")
    points = space.random(15, 5, dtype=torch.float64, generator=generator(0)).as_subclass(torch.Tensor)
    neighbourhoods = kernels.Neighbourhoods.of(given.edge_index, 15)
    scores = task.score(points, "test", space)
    stretch = metrics.distortion(points, neighbourhoods, space, scale=True)
    assert scores["map"] == pytest.approx(float(metrics.mean_average_precision(points, neighbourhoods, space)))
    assert scores["map"] == pytest.approx(float(task.selection(points, space)))
    assert scores["distortion"] == pytest.approx(float(stretch.average))
    assert scores["worst_distortion"] == pytest.approx(float(stretch.worst))
    assert task.metric == "map"


def test_everything_moves_to_another_type():
    task = problem(Reconstruction, graph(), space="Q3,2", objective="distortion", precision="float64")
    predictor = task.build_predictor().double()
    assert predictor.loss(task.x, task.graph, *task.targets("train")).dtype == torch.float64


def test_an_unknown_objective_is_refused():
    with pytest.raises(ValueError, match="objective: input should be 'neighbours', 'paper' or 'distortion', got 'neighbors'"):
        problem(Reconstruction, graph(), objective="neighbors")


@pytest.mark.parametrize(
    ("options", "static"),
    [
        ({"space": "Q3,2"}, True),
        ({"space": "H2xS2"}, True),
        ({"model": "qgcn", "space": "Q3,2"}, True),
        ({"space": "K4"}, False),
        ({"objective": "distortion", "space": "Q3,2"}, False),
        ({"model": "qgcn", "space": "Q3,2", "attention": True}, False),
        ({"model": "qgcn", "space": "Q3,2", "feature_dropout": 0.5}, True),
        ({"model": "qgcn", "space": "Q3,2", "edge_dropout": 0.5}, True),
    ],
    ids=str,
)
def test_steps_that_wait_are_not_recorded(options, static):
    trainer, _ = trained(epochs=1, **options)
    state = torch.random.get_rng_state()
    assert (trainer.task.is_static and trainer.task.capabilities.recordable) == static
    assert torch.equal(torch.random.get_rng_state(), state)  # asking draws nothing


def test_patience_waits_until_the_model_has_settled():
    trainer, _ = trained(epochs=60, eval_every=1, patience=3, space="Q2,2", confine=0.7)
    assert trainer.predictor.encoder.settled(60) == 42
    assert trainer.epoch >= 45
    assert trainer.predictor.encoder.free.all()


def test_a_model_that_was_still_held_back_is_not_chosen():
    trainer, _ = trained(epochs=60, eval_every=1, space="Q6,2")  # solved while it is still hyperbolic space
    assert trainer.best_epoch.item() > trainer.predictor.encoder.settled(60)
    points, _ = trainer.embedding(0)
    assert (points[:, 1] != 0).all()


# --- yardsticks ----------------------------------------------------------------------------------------------------------


def test_yardsticks_are_random_points_and_a_spectral_embedding():
    cliques = networkx.disjoint_union_all([networkx.complete_graph(6) for _ in range(4)])
    task = problem(Reconstruction, data.read_graph(cliques), space="Q3,2")
    state = torch.get_rng_state()
    found = {name: score() for name, score in task.yardsticks().items()}
    assert torch.equal(torch.get_rng_state(), state)
    assert found["spectral embedding"] == {"map": 1.0}  # each clique in a place of its own
    assert 5 / 23 < found["random points"]["map"] < 0.5  # a sixth of all points are neighbours
    assert {name: score() for name, score in task.yardsticks().items()} == found


def test_a_large_graph_has_no_yardsticks_and_says_so(monkeypatch):
    assert problem(Reconstruction, graph()).remarks() == []
    monkeypatch.setattr("qgcn.tasks.reconstruction.LARGE", 5)
    task = problem(Reconstruction, graph())
    assert task.yardsticks() == {}
    assert task.remarks() == ["no yardsticks: the graph has more than 5 nodes"]
    assert problem(Reconstruction, graph(), yardsticks=False).remarks() == []


@pytest.mark.parametrize("space", ["H6", "Q6,2"])
def test_training_ends_where_nothing_is_left_to_gain_and_learns_the_same(space, monkeypatch):
    stopped, _ = trained(epochs=200, eval_every=10, space=space)
    settled = stopped.predictor.encoder.settled(200)
    assert settled == (40 if space == "Q6,2" else 0)
    assert stopped.best_score.item() == 1
    assert stopped.epoch == stopped.best_epoch.item() < 200
    assert stopped.epoch > settled
    assert stopped.finished
    monkeypatch.setattr(Reconstruction, "best_possible", None)
    whole, _ = trained(epochs=200, eval_every=10, space=space)
    assert whole.epoch == 200
    assert whole.best_epoch.item() == stopped.epoch
    assert all(torch.equal(tensor, whole.best_parameters[name]) for name, tensor in stopped.best_parameters.items())


def test_a_long_step_is_not_recorded_and_is_timed_by_a_part(monkeypatch):
    task = problem(Reconstruction, graph(), space="Q3,2")
    assert task.is_static
    assert task.seconds_of_step(task.build_predictor()) is None
    monkeypatch.setattr(reconstruction, "LONG", 2)
    monkeypatch.setattr(reconstruction, "RECORDED", 2)
    assert not task.is_static
    assert all(seconds > 0 for seconds in task.seconds_of_step(task.build_predictor()))
    pairs = problem(Reconstruction, graph(), space="Q3,2", objective="distortion")
    assert pairs.seconds_of_step(pairs.build_predictor()) is None
