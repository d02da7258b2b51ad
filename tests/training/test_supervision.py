"""Signals within an epoch, a validation, the last scores: a run that goes on to the last byte."""

import os
import signal
import threading

import pytest
import torch

from qgcn import kernels
from qgcn.data import read_graph
from qgcn.tasks import Reconstruction
from qgcn.training import Config, Interrupted, Run, load_run
from qgcn.training import run as module
from qgcn.training.checkpoints import Checkpoint
from qgcn.training.folder import RunFolder
from qgcn.training.metrics_log import MetricsLog

WRITTEN = ("metrics.jsonl", "results.json", "weights/seed-0.safetensors", "embeddings/seed-0.npz")


def tree(nodes):
    """A tree of random descent, with half as many further edges."""
    generator = torch.Generator().manual_seed(0)
    node = torch.arange(1, nodes)
    parent = (torch.rand(nodes - 1, generator=generator, dtype=torch.float64) * node).long()
    other = torch.randint(nodes, (nodes // 2,), generator=generator)
    return read_graph(torch.cat((torch.stack((node, parent)), torch.stack((node[: nodes // 2], other))), dim=1))


def config(**settings):
    return Config.checked({"task": "reconstruction", "data": "tree", "device": "cpu", "space": "Q3,2"} | settings)


def same(one, other):
    for name in WRITTEN:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


@pytest.fixture
def later():
    """Send this process a signal after some seconds; what was not sent in time is called back, or ignored."""
    timers, before = [], signal.signal(signal.SIGTERM, lambda *_: None)

    def send(seconds):
        timers.append(threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGTERM)))
        timers[-1].start()
        return timers[-1]

    yield send
    for timer in timers:
        timer.cancel()
        timer.join()
    signal.signal(signal.SIGTERM, before)


MOMENTS = [
    (kernels, "reconstruction_loss", 1),
    (torch.optim.Adam, "step", 2),
    (MetricsLog, "write", 1),
    (Reconstruction, "selection", 1),
    (kernels, "reconstruction_loss", 2),
    (Checkpoint, "save", 1),
    (Reconstruction, "score", 1),
    (RunFolder, "save_seed", 1),
    (module, "yardstick_scores", 1),
    (RunFolder, "write_results", 1),
]
"""What a run does when a signal comes, the first or second time that it does it, in the order of a run."""


def test_a_run_interrupted_at_any_moment_ends_as_if_it_had_not_been(tmp_path):
    data, settings = tree(300), config(epochs=8, eval_every=2, schedule="cosine")
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    Run.start(settings, whole, data).train()
    run, epochs = Run.start(settings, broken, data), []
    for owner, name, count in MOMENTS:
        done, left = getattr(owner, name), [signal.SIGTERM] * count

        def struck(*arguments, done=done, left=left, **options):
            if left and (number := left.pop()) and not left:
                signal.raise_signal(number)
            return done(*arguments, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owner, name, struck)
            with pytest.raises((Interrupted, KeyboardInterrupt)) as stopped:
                run.train()
        assert not left, name
        epochs.append(getattr(stopped.value, "epoch", settings.epochs))
        run = load_run(broken)
    assert epochs == sorted(epochs)
    assert len(set(epochs)) > 3
    run.train()
    same(whole, broken)


def test_a_signal_within_a_validation_is_heard_and_the_validation_made_up_for(tmp_path):
    data, settings = tree(300), config(epochs=6, eval_every=2)
    Run.start(settings, tmp_path / "whole", data).train()
    run = Run.start(settings, tmp_path / "broken", data)
    selection, calls = run.task.selection, []

    def interrupted(*arguments):
        calls.append(run)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGTERM)
            pytest.fail("the signal was not heard")
        return selection(*arguments)

    run.task.selection = interrupted
    with pytest.raises(Interrupted, match="interrupted at epoch 4"):
        run.train()
    assert (tmp_path / "broken" / "metrics.jsonl").read_text().count("\n") == 1
    load_run(tmp_path / "broken").train()
    same(tmp_path / "whole", tmp_path / "broken")


@pytest.mark.parametrize("settings", [{"epochs": 4}, {"epochs": 4, "eval_every": 4}])
def test_a_signal_within_the_last_scores_is_heard(tmp_path, settings):
    data = tree(300)
    Run.start(config(**settings), tmp_path / "whole", data).train()
    run = Run.start(config(**settings), tmp_path / "broken", data)
    run.task.score = lambda *_: signal.raise_signal(signal.SIGTERM)
    with pytest.raises(Interrupted, match="interrupted at epoch 4"):
        run.train()
    assert not (tmp_path / "broken" / "results.json").exists()
    load_run(tmp_path / "broken").train()
    same(tmp_path / "whole", tmp_path / "broken")


def test_a_second_signal_does_not_wait_and_what_was_saved_before_stays(tmp_path):
    data, settings = tree(300), config(epochs=4, eval_every=1, checkpoint_seconds=0)
    Run.start(settings, tmp_path / "whole", data).train()
    run = Run.start(settings, tmp_path / "broken", data)

    def stop(stage, done, total, note=""):
        if done == 2:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as stopped:
        run.train(stop)
    assert stopped.type is KeyboardInterrupt
    load_run(tmp_path / "broken").train()
    for name in WRITTEN:
        if name != "results.json":  # it says how often checkpoints were written
            assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_signal_within_one_pass_over_many_nodes_is_heard_there(tmp_path, later):
    """An epoch of 60,000 nodes takes far longer than the second after which the signal comes: it is not waited for."""
    data, settings = tree(60_000), config()
    run = Run.start(settings, tmp_path / "run", data)
    for _ in range(2):
        later(1.0)
        with pytest.raises(Interrupted, match="interrupted at epoch 0"):
            run.train()
        run = load_run(tmp_path / "run")
    assert run.weights(0)[1] == 0  # there is a state to go on from
