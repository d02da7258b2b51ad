import json
from dataclasses import replace

import pytest

from qgcn.locks import Locked
from qgcn.reproduction.cells import Cell
from qgcn.reproduction.store import Store, default_folder

CELL = Cell("table2", "tree", "Q-GCN", "ours", {"task": "links", "data": "tree", "space": "Q3,2"})
GRID = replace(CELL, grid=({"layers": 1}, {"layers": 2}, {"layers": 3}))
LINE = {"val": {"roc_auc": 0.5}, "test": {"roc_auc": 0.4}, "metric": "roc_auc", "seconds": 1.0}


SCORELESS = '{"hash": "a", "seed": 0, "seconds": 1, "metric": "map", "test": {"map": "high"}}'


def written(folder, *found):
    store = Store(folder, ("table2",))
    with store.writing("table2") as append:
        for cell, seed, line in found:
            append(cell, seed, line)
    return store


def test_lines_are_found_by_settings_and_seed(tmp_path):
    written(tmp_path, (CELL, 0, LINE), (CELL, 2, LINE))
    store = Store(tmp_path, ("table2",))
    assert store.find(CELL, 0)["test"] == LINE["test"]
    assert store.find(CELL, 1) is None
    assert [line["seed"] for line in store.lines(CELL, 10)] == [0, 2]
    assert store.find(replace(CELL, method="another"), 2) is not None
    assert store.find(replace(CELL, values={**CELL.values, "layers": 3}), 0) is None


def test_settings_are_told_once(tmp_path):
    written(tmp_path, (CELL, 0, LINE), (CELL, 1, LINE))
    written(tmp_path, (CELL, 2, LINE))
    lines = [json.loads(line) for line in (tmp_path / "table2.jsonl").read_text().splitlines()]
    assert ["settings" in line for line in lines] == [True, False, False, False]
    assert {line["hash"] for line in lines} == {CELL.hash}


def edited(folder, change):
    """Change the settings that a line was measured with, and their hash."""
    from qgcn.reproduction.cells import digest

    path = folder / "table2.jsonl"
    told, line = (json.loads(each) for each in path.read_text().splitlines())
    change(told["settings"])
    told["hash"] = line["hash"] = digest(told["settings"])
    path.write_text(f"{json.dumps(told)}\n{json.dumps(line)}\n")
    return Store(folder, ("table2",))


def test_a_setting_that_was_not_there_yet_must_be_at_its_default(tmp_path):
    written(tmp_path, (CELL, 0, LINE))
    store = edited(tmp_path, lambda settings: settings.pop("learn_boundary"))
    assert store.find(CELL, 0) is not None
    assert store.find(replace(CELL, values={**CELL.values, "learn_boundary": True}), 0) is None


def test_a_line_by_former_defaults_is_not_a_line_of_the_cell(tmp_path):
    written(tmp_path, (CELL, 0, LINE))
    assert edited(tmp_path, lambda settings: settings.update(learn_boundary=True)).find(CELL, 0) is None


def test_a_line_with_a_setting_that_is_gone_is_not_a_line_of_the_cell(tmp_path):
    written(tmp_path, (CELL, 0, LINE))
    assert edited(tmp_path, lambda settings: settings.update(gone=1)).find(CELL, 0) is None


def test_half_a_line_is_left_out_and_overwritten(tmp_path):
    written(tmp_path, (CELL, 0, LINE))
    path = tmp_path / "table2.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"hash": "0')
    assert len(Store(tmp_path, ("table2",)).every()) == 1
    written(tmp_path, (CELL, 1, LINE))
    assert path.read_bytes().startswith(whole)
    assert [line["seed"] for line in Store(tmp_path, ("table2",)).lines(CELL, 2)] == [0, 1]


@pytest.mark.parametrize("text", ["{}", "[]", "no", '{"hash": "a"}', '{"hash": 1, "seed": 0}', "[" * 100_000, SCORELESS])
def test_a_damaged_line_is_refused(tmp_path, text):
    (tmp_path / "table2.jsonl").write_text(f"{text}\n")
    with pytest.raises(ValueError, match="line 1 is no line of results"):
        Store(tmp_path, ("table2",))


def test_one_process_at_a_time_writes(tmp_path):
    store = Store(tmp_path, ("table2",))
    with store.writing("table2"), pytest.raises(Locked), Store(tmp_path, ("table2",)).writing("table2"):
        pass


def test_the_choice_waits_for_all_trials_and_is_made_on_validation_alone(tmp_path):
    scores = [0.6, 0.9, 0.7]
    lines = [LINE | {"val": {"roc_auc": score}, "test": {"roc_auc": 1 - score}} for score in scores]
    pairs = list(zip(GRID.trials, lines, strict=True))
    store = written(tmp_path, *((trial, 0, line) for trial, line in pairs[:2]))
    assert store.choice(GRID) is None
    store = written(tmp_path, (pairs[2][0], 0, pairs[2][1]))
    assert store.choice(GRID).config().layers == 2  # the worst on test
    assert store.choice(CELL) is CELL


def test_a_trial_that_diverged_is_not_chosen(tmp_path):
    lost = {"error": "diverged", "seconds": 1.0}
    lines = [lost, lost, LINE]
    store = written(tmp_path, *((trial, 0, line) for trial, line in zip(GRID.trials, lines, strict=True)))
    assert store.choice(GRID).config().layers == 3


def test_the_folder_of_a_checkout_is_that_of_its_results():
    assert default_folder().parts[-2:] == ("experiments", "results")
