"""The folder of a run: what is written, read, refused and taken back."""

import math

import numpy as np
import pytest
import torch

from qgcn import parse_space
from qgcn.data import load
from qgcn.embedding import Embedding
from qgcn.files import save_tensors
from qgcn.tasks import Config
from qgcn.training.folder import RunFolder

CONFIG = Config.checked({"task": "classification", "data": "stochastic-block", "space": "Q5,2", "lr": 0.02})
SPLIT = {"held": torch.tensor([1, 5])}


def begun(path):
    folder = RunFolder(path)
    undo = folder.begin(CONFIG, load("stochastic-block"), SPLIT)
    return folder, undo


def names(path):
    return sorted(each.name for each in path.iterdir())


def test_what_is_written_at_the_beginning_is_read_back(tmp_path):
    folder, _ = begun(tmp_path / "run")
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
    _, undo = begun(tmp_path / "a" / "b")
    undo()
    assert names(tmp_path) == []
    (tmp_path / "mine").mkdir()
    _, undo = begun(tmp_path / "mine" / "run")
    (tmp_path / "mine" / "run" / "letter.txt").write_text("dear")
    undo()
    assert names(tmp_path / "mine" / "run") == ["letter.txt"]


def test_a_run_that_was_there_is_kept_and_not_taken_back(tmp_path):
    folder, _ = begun(tmp_path / "run")
    left = folder.path / "checkpoints" / f".seed-0.safetensors.{'0123456789abcdef'}"
    left.write_bytes(b"half")
    _, undo = begun(tmp_path / "run")
    assert not left.exists()  # by a process that was killed while it wrote
    undo()
    assert folder.config() == CONFIG


def test_a_folder_in_use_is_refused(tmp_path):
    folder, _ = begun(tmp_path / "run")
    with pytest.raises(FileExistsError, match=r"run holds a run already; resume it \(qgcn resume .*run\)"):
        folder.check_free()
    (tmp_path / "mine").mkdir()
    RunFolder(tmp_path / "mine").check_free()
    RunFolder(tmp_path / "none").check_free()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(FileExistsError, match="mine is not empty; choose another folder"):
        RunFolder(tmp_path / "mine").check_free()


def test_settings_that_are_not_there_or_without_a_graph_are_refused_with_what_to_do(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"run holds no run: there is no .*config\.yaml"):
        RunFolder(tmp_path / "run").config()
    folder, _ = begun(tmp_path / "run")
    (folder.path / "graph.npz").unlink()
    expected = (
        r"written by an earlier version, which did not keep the graph; train it again: qgcn train classification --config"
    )
    with pytest.raises(ValueError, match=expected):
        folder.config()


def test_another_place_is_added_to_the_first_once(tmp_path):
    folder, _ = begun(tmp_path / "run")
    assert folder.environment() == {}
    here, there = {"threads": 1}, {"threads": 64}
    for place in (here, here, there, here, there):
        folder.add_environment(place)
    assert folder.environment() == here | {"resumed": [there]}


def test_results_are_read_back_and_damage_is_said(tmp_path):
    folder, _ = begun(tmp_path / "run")
    scores = {"metric": "map", "seeds": [{"seed": 0, "test": {"map": math.inf}}], "summary": {"map": {"mean": 0.5}}}
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
    folder, _ = begun(tmp_path / "run")
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
    folder, _ = begun(tmp_path / "run")
    assert folder.checkpoint([3]).name == "seed-3.safetensors"
    assert folder.checkpoint([3, 4, 5]).name == "seeds-3-5.safetensors"
    tensors = {"best/w": torch.tensor([[1.0], [2.0]]), "parameter/w": torch.zeros(2, 1)}
    save_tensors(folder.checkpoint([3, 4]), tensors, {"seeds": [3, 4], "epoch": 12})
    save_tensors(folder.checkpoint([7]), {"best/w": torch.tensor([9.0])}, {"seeds": [7], "epoch": 5})
    for seed, value, reached in ((3, 1.0, 12), (4, 2.0, 12), (7, 9.0, 5)):
        weights, epoch = folder.weights(seed)
        assert {name: tensor.tolist() for name, tensor in weights.items()} == {"w": [value]}
        assert epoch == reached
    assert folder.weights(8) == (None, None)


def test_of_two_runs_that_begin_in_one_folder_one_wins_and_keeps_its_graph(tmp_path):
    folder = RunFolder(tmp_path / "run")
    other = load("ring-of-trees")
    held = folder.holds_run
    assert not held  # both have looked
    folder.begin(CONFIG, load("stochastic-block"), SPLIT)
    (folder.path / "config.yaml").rename(tmp_path / "not yet")  # as if the first had not come that far
    with pytest.raises(FileExistsError, match="was taken by another run; choose another folder"):
        RunFolder(folder.path).begin(CONFIG, other, {})
    assert folder.graph().num_nodes == 240


def test_a_beginning_that_fails_leaves_nothing(tmp_path):
    data = load("stochastic-block")
    data.unheard_of = torch.zeros(3)
    with pytest.raises(ValueError, match="unheard_of"):
        RunFolder(tmp_path / "a" / "run").begin(CONFIG, data, SPLIT)
    assert names(tmp_path) == []
