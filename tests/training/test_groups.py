"""Groups of seeds."""

from collections import Counter
from dataclasses import replace

import pytest
import torch

from cases import problem, two_communities
from qgcn.models import Coordinates, registry
from qgcn.tasks import NodeClassification
from qgcn.training import Config, Run, Trainer, groups
from qgcn.training.recording import Lanes


def task(**settings):
    return problem(NodeClassification, two_communities(), space="Q3,2", **settings)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({}, [[3, 4, 5]]), ({"batch_seeds": False}, [[3], [4], [5]]), ({"batch_size": 4}, [[3], [4], [5]])],
)
def test_seeds_are_trained_together_where_they_can_be(settings, expected):
    assert groups.groups_of(task(**settings), [3, 4, 5]) == expected


def test_no_more_seeds_are_trained_together_than_memory_holds(monkeypatch):
    made = task()
    one = groups.TENSORS_OF_A_LAYER * 24 * made.config.coordinates_kept() * 4
    monkeypatch.setattr(groups, "BATCH_BYTES", 2 * one)
    assert groups.groups_of(made, [0, 1, 2, 3, 4]) == [[0, 1], [2, 3], [4]]
    monkeypatch.setattr(groups, "BATCH_BYTES", 1)
    assert groups.groups_of(made, [0, 1]) == [[0], [1]]


EMBEDDED = {"data": "ring-of-trees", "space": "Q3,2", "epochs": 40, "eval_every": 10, "seeds": 3, "precision": "float64"}


def embedded(**settings):
    return Run(Config.checked(EMBEDDED | {"task": "reconstruction", "yardsticks": False} | settings))


@pytest.mark.parametrize(
    ("settings", "together"),
    [
        ({}, 3),
        ({"model": "qgcn", "space": "H4"}, 3),
        ({"objective": "distortion"}, 1),  # keeps all pairs of each seed
        ({"objective": "paper"}, 3),
        ({"negatives": "32"}, 1),  # drawn for each seed
        ({"model": "gcn", "space": "E4"}, 1),  # draws as PyTorch does, in order
        ({"batch_seeds": False}, 1),
    ],
)
def test_embeddings_of_small_graphs_are_trained_side_by_side(settings, together):
    assert len(embedded(**settings).groups()[0]) == together


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"model": "qgcn", "edge_dropout": 0.3, "dropout": 0.2, "feature_dropout": 0.2, "clip": 0.1},
        {"objective": "paper", "schedule": "constant"},
        {"space": "H2xS2", "curvature_lr": 0.05, "eval_every": 2},
        {"space": "Q2,2xS2", "confine": 0.5},
        {"patience": 10, "lr": 0.5, "adam_decay": 0.9},
    ],
    ids=lambda settings: "-".join(map(str, settings)),
)
def test_seeds_side_by_side_are_those_alone(settings):
    together, alone = embedded(**settings), embedded(**settings, batch_seeds=False)
    together.train()
    alone.train()
    assert len(together.groups()) == 1
    for one, other in zip(together.results, alone.results, strict=True):
        assert one["test"] == pytest.approx(other["test"], rel=1e-6)
        assert one["best_epoch"] == other["best_epoch"]
    for seed in range(3):
        torch.testing.assert_close(together.embedding(seed).points, alone.embedding(seed).points, rtol=1e-9, atol=1e-9)


def test_seeds_that_have_stopped_are_not_computed_any_more(monkeypatch):
    settings = {"patience": 10, "lr": 0.1, "epochs": 400, "eval_every": 5, "device": "cpu"}  # on a GPU, steps are recorded
    run, computed, plain = embedded(**settings), Counter(), Lanes.map

    def counted(lanes, function, numbers, name):
        computed.update(numbers if name == "loss" else [])  # a validation is of all
        return plain(lanes, function, numbers, name)

    monkeypatch.setattr(Lanes, "map", counted)
    run.train()
    ends = {index: min(400, each["best_epoch"] + 10) for index, each in enumerate(run.results)}
    assert len(set(ends.values())) > 1, "all stop at once: nothing is shown"
    assert computed == ends


def test_side_by_side_a_state_goes_on_as_if_it_had_never_stopped():
    made = embedded(confine=0.5, device="cpu")
    whole, first, second = (Trainer(made.task, [0, 1, 2], made.fabric) for _ in range(3))
    whole.run()
    first.run(until=lambda: first.epoch == 13)  # before the space is let go
    second.run(until=lambda: second.epoch == 30)
    second.restore(*first.state())
    second.run()
    assert all(torch.equal(value, second.parameters[name]) for name, value in whole.parameters.items())
    assert all(torch.equal(value, second.best_parameters[name]) for name, value in whole.best_parameters.items())


class Faded(Coordinates):
    """Coordinates of which some are let in with time, by a buffer."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.register_buffer("share", torch.zeros((), dtype=torch.float64), persistent=False)

    def advance(self, epoch, epochs):
        self.share.fill_(min(1.0, 2 * epoch / epochs))

    def tangent(self, *_):
        u = super().tangent()
        return torch.cat((u[:, :2], u[:, 2:] * self.share), dim=1)


def test_buffers_of_models_side_by_side_change_as_alone(monkeypatch):
    monkeypatch.setitem(registry.MODELS, "shallow", (replace(registry.find_model("shallow"), encoder=Faded),))
    together, alone = (embedded(space="H4", batch_seeds=batched) for batched in (True, False))
    together.train()
    alone.train()
    for one, other in zip(together.results, alone.results, strict=True):
        assert one["test"] == pytest.approx(other["test"], rel=1e-6)


def test_where_the_first_seed_has_stopped_a_state_goes_on_with_the_same_dropout():
    """As steps are recorded: their masks are drawn before, for the layers that a model was seen to have."""
    made = embedded(model="qgcn", dropout=0.3, feature_dropout=0.2, patience=30, device="cpu")

    def trainer():
        found = Trainer(made.task, [0, 1, 2], made.fabric)
        found._static = True
        return found

    whole = trainer()
    whole.run(until=lambda: whole.epoch == 10)
    whole.stopped = torch.tensor([True, False, False])
    whole._set_going([1, 0, 0])
    tensors, about = whole.state()
    state = {name: tensor.clone() for name, tensor in tensors.items()}, about
    whole.run()
    resumed = trainer()
    resumed.restore(*state)
    torch.manual_seed(123)
    resumed.run()
    for name, parameter in whole.parameters.items():
        torch.testing.assert_close(resumed.parameters[name][1:], parameter[1:], rtol=1e-9, atol=1e-12)
