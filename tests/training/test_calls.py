"""Calling models of several seeds: one by one, as one, side by side."""

import pytest
import torch

from cases import problem, two_communities
from qgcn.nn import dropout_keys
from qgcn.tasks import NodeClassification
from qgcn.training.calls import call_as_one, call_one, call_side_by_side, drawing_from
from qgcn.training.parameters import build_predictor
from qgcn.training.recording import Lanes

CPU = torch.device("cpu")


@pytest.fixture
def models():
    task = problem(NodeClassification, two_communities(), space="Q3,2", dropout=0.5, precision="float64")
    predictors = [build_predictor(task, seed, CPU) for seed in (0, 1, 2)]
    parameters, buffers = torch.func.stack_module_state(predictors)
    return predictors, task.loader.scored("val"), parameters, buffers | dropout_keys(predictors[0], [0, 1, 2], 7)


def test_all_ways_of_calling_agree(models):
    predictors, batch, parameters, buffers = models
    together = call_as_one(predictors[0], "predict", batch, parameters, buffers)
    apart = call_side_by_side(predictors, Lanes(CPU, 3, parallel=True), range(3), "predict", batch, parameters | buffers)
    torch.testing.assert_close(apart, together)
    for seed, predictor in enumerate(predictors):
        alone = call_one(predictor, "predict", batch, dropout_keys(predictor, seed, 7), None)
        torch.testing.assert_close(alone, apart[seed])
        assert not torch.equal(alone, call_one(predictor, "predict", batch, dropout_keys(predictor, seed, 8), None))
        others = {name: stacked[seed] for name, stacked in parameters.items()}
        again = call_one(predictors[0], "predict", batch, dropout_keys(predictor, seed, 7), others)
        torch.testing.assert_close(again, alone)


def test_models_that_are_not_asked_have_nothing_and_no_gradient(models):
    predictors, batch, parameters, buffers = models
    found = call_side_by_side(predictors, Lanes(CPU, 3, parallel=True), [1], "predict", batch, parameters | buffers)
    assert found[1].any()
    assert not found[[0, 2]].any()
    found.sum().backward()
    gradients = [each.grad for each in parameters.values() if each.grad is not None]
    assert any(each[1].any() for each in gradients)
    assert not any(each[[0, 2]].any() for each in gradients)


def test_what_is_drawn_follows_the_key_and_disturbs_no_one():
    torch.manual_seed(5)
    before, first = torch.random.get_rng_state(), []
    for key in (1, 1, 2):
        with drawing_from(key, CPU):
            first.append(torch.rand(3))
    assert torch.equal(first[0], first[1])
    assert not torch.equal(first[0], first[2])
    assert torch.equal(before, torch.random.get_rng_state())
