"""``qgcn report`` on real runs."""

import json
import os
import re
import subprocess
import sys

import pytest


@pytest.fixture
def run(command):
    settings = ("--data", "ring-of-trees", "--space", "Q3,2", "--epochs", "5")
    command.works("train", "reconstruction", *settings, "--out", "run")
    return "run"


def data_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_report_is_written_beside_the_run(command, here, run):
    out = command.works("report", run, "--no-umap")
    assert "Written to run/report.html (0." in out
    (subject,) = data_of(here / "run" / "report.html")["subjects"]
    assert subject["name"] == "run"
    assert len(subject["embedded"]["names"]) == 180
    assert subject["embedded"]["layouts"] == {}


def test_the_geometry_of_the_first_graph_is_told_unless_it_is_unwanted(command, here, run):
    command.works("train", "reconstruction", "--data", "tree", "--space", "H3", "--epochs", "2", "--out", "other")
    command.works("report", run, "other", "--no-umap", "--out", "both.html")
    analysis = data_of(here / "both.html")["analysis"]
    assert analysis["graph"] == "ring-of-trees"
    assert "split of 5 coordinates" in analysis["facts"]
    command.works("report", run, "--no-umap", "--no-geometry")
    assert data_of(here / "run" / "report.html")["analysis"] is None


def test_the_geometry_of_an_own_graph_is_told_whatever_becomes_of_its_file(command, here):
    (here / "friends.csv").write_text("ann,bob\nbob,cem\ncem,dan\ndan,ann\ndan,eva\n")
    (here / "people.csv").write_text(
        "person,age\n" + "".join(f"{name},{age}\n" for age, name in enumerate(["ann", "bob", "cem", "dan", "eva"]))
    )
    settings = ("--data", "friends.csv", "--features", "people.csv", "--space", "Q2,2", "--epochs", "2", "--out", "run")
    command.works("train", "reconstruction", *settings)
    (here / "friends.csv").unlink()
    (here / "people.csv").unlink()
    command.works("report", "run", "--no-umap")
    analysis = data_of(here / "run" / "report.html")["analysis"]
    assert analysis["facts"]["nodes"] == "5"
    assert analysis["facts"]["diameter"] == "3"


def test_runs_are_compared_in_one_file_with_a_users_columns(command, here, run):
    command.works("train", "reconstruction", "--data", "ring-of-trees", "--space", "H3", "--epochs", "2", "--out", "other")
    (here / "nodes.csv").write_text("node,height\n" + "".join(f"{k},{k / 2}\n" for k in range(180)))
    command.works("report", run, "other", "--no-umap", "--columns", "nodes.csv", "--out", "both.html")
    subjects = data_of(here / "both.html")["subjects"]
    assert [subject["name"] for subject in subjects] == ["run", "other"]
    assert all("height" in [column["name"] for column in subject["embedded"]["columns"]] for subject in subjects)


def test_without_umap_and_matplotlib_the_page_has_the_exact_view_and_a_remark(here, run):
    (here / "bare").mkdir()
    (here / "bare" / "sitecustomize.py").write_text(
        "import sys\nfor name in ('umap', 'numba', 'matplotlib'):\n    sys.modules[name] = None\n"
    )
    paths = os.pathsep.join((str(here / "bare"), os.environ.get("PYTHONPATH", "")))
    result = subprocess.run(
        [sys.executable, "-m", "qgcn", "report", run, "--no-geometry"],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert (result.returncode, result.stderr) == (0, "")
    remark = "UMAP projections are missing because umap-learn is not installed: pip install 'qgcn[viz]'"
    assert result.stdout.splitlines()[0] == f"run: {remark}, then write the report again."
    (subject,) = data_of(here / "run" / "report.html")["subjects"]
    assert subject["notices"] == [f"{remark}, then write the report again."]
    assert subject["embedded"]["layouts"] == {}
    assert subject["embedded"]["exact"]["shape"] == "ring"


def test_nodes_that_are_asked_for_are_explained(command, here, run):
    settings = ("--data", "ring-of-trees", "--space", "Q3,2", "--epochs", "3", "--no-yardsticks")
    command.works("train", "links", *settings, "--out", "links")
    quick = ("--no-umap", "--no-geometry")
    command.works("report", "links", *quick, "--explain", "3", "--explain", "7", "--explain", "3")
    embedded = data_of(here / "links" / "report.html")["subjects"][0]["embedded"]
    assert [each["node"] for each in embedded["explained"]] == [3, 7]
    for each in embedded["explained"]:
        shares = [share for *_, share in each["edges"]]
        assert 0 < len(shares) <= 10
        assert shares == sorted(shares, reverse=True)
    out = command.works("report", run, *quick, "--explain", "3")
    missing = "Edges that matter most are missing: the model shallow does not read the graph"
    assert missing in out
    (subject,) = data_of(here / "run" / "report.html")["subjects"]
    assert subject["embedded"]["explained"] == []
    assert subject["notices"][0].startswith(missing)


def test_what_is_wrong_is_said_in_one_line(command, here, run):
    assert "nowhere holds no run" in command.fails("report", "nowhere")
    assert "no file" in command.fails("report", run, "--no-umap", "--columns", "none.csv")
    assert "has seeds 0 to 0, got 4" in command.fails("report", run, "--no-umap", "--seed", "4")
    assert "no node '999' in the graph" in command.fails("report", run, "--no-umap", "--explain", "999")
    (here / "file").write_text("")
    assert "is not a folder" in command.fails("report", run, "--no-umap", "--out", "file/report.html")
    assert "RUN" in command.fails("report")
