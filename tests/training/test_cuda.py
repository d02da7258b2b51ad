"""On a GPU: the same models as on the CPU, recorded steps that are the steps, and runs that repeat."""

import pytest
import torch

from qgcn.models import default_space
from qgcn.training import Config, Run, Trainer
from qgcn.training.machine import determinism
from qgcn.training.recording import WARM_STEPS, Recording

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")

GRAPH = {"data": "ring-of-trees", "epochs": 40, "eval_every": 20}
DROPPED = {"edge_dropout": 0.3, "dropout": 0.4, "feature_dropout": 0.2}
NETWORKS = (
    {"task": "links", "model": "propagation", "decoder": "network"},
    {"task": "links", "model": "qgcn", "aggregation": "mean"},
    {"task": "classification", "data": "stochastic-block", "model": "qgcn"},
    {"task": "classification", "data": "stochastic-block", "model": "deep"},
)
SPACES = ("Q3,2", "H4", "S4", "E4", "H2xS2", "Q1,3", "Q4,1", "Q2,1xS2")


def run(task="reconstruction", **settings):
    return Run(Config.checked(GRAPH | {"task": task, "space": "Q3,2", "device": "cuda"} | settings))


def learned(task="reconstruction", **settings):
    made = run(task, **settings)
    trainer = Trainer(made.task, made.seeds, made.fabric)
    with determinism(made.config):
        trainer.run()
    return trainer


@pytest.mark.parametrize("space", SPACES)
def test_recorded_steps_are_the_steps(space, monkeypatch):
    settings = {"space": space, "precision": "float64", "schedule": "cosine", "clip": 0.5, "deterministic": True}
    replays = []
    replay = torch.cuda.CUDAGraph.replay
    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", lambda graph: replays.append(replay(graph)))
    recorded = learned(**settings).parameters
    assert len(replays) == GRAPH["epochs"] - WARM_STEPS - 1  # the first step shows what is dropped
    monkeypatch.setattr(Recording, "step", Recording._plainly)
    for name, parameter in learned(**settings).parameters.items():
        torch.testing.assert_close(recorded[name], parameter, rtol=1e-6, atol=1e-8)
    assert len(replays) == GRAPH["epochs"] - WARM_STEPS - 1  # the first step shows what is dropped


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("settings", NETWORKS, ids=lambda given: "-".join(given.values()))
def test_recorded_steps_of_networks_are_the_steps(settings, seeds, monkeypatch):
    settings = settings | DROPPED | {"seeds": seeds, "precision": "float64", "deterministic": True}
    replays = []
    replay = torch.cuda.CUDAGraph.replay
    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", lambda graph: replays.append(replay(graph)))
    recorded = learned(**settings).parameters
    assert len(replays) == GRAPH["epochs"] - WARM_STEPS - 1
    monkeypatch.setattr(Trainer, "_static", property(lambda trainer: False, lambda trainer, static: None), raising=False)
    for name, parameter in learned(**settings).parameters.items():  # sums of other orders, and Adam divides by small ones
        torch.testing.assert_close(recorded[name], parameter, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("settings", [{}, {"space": "H2xS2"}, {"model": "qgcn", "edge_dropout": 0.3}, {"objective": "paper"}])
def test_seeds_side_by_side_are_recorded_and_are_those_alone(settings, monkeypatch):
    settings = {"seeds": 4, "precision": "float64", "deterministic": True} | settings
    replays = []
    replay = torch.cuda.CUDAGraph.replay
    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", lambda graph: replays.append(replay(graph)))
    together = learned(**settings)
    assert len(replays) == GRAPH["epochs"] - WARM_STEPS - 1
    made = run(**settings)
    for index, seed in enumerate(made.seeds):
        with determinism(made.config):
            trainer = Trainer(made.task, [seed], made.fabric)
            trainer.run()
        for name, parameter in trainer.parameters.items():
            torch.testing.assert_close(together.parameters[name][index], parameter, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("task", ["reconstruction", "links"])
@pytest.mark.parametrize("space", ["Q3,2", "H2xS2"])
def test_deterministic_runs_repeat_to_the_last_bit(task, space):
    one, other = (learned(task, space=space, deterministic=True) for _ in range(2))
    assert all(torch.equal(value, other.parameters[name]) for name, value in one.parameters.items())


def test_a_run_goes_on_from_a_state_as_if_it_had_never_stopped():
    whole = learned(deterministic=True)
    made = run(deterministic=True)
    with determinism(made.config):
        first, second = (Trainer(made.task, [0], made.fabric) for _ in range(2))
        for trainer, epoch in ((first, 17), (second, 9)):  # the second has recorded its steps, too
            trainer.run(until=lambda made=trainer, epoch=epoch: made.epoch == epoch)
        second.restore(*first.state())
        second.run()
    assert all(torch.equal(value, second.parameters[name]) for name, value in whole.parameters.items())


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("space", ["Q5,2", "H6", "H3xS3"])
def test_classification_learns_what_it_learns_on_the_cpu(space, seeds):
    settings = {
        "data": "stochastic-block",
        "space": space,
        "seeds": seeds,
        "epochs": 10,
        "precision": "float64",
        "dropout": 0.0,
    }
    here, there = (learned("classification", device=device, **settings) for device in ("cpu", "cuda"))
    for name, value in here.parameters.items():
        torch.testing.assert_close(there.parameters[name].cpu(), value, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("model", ["qgcn", "gcn", "gat", "hgcn", "kappa-gcn"])
def test_networks_train(model):
    settings = {"data": "stochastic-block", "space": default_space(model), "dropout": 0.3, "epochs": 30}
    scores = learned("classification", model=model, **settings).results()
    assert scores[0]["test"]["accuracy"] > 0.3  # of four classes


def test_a_step_leaves_no_warning_about_streams(recwarn):
    learned()
    assert not [str(each.message) for each in recwarn if "stream" in str(each.message)]


def test_a_run_in_blocks_is_trained_and_measured():
    made = run(space="H4", blocks=3, negatives="32", epochs=6, eval_every=2)
    made.train()
    assert 0 < made.results[0]["test"]["map"] <= 1
    assert made.yardsticks
