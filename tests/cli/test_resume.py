"""``qgcn resume``: killed at any moment, asked to stop, damaged; in real processes."""

import os
import platform
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from qgcn.cli import running
from qgcn.locks import FileLock
from qgcn.seals import BLANK, seal
from qgcn.training import Config, Run

DATA = {"data": "stochastic-block", "dropout": 0.4, "feature_dropout": 0.2, "edge_dropout": 0.3, "checkpoint_seconds": 0.02}
DATA |= {"deterministic": True}  # on a GPU, too, runs are equal to the last bit
NOISY = {
    "batch": DATA
    | {"task": "classification", "space": "Q5,2", "seeds": 3, "patience": 60}
    | {"epochs": 120, "schedule": "cosine", "clip": 0.5},
    "mini": DATA
    | {"task": "links", "space": "Q3,2", "eval_every": 1, "epochs": 16, "batch_size": 128, "fanout": "3"}
    | {"negative_sampling": "degree", "checkpoint_seconds": 0.0, "seeds": 2},
    "gcn": DATA | {"task": "links", "model": "gcn", "space": "E8", "seeds": 2, "eval_every": 3, "epochs": 90},
}


def names(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def flags(settings):
    rest = [
        (f"--{key.replace('_', '-')}", *([] if value is True else [value])) for key, value in settings.items() if key != "task"
    ]
    return ("train", settings["task"], *(part for pair in rest for part in pair))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Runs that nothing has interrupted."""
    folders = {name: tmp_path_factory.mktemp("whole") / name for name in NOISY}
    for name, settings in NOISY.items():
        Run.start(Config.checked(settings), folders[name]).train()
    return folders


def compare(whole, broken, told):
    for folder in ("weights", "embeddings"):
        assert names(whole / folder) == names(broken / folder), told
        for file in names(whole / folder):
            assert (whole / folder / file).read_bytes() == (broken / folder / file).read_bytes(), (told, file)
    for file in ("metrics.jsonl", "results.json"):
        assert (whole / file).read_text() == (broken / file).read_text(), (told, file)


def lines(path):
    return path.read_text().count("\n") if path.exists() else 0


def with_fault(here, *words):
    """Run the command line in another process with a fault of ``tests/chaos/faults.py``: a stalled machine does not miss it."""
    program = Path(__file__).parents[1] / "chaos" / "faults.py"
    return subprocess.run(
        [sys.executable, program, *map(str, words)],
        cwd=here,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.parametrize(("name", "kills"), [("batch", 3), ("gcn", 1), ("mini", 2)])
def test_a_run_killed_at_any_moment_ends_as_if_it_had_not_been(here, command, whole, name, kills):
    """A process kills itself after some validations of its own: it cannot be done before it is killed."""
    validations, broken = lines(whole[name] / "metrics.jsonl") // NOISY[name]["seeds"], here / "broken"
    moments = [random.randrange(1, validations // (2 * kills)) for _ in range(kills)]  # noqa: S311
    for attempt, moment in enumerate(moments):
        arguments = (*flags(NOISY[name]), "--out", "broken") if attempt == 0 else ("resume", "broken")
        process = with_fault(here, "signal-at-line", moment, int(signal.SIGKILL), "--", *arguments)
        assert process.returncode == -signal.SIGKILL, process.stderr
        assert not (broken / "results.json").exists()
        assert (broken / ".lock").exists()
    command.works("resume", "broken")
    compare(whole[name], broken, f"killed after {moments} of {validations} validations")
    assert not list(broken.rglob(".*"))


def test_ctrl_c_saves_and_says_how_to_go_on(here, command, whole):
    broken = here / "my run"
    process = with_fault(here, "signal-at-line", 5, int(signal.SIGINT), "--", *flags(NOISY["batch"]), "--out", "my run")
    assert process.returncode == 2
    assert process.stderr == "qgcn: interrupted at epoch 5; go on with: qgcn resume 'my run'\n"
    assert not list(broken.rglob(".*"))
    command.works("resume", "my run")
    compare(whole["batch"], broken, "interrupted at epoch 5")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_training_leaves_nothing(here, command, number):
    train = ("train", "links", "--data", "cycle", "--out", "run")
    process = with_fault(here, "signal-while-reading", int(number), "--", *train)
    assert process.returncode == 2
    command.one_line(process.stderr)
    assert "interrupted before training began; nothing was written" in process.stderr
    assert names(here) == []


def test_a_signal_within_one_pass_over_many_nodes_is_heard_and_the_run_resumed(here, command):
    """An epoch takes many seconds there; the signal comes within the first, and within the first of the resumed run."""
    (here / "tree.csv").write_text("".join(f"{node},{node // 2}\n" for node in range(2, 60_000)))
    train = ("train", "reconstruction", "--data", "tree.csv", "--space", "Q3,2", "--out", "run", "--device", "cpu", "--yes")
    for arguments, number in ((train, signal.SIGTERM), (("resume", "run", "--yes"), signal.SIGINT)):
        process = with_fault(here, "signal-after", 0.5, int(number), "--", *arguments)
        assert process.returncode == 2
        assert process.stderr == "qgcn: interrupted at epoch 0; go on with: qgcn resume run\n"
        assert "seed-0.safetensors" in names(here / "run" / "checkpoints")


def test_a_long_training_is_not_resumed_without_being_asked_for(here, command, monkeypatch):
    monkeypatch.setattr(running, "HOUR", 0)
    settings = ("train", "links", "--data", "cycle", "--space", "Q3,2", "--epochs", "20", "--out", "run")
    said = command.fails(*settings)
    assert "not trained, as it would take about " in said
    assert "give --yes" in said
    assert "estimate: about " in command.works(*settings, "--yes")
    assert "estimate" not in command.works("resume", "run")  # nothing is left to do


@pytest.fixture
def run(here, command):
    command.works("train", "links", "--data", "cycle", "--space", "Q3,2", "--epochs", "10", "--out", "run")
    return here / "run"


def test_a_damaged_checkpoint_is_said_in_one_line(run, command):
    (run / "results.json").unlink()
    path = run / "checkpoints" / "seed-0.safetensors"
    whole = path.read_bytes()
    for content in (whole[:-10], whole[:100], b""):
        path.write_bytes(content)
        said = command.fails("resume", "run")
        assert "run/checkpoints/seed-0.safetensors " in said
        assert "; no earlier state is complete: delete run/checkpoints/seed-0.safetensors to train its seeds" in said


def test_after_a_damaged_checkpoint_the_one_before_it_is_used_and_told(here, command):
    settings = ("--data", "cycle", "--space", "Q3,2", "--epochs", "10", "--checkpoint-seconds", "0", "--out", "run")
    expected = command.works("train", "links", *settings)
    run = here / "run"
    whole = (run / "results.json").read_bytes()
    (run / "results.json").unlink()
    path = run / "checkpoints" / "seed-0.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    said = command.works("resume", "run")
    assert "run/checkpoints/seed-0.safetensors is damaged: it does not match its checksum; its place is taken by" in said
    assert expected.splitlines()[-8:] == said.splitlines()[-8:]
    assert (run / "results.json").read_bytes() == whole


def test_a_run_that_another_process_writes_is_named_with_its_holder(run, command):
    (run / "results.json").unlink()
    with FileLock(run / ".lock").held():
        said = command.fails("resume", "run")
        assert f"qgcn: run is being written by process {os.getpid()} on {platform.node()} since " in said
        (run / "config.yaml").rename(run / "not-yet.yaml")
        assert "is being written by" in command.fails("resume", "run")
        (run / "not-yet.yaml").rename(run / "config.yaml")
    command.works("resume", "run")


def test_a_run_goes_on_with_another_device(run, command):
    (run / "results.json").unlink()
    assert "device: input should be" in command.fails("resume", "run", "--device", "abacus")
    assert ", cpu." in command.works("resume", "run", "--device", "cpu")


def test_a_checkpoint_of_another_config_is_said_in_one_line(here, run, command):
    (here / "same.yaml").write_text("data: cycle\nspace: Q3,2\nepochs: 10\n")
    (here / "other.yaml").write_text("data: cycle\nspace: Q3,2\nepochs: 10\nlr: 0.5\n")
    command.works("resume", "run", "--config", "same.yaml")
    expected = "run was trained with lr = 0.01, but the config says 0.5"
    assert expected in command.fails("resume", "run", "--config", "other.yaml")
    settings = yaml.safe_load((run / "config.yaml").read_text())
    (run / "config.yaml").write_text(yaml.safe_dump(settings | {"lr": 0.5}))
    assert "run/config.yaml has no checksum" in command.fails("resume", "run")
    (run / "config.yaml").write_bytes(seal(f"# {BLANK}\n{yaml.safe_dump(settings | {'lr': 0.5})}".encode()))
    expected = "run/results.json was trained with lr = 0.01, but the config says 0.5"
    assert expected in command.fails("resume", "run")
    (run / "config.yaml").write_bytes(seal(f"# {BLANK}\nepochs: [".encode()))
    assert "run/config.yaml is not YAML" in command.fails("resume", "run")


def test_damaged_results_are_said_in_one_line(run, command):
    for content in ("{", "[]", "{}"):
        (run / "results.json").write_text(content)
        assert "run/results.json has no checksum: it is damaged, " in command.fails("resume", "run")
    (run / "results.json").unlink()
    assert "ROC AUC" in command.works("resume", "run")
