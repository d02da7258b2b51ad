from dataclasses import replace

import pytest

from qgcn.reproduction.paper import NETWORKS
from qgcn.reproduction.tables import ALL, FILES, FULL, QUICK, cells_of


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("scale", [FULL, QUICK], ids=["full", "quick"])
def test_every_cell_has_settings_that_fit(name, scale):
    for cell in cells_of(name, scale):
        assert cell.table in FILES
        for each in (cell, *cell.trials[:2]):
            assert each.hash


def test_table_1_has_both_objectives_and_our_recipe_for_every_signature():
    cells = [cell for cell in cells_of("table1") if cell.data == "facebook" and ";" not in cell.setting]
    assert len(cells) == 4 * 16
    spaces = {cell.values["space"] for cell in cells if cell.setting == "network, paper"}
    assert {f"Q{10 - t},{t}" for t in range(1, 11)} < spaces


def test_table_2_has_both_protocols_and_configurations_of_all_methods():
    cells = [cell for cell in cells_of("table2") if cell.data == "cora" and ";" not in cell.setting]
    for part in ("leak-free", "hgcn", None):
        for setting in ("ours", "paper") if part == "hgcn" else ("ours", "code", "paper"):
            rows = [cell.method for cell in cells if (cell.values.get("protocol"), cell.setting) == (part, setting)]
            assert rows == [method.name for method in NETWORKS]


def test_classification_is_pretrained_by_links_in_the_papers_way_alone():
    cells = [cell for cell in cells_of("table2") if cell.task == "classification"]
    assert {cell.setting for cell in cells if cell.start} == {"paper", "ours; pretrained by links"}


def test_settings_for_the_protocol_that_leaks_are_chosen_where_nothing_leaks():
    cells = [cell for cell in cells_of("table2") if cell.values.get("protocol") == "hgcn" and cell.grid]
    assert len(cells) == 56
    assert {trial.values["protocol"] for cell in cells for trial in cell.trials} == {"leak-free"}


def test_searched_settings_are_those_of_the_files(tmp_path):
    (tmp_path / "links-cora-gcn-E16.yaml").write_text("task: links\ndata: cora\nmodel: gcn\nspace: E16\nlr: 0.02\n")
    (cell,) = (cell for cell in cells_of("table2", replace(FULL, searched=tmp_path)) if cell.setting == "searched")
    assert (cell.method, cell.config().lr) == ("GCN", 0.02)


def test_the_first_cells_are_ours():
    for name in ("table1", "table2", "table3"):
        assert {cell.setting for cell in cells_of(name) if cell.rank == 0} in ({"shallow"}, {"ours"})
