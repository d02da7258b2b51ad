"""Several processes of one command: the same results as one, and a clear end if one is lost."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from qgcn.cli.launching import launch
from qgcn.files import load_tensors
from qgcn.training import load_run
from qgcn.training.checkpoints import Checkpoint

DATA = ("--data", "stochastic-block", "--space", "Q3,2", "--device", "cpu", "--no-yardsticks", "--eval-every", "1")
MINI = (*DATA, "--batch-size", "48", "--fanout", "4", "--dropout", "0.4", "--edge-dropout", "0.3")
RUNS = {
    "classification": ("train", "classification", *MINI, "--epochs", "6", "--seeds", "2"),
    "links": ("train", "links", *MINI, "--epochs", "3", "--refit", "--negative-sampling", "in-batch"),
    "reconstruction": ("train", "reconstruction", *DATA, "--epochs", "12"),
    "negatives": ("train", "reconstruction", *DATA, "--epochs", "12", "--negatives", "64"),
    "entailment": ("train", "entailment", *DATA[2:], "--data", "is-a.csv", "--space", "M4", "--epochs", "12"),
}
LONG = ("train", "links", *MINI, "--epochs", "4000", "--checkpoint-seconds", "0.2", "--out", "run")


def start(here, *words, program=("-m", "qgcn")):
    env = {name: value for name, value in os.environ.items() if name not in ("LOCAL_RANK", "WORLD_SIZE")}
    command = [sys.executable, *program, *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=here, env=env | {"OMP_NUM_THREADS": "1"}, **pipes)


def works(here, *words, **more):
    process = start(here, *words, **more)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return out


def close(one, two, tolerance):
    for name in ("weights/seed-0.safetensors",):
        mine, theirs = (load_tensors(folder / name)[0] for folder in (one, two))
        assert mine.keys() == theirs.keys()
        for key in mine:
            torch.testing.assert_close(mine[key], theirs[key], **tolerance)


@pytest.mark.parametrize("task", RUNS)
def test_two_processes_learn_what_one_learns_with_the_same_batch(here, task):
    (here / "is-a.csv").write_text("".join(f"n{(child - 1) // 3},n{child}\n" for child in range(1, 121)))
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "qgcn")
    works(here, *RUNS[task], "--out", "one")
    out = works(here, *RUNS[task], "--out", "two", "--devices", "2")
    assert out.count("Written to") == 1
    one, two = load_run(here / "one"), load_run(here / "two")
    assert sorted(path.name for path in (here / "two").iterdir()) == sorted(path.name for path in (here / "one").iterdir())
    tolerance = {"rtol": 2e-3, "atol": 2e-4}
    close(here / "one", here / "two", tolerance)
    if task in ("reconstruction", "negatives", "entailment"):
        close(here / "one", here / "two", {"rtol": 1e-4, "atol": 1e-5})
    if task == "reconstruction":  # rows are shared: few sums are in another order
        close(here / "one", here / "two", {"rtol": 1e-5, "atol": 1e-6})
        works(here, *RUNS[task], "--out", "three", program=torchrun)
        close(here / "two", here / "three", {"rtol": 0, "atol": 0})
    for name, (mean, _) in one.summary.items():
        assert two.summary[name][0] == pytest.approx(mean, rel=0.01, abs=0.03)


ENDING = """
import atexit, pathlib, os
from qgcn.cli import main

def names():
    tasks = pathlib.Path("/proc/self/task").glob("*/comm")
    pathlib.Path("threads-" + os.environ.get("RANK", "none")).write_text(" ".join(each.read_text().strip() for each in tasks))

atexit.register(names)
main()
"""


@pytest.mark.parametrize("task", ["reconstruction", "negatives"])
def test_no_thread_of_gloo_is_left_when_python_ends(here, task):
    """One that still holds a tensor aborts the process."""
    works(here, *RUNS[task], "--out", "two", "--devices", "2", program=("-c", ENDING))
    for rank in range(2):
        assert "gloo" not in (here / f"threads-{rank}").read_text()


def processes_of(parent):
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return {int(dict(part.split("=", 1) for part in environment(pid) if "=" in part)["RANK"]): int(pid) for pid in found}


def environment(pid):
    return Path(f"/proc/{pid}/environ").read_text().split("\0")


def trained_a_little(here, process):
    end = time.monotonic() + 120
    while not (here / "run" / "checkpoints" / "seed-0.safetensors").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("rank", [0, 1])
def test_when_a_process_is_killed_the_others_stop_and_the_run_can_be_resumed_by_another_number(here, command, rank):
    process = start(here, *LONG, "--devices", "2")
    trained_a_little(here, process)
    pids = processes_of(process.pid)
    os.kill(pids[rank], signal.SIGKILL)
    began = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - began < 60
    assert process.returncode == 2
    command.one_line(err)
    assert "process 0 of 2 " in err
    assert "resume" in err
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids.values())
    run = load_run(here / "run")
    epoch = run.weights(0)[1]
    assert epoch is not None
    resumed = start(here, "resume", "run", *(("--devices", "3") if rank else ()))
    checkpoint, end = Checkpoint(here / "run" / "checkpoints" / "seed-0.safetensors"), time.monotonic() + 120
    while checkpoint.load().epoch <= epoch and time.monotonic() < end:
        time.sleep(0.2)
    resumed.send_signal(signal.SIGTERM)
    _, err = resumed.communicate(timeout=60)
    assert "interrupted at epoch " in err, err
    assert int(err.split("interrupted at epoch ")[1].split(";")[0]) > epoch


def test_a_run_in_the_middle_of_an_epoch_is_ended_by_any_number_of_processes(here):
    words = [*RUNS["classification"], "--checkpoint-seconds", "0"]
    works(here, *words, "--out", "whole")
    fault = Path(__file__).parents[1] / "chaos" / "faults.py"
    process = start(here, "signal-at-line", "3", str(int(signal.SIGKILL)), "--", *words, "--out", "run", program=(fault,))
    process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL
    works(here, "resume", "run", "--devices", "2")
    close(here / "whole", here / "run", {"rtol": 2e-3, "atol": 2e-4})


def test_a_full_batch_has_no_share_for_several_processes(here, command):
    process = start(here, "train", "classification", *DATA, "--epochs", "2", "--devices", "2", "--out", "run")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 2
    assert "several processes train this task on mini-batches: give a batch size, such as --batch-size 1024" in err
    command.one_line(err)
    assert not (here / "run").exists()


def test_blocks_are_not_shared_among_processes(here):
    process = start(here, *RUNS["reconstruction"], "--blocks", "2", "--devices", "2", "--out", "run")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 2
    assert "blocks of nodes are trained by one process: leave out blocks, or use one process" in err
    assert not (here / "run").exists()


def test_several_machines_need_to_know_each_other(monkeypatch):
    for name in ("MASTER_ADDR", "NODE_RANK", "SLURM_NODEID", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    launch(1, 1)  # nothing to do
    with pytest.raises(
        ValueError, match=r"2 machines need MASTER_ADDR, the name of the first, and NODE_RANK.* got nothing and nothing"
    ):
        launch(4, 2)
    monkeypatch.setenv("MASTER_ADDR", "first")
    monkeypatch.setenv("SLURM_NODEID", "2")
    with pytest.raises(ValueError, match="below 2; got first and 2"):
        launch(4, 2)
    monkeypatch.setenv("LOCAL_RANK", "0")
    with pytest.raises(ValueError, match="below 2; got first and 2"):
        launch(4, 2)  # nobody has said that this is one of several
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "8"), ("LOCAL_WORLD_SIZE", "4")):
        monkeypatch.setenv(name, value)
    launch(4, 2)  # this is one of them
    launch(1, 1)
    with pytest.raises(ValueError, match="8 processes were started, but devices and nodes ask for 2"):
        launch(2, 1)


@pytest.mark.parametrize("numbers", [(0, 1), (1, 0), (-1, -1)])
def test_fewer_than_one_process_or_machine_is_refused(numbers):
    with pytest.raises(ValueError, match="must be at least 1, got"):
        launch(*numbers)


def test_a_hangup_ends_all_processes(here):
    process = start(here, *LONG, "--devices", "2")
    while not list(here.glob("run/checkpoints/*.safetensors")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=300)
    assert process.returncode == 2
    assert len(listed) == 2
    assert not any(Path(f"/proc/{child}").exists() for child in listed)
