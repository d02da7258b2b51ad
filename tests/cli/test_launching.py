"""Several processes of one command: the same results as one, and a clear end if one is lost."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import typer

from qgcn.cli import _fail, launching
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
    return {int(variables(pid)["RANK"]): int(pid) for pid in found if "RANK" in variables(pid)}


def variables(pid):
    return dict(part.split("=", 1) for part in environment(pid) if "=" in part)


def environment(pid):
    return Path(f"/proc/{pid}/environ").read_text().split("\0")


def begun(process):
    """Return both processes as soon as they exist; they import PyTorch, which takes seconds, before they meet."""
    end = time.monotonic() + 60
    while len(found := processes_of(process.pid)) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    return found


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
    goes_on_from(here, epoch, *(("--devices", "3") if rank else ()))


def goes_on_from(here, epoch, *words):
    resumed = start(here, "resume", "run", *words)
    checkpoint, end = Checkpoint(here / "run" / "checkpoints" / "seed-0.safetensors"), time.monotonic() + 120
    while checkpoint.load().epoch <= epoch and time.monotonic() < end:
        time.sleep(0.2)
    resumed.send_signal(signal.SIGTERM)
    _, err = resumed.communicate(timeout=60)
    assert "interrupted at epoch " in err, err
    assert int(err.split("interrupted at epoch ")[1].split(";")[0]) > epoch


SOON = """
from qgcn.cli import launching, main

launching._GRACE = 1.0
main()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("rank", [0, 1])
def test_a_process_killed_before_they_have_met_is_told_of(here, command, rank):
    """The first one waits for the other, hears of nothing and is stopped in the end: the process that watches says it."""
    process = start(here, *LONG, "--devices", "2", program=("-c", SOON))
    os.kill(begun(process)[rank], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    command.one_line(err)
    assert (
        f"process {rank} of 2 was killed (SIGKILL); the others have stopped; if training had begun, go on with: qgcn r" in err
    )
    assert not (here / "run" / "config.yaml").exists()


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (["sleep 60", "exit 0", "kill -KILL $$"], "process 2 of 3 was killed (SIGKILL); the others have stopped"),
        (["sleep 60", "exit 3"], "process 1 of 2 ended with exit code 3; the others have stopped"),
        (["exit 0", "kill -KILL $$"], "process 1 of 2 was killed (SIGKILL); the others have stopped"),
        (["kill -TERM $$", "exit 0"], "process 0 of 2 was killed (SIGTERM); the others have stopped"),
    ],
)
def test_if_the_first_process_could_not_say_so_the_one_that_watches_does(monkeypatch, ends, said):
    monkeypatch.setattr(launching, "_GRACE", 0.2)
    with pytest.raises(ValueError, match=re.escape(said)):
        launching._exit_as([subprocess.Popen(["/bin/sh", "-c", f"{each}; :"]) for each in ends])


def test_if_the_first_process_has_said_so_nobody_says_it_again(monkeypatch):
    monkeypatch.setattr(launching, "_GRACE", 0.2)
    with pytest.raises(typer.Exit) as ended:
        launching._exit_as([subprocess.Popen(["/bin/sh", "-c", each]) for each in ("exit 2", "sleep 60")])
    assert ended.value.exit_code == 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux alone tells a process of the death of its parent")
def test_when_the_process_that_watches_is_killed_the_others_save_and_end(here):
    process = start(here, *LONG, "--devices", "2")
    trained_a_little(here, process)
    process.kill()
    _, err = process.communicate(timeout=60)  # once all have ended who can write
    assert err.startswith("qgcn: interrupted at epoch ")
    assert err.count("\n") == 1
    goes_on_from(here, int(err.split("interrupted at epoch ")[1].split(";")[0]))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux alone tells a process of the death of its parent")
def test_a_process_whose_launcher_has_died_before_stops_at_once(here, monkeypatch):
    process = start(
        here, *LONG, program=("-c", "import os; os.environ['QGCN_LAUNCHER'] = '1'; from qgcn.cli import main; main()")
    )
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (2, "qgcn: interrupted\n")
    assert not (here / "run").exists()


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


def test_far_more_processes_than_cores_are_refused(monkeypatch):
    for name in ("LOCAL_RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(subprocess, "Popen", lambda *_given, **_more: pytest.fail("a process was started"))
    with pytest.raises(ValueError, match="devices must be at most 8 on a machine of 2 cores, got 100"):
        launch(100, 1)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 16)
    with pytest.raises(ValueError, match="devices must be at most 16 on a machine of 2 cores, got 17"):
        launch(17, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--batchsize", "3"), "qgcn: No such option: --batchsize"),
        (("--devices", "3"), "qgcn: 2 processes were started, but devices and nodes ask for 3"),
    ],
)
def test_what_all_processes_find_is_said_once(here, words, said):
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "qgcn")
    process = start(here, "train", "classification", *MINI, *words, "--out", "run", program=torchrun)
    _, err = process.communicate(timeout=120)
    assert process.returncode != 0
    assert err.count("qgcn: ") == err.count(said) == 1
    assert not (here / "run").exists()


def test_what_one_process_finds_is_said_by_it(monkeypatch, capsys):
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    for own in (False, True):
        with pytest.raises(SystemExit):
            _fail("out of memory", own=own)
        assert capsys.readouterr().err == "qgcn: out of memory\n" * own


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
