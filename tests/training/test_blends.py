"""The end of a training: what is scored, and how a network is weighed."""

import pytest
import torch

from qgcn.data import load
from qgcn.tasks import LinkPrediction, NodeClassification, Reconstruction
from qgcn.training.blends import final_scores


def predictions(task, seed=0):
    """Random predictions of a network, the right shape for each split."""
    g = torch.Generator().manual_seed(seed)
    shapes = {
        split: (len(task.nodes[split]), task.classes) if task.predicts_classes else (task.targets(split)[0].shape[1],)
        for split in ("val", "test")
    }
    return {split: torch.randn(shape, generator=g) for split, shape in shapes.items()}


@pytest.mark.parametrize("kind", [LinkPrediction, NodeClassification])
def test_a_network_that_knows_nothing_leaves_it_to_cheap_predictors(kind):
    task = kind.of(load("stochastic-block"))
    found = final_scores(task, predictions(task), None)
    assert found["test"][task.metric] > found["network"]["test"][task.metric] + 0.1
    assert list(found["blend"]) == ["network", *task.term_names]
    assert len(task.term_names) == task.terms("val").shape[-1]
    assert 0 <= found["calibration"]["error"] <= 1


@pytest.mark.parametrize("kind", [LinkPrediction, NodeClassification])
def test_a_network_alone_keeps_its_scores_and_gets_a_temperature(kind):
    task = kind.of(load("stochastic-block"), blend=False)
    given = predictions(task)
    found = final_scores(task, given, None)
    assert found["test"] == task.score(given["test"], "test", None)
    assert list(found["blend"]) == ["network"]
    assert "network" not in found


def test_a_task_without_probabilities_has_scores_alone():
    from qgcn import parse_space

    task = Reconstruction.of(load("cycle"), space="E2")
    points = torch.randn(task.num_nodes, 2, generator=torch.Generator().manual_seed(0))
    assert list(final_scores(task, {"test": points}, parse_space("E2"))) == ["test"]


def test_the_temperature_of_a_network_worse_than_chance_does_not_turn_its_ranking_around():
    task = LinkPrediction.of(load("stochastic-block"), blend=False)
    wrong = {}
    for split, guess in predictions(task).items():
        joined = torch.arange(len(guess)) < getattr(task.links, split).shape[1]
        wrong[split] = torch.where(joined, -1.0, 1.0) + 0.1 * guess
    assert final_scores(task, wrong, None)["blend"] == {"network": 1.0}
