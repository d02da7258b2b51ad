"""Evaluation of trials: on validation, blind to the test."""

import torch

from qgcn.data import load
from qgcn.sweeping.evaluation import Evaluator
from qgcn.tasks import Config, LinkPrediction, NodeClassification

SMALL = {"data": "stochastic-block", "epochs": 8, "seeds": 2, "model": "qgcn", "space": "Q3,1", "device": "cpu"}
OWN = {name: value for name, value in SMALL.items() if name != "data"}


def evaluated(problem):
    evaluator = Evaluator()
    evaluator.problem = lambda config: problem.blinded().reconfigured(config)
    return evaluator.evaluate(problem.config, lambda *_: False)


def test_labels_of_the_test_change_nothing():
    problem = NodeClassification.of(
        load("stochastic-block"), **{k: v for k, v in OWN.items() if k not in ("task", "data")} | {"val": 0.2, "test": 0.3}
    )
    before = evaluated(problem)
    problem.y[problem.nodes["test"]] = 0
    assert before.state == "complete"
    assert evaluated(problem).scores == before.scores
    blind = problem.blinded()
    assert (blind.y[problem.nodes["test"]] == -1).all()
    assert len(blind.nodes["test"]) == 0


def test_edges_of_the_test_change_nothing():
    problem = LinkPrediction.of(load("stochastic-block"), **{k: v for k, v in OWN.items() if k not in ("task", "data")})
    split = problem.split | {"test": problem.split["test_negative"], "test_negative": problem.split["test"]}
    swapped = LinkPrediction(load("stochastic-block"), problem.config, split=split)
    assert evaluated(problem).scores == evaluated(swapped).scores
    blind, size = problem.blinded(), problem.num_nodes
    known = set((blind.data.edge_index[0] * size + blind.data.edge_index[1]).tolist())
    assert not known & set((problem.split["test"][0] * size + problem.split["test"][1]).tolist())
    assert blind.links.test.shape == (2, 0)
    drawn = blind.links.negatives.sample(200_000, torch.Generator().manual_seed(0))
    assert not set((drawn[0] * size + drawn[1]).tolist()) & set(
        (problem.split["test"][0] * size + problem.split["test"][1]).tolist()
    )


def test_a_trial_is_given_up_when_asked():
    steps = []
    config = Config.checked(SMALL | {"task": "links", "eval_every": 1})
    outcome = Evaluator().evaluate(config, lambda step, score: bool(steps.append(step)) or len(steps) == 2)
    assert (outcome.state, outcome.epochs, len(outcome.scores)) == ("pruned", 3, 2)
    assert steps == [2002, 2003]


def test_a_failure_is_an_outcome(monkeypatch):
    evaluator = Evaluator()

    def fail(config):
        raise RuntimeError("no memory\nleft")

    monkeypatch.setattr(evaluator, "problem", fail)
    outcome = evaluator.evaluate(Config.checked(SMALL | {"task": "links"}), lambda *_: False)
    assert (outcome.state, outcome.message) == ("failed", "RuntimeError: no memory left")
