import pytest

from qgcn.reproduction.figures import draw
from qgcn.reproduction.measuring import measure
from qgcn.reproduction.store import Store
from qgcn.reproduction.tables import FILES, QUICK, cells_of

pytest.importorskip("matplotlib", reason="figures are not drawn: pip install 'qgcn[viz]'")


def test_the_submanifolds_need_no_lines(tmp_path):
    (path,) = draw("figure1", Store(tmp_path, FILES), QUICK, tmp_path)
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["figure2", "figure4"])
def test_nothing_is_drawn_of_what_was_not_measured(name, tmp_path):
    assert draw(name, Store(tmp_path, FILES), QUICK, tmp_path / "figures") == []


def test_scores_are_drawn_against_time(tmp_path):
    store = Store(tmp_path, FILES)
    with store.writing("table1") as append:
        for cell in cells_of("table1", QUICK):
            if cell.setting == "shallow":
                append(cell, 0, {"test": {"map": 0.5}, "metric": "map", "seconds": 1.0})
    assert [path.name for path in draw("figure2", store, QUICK, tmp_path)] == ["figure2-shallow.svg"]


def test_curvatures_and_deltas_are_drawn(tmp_path):
    store = Store(tmp_path, FILES)
    with store.writing("appendix") as append:
        for cell in cells_of("appendix", QUICK):
            append(cell, 0, *measure(cell, [0], "cpu", tmp_path))
    assert [path.name for path in draw("figure4", store, QUICK, tmp_path)] == ["figure4.svg", "delta.svg"]
