import math

import pytest
import torch

from qgcn.data import cycle, read_graph
from qgcn.training import Config, Run
from qgcn.training.metrics_log import Curve
from qgcn.viz.report.words import sentences


def told(results=None, curves=(), data=None, **values):
    config = Config.checked({"task": "reconstruction", "data": "cycle", "space": "H2xE3", "epochs": 100} | values)
    return sentences(Run(config, data=read_graph(cycle(8)) if data is None else data), results, list(curves))


def test_the_space_is_described_in_words():
    first = told()[0]
    assert "8 nodes and 8 edges" in first
    assert "a product of hyperbolic space (2 dimensions) and flat space (3 dimensions)" in first


def test_an_unfinished_run_says_how_far_it_got():
    assert "it has got to epoch 40 of 100" in told(curves=[Curve(0, [20, 40], [1.0, 0.5], [0.1, 0.2])])[1]


@pytest.mark.parametrize(("epoch", "late"), [(50, False), (99, True)])
def test_a_late_best_epoch_is_told(epoch, late):
    summary = {"map": {"mean": 0.875, "std": math.nan}}
    words = told({"metric": "map", "summary": summary, "seeds": [{"seed": 0, "best_epoch": epoch}]})
    assert "87.5 %" in words[2]
    assert ("more epochs may still do better" in words[-1]) == late


def test_the_most_common_class_is_what_guessing_gives():
    data = read_graph(cycle(8))
    data.y, data.test_mask = torch.tensor([0, 0, 0, 1] * 2), torch.arange(8) < 4
    data.train_mask, data.val_mask = torch.arange(8) > 5, (torch.arange(8) > 3) & (torch.arange(8) < 6)
    results = {"metric": "f1_micro", "summary": {"f1_micro": {"mean": 0.9, "std": math.nan}}, "seeds": []}
    words = told(results, data=data, task="classification", space="E2")
    assert "90.0 % of the test nodes" in words[2]
    assert "gives 75.0 %" in words[2]


def test_yardsticks_decide_whether_it_was_worth_it():
    results = {"metric": "map", "summary": {"map": {"mean": 0.875, "std": 0.0}}, "seeds": []}
    assert not any("yardstick" in text for text in told(results))
    better = told(results | {"yardsticks": {"random points": {"map": 0.1}, "spectral embedding": {"map": 0.5}}})
    assert better[-1] == (
        "shallow in H2xE3 beats every yardstick by 37.5 points of mAP (87.5; next is spectral embedding with 50.0)."
    )
    worse = told(results | {"yardsticks": {"spectral embedding": {"map": 0.9}}})
    assert "shallow in H2xE3 was not worth training" in worse[-1]
