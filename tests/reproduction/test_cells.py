from dataclasses import replace

import pytest

from qgcn.reproduction.cells import Cell, digest

VALUES = {"task": "links", "data": "tree", "model": "qgcn", "space": "Q3,2"}
CELL = Cell("table2", "tree", "Q-GCN", "ours", VALUES)


def test_digest_does_not_depend_on_order():
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 1, "b": 3})


def test_the_settings_of_a_cell_name_all_defaults_but_no_seed_and_no_device():
    assert CELL.settings["feature_dropout"] == 0.5
    assert not {"seed", "seeds", "device"} & set(CELL.settings)
    assert CELL.hash == replace(CELL, method="another", setting="another").hash


@pytest.mark.parametrize(
    "change", [{"space": "Q2,3"}, {"protocol": "hgcn"}, {"feature_dropout": 0.4}, {"model": "kappa-gcn", "space": "H4"}]
)
def test_another_setting_is_another_hash(change):
    assert CELL.hash != replace(CELL, values=VALUES | change).hash


def test_a_trial_is_another_cell_than_the_one_it_chooses_for():
    cell = replace(CELL, grid=({"layers": 1}, {"layers": 3}))
    assert [each.config().layers for each in cell.candidates] == [1, 3]
    assert [each.kind for each in cell.trials] == ["trial", "trial"]
    assert not {each.hash for each in cell.trials} & {each.hash for each in cell.candidates}


def test_settings_of_trials_may_differ():
    cell = replace(CELL, values=VALUES | {"protocol": "hgcn"}, grid=({"layers": 1},), trial={"protocol": "leak-free"})
    assert cell.trials[0].config().protocol == "leak-free"
    assert cell.candidates[0].config().protocol == "hgcn"
    assert cell.trials[0].hash == replace(CELL, grid=({"layers": 1},)).trials[0].hash


def test_what_training_starts_from_is_part_of_the_hash():
    classes = replace(CELL, values={"task": "classification", "data": "stochastic-block", "space": "Q3,2"})
    begun = replace(classes, start=VALUES)
    other = replace(classes, start=VALUES | {"layers": 3})
    assert len({classes.hash, begun.hash, other.hash}) == 3
    assert begun.config(3, "cpu", "some/folder").start == "some/folder"
    assert begun.start_config(3, "cpu").seed == 3
