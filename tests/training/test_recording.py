"""A step recorded on a GPU is the step; one whose draws were made in advance is the step, anywhere."""

import gc
import weakref
from contextlib import nullcontext

import pytest
import torch

from qgcn.training import Config, Run, Trainer
from qgcn.training.recording import AHEAD, WARM_STEPS, Backlog, Recording, _nothing_collected

on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
DROPPED = {"edge_dropout": 0.3, "dropout": 0.4, "feature_dropout": 0.2, "epochs": 12, "eval_every": 5}
NETWORKS = (
    {"task": "links", "model": "propagation", "space": "Q4,4", "decoder": "network"},
    {"task": "links", "model": "qgcn", "space": "Q3,1", "aggregation": "mean"},
    {"task": "classification", "model": "qgcn", "space": "Q3,2"},
    {"task": "classification", "model": "deep", "space": "H4"},
)


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("settings", NETWORKS, ids=lambda given: f"{given['task']}-{given['model']}")
def test_a_step_whose_draws_were_made_in_advance_is_the_step(settings, seeds):
    learned = []
    for static in (False, True):
        run = Run(Config.checked({"data": "stochastic-block", "seeds": seeds} | DROPPED | settings))
        trainer = Trainer(run.task, run.seeds, run.fabric)
        trainer._static = static
        trainer.run()
        assert trainer.epoch == DROPPED["epochs"]
        learned.append(trainer.parameters)
    for name, parameter in learned[0].items():
        assert torch.equal(parameter, learned[1][name]), name


@on_a_gpu
def test_a_recorded_step_reads_and_writes_the_tensors_of_the_step():
    total, calls = torch.zeros(3, device="cuda"), []

    def step():
        calls.append(len(calls))
        return total.add_(torch.arange(3.0, device="cuda")).sum()

    recording = Recording(step)
    found = [recording.step().item() for _ in range(WARM_STEPS + 4)]
    assert found == [3.0 * count for count in range(1, WARM_STEPS + 5)]
    assert total.tolist() == [0.0, WARM_STEPS + 4, 2.0 * (WARM_STEPS + 4)]
    assert len(calls) == WARM_STEPS + 1  # the steps that were taken plainly, and the one recorded


@on_a_gpu
def test_the_result_is_one_tensor_once_the_step_is_recorded():
    total = torch.zeros(1, device="cuda")
    recording = Recording(lambda: total.add_(1).clone())
    results = [recording.step() for _ in range(WARM_STEPS + 3)]
    assert len({result.data_ptr() for result in results[WARM_STEPS:]}) == 1
    total.fill_(10)
    assert recording.step().item() == 11


@on_a_gpu
def test_few_steps_are_asked_for_in_advance():
    backlog, matrix = Backlog(torch.device("cuda")), torch.randn(4096, 4096, device="cuda")
    done = [torch.cuda.Event() for _ in range(12)]
    for event in done:
        for _ in range(5):
            matrix = (matrix @ matrix).div_(100)
        event.record()
        backlog.add()
    assert all(event.query() for event in done[:-AHEAD])


class Cycle:
    """Refers to itself, as recordings of runs do: the collector alone frees it."""

    def __init__(self):
        self.itself = self


@pytest.mark.parametrize(("context", "kept"), [(nullcontext, False), (_nothing_collected, True)])
def test_nothing_is_collected_while_a_step_is_recorded(context, kept):
    """The freed recording of another run would end it."""
    thresholds = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        with context():
            alive = weakref.ref(Cycle())
            made = [[] for _ in range(1000)]
            assert (alive() is not None) == kept
    finally:
        gc.set_threshold(*thresholds)
    assert len(made) == 1000
    assert gc.isenabled()
