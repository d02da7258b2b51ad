"""``qgcn resume``: killed at any moment, asked to stop, damaged; in real processes."""

import os
import random
import signal
import time

import pytest
import yaml

from qgcn.cli import running
from qgcn.training import Config, Run

DATA = {"data": "stochastic-block", "dropout": 0.4, "feature_dropout": 0.2, "edge_dropout": 0.3, "checkpoint_seconds": 0.02}
NOISY = {
    "batch": DATA
    | {"task": "classification", "space": "Q5,2", "seeds": 3, "patience": 60}
    | {"epochs": 120, "schedule": "cosine", "clip": 0.5},
    "gcn": DATA | {"task": "links", "model": "gcn", "space": "E8", "seeds": 2, "eval_every": 3, "epochs": 90},
}


def names(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def flags(settings):
    rest = [(f"--{key.replace('_', '-')}", value) for key, value in settings.items() if key != "task"]
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


def wait_until(condition, process, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "nothing happens"
        time.sleep(0.002)


@pytest.mark.parametrize(("name", "kills"), [("batch", 3), ("gcn", 1)])
def test_a_run_killed_at_any_moment_ends_as_if_it_had_not_been(here, command, whole, name, kills):
    total, broken = lines(whole[name] / "metrics.jsonl"), here / "broken"
    moments = sorted(random.sample(range(total * 3 // 4), kills))
    for attempt, moment in enumerate(moments):
        arguments = (*flags(NOISY[name]), "--out", "broken") if attempt == 0 else ("resume", "broken")
        process = command.start(*arguments)
        wait_until(lambda moment=moment: lines(broken / "metrics.jsonl") > moment, process)
        time.sleep(random.uniform(0, 0.02))  # noqa: S311
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert not (broken / "results.json").exists()
    command.works("resume", "broken")
    compare(whole[name], broken, f"killed after {moments} of {total} lines")


def test_ctrl_c_saves_and_says_how_to_go_on(here, command, whole):
    broken = here / "my run"
    process = command.start(*flags(NOISY["batch"]), "--out", "my run")
    wait_until(lambda: lines(broken / "metrics.jsonl") > 5, process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    command.one_line(err)
    assert "; go on with: qgcn resume 'my run'" in err
    epoch = int(err.split("interrupted at epoch ")[1].split(";")[0])
    assert 1 <= epoch < 120
    assert not list(broken.rglob(".*"))
    command.works("resume", "my run")
    compare(whole["batch"], broken, f"interrupted at epoch {epoch}")


def test_ctrl_c_before_training_leaves_nothing(here, command):
    os.mkfifo(here / "slow.csv")  # a file that takes forever to read
    process = command.start("train", "links", "--data", "slow.csv", "--out", "run")
    writer = os.open(here / "slow.csv", os.O_WRONLY)  # waits until the file is being read
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    os.close(writer)
    assert process.returncode == 2
    command.one_line(err)
    assert "interrupted before training began; nothing was written" in err
    assert names(here) == ["slow.csv"]


def test_a_signal_within_one_pass_over_many_nodes_is_heard_and_the_run_resumed(here, command):
    """An epoch takes many seconds there; the signal comes within the first, and within the first of the resumed run."""
    (here / "tree.csv").write_text("".join(f"{node},{node // 2}\n" for node in range(2, 60_000)))
    train = ("train", "reconstruction", "--data", "tree.csv", "--space", "Q3,2", "--out", "run", "--device", "cpu", "--yes")
    for arguments, number in ((train, signal.SIGTERM), (("resume", "run", "--yes"), signal.SIGINT)):
        process = command.start(*arguments)
        told = ""
        while "estimate" not in told:
            told = process.stdout.readline()
            assert told, process.communicate()
        time.sleep(0.5)
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 2
        command.one_line(err)
        assert err == "qgcn: interrupted at epoch 0; go on with: qgcn resume run\n"
        assert names(here / "run" / "checkpoints") == ["seed-0.safetensors"]


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
        assert "run/checkpoints/seed-0.safetensors is damaged or no checkpoint: " in command.fails("resume", "run")


def test_a_checkpoint_of_another_config_is_said_in_one_line(here, run, command):
    (here / "same.yaml").write_text("data: cycle\nspace: Q3,2\nepochs: 10\n")
    (here / "other.yaml").write_text("data: cycle\nspace: Q3,2\nepochs: 10\nlr: 0.5\n")
    command.works("resume", "run", "--config", "same.yaml")
    expected = "run was trained with lr = 0.01, but the config says 0.5"
    assert expected in command.fails("resume", "run", "--config", "other.yaml")
    settings = yaml.safe_load((run / "config.yaml").read_text())
    (run / "config.yaml").write_text(yaml.safe_dump(settings | {"lr": 0.5}))
    expected = "run/results.json was trained with lr = 0.01, but the config says 0.5"
    assert expected in command.fails("resume", "run")
    (run / "config.yaml").write_text("epochs: [")
    assert "run/config.yaml is not YAML" in command.fails("resume", "run")


def test_damaged_results_are_said_in_one_line(run, command):
    for content in ("{", "[]", "{}"):
        (run / "results.json").write_text(content)
        assert "run/results.json is damaged" in command.fails("resume", "run")
    (run / "results.json").unlink()
    assert "ROC AUC" in command.works("resume", "run")
