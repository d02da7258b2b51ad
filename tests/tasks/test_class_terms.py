"""Cheap predictors of classes: log-probabilities, from training labels alone."""

import numpy as np
import torch

from qgcn.data import load
from qgcn.tasks import NodeClassification
from qgcn.tasks.class_terms import ClassTerms, doubtful


def test_terms_are_log_probabilities_that_rule_nothing_out():
    task = NodeClassification.of(load("stochastic-block"))
    terms = task.cheap.of_nodes()
    assert terms.shape == (task.num_nodes, task.classes, len(task.cheap.names))
    torch.testing.assert_close(terms.exp().sum(1), torch.ones(task.num_nodes, len(task.cheap.names), dtype=torch.float64))
    assert torch.isfinite(terms).all()
    assert task.cheap.names == ClassTerms.names_for("spectral features")


def test_terms_do_not_see_labels_beyond_training_and_the_choice_of_regularisation():
    data = load("stochastic-block")
    task = NodeClassification.of(data)
    other = data.clone()
    other.y = data.y.clone()
    tested = data.test_mask.nonzero().squeeze(1)
    other.y[tested] = (other.y[tested] + 1) % task.classes
    torch.testing.assert_close(NodeClassification.of(other).cheap.of_nodes(), task.cheap.of_nodes(), rtol=0, atol=0)


def test_a_class_without_training_nodes_is_possible_still():
    task = NodeClassification.of(load("stochastic-block"))
    cheap, y = task.cheap, task.y.numpy()
    train = np.flatnonzero(y == 0)[:3]
    few = ClassTerms(cheap._x, cheap._matrix, y, np.append(train, np.flatnonzero(y == 1)[:3]), task.nodes["val"].numpy())
    assert torch.isfinite(few.of_nodes()).all()
    assert np.isneginf(few.plain).any()


def test_doubt_leaves_the_order_and_bounds_the_odds():
    logits = torch.tensor([[50.0, 0.0, -torch.inf]])
    p = doubtful(logits).exp()
    assert p.argmax() == 0
    torch.testing.assert_close(p[0, 2], torch.tensor(0.01 / 3, dtype=torch.float64))
