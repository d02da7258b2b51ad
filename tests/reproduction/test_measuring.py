from dataclasses import replace

import pytest

from qgcn.reproduction import measuring
from qgcn.reproduction.cells import Cell
from qgcn.reproduction.measuring import measure
from qgcn.reproduction.paper import TIMED
from qgcn.reproduction.tables import QUICK, cells_of
from qgcn.tasks.classification import NodeClassification
from qgcn.tasks.links import LinkPrediction

LINKS = Cell(
    "table2",
    "stochastic-block",
    "Q-GCN",
    "ours",
    {"task": "links", "data": "stochastic-block", "space": "Q3,2", "epochs": 3, "blend": False},
)
CLASSES = replace(
    LINKS, values={"task": "classification", "data": "stochastic-block", "space": "Q3,2", "epochs": 3, "blend": False}
)


def line_of(cell, folder, seed=0):
    (line,) = measure(cell, [seed], "cpu", folder)
    return line


@pytest.mark.parametrize("cell", [LINKS, CLASSES], ids=["links", "classification"])
def test_a_model_is_scored_on_validation_and_test(cell, tmp_path):
    first, again, other = line_of(cell, tmp_path), line_of(cell, tmp_path), line_of(cell, tmp_path, 1)
    assert first["test"][first["metric"]] == again["test"][first["metric"]]
    assert list(first["val"]) == [first["metric"]]
    assert first["test"] != other["test"]
    assert first["seconds"] > 0
    assert first["machine"]["device"].startswith("cpu")
    assert set(first["machine"]) == {"device", "threads", "python", "torch"}


@pytest.mark.parametrize("model", ["qgcn", "gcn"])
def test_seeds_measured_at_once_are_those_measured_alone(model, tmp_path):
    cell = replace(LINKS, values=LINKS.values | ({"model": "gcn", "space": "E4"} if model == "gcn" else {}))
    assert cell.batchable == (model == "qgcn")
    together = measure(cell, [1, 2, 3], "cpu", tmp_path)
    for seed, line in zip((1, 2, 3), together, strict=True):
        alone = line_of(cell, tmp_path, seed)
        assert line["test"] == pytest.approx(alone["test"], abs=2e-3)
        assert line["epoch"] == alone["epoch"]
    assert len({line["test"]["roc_auc"] for line in together}) > 1


def test_a_seed_that_diverges_does_not_take_its_batch_with_it(tmp_path, monkeypatch):
    plain = measuring.Trainer.run

    def run(self, *given):
        if 2 in self.seeds:
            raise measuring.Diverged("seed 2")
        return plain(self, *given)

    monkeypatch.setattr(measuring.Trainer, "run", run)
    lines = measure(LINKS, [1, 2, 3], "cpu", tmp_path)
    assert ["error" in line for line in lines] == [False, True, False]
    assert lines[2]["test"] == line_of(LINKS, tmp_path, 3)["test"]


@pytest.mark.parametrize("cell", [LINKS, CLASSES], ids=["links", "classification"])
def test_a_trial_never_sees_the_test(cell, tmp_path, monkeypatch):
    trial = replace(cell, kind="trial")
    expected = line_of(trial, tmp_path)
    assert "test" not in expected

    seen = []
    for task in (LinkPrediction, NodeClassification):
        plain = task.score
        monkeypatch.setattr(task, "score", lambda self, *given, plain=plain: seen.append(given[1]) or plain(self, *given))
    found = line_of(trial, tmp_path)
    assert found["val"] == expected["val"]
    assert "test" not in seen


def test_the_problem_of_a_trial_has_no_answers_of_the_test(tmp_path, monkeypatch):
    problems = []
    plain = measuring.Evaluator.problem
    monkeypatch.setattr(
        measuring.Evaluator, "problem", lambda self, config: problems.append(plain(self, config)) or problems[-1]
    )
    for cell in (LINKS, CLASSES):
        line_of(replace(cell, kind="trial"), tmp_path)
    links, classes = problems
    assert links.links.test.shape[1] == 0
    assert links.links.test_negative.shape[1] == 0
    assert len(classes.nodes["test"]) == 0
    assert int((classes.y >= 0).sum()) == len(classes.nodes["train"]) + len(classes.nodes["val"])


def test_a_run_to_start_from_is_trained_once_for_each_seed(tmp_path):
    begun = replace(CLASSES, start=LINKS.values)
    first = line_of(begun, tmp_path)
    folders = [path for path in tmp_path.iterdir() if not path.name.startswith(".")]
    assert len(folders) == 1
    written = (folders[0] / "results.json").stat().st_mtime_ns
    assert line_of(begun, tmp_path)["test"] == first["test"]
    assert (folders[0] / "results.json").stat().st_mtime_ns == written
    line_of(begun, tmp_path, 1)
    assert len([path for path in tmp_path.iterdir() if not path.name.startswith(".")]) == 2


def test_a_run_to_start_from_that_was_interrupted_is_trained_again(tmp_path):
    begun = replace(CLASSES, start=LINKS.values)
    first = line_of(begun, tmp_path)
    (folder,) = (path for path in tmp_path.iterdir() if not path.name.startswith("."))
    (folder / "results.json").unlink()
    assert line_of(begun, tmp_path)["test"] == first["test"]


@pytest.mark.parametrize("kind", ["train", "trial"])
def test_divergence_is_a_result(tmp_path, kind):
    wild = replace(LINKS, values={**LINKS.values, "lr": 1e30}, kind=kind)
    assert "diverged" in line_of(wild, tmp_path)["error"]


def test_a_model_whose_points_overflow_still_has_its_scores(tmp_path, monkeypatch):
    monkeypatch.setattr("qgcn.training.loop.is_finite", lambda *_: False)
    assert line_of(CLASSES, tmp_path)["test"]


def test_a_start_that_diverges_is_a_result(tmp_path):
    begun = replace(CLASSES, start={**LINKS.values, "lr": 1e30})
    for kind in ("train", "trial"):
        assert "diverged" in line_of(replace(begun, kind=kind), tmp_path)["error"]


def test_few_problems_are_kept(tmp_path):
    for shares in (0.1, 0.11, 0.12, 0.13, 0.14):
        line_of(replace(LINKS, values={**LINKS.values, "test": shares}), tmp_path)
    assert len(measuring._PROBLEMS) == measuring.KEPT


def test_settings_that_do_not_fit_are_no_result(tmp_path):
    with pytest.raises((ValueError, RuntimeError)):
        line_of(replace(LINKS, values={**LINKS.values, "task": "classification", "data": "tree"}, kind="trial"), tmp_path)


def test_epochs_of_all_spaces_are_timed_in_one_run(tmp_path):
    for cell in cells_of("table4", QUICK):
        found = line_of(cell, tmp_path)["epoch_seconds"]
        assert list(found) == cell.values["methods"]
        assert all(len(each) == 2 and min(each) > 0 for each in found.values())


def test_every_network_that_is_timed_can_be_recorded_on_a_gpu():
    for cell in cells_of("table4", QUICK):
        trainers = [measuring._trainer(method, cell, 0, "cpu") for method in TIMED]
        assert all(trainer.task.capabilities.recordable for trainer in trainers)
        assert sum(trainer.config.projection for trainer in trainers) == (6 if cell.setting == "Algorithm 1" else 0)


def test_graphs_are_measured(tmp_path):
    cell = next(iter(cells_of("appendix", QUICK)))
    found = line_of(cell, tmp_path)
    assert found["sizes"] == {"nodes": 180, "edges": 180, "features": 0, "classes": 0, "diameter": 12}
    assert sum(found["delta"]["shares"].values()) == pytest.approx(1)
    assert sum(found["curvature"]["histogram"]) == pytest.approx(1, abs=0.001)
    assert len(found["curvature"]["bins"]) == len(found["curvature"]["histogram"]) + 1
