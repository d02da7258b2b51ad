"""Outcomes of tasks and their way back."""

import torch

from qgcn.data import load
from qgcn.tasks import LinkPrediction, NodeClassification, Reconstruction


def test_predictions_come_back_from_their_outcomes():
    for kind in (LinkPrediction, NodeClassification):
        task = kind.of(load("stochastic-block"))
        shape = (len(task.nodes["val"]), task.classes) if task.predicts_classes else (task.targets("val")[0].shape[1],)
        prediction = torch.randn(shape)
        logits, outcomes = task.outcomes(prediction, "val")
        assert torch.equal(task.from_outcomes(logits), prediction)
        assert logits.shape == (len(outcomes), task.terms("val").shape[1])
        assert len(task.term_names) == task.terms("val").shape[2]


def test_a_task_without_probabilities_has_no_outcomes():
    task = Reconstruction.of(load("cycle"), space="E2")
    assert task.outcomes(torch.zeros(1), "test") is None
    assert task.term_names == ()
    assert task.terms("test") is task.class_terms() is task.pair_terms() is None
