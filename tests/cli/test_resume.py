"""``qgcn resume``: killed at any moment, asked to stop, damaged; in real processes."""

import json
import os
import random
import signal
import time

import pytest
import yaml

NOISY = {
    "batch": (
        *("classification", "--data", "stochastic-block", "--space", "Q5,2", "--seeds", "3", "--patience", "150"),
        *("--dropout", "0.4", "--feature-dropout", "0.2", "--edge-dropout", "0.3", "--schedule", "cosine", "--clip", "0.5"),
    ),
    "gcn": (
        *("links", "--data", "stochastic-block", "--model", "gcn", "--space", "E8", "--seeds", "2", "--eval-every", "3"),
        *("--dropout", "0.4", "--feature-dropout", "0.2", "--edge-dropout", "0.3"),
    ),
}


def lines(path):
    return path.read_text().count("\n") if path.exists() else 0


def wait_until(condition, process, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "nothing happens"
        time.sleep(0.002)


@pytest.mark.parametrize(("name", "kills"), [("batch", 3), ("gcn", 2)])
def test_a_run_killed_at_any_moment_ends_as_if_it_had_not_been(here, command, name, kills):
    arguments = ("train", *NOISY[name], "--epochs", "200", "--checkpoint-seconds", "0.02")
    command.works(*arguments, "--out", "whole")
    whole, broken = here / "whole", here / "broken"
    total = lines(whole / "metrics.jsonl")
    moments = sorted(random.sample(range(total * 3 // 4), kills))
    for attempt, moment in enumerate(moments):
        process = command.start(*(arguments if attempt == 0 else ("resume",)), *(("--out",) if attempt == 0 else ()), broken)
        wait_until(lambda moment=moment: lines(broken / "metrics.jsonl") > moment, process)
        time.sleep(random.uniform(0, 0.02))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert not (broken / "results.json").exists()
    assert list((broken / "checkpoints").glob("*.safetensors"))
    command.works("resume", "broken")
    told = f"killed after {moments} of {total} lines"
    for folder in ("weights", "embeddings"):
        names = sorted(path.name for path in (whole / folder).iterdir())
        assert names == sorted(path.name for path in (broken / folder).iterdir() if not path.name.startswith(".")), told
        for file in names:
            assert (whole / folder / file).read_bytes() == (broken / folder / file).read_bytes(), (told, file)
    for file in ("metrics.jsonl", "results.json"):
        assert (whole / file).read_text() == (broken / file).read_text(), (told, file)


def test_ctrl_c_saves_and_says_how_to_go_on(here, command):
    arguments = ("train", *NOISY["batch"], "--epochs", "300", "--patience", "300")
    process = command.start(*arguments, "--out", "my run")
    wait_until(lambda: lines(here / "my run" / "metrics.jsonl") > 5, process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    command.one_line(err)
    assert "; go on with: qgcn resume 'my run'" in err
    epoch = int(err.split("interrupted at epoch ")[1].split(";")[0])
    assert 1 <= epoch < 300
    assert not [path for path in (here / "my run").rglob(".*")]
    command.works("resume", "my run")
    command.works(*arguments, "--out", "whole")
    for file in ("metrics.jsonl", "results.json", "weights/seed-1.safetensors"):
        assert (here / "whole" / file).read_bytes() == (here / "my run" / file).read_bytes(), file


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
    assert os.listdir(here) == ["slow.csv"]


@pytest.fixture
def run(here, command):
    command.works("train", "links", "--data", "cycle", "--space", "Q3,2", "--epochs", "10", "--out", "run")
    return here / "run"


@pytest.mark.parametrize("finished", [True, False])
def test_a_damaged_checkpoint_is_said_in_one_line(run, command, finished):
    if not finished:
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
    expected = "run/checkpoints/seed-0.safetensors was trained with lr = 0.01, but the config says 0.5"
    assert expected in command.fails("resume", "run")
    (run / "config.yaml").write_text("epochs: [")
    assert "run/config.yaml is not YAML" in command.fails("resume", "run")


def test_results_that_are_no_json_are_said_in_one_line(run, command):
    results = json.loads((run / "results.json").read_text())
    assert results["seeds"][0]["seed"] == 0
    (run / "results.json").write_text("{")
    assert "run/results.json" in command.fails("resume", "run")
