import pytest

from qgcn.reproduction.blocks import Results
from qgcn.reproduction.claims import Evidence, claims, verdict
from qgcn.reproduction.store import Store
from qgcn.reproduction.tables import FILES, cells_of


@pytest.mark.parametrize(
    ("fits", "expected"),
    [
        ([True, True], "holds"),
        ([True, False], "holds in part"),
        ([False, False], "does not hold"),
        ([None, None], "not measured"),
        ([True, None], "holds (1 of 2 measured)"),
    ],
)
def test_a_verdict_is_about_what_was_measured(fits, expected):
    assert verdict([Evidence("", each) for each in fits]) == expected


def rows_of(store):
    lines = [line.strip("| ").split(" | ") for line in claims(Results(store)).splitlines()[2:]]
    return {(line[0], line[1]): line[2:] for line in lines}


def test_without_lines_nothing_is_claimed(tmp_path):
    rows = rows_of(Store(tmp_path, FILES))
    assert {row[0] for row in rows.values()} == {"not measured"}
    assert len({claim for claim, _ in rows}) >= 14


def test_the_best_on_validation_are_compared_on_test(tmp_path):
    store = Store(tmp_path, FILES)
    scores = {"Q-GCN (Q15,1)": (0.9, 0.6), "Q-GCN (Q14,2)": (0.5, 0.9), "HGCN (H16)": (0.7, 0.5)}  # validation, test
    scores["κ-GCN (H16)"] = scores["HGCN (H16)"]  # the same cell
    with store.writing("table2") as append:
        for cell in cells_of("table2"):
            if cell.setting == "ours" and cell.values.get("protocol") != "hgcn":
                val, test = scores.get(cell.method, (0.1, 0.1))
                for seed in range(3):
                    line = {"val": {"m": val}, "test": {"m": test + seed / 100}, "metric": "m", "seconds": 1.0}
                    append(cell, seed, line)
    rows = rows_of(store)
    found = rows["Q-GCN is the best on CiteSeer and Cora (links, classes)", "our settings"]
    assert found[0] == "holds"
    assert "Cora, links +10.00 [+10.00, +10.00] (Q15,1 minus H16)" in found[1]
    assert rows["Many time dimensions are the best on Cora (links, classes)", "our settings"][0] == "does not hold"


def test_one_seed_is_no_evidence(tmp_path):
    store = Store(tmp_path, FILES)
    with store.writing("table3") as append:
        for cell in cells_of("table3"):
            if cell.setting == "ours":
                append(cell, 0, {"val": {"m": 0.5}, "test": {"m": 0.5}, "metric": "m", "seconds": 1.0})
    assert rows_of(store)["Q-NN outperforms MLP and HNN", "our settings"][0] == "not measured"


def test_times_are_judged_by_ratios(tmp_path):
    store = Store(tmp_path, FILES)
    with store.writing("table4") as append:
        for cell in cells_of("table4"):
            times = dict(zip(cell.values["methods"], [[1.0], [4.0], [1.5], [1.6], [1.7], [1.8], [1.9], [1.4]], strict=True))
            append(cell, 0, {"epoch_seconds": times, "seconds": 1.0})
    rows = rows_of(store)
    for claim in ("Every Q-GCN takes less than twice as long as GCN", "Q-GCN is faster than the product"):
        assert rows[claim, "plain network"][0] == "holds"
    assert rows["The running time grows with t", "Algorithm 1"][0] == "holds"
