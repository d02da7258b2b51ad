import pytest

from qgcn.reproduction.blocks import Results, blocks_of
from qgcn.reproduction.store import Store
from qgcn.reproduction.tables import FILES, FULL, cells_of


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path, FILES)


def add(store, table, pick, score, seeds=2, **more):
    """Write lines of the cells that are picked, with made-up scores."""
    with store.writing(table) as append:
        for cell in cells_of(table):
            if pick(cell):
                for seed in range(seeds):
                    test = {"metric": "m", "test": {"m": score + seed / 1000}, "val": {"m": score}, "seconds": 1.0}
                    append(cell, seed, test | more)


def test_every_table_is_rendered_without_a_line(store):
    for name, render in blocks_of(store).items():
        lines = render().splitlines()
        assert len({line.count("|") for line in lines}) == 1, name


def test_a_table_shows_the_scores_of_its_cells(store):
    add(store, "table2", lambda cell: (cell.data, cell.setting, cell.task) == ("cora", "ours", "links"), 0.5)
    add(store, "table2", lambda cell: cell.method == "GAT" and cell.data == "cora" and cell.setting == "ours", 0.7)
    rows = {line.split(" | ")[0]: line for line in blocks_of(store)["table2-links-ours"]().splitlines()}
    assert rows["| GCN"] == "| GCN | — | — | — | 50.05 ± 0.07 (2) |"
    assert rows["| GAT"] == "| GAT | — | — | — | **70.05 ± 0.07 (2)** |"
    assert "50.05" in blocks_of(store)["table2-hgcn-ours"]()


def test_seeds_that_diverged_are_told(store):
    with store.writing("table2") as append:
        for cell in cells_of("table2"):
            if cell.method == "GCN" and cell.setting == "ours":
                append(cell, 0, {"error": "diverged", "seconds": 1.0})
    assert "| GCN | 1 diverged |" in blocks_of(store)["table2-links-ours"]()


def test_deviations_are_differences_seed_by_seed(store):
    add(store, "table2", lambda cell: cell.data == "cora" and cell.setting == "ours", 0.8)
    add(store, "table2", lambda cell: cell.data == "cora" and cell.setting == "ours; plain distance", 0.7)
    found = blocks_of(store)["table2-links-deviations"]()
    assert "| plain distance | Q-GCN (Q14,2) | — | — | — | -10.0 [-10.0, -10.0] |" in found


def test_the_paper_is_shown_as_printed(store):
    assert "| Q-GCN (Q7,3) | 99.67 | 100.00 | 97.23 | 87.74 |" in blocks_of(store)["table1-printed"]()


def test_ratios_are_those_of_medians(store):
    with store.writing("table4") as append:
        for cell in cells_of("table4"):
            times = {name: [0.001 * place, 0.001 * place, 9.0] for place, name in enumerate(cell.values["methods"], 1)}
            append(cell, 0, {"epoch_seconds": times, "seconds": 1.0, "machine": {"device": "cpu: x"}})
    found = blocks_of(store)["table4-plain"]()
    assert "| GCN (E10) | 1.00 | 1.00 | 1.00 | 1.00 | 1.00 | 1.00 |" in found
    assert "| Q-GCN (Q9,1) | 3.00 | 3.00 | 1.21 |" in found


def test_scores_of_a_grid_are_those_of_the_settings_that_were_chosen(store):
    picked = next(cell for cell in cells_of("table3") if cell.setting == "paper")
    with store.writing("table3") as append:
        for place, (trial, candidate) in enumerate(zip(picked.trials, picked.candidates, strict=True)):
            append(trial, 0, {"val": {"m": 0.9 if place == 3 else 0.1}, "metric": "m", "seconds": 1.0})
            append(candidate, 0, {"test": {"m": place / 10}, "metric": "m", "seconds": 1.0})
    key = ("table3", "classification", picked.data, picked.method, "paper")
    assert Results(store, FULL).scores(*key) == {0: pytest.approx(30.0)}
