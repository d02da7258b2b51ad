from dataclasses import replace

import pytest

from qgcn.locks import Locked
from qgcn.reproduction import running
from qgcn.reproduction.cells import Cell
from qgcn.reproduction.running import Limits, estimate, missing, run
from qgcn.reproduction.store import Store

VALUES = {"task": "links", "data": "tree", "model": "qgcn", "space": "Q3,2", "epochs": 2}
OURS = Cell("table2", "tree", "Q-GCN", "ours", VALUES)
LATE = replace(OURS, method="late", values=VALUES | {"layers": 3}, rank=1)
GRID = replace(OURS, method="grid", values=VALUES | {"lr": 0.02}, grid=({"layers": 1}, {"layers": 2}), rank=2)
CELLS = [LATE, GRID, OURS]


def store_of(folder):
    return Store(folder, ("table2",))


@pytest.fixture
def measured(monkeypatch):
    """What is asked for, in its order; nothing is trained, and more layers are better."""
    asked = []

    def fake(cell, seeds, device, scratch):
        asked.append((cell.method, cell.kind, seeds))
        scores = [{"roc_auc": cell.config().layers / 10 + seed / 1000} for seed in seeds]
        found = [{"val": score, "metric": "roc_auc", "seconds": 2.0} for score in scores]
        return [line | ({"test": line["val"]} if cell.kind == "train" else {}) for line in found]

    monkeypatch.setattr(running, "measure", fake)
    return asked


def test_ranks_come_in_order_and_trials_before_their_cell(tmp_path, measured):
    assert run(CELLS, 4, store_of(tmp_path), Limits()) == 14
    assert measured == [
        ("Q-GCN", "train", (0, 1, 2, 3)),
        ("late", "train", (0, 1, 2, 3)),
        ("grid", "trial", (0,)),
        ("grid", "trial", (0,)),
        ("grid", "train", (0, 1, 2, 3)),
    ]


def test_seeds_that_cannot_be_batched_come_one_by_one_the_first_first(tmp_path, measured):
    plain = [replace(OURS, method=name, values=VALUES | {"model": name, "space": "E4"}) for name in ("gcn", "sage")]
    run(plain, 2, store_of(tmp_path), Limits())
    assert measured == [(name, "train", (seed,)) for seed in (0, 1) for name in ("gcn", "sage")]


def test_what_is_there_is_not_measured_again(tmp_path, measured):
    run(CELLS, 2, store_of(tmp_path), Limits())
    before = len(measured)
    assert run(CELLS, 2, store_of(tmp_path), Limits()) == 0
    assert run(CELLS, 3, store_of(tmp_path), Limits()) == 3
    assert measured[before:] == [(name, "train", (2,)) for name in ("Q-GCN", "late", "grid")]


def test_a_gap_in_the_seeds_is_filled(tmp_path, measured):
    store = store_of(tmp_path)
    with store.writing("table2") as append:
        append(OURS, 1, {"metric": "roc_auc", "test": {"roc_auc": 0.5}, "seconds": 1.0})
    assert [work.seeds for work in missing([OURS], 4, store)] == [(0,), (2, 3)]
    assert [work.seeds for work in missing([OURS], 4, store, {(OURS.hash, 0)})] == [(2, 3)]


def test_the_settings_that_validation_chose_are_trained(tmp_path, measured):
    store = store_of(tmp_path)
    run([GRID], 1, store, Limits())
    assert store.find(GRID.candidates[1], 0) is not None
    assert store.find(GRID.candidates[0], 0) is None


def test_alike_cells_are_measured_once(tmp_path, measured):
    run([OURS, replace(OURS, method="alike")], 2, store_of(tmp_path), Limits())
    assert measured == [("Q-GCN", "train", (0, 1))]


def test_nothing_is_begun_after_the_limit(tmp_path, measured):
    assert run(CELLS, 2, store_of(tmp_path), Limits(seconds=0)) == 0
    assert measured == []


def test_an_error_keeps_what_was_measured(tmp_path, measured, monkeypatch):
    plain = running.measure

    def failing(*given):
        if len(measured) == 3:
            raise KeyboardInterrupt
        return plain(*given)

    monkeypatch.setattr(running, "measure", failing)
    with pytest.raises(KeyboardInterrupt):
        run(CELLS, 2, store_of(tmp_path), Limits())
    assert len(store_of(tmp_path).every()) == 5
    monkeypatch.setattr(running, "measure", plain)
    assert run(CELLS, 2, store_of(tmp_path), Limits()) == 3


@pytest.mark.parametrize("error", [RuntimeError("CUDA out of memory"), MemoryError()])
def test_what_a_machine_cannot_do_is_left_out_until_the_next_run(tmp_path, measured, monkeypatch, error):
    plain, told = running.measure, []

    def failing(cell, *given):
        if cell.method == "late":
            raise error
        return plain(cell, *given)

    monkeypatch.setattr(running, "measure", failing)
    assert run(CELLS, 1, store_of(tmp_path), Limits(), done=lambda work, line: told.append((work.cell.method, line))) == 4
    assert [line["failed"] for method, line in told if method == "late"] == [f"{type(error).__name__}: {error}".strip()]
    monkeypatch.setattr(running, "measure", plain)
    assert run(CELLS, 1, store_of(tmp_path), Limits()) == 1


def test_a_second_process_is_refused(tmp_path, measured):
    store = store_of(tmp_path)
    with store.writing("table2"), pytest.raises(Locked):
        run(CELLS, 1, store_of(tmp_path), Limits())


def test_two_processes_measure_what_one_does(tmp_path):
    cells = [OURS, GRID]
    for jobs in (1, 2):
        run(cells, 2, store_of(tmp_path / str(jobs)), Limits(jobs, device="cpu"))
    found = []
    for jobs in (1, 2):
        store = store_of(tmp_path / str(jobs))
        assert missing(cells, 2, store) == []
        found.append({(line["hash"], line["seed"]): line.get("test", line["val"]) for line in store.every()})
    assert found[0] == found[1]


def test_a_graph_and_a_timing_are_measured_once(tmp_path):
    cells = [Cell("appendix", "tree", "graph", "measured", {"data": "tree", "samples": 10}, kind="graph")]
    assert [work.seeds for work in missing(cells, 10, Store(tmp_path, ("appendix",)))] == [(0,)]


def test_the_cost_of_what_is_left_is_that_of_its_kin(tmp_path, measured):
    assert estimate(CELLS, 2, store_of(tmp_path)) == (8, 8, 0.0)
    store = store_of(tmp_path)
    run([OURS], 2, store, Limits())
    count, unknown, seconds = estimate(CELLS, 2, store)
    assert (count, unknown, seconds) == (6, 2, 8.0)
