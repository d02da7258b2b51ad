"""A run and its folder: what is written, what is refused, what is taken back."""

import importlib.metadata
import json
import math
import os
import re
import shutil
import signal
import time

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import load_file

from qgcn.data import load, read_graph
from qgcn.data.store import save_graph
from qgcn.files import load_tensors, read_sealed_json, save_tensors, write_sealed_json
from qgcn.locks import FileLock, Locked
from qgcn.seals import BLANK, seal
from qgcn.tasks.config import models_for
from qgcn.training import Config, Declined, Diverged, Interrupted, Run, Trainer, load_run, summarize
from qgcn.training.checkpoints import Checkpoint
from qgcn.training.metrics_log import MetricsLog

SMALL = {
    "device": "cpu",
    "task": "classification",
    "data": "stochastic-block",
    "space": "Q5,2",
    "epochs": 4,
    "lr": 0.02,
    "seeds": 2,
}


def config(**settings):
    return Config.checked(SMALL | settings)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "done"
    run = Run.start(config(), folder)
    run.train()
    return folder


def reconfigure(folder, key, value):
    """Change a setting as if the run had begun with it; return the previous value."""
    path = folder / "config.yaml"
    settings = yaml.safe_load(path.read_text())
    path.write_bytes(seal(f"# {BLANK}\n{yaml.safe_dump(settings | {key: value})}".encode()))
    return settings[key]


def flip(path, place=-1):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.fixture
def copied(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


def test_folder_holds_what_is_promised(finished):
    assert sorted(files(finished)) == [
        "checkpoints/seeds-0-1.safetensors",
        "config.yaml",
        "embeddings/seed-0.npz",
        "embeddings/seed-1.npz",
        "environment.json",
        "graph.npz",
        "metrics.jsonl",
        "results.json",
        "split.safetensors",
        "weights/seed-0.safetensors",
        "weights/seed-1.safetensors",
    ]
    assert Config.checked(yaml.safe_load((finished / "config.yaml").read_text())) == config()
    environment = json.loads((finished / "environment.json").read_text())
    assert environment["packages"]["torch"] == importlib.metadata.version("torch")
    assert environment["threads"] == torch.get_num_threads()
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    assert [(line["seed"], line["epoch"]) for line in lines] == [(seed, epoch) for epoch in (1, 2, 3, 4) for seed in (0, 1)]
    results = json.loads((finished / "results.json").read_text())
    assert [result["seed"] for result in results["seeds"]] == [0, 1]
    for result in results["seeds"]:
        best = max(line["score"] for line in lines if line["seed"] == result["seed"])
        assert result["network"]["val"]["f1_micro"] == pytest.approx(best)
    both = [result["test"]["accuracy"] for result in results["seeds"]]
    expected = {"mean": pytest.approx(np.mean(both)), "std": pytest.approx(np.std(both, ddof=1))}
    assert results["summary"]["accuracy"] == expected


def test_weights_and_embedding_are_those_of_the_best_model(tmp_path):
    run = Run.start(config(), tmp_path / "run")
    run.train()
    again = load_run(tmp_path / "run")
    for seed in (0, 1):
        points, space, node_ids = run.embedding(seed)
        saved = again.embedding(seed)
        assert torch.equal(saved.points, points)
        np.testing.assert_array_equal(saved.node_ids, node_ids)
        np.testing.assert_array_equal(node_ids, np.arange(240))
        assert str(saved.space) == str(space) == "Q5,2"
        torch.testing.assert_close(saved.space.beta, space.beta, check_dtype=False)
        weights = load_file(tmp_path / "run" / "weights" / f"seed-{seed}.safetensors")
        assert all(torch.equal(weights[name], weight) for name, weight in run.weights(seed)[0].items())
        predictor = again.predictor(seed)
        assert torch.equal(predictor.embed(again.task.x, again.task.graph), points)


def test_a_finished_run_is_shown_and_not_touched(finished, copied):
    times = {path: path.stat().st_mtime_ns for path in copied.rglob("*")}
    time.sleep(0.01)
    summary = load_run(copied).train()
    assert summary == summarize(json.loads((finished / "results.json").read_text())["seeds"])
    assert times == {path: path.stat().st_mtime_ns for path in copied.rglob("*")}


def test_what_was_lost_is_trained_again(finished, copied):
    shutil.rmtree(copied / "checkpoints")
    shutil.rmtree(copied / "weights")
    load_run(copied).train()
    assert files(copied).keys() == files(finished).keys()
    for name, content in files(finished).items():
        if not name.startswith("checkpoints"):  # these tell how long it took
            assert files(copied)[name] == content, name


def test_half_lines_and_forgotten_files_do_not_confuse_resuming(finished, copied):
    (copied / "results.json").unlink()
    (copied / "checkpoints" / ".seeds-0-1.safetensors.12ab").write_bytes(b"half")
    (copied / ".metrics.jsonl.12ab").write_bytes(b"half")
    later = '{"seed": 1, "epo'
    (copied / "metrics.jsonl").write_text((copied / "metrics.jsonl").read_text() + later)
    load_run(copied).train()
    for name in ("metrics.jsonl", "results.json", "weights/seed-0.safetensors"):
        assert (copied / name).read_bytes() == (finished / name).read_bytes()


@pytest.mark.parametrize(("key", "value"), [("lr", 0.5), ("dropout", 0.1), ("space", "Q6,1"), ("layers", 3)])
def test_a_checkpoint_of_another_config_is_refused(copied, key, value):
    old = reconfigure(copied, key, value)
    before = files(copied)
    message = rf"was trained with {key} = {old!r}, but the config says {value!r}"
    with pytest.raises(ValueError, match=rf"results.json {message}"):
        load_run(copied).train()
    assert files(copied) == before
    (copied / "results.json").unlink()
    with pytest.raises(ValueError, match=rf"seeds-0-1.safetensors {message}"):
        load_run(copied).train()


def test_how_often_checkpoints_are_written_may_change(copied):
    reconfigure(copied, "checkpoint_seconds", 99.0)
    assert load_run(copied).train()


def test_a_checkpoint_of_another_graph_is_refused(copied):
    data = load("stochastic-block")
    data.y[0] = (data.y[0] + 1) % 4
    save_graph(copied / "graph.npz", data)
    (copied / "results.json").unlink()
    with pytest.raises(ValueError, match="was trained on another graph than that of"):
        load_run(copied).train()


def test_a_damaged_checkpoint_is_refused(copied):
    path = copied / "checkpoints" / "seeds-0-1.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    (copied / "results.json").unlink()
    with pytest.raises(
        ValueError, match=r"seeds-0-1\.safetensors is damaged: .* delete .* to train its seeds from the beginning"
    ):
        load_run(copied).train()


@pytest.mark.parametrize("place", [-1, 12, 300])
def test_after_a_damaged_checkpoint_the_one_before_it_goes_on_to_the_same_end(finished, copied, place):
    (copied / "results.json").unlink()
    shutil.rmtree(copied / "weights")
    path = copied / "checkpoints" / "seeds-0-1.safetensors"
    run = Run(config(seeds=2))
    trainer = Trainer(run.task, [0, 1], run.fabric)
    log = MetricsLog(copied / "early.jsonl", [0, 1], 0)
    trainer.run(log.write, until=lambda: trainer.epoch == 2)
    last, (tensors, about) = Checkpoint(path).load(), trainer.state()
    (copied / "early.jsonl").unlink()
    Checkpoint(path).save(tensors, last.about | about | {"log": log.digest})
    Checkpoint(path).save(last.tensors, last.about)
    flip(path, place)
    run = load_run(copied)
    assert run.weights(0)[1] == 2  # a reader does without the damaged one, too
    run.train()
    (remark,) = run.remarks
    assert "seeds-0-1.safetensors" in remark
    assert remark.endswith("its place is taken by seeds-0-1.previous.safetensors, of epoch 2")
    for name, content in files(finished).items():
        if not name.startswith("checkpoints"):
            assert files(copied)[name] == content, name


CRAFTED = {
    "fewer rows of a moment": lambda tensors, about: tensors.update(short(tensors, "adam/exp_avg/")),
    "no moments": lambda tensors, about: [tensors.pop(name) for name in list(tensors) if name.startswith("adam/")],
    "no second moments": lambda tensors, about: [tensors.pop(name) for name in list(tensors) if "exp_avg_sq" in name],
    "moments of another type": lambda tensors, about: tensors.update(
        {name: tensor.double() for name, tensor in tensors.items() if "exp_avg/" in name}
    ),
    "not a number": lambda tensors, about: next(
        tensor for name, tensor in tensors.items() if name.startswith("parameter/")
    ).fill_(torch.nan),
    "an epoch beyond the last": lambda tensors, about: about.update(epoch=5),
    "an epoch before the first": lambda tensors, about: about.update(epoch=-1),
    "an infinite epoch": lambda tensors, about: about.update(epoch=float("inf")),
}


def short(tensors, prefix):
    return {name: tensor[:1].clone() for name, tensor in tensors.items() if name.startswith(prefix) and tensor.ndim}


@pytest.mark.parametrize("change", CRAFTED.values(), ids=CRAFTED)
def test_a_crafted_checkpoint_is_refused_in_one_line(copied, change):
    """Its checksum is right, and it says that it is of this run: Adam must not get to see it."""
    (copied / "results.json").unlink()
    checkpoint = Checkpoint(copied / "checkpoints" / "seeds-0-1.safetensors")
    saved = checkpoint.load()
    change(saved.tensors, saved.about)
    checkpoint.save(saved.tensors, saved.about)
    with pytest.raises(ValueError, match=r"seeds-0-1\.safetensors is damaged: the ") as error:
        load_run(copied).train()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_crafted_weights_are_refused(copied, value):
    path = copied / "weights" / "seed-0.safetensors"
    whole, about = load_tensors(path)
    name = next(name for name, tensor in whole.items() if tensor.ndim == 2)
    for wrong in (torch.full_like(whole[name], value), whole[name].double(), whole[name][:1], None):
        tensors = {key: tensor for key, tensor in (whole | {name: wrong}).items() if tensor is not None}
        save_tensors(path, tensors, about)
        with pytest.raises(ValueError, match=r"the (model|weights) of seed 0 (has|are not finite)"):
            load_run(copied).predictor(0)


def test_a_damaged_log_is_named(finished, copied):
    for place in (0, 30, -1):
        shutil.copy(finished / "metrics.jsonl", copied / "metrics.jsonl")
        flip(copied / "metrics.jsonl", place)
        with pytest.raises(ValueError, match=r"metrics\.jsonl is damaged: line"):
            load_run(copied).folder.curves()
    (copied / "results.json").unlink()
    with pytest.raises(ValueError, match=r"metrics\.jsonl is damaged: line"):
        load_run(copied).train()
    lines = (finished / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (copied / "metrics.jsonl").write_bytes(b"".join(lines[:-2]))
    with pytest.raises(ValueError, match=r"metrics\.jsonl is damaged: it lacks validations of seed 0"):
        load_run(copied).train()


# --- one process at a time -----------------------------------------------------------------------------------------------


def test_a_run_that_is_being_written_is_not_resumed_but_read(copied):
    (copied / "results.json").unlink()
    with FileLock(copied / ".lock").held():
        run = load_run(copied)
        assert run.weights(0)[0]
        before = files(copied)
        with pytest.raises(Locked, match=rf"run is being written by process {os.getpid()} on "):
            run.train()
        assert files(copied) == before
    assert run.train()


def test_of_two_trainings_started_together_the_second_takes_the_next_name(tmp_path):
    """Both have seen that the folder does not exist; then one begins, and the other."""
    first, second = (Run.start(config(epochs=1, lr=lr), tmp_path / "run", numbered=True) for lr in (0.1, 0.2))
    first.train()
    second.train()
    assert names(tmp_path) == ["run", "run-2"]
    assert [load_run(tmp_path / name).config.lr for name in names(tmp_path)] == [0.1, 0.2]
    third = Run.start(config(epochs=1), tmp_path / "mine")
    Run.start(config(epochs=1), tmp_path / "mine").train()
    before = files(tmp_path)
    with pytest.raises(FileExistsError, match="mine holds a run already"):
        third.train()
    assert files(tmp_path) == before


@pytest.mark.parametrize("numbered", [True, False])
def test_a_folder_that_is_taken_while_a_run_is_prepared_is_not_resumed_with_it(tmp_path, monkeypatch, numbered):
    from qgcn.training import run as module

    check = module.check_writable

    def slowly(folder):
        monkeypatch.setattr(module, "check_writable", check)
        Run(config(epochs=1, lr=0.1), tmp_path / "run").train()

    monkeypatch.setattr(module, "check_writable", slowly)
    second = Run.start(config(epochs=1, lr=0.2), tmp_path / "run", numbered=numbered)
    if numbered:
        second.train()
        assert [load_run(tmp_path / name).config.lr for name in names(tmp_path)] == [0.1, 0.2]
    else:
        with pytest.raises(FileExistsError, match="holds a run already"):
            second.train()
        assert load_run(tmp_path / "run").config.lr == 0.1


def test_a_run_that_was_taken_back_can_be_trained_after_all(tmp_path):
    run = Run.start(config(epochs=40), tmp_path / "run")

    def decline(_):
        raise Declined("no")

    with pytest.raises(Declined):
        run.train(consent=decline)
    assert names(tmp_path) == []
    assert run.train()
    assert load_run(tmp_path / "run").finished


def test_a_run_that_another_process_finished_meanwhile_is_read(finished, copied):
    (copied / "results.json").unlink()
    run = load_run(copied)
    shutil.copy(finished / "results.json", copied / "results.json")
    before = files(copied)
    assert run.train() == load_run(finished).summary
    assert files(copied) == before


def test_a_run_can_be_read_where_nothing_can_be_written(finished, tmp_path, monkeypatch):
    """Root may write anywhere, so it is told to fail instead."""
    from qgcn.training import run as module

    def refuse(folder):
        raise PermissionError(f"cannot write to {folder}")

    monkeypatch.setattr(module, "check_writable", refuse)
    assert load_run(finished).train()
    assert load_run(finished).embedding(1).points.isfinite().all()
    unfinished = shutil.copytree(finished, tmp_path / "run")
    (unfinished / "results.json").unlink()
    assert load_run(unfinished).weights(0)[0]
    with pytest.raises(PermissionError, match="cannot write to"):
        load_run(unfinished).train()
    with pytest.raises(PermissionError, match="cannot write to"):
        Run.start(config(), tmp_path / "new")


def test_a_run_needs_nothing_but_its_folder(tmp_path):
    """The file it was started from is gone; a graph that never was a file is resumed likewise."""
    edges = tmp_path / "edges.csv"
    edges.write_text("".join(f"n{k},n{(k * 7 + 1) % 30}\nn{k},n{(k + 1) % 30}\n" for k in range(30)))
    settings = {"task": "links", "space": "H3", "epochs": 6, "eval_every": 1, "patience": None, "device": "cpu"}
    Run.start(Config.checked(settings | {"data": str(edges)}), tmp_path / "whole").train()

    def stop(stage, done, total, note=""):
        if done == 3:
            signal.raise_signal(signal.SIGTERM)

    for name, data in (("file", None), ("object", read_graph(edges))):
        with pytest.raises(Interrupted):
            Run.start(Config.checked(settings | {"data": str(edges)}), tmp_path / name, data).train(stop)
    edges.unlink()
    for name in ("file", "object"):
        load_run(tmp_path / name).train()
        for file in ("results.json", "embeddings/seed-0.npz"):
            assert (tmp_path / name / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_start_refuses_a_folder_in_use(finished):
    before = files(finished)
    with pytest.raises(FileExistsError, match="holds a run already; resume it"):
        Run.start(config(), finished)
    assert files(finished) == before


def test_nothing_is_written_before_training_or_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Run.start(config(), tmp_path / "run")
    Run.start(config(epochs=1, seeds=1), None).train()
    assert names(tmp_path) == []


def test_divergence_leaves_nothing_unless_there_is_a_checkpoint(tmp_path):
    wild = {"lr": 1e30, "epochs": 50, "task": "links", "eval_every": 2}
    with pytest.raises(Diverged, match=r"smaller lr than 1e\+30$"):
        Run.start(config(**wild), tmp_path / "a" / "b").train()
    assert names(tmp_path) == []
    (tmp_path / "mine").mkdir()
    with pytest.raises(Diverged):
        Run.start(config(**wild), tmp_path / "mine").train()
    assert files(tmp_path) == {}
    assert names(tmp_path) == ["mine"]
    with pytest.raises(Diverged, match=r"\(the last good checkpoint is in .*kept\)$"):
        Run.start(config(**wild, checkpoint_seconds=0), tmp_path / "kept").train()
    assert "config.yaml" in files(tmp_path / "kept")


def test_seeds_are_batched_where_that_is_possible():
    assert Run(config()).groups() == [[0, 1]]
    assert Run(config(batch_seeds=False)).groups() == [[0], [1]]
    wide = Run(config(seeds=7, hidden="Q9999,1"))  # 10,000 coordinates: a seed alone takes a good part of the memory
    assert [seed for group in wide.groups() for seed in group] == list(range(7))
    assert 1 <= len(wide.groups()[0]) < 7
    assert Run(config(seed=5, model="gcn", space="E4")).groups() == [[5], [6]]
    assert Run(config(task="reconstruction")).groups() == [[0, 1]]
    assert Run(config(task="reconstruction", negatives="32")).groups() == [[0], [1]]
    noisy = Run(config(projection=True, perturbation=0.02, epochs=1))
    assert noisy.groups() == [[0], [1]]
    noisy.train()


@pytest.mark.parametrize("settings", [{}, {"model": "gcn", "space": "E4", "dropout": 0.5}, {"task": "links"}])
def test_deterministic_runs_insist_and_give_back(settings):
    seen = []
    run = Run(config(deterministic=True, epochs=1, **settings))
    run.train(lambda *_: seen.append(torch.are_deterministic_algorithms_enabled()))
    assert seen
    assert all(seen)
    assert not torch.are_deterministic_algorithms_enabled()


def test_progress_has_a_stage_for_each_group_of_seeds():
    told = []
    run = Run(config(batch_seeds=False))
    run.train(lambda stage, done=0, total=0, note="": told.append((stage, done, total, note)))
    measured = [(k, 4, name) for k, name in enumerate(run.yardsticks)]
    assert [each[1:] for each in told if each[0] == "yardsticks"] == measured
    told = told[: -len(measured)]
    assert [each[:3] for each in told] == [(f"seed {seed}", epoch, 4) for seed in (0, 1) for epoch in range(5)]
    assert told[0][3] == ""
    assert told[1][3].startswith("loss ")
    assert "best f1_micro" in told[1][3]


def test_a_signal_stops_after_the_epoch_and_the_rest_is_trained_later(tmp_path):
    """Several groups of seeds: the first is done, the second interrupted, the third not begun."""

    def stop(stage, done, total, note=""):
        if stage == "seed 1" and done == 2:
            signal.raise_signal(signal.SIGTERM)

    settings = {"batch_seeds": False, "seeds": 3, "dropout": 0.5}
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    Run.start(config(**settings), whole).train()
    handlers = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Interrupted, match="interrupted at epoch 2"):
        Run.start(config(**settings), broken).train(stop)
    assert signal.getsignal(signal.SIGTERM) is handlers
    assert names(broken / "weights") == ["seed-0.safetensors"]
    assert not (broken / "results.json").exists()
    load_run(broken).train()
    for name, content in files(whole).items():
        if not name.startswith("checkpoints"):
            assert files(broken)[name] == content, name


def test_a_second_ctrl_c_stops_at_once_and_the_run_can_still_be_resumed(finished, tmp_path):
    def stop(stage, done, total, note=""):
        if done == 2:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        Run.start(config(), tmp_path / "run").train(stop)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    load_run(tmp_path / "run").train()
    assert (tmp_path / "run" / "results.json").read_bytes() == (finished / "results.json").read_bytes()


def test_classification_starts_from_the_embedding_of_another_run(tmp_path):
    graph = {"data": "stochastic-block", "device": "cpu"}
    Run.start(Config.checked(graph | {"task": "links", "epochs": 30}), tmp_path / "links").train()
    settings = graph | {"task": "classification", "epochs": 30}
    joined = Run(Config.checked(settings | {"start": str(tmp_path / "links")}))
    alone = Run(Config.checked(settings))
    assert joined.task.in_features == alone.task.in_features + 16
    with np.load(tmp_path / "links" / "embeddings" / "seed-0.npz") as content:
        torch.testing.assert_close(joined.task.x.to_dense()[:, -16:], torch.from_numpy(content["tangent"]))
    joined.train()
    with pytest.raises(ValueError, match="embeds other nodes"):
        Run(Config.checked(settings | {"start": str(tmp_path / "links")}), data=load("stochastic-block", sizes=(20, 20)))
    with pytest.raises(ValueError, match="start is a setting of classification, not of links"):
        Config.checked(settings | {"task": "links", "start": str(tmp_path / "links")})
    with pytest.raises(FileNotFoundError, match="no finished run"):
        Run(Config.checked(settings | {"start": str(tmp_path)}))


def test_a_score_without_bound_survives_the_results_file(tmp_path):
    edges = torch.tensor([[0, 1], [1, 0]])
    data = read_graph(edges)
    network = {"model": "qgcn", "aggregation": "mean", "layers": 2}
    settings = Config.checked({"task": "reconstruction", "data": "pair", "epochs": 2, "seeds": 2, "device": "cpu"} | network)
    summary = Run.start(settings, tmp_path / "run", data).train()
    assert summary["worst_distortion"][0] == float("inf")  # two layers of mean neighbours put both nodes into one point
    assert json.loads((tmp_path / "run" / "results.json").read_text())["summary"]["worst_distortion"]["mean"] == "inf"
    assert load_run(tmp_path / "run").train()["worst_distortion"][0] == float("inf")


def test_a_run_that_is_read_back_has_its_scores(finished):
    run = load_run(finished)
    assert [result["seed"] for result in run.results] == [0, 1]
    assert run.summary == summarize(run.results)
    assert set(run.summary) == {"accuracy", "f1_micro", "f1_macro"}


def test_a_run_is_read_on_another_device_than_its_own(copied):
    assert load_run(copied, device="auto").summary == load_run(copied).summary
    with pytest.raises(ValueError, match="device: input should be 'auto', 'cpu' or 'cuda', got 'gpu'"):
        load_run(copied, device="gpu")


def test_a_problem_with_other_settings_than_the_run_is_refused():
    made = Run(config())
    assert Run(config(), task=made.task).task is made.task
    with pytest.raises(ValueError, match="the problem has other settings than the run"):
        Run(config(space="H4"), task=made.task)


def test_results_of_another_graph_or_without_scores_are_refused(copied):
    path = copied / "results.json"
    whole = read_sealed_json(path)
    for name in ("seeds", "summary", "metric"):
        write_sealed_json(path, {key: value for key, value in whole.items() if key != name})
        with pytest.raises(ValueError, match=r"results\.json is damaged"):
            load_run(copied)
    write_sealed_json(path, whole | {"seeds": [{"seed": 0}]})
    with pytest.raises(ValueError, match=r"results\.json is damaged"):
        load_run(copied)
    write_sealed_json(path, whole | {"seeds": whole["seeds"][:1]})
    with pytest.raises(ValueError, match=r"results\.json has the scores of other seeds than 0 to 1"):
        load_run(copied)
    write_sealed_json(path, whole)
    data = load("stochastic-block")
    save_graph(copied / "graph.npz", load("stochastic-block", seed=7))
    with pytest.raises(ValueError, match=r"results\.json was trained on another graph"):
        load_run(copied)
    save_graph(copied / "graph.npz", data)
    assert load_run(copied).summary


def test_a_data_set_may_be_called_like_a_number_that_json_has_not(tmp_path):
    data = load("stochastic-block")
    Run.start(config(data="nan", epochs=1), tmp_path / "run", data).train()
    assert load_run(tmp_path / "run").config.data == "nan"


# --- yardsticks ------------------------------------------------------------------------------------------------------------


def test_results_hold_the_yardsticks_of_the_task(finished):
    run = load_run(finished)
    expected = {name: score() for name, score in run.task.yardsticks().items()}
    assert len(expected) == 3
    assert {name: run.yardsticks[name] for name in expected} == expected
    assert run.yardsticks.keys() - expected.keys() == {"blend without the network"}
    assert json.loads((finished / "results.json").read_text())["yardsticks"] == run.yardsticks


def test_without_yardsticks_there_are_none_and_runs_of_earlier_versions_are_read(copied, tmp_path):
    Run.start(config(yardsticks=False), tmp_path / "plain").train()
    plain = json.loads((tmp_path / "plain" / "results.json").read_text())
    assert "yardsticks" not in plain
    earlier = read_sealed_json(copied / "results.json")
    del earlier["yardsticks"], earlier["config"]["yardsticks"]
    write_sealed_json(copied / "results.json", earlier)
    assert load_run(copied).yardsticks == {}
    assert load_run(copied).summary == load_run(tmp_path / "plain").summary


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_yardsticks_and_the_run_can_be_resumed(finished, tmp_path, number):
    def stop(stage, done, total, note=""):
        if stage == "yardsticks" and done == 1:
            signal.raise_signal(number)

    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        Run.start(config(), tmp_path / "run").train(stop)
    assert signal.getsignal(number) is before
    assert not (tmp_path / "run" / "results.json").exists()
    load_run(tmp_path / "run").train()
    assert (tmp_path / "run" / "results.json").read_bytes() == (finished / "results.json").read_bytes()


def test_a_blend_is_compared_with_its_network_and_with_itself_without_the_network():
    from qgcn.blending import blend, fit_weights

    run = Run(config(task="links", seeds=1))
    run.train()
    assert list(run.yardsticks)[-1] == "blend without the network"
    val, test = (run.task.terms(split) for split in ("val", "test"))
    joined = torch.arange(len(val)) < len(val) // 2
    logits = blend(test, fit_weights(val, joined.long(), run.task.prior.without_first()))
    assert run.yardsticks["blend without the network"] == run.task.score(logits[:, 1] - logits[:, 0], "test", None)
    assert run.network_summary["roc_auc"] == (run.results[0]["network"]["test"]["roc_auc"], 0.0)
    alone = Run(config(task="links", seeds=1, blend=False))
    alone.train()
    assert "blend without the network" not in alone.yardsticks
    assert alone.network_summary == {}


# --- trained again on everything -----------------------------------------------------------------------------------------

AGAIN = {"epochs": 12, "eval_every": 1, "dropout": 0.3, "schedule": "cosine", "lr": 0.05, "refit": True}


@pytest.fixture(scope="module")
def refitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refitted")
    for task in ("classification", "links"):
        Run.start(config(task=task, **AGAIN), folder / task).train()
    return folder


@pytest.mark.parametrize("task", ["classification", "links"])
def test_a_refitted_model_is_trained_on_everything_for_the_epochs_that_validation_chose(refitted, task):
    run = load_run(refitted / task)
    plain = Run(config(task=task, **AGAIN | {"refit": False}))
    assert run.summary == plain.train()  # the scores are those of the model that some was held out from
    epochs = [result["best_epoch"] for result in run.results]
    assert len(set(epochs)) == 2, "both seeds end together: less is tested"
    assert json.loads((refitted / task / "results.json").read_text())["refit"] is True
    trainer = Trainer(run.task.refitted(), [0, 1], run.fabric, keep=[12, 12])
    for index in sorted(range(2), key=epochs.__getitem__):
        trainer.run(until=lambda index=index: trainer.epoch == epochs[index])
        assert trainer.epoch == epochs[index]
        for name, weight in run.weights(index)[0].items():
            assert torch.equal(weight, trainer.parameters[name][index]), name
            assert not torch.equal(weight, plain.weights(index)[0][name]) or name.endswith("free_beta")
        predictor = run.predictor(index)
        assert torch.equal(predictor.embed(run.answering.x, run.answering.graph), run.embedding(index).points)
    assert plain.answering is plain.task


def test_refitted_seeds_of_a_batch_equal_single_ones(refitted):
    settings = AGAIN | {"task": "links", "precision": "float64", "batch_seeds": True}
    batch, alone = (Run(config(**settings | {"batch_seeds": together})) for together in (True, False))
    assert [len(run.groups()) for run in (batch, alone)] == [1, 2]
    for run in (batch, alone):
        run.train()
    for seed in (0, 1):
        for name, weight in alone.weights(seed)[0].items():
            torch.testing.assert_close(batch.weights(seed)[0][name], weight)


@pytest.mark.parametrize("moment", [0, 3])
def test_an_interrupted_refit_is_resumed_as_if_nothing_had_been(refitted, tmp_path, moment):
    def stop(stage, done, total, note=""):
        if stage == "refit of seeds 0-1" and done == moment:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Interrupted, match=f"interrupted at epoch {moment}"):
        Run.start(config(task="links", **AGAIN), tmp_path / "run").train(stop)
    assert names(tmp_path / "run" / "checkpoints") == ["refit-seeds-0-1.safetensors", "seeds-0-1.safetensors"]
    assert names(tmp_path / "run" / "weights") == []
    unfinished = load_run(tmp_path / "run")
    assert unfinished.weights(0)[1] is not None
    assert unfinished.embedding(0).points.isfinite().all()  # of the first training: there is no other yet
    unfinished.train()
    for name, content in files(refitted / "links").items():
        if not name.startswith("checkpoints"):
            assert files(tmp_path / "run")[name] == content, name


@pytest.mark.parametrize("seed", [0, 1])
def test_a_refit_that_diverges_before_its_epoch_says_so(seed):
    run = Run(config(task="links", epochs=4, eval_every=1))
    trainer = Trainer(run.task.refitted(), [0, 1], run.fabric, keep=[1, 3])
    trainer.run(until=lambda: trainer.epoch == 2)
    with torch.no_grad():
        for parameter in trainer.parameters.values():
            parameter[seed] = torch.nan
    if seed == 1:
        with pytest.raises(Diverged, match=r"a parameter of seed 1 at epoch 3 is not finite; try a smaller lr than 0\.02$"):
            trainer.run()
    else:  # its epoch has passed
        trainer.run()
        assert all(bool(weight.isfinite().all()) for index in range(2) for weight in trainer.weights(index).values())


# --- what is not finite --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("task", ["classification", "links", "reconstruction"])
def test_at_any_learning_rate_a_run_is_finite_or_says_that_it_diverged(task, precision):
    """In all models: weights, embedding and scores (but for a distortion, which has no bound) are finite, or there are none."""
    data, outcomes = load("stochastic-block", sizes=(12, 12)), set()
    for model in models_for(task):
        for lr in (0.1, 1.0, 10.0):
            settings = {"task": task, "model": model.name, "space": model.default_space, "precision": precision, "lr": lr}
            run = Run(config(**settings, seeds=1, epochs=9, eval_every=3, yardsticks=False, patience=None), data=data)
            try:
                run.train()
            except Diverged as error:
                assert re.fullmatch(rf"training diverged: .* is not finite; try a smaller lr than {lr:g}", str(error))  # noqa: PT017
                assert run.results == []
            else:
                assert run.embedding().points.isfinite().all()
                assert all(weight.isfinite().all() for weight in run.weights(0)[0].values())
                assert all(math.isfinite(mean) for name, (mean, _) in run.summary.items() if "distortion" not in name)
            outcomes.add((lr, run.results == []))
    assert (0.1, False) in outcomes, "everything diverges: nothing is tested"
    assert (10.0, True) in outcomes or precision == "float64", "nothing diverges: nothing is tested"


def test_an_infinite_embedding_of_finite_weights_is_not_saved(tmp_path):
    """Coordinates of 1e25 in float32: their squares are infinite, and so are points, though every weight is finite."""
    run = Run.start(config(epochs=2), tmp_path / "run")
    results = Trainer.results

    def inflated(trainer):
        found = results(trainer)
        for name, weight in trainer.best_parameters.items():
            if weight.ndim > 2:
                trainer.best_parameters[name] = weight * 1e25
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "results", inflated)
        with pytest.raises(Diverged, match=r"the embedding of seed 0 at epoch \d is not finite; .*last good checkpoint"):
            run.train()
    assert names(tmp_path / "run" / "weights") == names(tmp_path / "run" / "embeddings") == []
    assert not (tmp_path / "run" / "results.json").exists()
    assert load_run(tmp_path / "run").train()  # from the last good checkpoint


@pytest.mark.parametrize("what", ["parameters", "moments"])
def test_a_state_that_is_not_finite_does_not_replace_a_good_one(tmp_path, what):
    """It is noticed before a checkpoint is written, though no validation has seen it yet."""
    run = Run.start(config(epochs=40, eval_every=40, checkpoint_seconds=0, seeds=1), tmp_path / "run")
    step = Trainer._advance

    def spoiled(trainer):
        step(trainer)
        if trainer.epoch == 6:
            for parameter in trainer.parameters.values():
                tensor = parameter.data if what == "parameters" else trainer.optimiser.state[parameter]["exp_avg_sq"]
                tensor.fill_(torch.inf)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "_advance", spoiled)
        with pytest.raises(Diverged, match=r"a parameter of seed 0 at epoch 6 is not finite; .*last good checkpoint"):
            run.train()
    assert Checkpoint(tmp_path / "run" / "checkpoints" / "seed-0.safetensors").load().epoch == 5
    assert load_run(tmp_path / "run").train()
