"""``qgcn analyze``: what it shows, what it writes, what it refuses."""

import json
import math
import sys

import pytest

from qgcn.analysis import hyperbolicity, trials
from qgcn.tasks import Reconstruction, Rung

QUICK = ("--dim", "3", "--trials", "--trial-nodes", "20")


def test_a_table_of_measurements(command):
    out = command.works("analyze", "ring-of-trees", "--no-trials", "--exact")
    assert "180 nodes, 180 edges" in out
    for line in ("delta, mean", "delta, worst", "diameter", "sectional curvature", "Forman", "negative eigenvalues"):
        assert line in out
    worst = next(line for line in out.splitlines() if "delta, worst" in line)
    assert worst.split("│")[2].strip() == "3"


def test_json_alone_is_printed_and_nothing_is_written(command):
    report = json.loads(command.works("analyze", "cycle", "--no-trials", "--json", "--exact"))
    assert (report["graph"], report["nodes"], report["edges"], report["components"]) == ("cycle", 64, 64, 1)
    assert report["hyperbolicity"]["worst"] == 16
    assert report["hyperbolicity"]["relative"] == 1
    assert report["sectional_curvature"]["mean"] == pytest.approx(1 / 63)
    assert report["forman_curvature"] == {"mean": 0, "negative": 0}
    assert report["suggestion"] is None
    assert command.listing() == {}


def test_a_space_is_recommended_and_drawn(command, here, monkeypatch):
    monkeypatch.setattr(Reconstruction, "rungs", (Rung(1, 10, 1), Rung(1 / 3, 10, 2)))
    monkeypatch.setattr(trials, "SMALL_SECONDS", math.inf)  # all of them, on a busy machine too
    out = command.works("analyze", "tree", *QUICK, "--out", "geometry")
    assert "take " in out
    names = {path.name for path in (here / "geometry").iterdir()}
    figures = {f"{name}.{kind}" for name in ("delta", "curvature", "spectrum", "signatures") for kind in ("png", "svg")}
    assert names == figures | {"analysis.json"}
    assert (here / "geometry" / "delta.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (here / "geometry" / "signatures.svg").read_text()
    suggestion = json.loads((here / "geometry" / "analysis.json").read_text())["suggestion"]
    assert {trial["space"] for trial in suggestion["ranking"]} == {"E3", "H3", "S3", "H1xS2", "H1xH2", "S1xS2", "Q2,2", "Q1,3"}
    assert suggestion["sentence"] in " ".join(out.split()).replace("Written", "")


@pytest.mark.parametrize("task", ["entailment", "directed-reconstruction"])
def test_spacetimes_are_tried_for_a_task_that_reads_light_cones(command, here, task):
    (here / "tree.csv").write_text("".join(f"n{(k - 1) // 2},n{k}\n" for k in range(1, 40)))
    out = command.works("analyze", "tree.csv", "--task", task, "--dim", "4", "--seconds", "0")
    assert "take M4, a spacetime" in out
    trained = command.works("train", task, "--data", "tree.csv", "--space", "auto:2", "--epochs", "2", "--out", "run")
    assert "auto:2: " in trained


def test_fewer_dimensions_are_shown_where_all_spaces_hold_the_graph(command, here, monkeypatch):
    monkeypatch.setattr(Reconstruction, "rungs", (Rung(1, 40, 1),))
    monkeypatch.setattr(trials, "SMALL_SECONDS", math.inf)
    (here / "square.csv").write_text("0,1\n1,2\n2,3\n3,0\n")
    out = " ".join(command.works("analyze", "square.csv", "--dim", "4").split())
    assert "2 dimensions in S2 hold what 4 in S4 hold" in out
    assert "Other numbers of dimensions" in out
    assert "S2 * " in out
    report = json.loads(command.works("analyze", "square.csv", "--dim", "4", "--target-map", "0.9", "--json"))
    assert (report["suggestion"]["space"], report["suggestion"]["reached"] >= 0.9) == ("S2", True)
    assert {trial["space"] for trial in report["suggestion"]["others"]} == {"S4"}


def test_own_files_are_analyzed_in_place(command, here):
    (here / "ring.csv").write_text("".join(f"{k},{(k + 1) % 9}\n" for k in range(9)) + "20,21\n")
    report = json.loads(command.works("analyze", "ring.csv", "--no-trials", "--json", "--exact"))
    assert report["components"] == 2
    assert report["hyperbolicity"]["worst"] == 1.5
    assert any("2 components" in remark for remark in report["remarks"])
    assert len(report["hyperbolicity"]["witness"]) == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0,0\n", "has no edges"),
        ("", "ring.csv"),
        ("0,1,-2\n1,2,1\n", "a weight must be finite and not negative, got -2"),
    ],
    ids=["loop", "empty", "negative weight"],
)
def test_bad_files_are_refused_in_one_line(command, here, content, message):
    (here / "ring.csv").write_text(content)
    assert message in command.fails("analyze", "ring.csv", "--no-trials", "--out", "geometry")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("corra",), "did you mean 'cora'"),
        (("cycle", "--dim", "1"), "--dim"),
        (("cycle", "--samples", "0"), "--samples"),
        (("cycle", "--task", "dancing"), "task must be one of classification, directed-links, directed-reconstruction"),
        (("cycle", "--task", "classification"), "classification needs labels"),
        (("cycle", "--exakt"), "--exakt"),
        (("cycle", "--target-score", "2"), "target must be above 0 and at most 1"),
        ((), "GRAPH"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(command, arguments, message):
    assert message in command.fails("analyze", *arguments)


def test_a_graph_too_large_for_the_exact_mode_is_refused_with_the_estimate(command, monkeypatch):
    monkeypatch.setattr(hyperbolicity, "MOST_MEMORY", 1000)
    message = command.fails("analyze", "cycle", "--exact", "--no-trials")
    assert "cycle is too large for the exact worst delta: a block of 64 nodes would take about 0 seconds and 0.0 GiB" in message


def test_a_file_in_the_way_of_the_folder_is_said(command, here):
    (here / "geometry").write_text("in the way")
    assert "geometry is not a folder" in command.fails("analyze", "cycle", "--no-trials", "--out", "geometry")


def test_a_graph_without_planes_has_no_curvature(command, here):
    (here / "pair.csv").write_text("0,1\n")
    out = command.works("analyze", "pair.csv", "--no-trials", "--out", "geometry")
    assert "Forman" in out
    assert "sectional" not in out
    assert json.loads((here / "geometry" / "analysis.json").read_text())["sectional_curvature"] is None
    assert not (here / "geometry" / "curvature.png").exists()


def test_without_matplotlib_figures_are_refused_before_anything_is_measured(command, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "figures need Matplotlib: pip install" in command.fails("analyze", "cycle", "--no-trials", "--out", "geometry")
    assert "64 nodes" in command.works("analyze", "cycle", "--no-trials")


def test_columns_of_a_wider_table_are_named(command, here):
    (here / "wide.csv").write_text("day,who,whom\n" + "".join(f"mon,n{k},n{k + 1}\n" for k in range(12)))
    found = json.loads(command.works("analyze", "wide.csv", "--source", "who", "--target", "whom", "--no-trials", "--json"))
    assert (found["nodes"], found["edges"]) == (13, 12)
    assert "no column 'whose'" in command.fails("analyze", "wide.csv", "--source", "whose", "--target", "whom", "--no-trials")
    assert "source names a column" in command.fails("analyze", "cycle", "--source", "who", "--no-trials")
