"""Runs in blocks: the same on disk, in memory, resumed at any step, and after their process was killed."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from qgcn import data, load_run
from qgcn.files import load_tensors
from qgcn.seals import Damaged
from qgcn.tasks import Config
from qgcn.training import Run
from qgcn.training.blocks import BlockEngine, BlockTrainer
from qgcn.training.supervision import Interrupted

SETTINGS = {
    **{"task": "reconstruction", "data": "ring-of-trees", "space": "Q2,2", "blocks": 3, "negatives": "32"},
    **{"epochs": 12, "eval_every": 4, "lr": 0.05, "yardsticks": False, "checkpoint_seconds": 0.0, "deterministic": True},
}


def run(folder, **settings):
    graph = Data(edge_index=data.ring_of_trees(14, 2, 2), num_nodes=98)
    return Run.start(Config.checked(SETTINGS | settings), folder, graph)


def same(one, two):
    assert torch.equal(one.embedding(0).points, two.embedding(0).points)
    assert one.results == two.results
    mine, theirs = one.weights(0)[0], two.weights(0)[0]
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_memory_disk_and_no_folder_are_the_same_run(tmp_path):
    runs = [run(None), run(tmp_path / "memory"), run(tmp_path / "disk", store="disk")]
    for each in runs:
        each.train()
    same(runs[0], runs[1])
    same(runs[0], runs[2])
    back = load_run(tmp_path / "disk")
    same(back, runs[0])
    points = back.predictor(0).embed(back.task.x, back.task.graph)
    torch.testing.assert_close(points.cpu(), runs[0].embedding(0).points)


@pytest.mark.parametrize("store", ["memory", "disk"])
def test_a_run_stopped_after_any_step_goes_on_as_if_it_had_not_been(tmp_path, store, monkeypatch):
    whole = run(None)
    whole.train()
    stops, steps, plain = 0, 0, BlockEngine.step

    def step(self, *arguments):
        nonlocal steps
        found, steps = plain(self, *arguments), steps + 1
        if steps % 7 == 0:
            os.kill(os.getpid(), signal.SIGTERM)
        return found

    monkeypatch.setattr(BlockEngine, "step", step)
    found = run(tmp_path / "run", store=store)
    while not found.results:
        try:
            found.train()
        except Interrupted:
            stops += 1
            found = load_run(tmp_path / "run")
    assert stops == 12 * 6 // 7
    same(found, whole)


def test_the_seconds_of_a_run_go_on(tmp_path):
    made = run(tmp_path / "run")
    first, again = (BlockTrainer(made.task, made.task.division, [0], made.fabric, tmp_path / "blocks") for _ in range(2))
    first.run(until=lambda: first.epoch == 2)
    tensors, about = first.state()
    again.restore(tensors, about)
    assert (again.epoch, again.step, again.seconds) == (2, 0, first.seconds)
    assert again.seconds > 0


@pytest.mark.parametrize(
    "damage",
    [
        {"stepped": [["log_temperature"]]},
        {"stepped": "log_temperature"},
        {"stepped": None},
        {"part": True},
        {"part": 6},
        {"blocks": None},
        {"blocks": [1]},
        {"best": ["seed-0-block-0-1.safetensors"]},
        {"best_epoch": 3},
        {"best_epoch": "0"},
        {"seeds": [1]},
        {"epoch": -1},
        {"epoch": 2.0},
        {"seconds": "1"},
    ],
)
def test_a_state_that_training_cannot_be_in_is_refused(tmp_path, damage):
    made = run(tmp_path / "run")
    first, again = (BlockTrainer(made.task, made.task.division, [0], made.fabric, tmp_path / "blocks") for _ in range(2))
    first.run(until=lambda: first.step == 2)
    tensors, about = first.state()
    again.restore(tensors, about)
    with pytest.raises(ValueError):  # noqa: PT011  # each in its own words
        again.restore(tensors, about | damage)


def test_a_killed_process_loses_nothing_but_time(tmp_path):
    """Processes are killed at random moments, in the middle of a step or of writing a block."""
    whole = run(None, epochs=100, eval_every=50)
    whole.train()
    graph = tmp_path / "graph.csv"
    edges = whole.data.edge_index
    graph.write_text("\n".join(f"{a},{b}" for a, b in edges.T.tolist() if a < b))
    folder = tmp_path / "run"
    named = {name: value for name, value in SETTINGS.items() if name not in ("task", "data", "yardsticks", "deterministic")}
    flags = ["--deterministic", *(f"--{name.replace('_', '-')}={value}" for name, value in named.items())]
    more = ["--epochs=100", "--eval-every=50", "--store=disk", "--no-yardsticks", "--out", str(folder), "--yes"]
    train = ["train", "reconstruction", "--data", str(graph), *flags, *more]
    chance, kills = random.Random(0), 0  # noqa: S311  # moments, no secrets
    for attempt in range(5):
        # a run that was killed while it began is begun again
        command = ["resume", str(folder)] if (folder / "config.yaml").exists() else train
        process = subprocess.Popen(
            [sys.executable, "-m", "qgcn", *command],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.DEVNULL,
        )
        if attempt == 4:
            assert process.wait(timeout=300) == 0
            break
        last, deadline = _last(folder), time.monotonic() + 120
        while _last(folder) == last and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(chance.random() * 0.7)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills >= 3
    back = load_run(folder)
    assert torch.equal(back.embedding(0).points, whole.embedding(0).points)
    assert back.results[0]["test"] == whole.results[0]["test"]
    assert back.results[0]["best_epoch"] == whole.results[0]["best_epoch"]


def _last(folder):
    path = folder / "checkpoints" / "seed-0.safetensors"
    return path.stat().st_mtime_ns if path.exists() else None


def test_a_damaged_block_is_said_in_one_line(tmp_path):
    stopped = run(tmp_path / "run", epochs=8)
    stopped.train()
    (tmp_path / "run" / "results.json").unlink()
    for path in (tmp_path / "run" / "weights").iterdir():
        path.unlink()
    for path in (tmp_path / "run" / "blocks").iterdir():
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(Damaged, match="does not match its checksum"):
        load_run(tmp_path / "run").train()


def interrupted(folder, monkeypatch, store):
    """Stop a run in the middle of an epoch; return it as it is read back, and the files that its last state alone names."""
    steps, plain = 0, BlockEngine.step

    def step(self, *arguments):
        nonlocal steps
        steps += 1
        if steps == 33:
            os.kill(os.getpid(), signal.SIGTERM)
        return plain(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(BlockEngine, "step", step)
        with pytest.raises(Interrupted):
            run(folder, store=store).train()
    last, before = (load_tensors(folder / "checkpoints" / f"seed-0{name}.safetensors")[1] for name in ("", ".previous"))
    return load_run(folder), sorted({*last["blocks"]} - {*before["blocks"], *before["best"]}), before


DAMAGE = {"truncated": lambda path: path.write_bytes(path.read_bytes()[:100]), "gone": lambda path: path.unlink()}


@pytest.mark.parametrize("store", ["memory", "disk"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_after_a_damaged_block_the_state_before_it_goes_on_to_the_same_end(tmp_path, monkeypatch, store, damage):
    whole = run(None)
    whole.train()
    found, files, before = interrupted(tmp_path / "run", monkeypatch, store)
    DAMAGE[damage](tmp_path / "run" / "blocks" / files[0])
    found.train()
    (remark,) = found.remarks
    assert "seed-0.safetensors cannot be restored: " in remark
    assert files[0] in remark
    assert remark.endswith(f"; its place is taken by seed-0.previous.safetensors, of epoch {before['epoch']}")
    same(found, whole)


def test_if_blocks_of_both_states_are_damaged_the_way_out_is_told_and_leads_out(tmp_path, monkeypatch):
    whole = run(None)
    whole.train()
    found, files, before = interrupted(tmp_path / "run", monkeypatch, "disk")
    for name in (files[0], before["blocks"][0]):
        DAMAGE["gone"](tmp_path / "run" / "blocks" / name)
    with pytest.raises(Damaged, match=r"cannot be restored: .* is gone, which the checkpoint needs; no earlier state") as error:
        found.train()
    for path in str(error.value).split(": delete ")[1].split(" to train its seeds")[0].split(" and "):
        Path(path).unlink()
    found = load_run(tmp_path / "run")
    found.train()
    same(found, whole)


def test_settings_that_do_not_go_together_are_refused():
    for settings, message in (
        ({"negatives": "exact"}, "blocks draw their negatives"),
        ({"objective": "paper"}, "blocks are for the objective neighbours alone, got paper"),
        ({"model": "qgcn"}, "blocks are for models that learn coordinates of nodes, such as shallow, got qgcn"),
        ({"blocks": 1, "store": "disk"}, "store has no effect without blocks"),
    ):
        with pytest.raises(ValueError, match=message):
            Config.checked(SETTINGS | settings)
    with pytest.raises(ValueError, match="blocks must be at most 3, as each needs 32 of the 98 nodes, got 4"):
        run(None, blocks=4)
    with pytest.raises(ValueError, match="store disk needs a folder"):
        run(None, store="disk").train()
    task = run(None).task
    task.shared = True
    with pytest.raises(ValueError, match="blocks are trained by one process"):
        BlockTrainer(task, task.division, [0], None, None)


def test_the_cost_is_estimated_from_the_first_steps():
    told = []
    run(None, epochs=40).train(consent=told.append)
    assert len(told) == 1
    assert told[0].epochs == 40


def test_blocks_learn_the_graph_because_groups_change():
    """With the same three groups in every epoch mAP stays below 0.8: most nodes never meet most others as negatives."""
    graph = Data(edge_index=data.ring_of_trees(8, 2, 3), num_nodes=120)
    settings = {"space": "H4", "epochs": 80, "lr": 0.02, "negatives": "40", "eval_every": 40}
    made = Run.start(Config.checked(SETTINGS | settings), None, graph)
    assert made.train()["map"][0] > 0.97
