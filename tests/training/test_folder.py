"""The folder of a run: what is written, read, refused and taken back."""

import math
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

from qgcn import parse_space
from qgcn.data import load
from qgcn.embedding import Embedding
from qgcn.files import save_tensors
from qgcn.locks import FileLock, Locked
from qgcn.seals import Damaged
from qgcn.tasks import Config
from qgcn.training.folder import RunFolder
from qgcn.training.loop import Validation

CONFIG = Config.checked({"task": "classification", "data": "stochastic-block", "space": "Q5,2", "lr": 0.02})
SPLIT = {"held": torch.tensor([1, 5])}


def opened(path, fresh=True, data=None):
    return RunFolder(path).opened(CONFIG, data or load("stochastic-block"), SPLIT, fresh=fresh)


def begun(path):
    with opened(path):
        return RunFolder(path)


def names(path):
    return sorted(each.name for each in path.iterdir())


def test_what_is_written_at_the_beginning_is_read_back(tmp_path):
    folder = begun(tmp_path / "run")
    data = load("stochastic-block")
    assert folder.holds_run
    assert not folder.finished
    assert folder.config() == CONFIG
    assert torch.equal(folder.graph().edge_index, data.edge_index)
    assert torch.equal(folder.graph().y, data.y)
    assert torch.equal(folder.split()["held"], SPLIT["held"])
    assert folder.results() is None
    assert folder.curves() == []
    assert folder.embedding(0) is None
    assert folder.weights(0) == (None, None)


def test_a_beginning_is_taken_back_with_the_folders_it_made_and_nothing_else(tmp_path):
    with opened(tmp_path / "a" / "b") as undo:
        undo()
    assert names(tmp_path) == []
    (tmp_path / "mine").mkdir()
    with opened(tmp_path / "mine" / "run") as undo:
        (tmp_path / "mine" / "run" / "letter.txt").write_text("dear")
        undo()
    assert names(tmp_path / "mine" / "run") == ["letter.txt"]


def test_a_run_that_was_there_is_kept_and_not_taken_back(tmp_path):
    folder = begun(tmp_path / "run")
    left = folder.path / "checkpoints" / f".seed-0.safetensors.{'0123456789abcdef'}"
    left.write_bytes(b"half")
    with opened(tmp_path / "run", fresh=False) as undo:
        assert not left.exists()  # by a process that was killed while it wrote
        undo()
    assert folder.config() == CONFIG


def test_a_folder_in_use_is_refused(tmp_path):
    folder = begun(tmp_path / "run")
    with pytest.raises(FileExistsError, match=r"run holds a run already; resume it \(qgcn resume .*run\)"):
        folder.check_free()
    (tmp_path / "mine").mkdir()
    RunFolder(tmp_path / "mine").check_free()
    RunFolder(tmp_path / "none").check_free()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(FileExistsError, match="mine is not empty; choose another folder"):
        RunFolder(tmp_path / "mine").check_free()


def test_settings_that_are_not_there_are_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"run holds no run: there is no .*config\.yaml"):
        RunFolder(tmp_path / "run").config()


def test_settings_of_an_earlier_version_or_edited_ones_are_refused_with_what_to_do(tmp_path):
    path = begun(tmp_path / "run").path / "config.yaml"
    whole = path.read_text()
    path.write_text(whole.split("\n", 1)[1])
    again = r"qgcn train TASK --config .*config\.yaml --out NEW_FOLDER$"
    with pytest.raises(
        ValueError, match=rf"has no checksum: .* written by an earlier version of qgcn; train it again: {again}"
    ):
        RunFolder(tmp_path / "run").config()
    path.write_text(whole.replace("lr: 0.02", "lr: 0.03"))
    with pytest.raises(ValueError, match=rf"does not match its checksum \(it must not be edited\); .*: {again}"):
        RunFolder(tmp_path / "run").config()


@pytest.mark.parametrize("name", ["config.yaml", "graph.npz", "split.safetensors", "environment.json", "results.json"])
def test_a_flipped_bit_in_any_file_is_noticed_and_the_file_named(tmp_path, name):
    folder = begun(tmp_path / "run")
    folder.add_environment({"threads": 1})
    scores = {"metric": "map", "seeds": [{"seed": 0, "test": {"map": 0.5}}], "summary": {"map": {"mean": 0.5, "std": 0.0}}}
    folder.write_results(scores)
    readers = {"config.yaml": folder.config, "graph.npz": folder.graph, "split.safetensors": folder.split}
    read = (readers | {"environment.json": folder.environment, "results.json": folder.results})[name]
    read()
    path = folder.path / name
    whole = path.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 97)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        with pytest.raises(Damaged, match=rf"{name} (is damaged|has no checksum)"):
            read()


def test_another_place_is_added_to_the_first_once(tmp_path):
    folder = begun(tmp_path / "run")
    assert folder.environment() == {}
    here, there = {"threads": 1}, {"threads": 64}
    for place in (here, here, there, here, there):
        folder.add_environment(place)
    assert folder.environment() == here | {"resumed": [there]}


def test_results_are_read_back_and_damage_is_said(tmp_path):
    folder = begun(tmp_path / "run")
    scores = {"metric": "map", "seeds": [{"seed": 0, "test": {"map": math.inf}}], "summary": {"map": {"mean": 0.5, "std": 0.0}}}
    folder.write_results(scores)
    assert folder.finished
    assert folder.results() == scores
    folder.write_results(scores | {"yardsticks": {"random": {"map": math.nan}}})
    assert math.isnan(folder.results()["yardsticks"]["random"]["map"])
    for wrong in ({"random": {"other": 0.5}}, {"random": {"map": "much"}}, {"random": 3}, []):
        folder.write_results(scores | {"yardsticks": wrong})
        with pytest.raises(ValueError, match=r"results\.json is damaged .*; delete it"):
            folder.results()
    folder.write_results({"seeds": 3})
    with pytest.raises(ValueError, match=r"results\.json is damaged .*; delete it"):
        folder.results()


def test_a_seed_is_its_weights_and_its_embedding(tmp_path):
    folder = begun(tmp_path / "run")
    space = parse_space("Q2,2", beta=-2.0)
    points = space.random(3, 4, dtype=torch.float32).as_subclass(torch.Tensor)
    folder.save_seed(4, {"a.weight": torch.ones(2)}, Embedding(points, space, np.array(["x", "y", "z"])))
    assert folder.holds_seed(4)
    assert not folder.holds_seed(5)
    saved = folder.embedding(4)
    assert torch.equal(saved.points, points)
    assert saved.node_ids.tolist() == ["x", "y", "z"]
    weights, epoch = folder.weights(4)
    assert torch.equal(weights["a.weight"], torch.ones(2))
    assert epoch is None
    (folder.path / "embeddings" / "seed-4.npz").unlink()
    assert not folder.holds_seed(4)


def test_weights_of_a_seed_in_training_come_from_the_checkpoint_of_its_group(tmp_path):
    folder = begun(tmp_path / "run")
    assert folder.checkpoint([3]).path.name == "seed-3.safetensors"
    assert folder.checkpoint([3, 4, 5]).path.name == "seeds-3-5.safetensors"
    tensors = {"best/w": torch.tensor([[1.0], [2.0]]), "parameter/w": torch.zeros(2, 1)}
    folder.checkpoint([3, 4]).save(tensors, {"seeds": [3, 4], "epoch": 12})
    folder.checkpoint([7]).save({"best/w": torch.tensor([9.0])}, {"seeds": [7], "epoch": 5})
    for seed, value, reached in ((3, 1.0, 12), (4, 2.0, 12), (7, 9.0, 5)):
        weights, epoch = folder.weights(seed)
        assert {name: tensor.tolist() for name, tensor in weights.items()} == {"w": [value]}
        assert epoch == reached
    assert folder.weights(8) == (None, None)


# --- one process at a time -----------------------------------------------------------------------------------------------


def test_a_folder_that_is_being_written_is_closed_to_others(tmp_path):
    who = rf"run is being written by process {os.getpid()} on .* since .* UTC"
    with opened(tmp_path / "run"):
        for fresh in (True, False):
            with pytest.raises(Locked, match=who), opened(tmp_path / "run", fresh=fresh):
                pass
        assert RunFolder(tmp_path / "run").config() == CONFIG, "readers need no lock"
        (tmp_path / "run" / "config.yaml").rename(tmp_path / "not yet")  # as if it had not come that far
        with pytest.raises(Locked, match=rf"{who}, which has only begun"):
            RunFolder(tmp_path / "run").config()
        with pytest.raises(Locked, match=rf"{who}; choose another folder"):
            RunFolder(tmp_path / "run").check_free()
        (tmp_path / "not yet").rename(tmp_path / "run" / "config.yaml")
    assert ".lock" not in names(tmp_path / "run")
    with opened(tmp_path / "run", fresh=False):
        pass


def test_of_two_runs_that_begin_in_one_folder_one_wins_and_keeps_its_graph(tmp_path):
    RunFolder(tmp_path / "run").check_free()  # both have looked
    begun(tmp_path / "run")
    with pytest.raises(FileExistsError, match="holds a run already"), opened(tmp_path / "run", data=load("ring-of-trees")):
        pass
    assert RunFolder(tmp_path / "run").graph().num_nodes == 240


BEGIN_AND_STOP = """
import os, sys
from pathlib import Path
from qgcn.data import load
from qgcn.tasks import Config
from qgcn.training import folder
left = int(sys.argv[2])
replace = Path.replace

def counted(self, target):
    global left
    if left == 0:
        os.kill(os.getpid(), 9)
    left -= 1
    return replace(self, target)

Path.replace = counted
config = Config.checked({"task": "classification", "data": "stochastic-block", "space": "H3"})
with folder.RunFolder(sys.argv[1]).opened(config, load("stochastic-block"), {}, fresh=True):
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("moment", range(3))
def test_what_a_run_killed_while_it_began_has_left_is_taken_over(tmp_path, moment):
    """Killed before its graph, split or settings have their name."""
    process = subprocess.run([sys.executable, "-c", BEGIN_AND_STOP, tmp_path / "run", str(moment)], check=False)
    assert process.returncode == -signal.SIGKILL
    folder = RunFolder(tmp_path / "run")
    assert names(folder.path)
    assert not folder.holds_run
    folder.check_free()
    begun(folder.path)
    assert folder.config() == CONFIG
    assert not [name for name in names(folder.path) if name.startswith(".")]


def test_a_run_killed_just_after_it_began_is_a_run(tmp_path):
    subprocess.run([sys.executable, "-c", BEGIN_AND_STOP, tmp_path / "run", "99"], check=False)
    with pytest.raises(FileExistsError, match="holds a run already"):
        RunFolder(tmp_path / "run").check_free()
    with opened(tmp_path / "run", fresh=False):
        assert RunFolder(tmp_path / "run").config().space == "H3"
    assert ".lock" not in names(tmp_path / "run")


def test_what_a_process_killed_at_its_very_end_has_left_is_removed(tmp_path):
    folder = begun(tmp_path / "run")
    before = names(folder.path)
    (folder.path / ".lock").write_text("{}")
    (folder.path / ".results.json.0123456789abcdef").write_text("half")
    with FileLock(folder.path / ".lock").held():
        folder.tidy()  # it is being written
        assert len(names(folder.path)) == len(before) + 2
    (folder.path / ".lock").write_text("{}")
    folder.tidy()
    assert names(folder.path) == before


@pytest.mark.parametrize("mine", ["letter.txt", "graph.npz", "checkpoints/letter.txt", "weights"])
@pytest.mark.parametrize("left", [False, True])
def test_what_no_run_has_left_is_not_taken_over(tmp_path, mine, left):
    """A graph, or a folder of its name, may be the user's own: it is a run's if a lock lies beside it."""
    path = tmp_path / "run" / mine
    path.parent.mkdir(parents=True)
    path.write_text("dear")
    if left:
        (tmp_path / "run" / ".lock").write_text("{}")
    taken = left and mine == "graph.npz"
    for attempt in (RunFolder(tmp_path / "run").check_free, lambda: begun(tmp_path / "run")):
        if taken:
            attempt()
        else:
            with pytest.raises(FileExistsError, match="run is not empty; choose another folder"):
                attempt()
    assert taken or path.read_text() == "dear"


@pytest.mark.parametrize("name", ["checkpoints", "weights", "embeddings"])
def test_nothing_is_written_or_removed_through_a_link_to_another_place(tmp_path, name):
    folder = begun(tmp_path / "run")
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / ".letter.0123456789abcdef").write_text("dear")
    (folder.path / name).rmdir()
    (folder.path / name).symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match=f"run/{name} is a link to another place"), opened(folder.path, fresh=False):
        pass
    assert names(tmp_path / "precious") == [".letter.0123456789abcdef"]


def test_the_next_folder_that_does_not_exist_is_numbered(tmp_path):
    folder = RunFolder(tmp_path / "run")
    assert folder.next_free().path.name == "run"
    folder.path.mkdir()
    (tmp_path / "run-2").mkdir()
    assert folder.next_free().path.name == "run-3"


def test_weights_of_another_seed_are_refused(tmp_path):
    folder = begun(tmp_path / "run")
    save_tensors(folder.path / "weights" / "seed-4.safetensors", {}, {"seed": 5})
    with pytest.raises(Damaged, match=r"seed-4\.safetensors holds the weights of another seed: 5"):
        folder.weights(4)


def test_curves_of_a_finished_run_are_complete(tmp_path):
    folder = begun(tmp_path / "run")
    log = folder.log([0], 0)
    for epoch in (1, 2):
        log.write(Validation(epoch, [0.5], [0.1], [0.1], [True]))
    scores = {"metric": "map", "seeds": [{"seed": 0, "test": {"map": 0.5}}], "summary": {"map": {"mean": 0.5, "std": 0.0}}}
    folder.write_results(scores | {"log": log.check})
    assert folder.curves()[0].epoch == [1, 2]
    path = folder.path / "metrics.jsonl"
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(Damaged, match=r"metrics\.jsonl is damaged: lines are missing at its end"):
        folder.curves()


def test_a_beginning_that_fails_leaves_nothing(tmp_path):
    data = load("stochastic-block")
    data.unheard_of = torch.zeros(3)
    with pytest.raises(ValueError, match="unheard_of"), opened(tmp_path / "a" / "run", data=data):
        pass
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"summary": {"map": {"mean": 0.5}}}, "means or deviations are missing"),
        ({"seeds": [{"seed": 0, "test": {"map": 0.5}, "best_epoch": "late"}]}, "best_epoch must be a number of epochs"),
        ({"seeds": [{"seed": 0, "test": {"map": 0.5}, "blend": 3}]}, "is damaged"),
        ({"seeds": [{"seed": 0, "test": {"map": 0.5}, "calibration": {"error": None}}]}, "expected a number, got None"),
    ],
)
def test_results_of_other_types_are_damage(tmp_path, change, message):
    folder = RunFolder(tmp_path)
    scores = {"metric": "map", "seeds": [{"seed": 0, "test": {"map": 0.5}}], "summary": {"map": {"mean": 0.5, "std": 0.0}}}
    folder.write_results(scores)
    assert folder.results() == scores
    folder.write_results(scores | change)
    with pytest.raises(Damaged, match=message):
        folder.results()
