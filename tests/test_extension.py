"""A task and an encoder of one's own need one file: they have flags, train, survive a kill, are reported."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from qgcn.data import load
from qgcn.models import MODELS
from qgcn.tasks import TASKS
from qgcn.training import Config, Run, load_run
from qgcn.viz.report import read_run, render

SCRIPT = Path(__file__).with_name("toys.py")
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}
TRAIN = ("train", "degree", "--data", "ring-of-trees", "--space", "Q3,2", "--seeds", "2", "--dropout", "0.2")


@pytest.fixture(scope="module", autouse=True)
def _registered():
    """The task and the encoder are known in this process, too, while these tests run."""
    import toys

    yield
    del TASKS[toys.Degree.name], MODELS["scaled"], sys.modules["toys"]


def call(folder, *arguments):
    return subprocess.run(
        [sys.executable, SCRIPT, *arguments], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that was never interrupted."""
    folder = tmp_path_factory.mktemp("toys")
    done = call(folder, *TRAIN, "--epochs", "400", "--out", "whole")
    assert done.returncode == 0, done.stderr
    assert "closeness" in done.stdout
    return folder / "whole"


def test_a_task_of_ones_own_is_resumed_after_a_kill_as_if_nothing_had_been(whole, tmp_path):
    arguments = [*TRAIN, "--epochs", "400", "--checkpoint-seconds", "0", "--out", "killed"]
    process = subprocess.Popen(
        [sys.executable, SCRIPT, *arguments],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    killed = tmp_path / "killed"
    while process.poll() is None and not list((killed / "checkpoints").glob("seed*")):
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert list((killed / "checkpoints").glob("seed*"))
    assert not (killed / "results.json").exists(), "it was done before it could be killed"
    resumed = call(tmp_path, "resume", "killed")
    assert resumed.returncode == 0, resumed.stderr
    for name in ("weights/seed-0.safetensors", "weights/seed-1.safetensors", "embeddings/seed-1.npz", "metrics.jsonl"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name


def test_a_task_of_ones_own_has_flags_and_its_own_defaults(tmp_path):
    shown = call(tmp_path, "train", "degree", "--help").stdout
    assert "--logarithm" in shown
    assert "--stretch" in shown  # of the encoder
    assert "Predict the degree of a node." in shown
    config = Config.checked({"task": "degree", "data": "cycle"})
    assert (config.epochs, config.lr, config.feature_dropout) == (30, 0.05, 0.1)
    refused = call(tmp_path, *TRAIN, "--model", "gat", "--stretch", "3")
    assert refused.returncode == 2
    assert refused.stderr == "qgcn: gat lives in a Euclidean space such as E16, got Q3,2\n"


def test_a_task_of_ones_own_is_reported(whole):
    subject = read_run(whole, umap=False)
    assert "so that the degree of a node can be read off its point" in subject.words[0]
    assert "Its closeness is " in subject.words[2]
    near, worst = subject.listings
    assert near.name == "nearest-unlinked"
    assert worst.title == "Degrees predicted worst"
    assert (np.diff(worst.table["error"]) <= 0).all()
    page = render([subject])
    assert "closeness" in page
    assert "Degrees predicted worst" in page
    run = load_run(whole)
    assert repr(run.task) == "Degree(ring-of-trees: 180 nodes, 180 edges; qgcn in Q3,2)"
    assert len(run.embedding(1).points) == 180


@pytest.mark.parametrize("task", ["degree", "links", "classification"])
def test_an_encoder_of_ones_own_solves_every_task(task, tmp_path):
    data = load("stochastic-block")
    config = Config.checked({"task": task, "data": "blocks", "model": "scaled", "stretch": 3.0, "epochs": 3, "seeds": 2})
    assert config.space == "H3"
    run = Run.start(config, tmp_path / task, data)
    assert run.groups() == [[0, 1]]
    run.train()
    assert load_run(tmp_path / task).config.options == {"stretch": 3.0}
