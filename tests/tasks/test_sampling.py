import pytest
import torch
from torch_geometric.data import Data

from cases import generator, problem, train
from qgcn import data
from qgcn.data import read_graph
from qgcn.tasks import Config, Reconstruction, sampling
from qgcn.tasks.precision import estimate_mean_average_precision


def graph():
    return Data(edge_index=data.ring_of_trees(8, 2, 2), num_nodes=56)


def test_a_setting_is_a_number_or_a_word():
    assert sampling.parse("auto") is sampling.parse("exact") is None
    assert sampling.parse("100") == 100
    for wrong in ("all", "31", "-100", "1.5", "", "\u0661\u0662\u0663"):
        with pytest.raises(ValueError, match="negatives must be auto, exact or a number of at least 32, got"):
            Config.checked({"task": "reconstruction", "data": "ring-of-trees", "negatives": wrong})
    with pytest.raises(ValueError, match="negatives are drawn for the objective neighbours alone"):
        Config.checked({"task": "reconstruction", "data": "ring-of-trees", "negatives": "64", "objective": "paper"})


def test_all_pairs_take_part_up_to_a_size():
    assert sampling.drawn_of("auto", sampling.EXACT) is None
    assert sampling.drawn_of("auto", sampling.EXACT + 1) == sampling.DRAWN
    assert sampling.drawn_of("exact", 10**9) is None
    assert sampling.drawn_of("64", 65) == 64
    assert sampling.drawn_of("64", 64) is None


def test_draws_are_distinct_and_a_function_of_the_generator():
    first, second = (sampling.draw(1000, 64, generator(seed)) for seed in (0, 0))
    assert torch.equal(first, second)
    assert len(first.unique()) == 64
    assert not torch.equal(first, sampling.draw(1000, 64, generator(1)))


def test_training_on_draws_learns_the_graph_and_says_what_is_drawn():
    options = {"space": "H4", "epochs": 300, "lr": 0.05, "negatives": "32", "eval_every": 300}
    trainer, _ = train(Reconstruction, graph(), [0], **options)
    assert trainer.task.drawn == 32
    assert trainer.task.remarks()[-1] == "negatives are drawn: 32 of 56 nodes each step (all: --negatives exact)"
    assert trainer.results()[0]["test"]["map"] > 0.95
    again, _ = train(Reconstruction, graph(), [0], **options)
    assert all(torch.equal(one, again.parameters[name]) for name, one in trainer.parameters.items())
    exact, _ = train(Reconstruction, graph(), [0], **options | {"negatives": "exact"})
    assert not torch.equal(exact.parameters["encoder.coordinates"], trainer.parameters["encoder.coordinates"])


def test_blocks_say_what_is_drawn_from_each_and_hold_enough_for_it():
    """A block of one node has none to draw but a neighbour or the node itself: such a run learned nothing, with a loss of 0."""
    options = {"space": "H4", "model": "shallow"}
    ring = read_graph([(k, (k + 1) % 100) for k in range(100)])
    assert problem(Reconstruction, ring, blocks=2, **options).remarks()[-1] == (
        "2 blocks of nodes: 50 negatives are drawn from each of two blocks each step"
    )
    few = problem(Reconstruction, ring, blocks=3, negatives="32", **options)
    assert few.remarks()[-1] == "3 blocks of nodes: 32 negatives are drawn from each of two blocks each step"
    with pytest.raises(ValueError, match=r"^blocks: input should be less than or equal to 256, got 257$"):
        problem(Reconstruction, ring, blocks=257, **options)
    with pytest.raises(ValueError, match=r"^blocks must be at most 3, as each needs 32 of the 100 nodes, got 4$"):
        problem(Reconstruction, ring, blocks=4, **options)
    with pytest.raises(ValueError, match=r"^blocks must be at most 1, as each needs 32 of the 24 nodes, got 24$"):
        problem(Reconstruction, read_graph([(k, (k + 1) % 24) for k in range(24)]), blocks=24, negatives="32", **options)
    assert problem(Reconstruction, read_graph([(0, 1), (1, 2)]), **options).division is None


def test_a_large_graph_is_scored_by_some_of_its_nodes(monkeypatch):
    monkeypatch.setattr(sampling, "EXACT", 50)
    monkeypatch.setattr(sampling, "JUDGES", 20)
    monkeypatch.setattr(sampling, "CHOOSERS", 10)
    task = problem(Reconstruction, graph(), space="H4", negatives="32")
    predictor = task.build_predictor()
    points = task.embed(predictor).detach()
    scores = task.score(points, "test", predictor.space)
    found = estimate_mean_average_precision(points, task.neighbourhoods, predictor.space, 20)
    assert scores == {"map": float(found.mean), "map_margin": float(found.margin)}
    few = estimate_mean_average_precision(points, task.neighbourhoods, predictor.space, 10)
    assert task.selection(points, predictor.space) == few.mean
    assert task.scored_on() == "the graph that was embedded, 20 of its nodes against all others"
    assert task.remarks()[-2:] == [
        "mAP is that of 20 nodes drawn, each against all others, with its 95 % margin",
        "no distortion: the graph is too large",
    ]
