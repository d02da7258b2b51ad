"""The real command in a real process, and its page in a real browser."""

import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import qgcn
from qgcn.cli import demo as module
from qgcn.data import ring_of_trees


def run(*arguments, cwd=None):
    return subprocess.run([sys.executable, "-m", "qgcn", *arguments], capture_output=True, text=True, timeout=300, cwd=cwd)


def data_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_demo_is_a_run_and_ends_with_a_report(tmp_path):
    result = run("demo", "--epochs", "60", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "180 nodes" in result.stdout
    path = tmp_path / "runs" / "demo.html"
    assert result.stdout.splitlines()[-1] == f"Open it in a browser: {path}"
    (subject,) = data_of(path)["subjects"]
    assert [column["name"] for column in subject["embedded"]["columns"][:2]] == ["level", "tree"]
    assert subject["embedded"]["columns"][0]["labels"] == ["0 ring", "1 branch", "2 twig", "3 leaf"]
    assert subject["embedded"]["exact"]["shape"] == "disk"
    assert data_of(path)["analysis"]["graph"] == "ring-of-trees"
    results = json.loads((tmp_path / "runs" / "demo" / "results.json").read_text())
    assert subject["scores"][0]["mean"] == results["summary"]["map"]["mean"]
    again = run("demo", "--epochs", "1", cwd=tmp_path)
    assert again.stdout.splitlines()[-1] == f"Open it in a browser: {tmp_path / 'runs' / 'demo-2.html'}"


def test_nodes_are_those_of_the_graph():
    rows = [line.split(",") for line in module._nodes().splitlines()[1:]]
    assert [int(row[0]) for row in rows] == list(range(180))
    level, tree = [row[1] for row in rows], [int(row[2]) for row in rows]
    for a, b in ring_of_trees().T.tolist():
        if a < b:
            assert (tree[a] == tree[b]) == (b >= 12)
            assert int(level[b][0]) - int(level[a][0]) == (b >= 12)


def test_the_page_shows_a_ring_with_trees(command, here, show, keep):
    """Ring and trees are drawn with few crossings: the ring with none, each tree beside its node of the ring."""
    command.works("demo")
    page = show((here / "runs" / "demo.html").read_text(encoding="utf-8"))
    keep(page, "demo")
    assert page.get_attribute("[role=tab][aria-selected=true]", "data-view") == "exact"
    place = np.array(page.evaluate("Array.from({length: 180}, (_, k) => qgcn.explorer.stage.screenOf(k).slice(0, 2))"))
    edges = ring_of_trees().numpy()
    edges = edges[:, edges[0] < edges[1]]
    assert crossings(place, edges[:, edges[1] < 12]) == 0
    assert crossings(place, edges) < 25  # of 16,000 pairs


def crossings(place, edges):
    """Return how many pairs of edges cross in a picture, those with a common end left out."""
    a, b = place[edges[0]], place[edges[1]]

    def side(p, q, r):
        return (q[..., 0] - p[..., 0]) * (r[..., 1] - p[..., 1]) - (q[..., 1] - p[..., 1]) * (r[..., 0] - p[..., 0])

    one, other = (a[:, None], b[:, None]), (a[None], b[None])
    cross = (side(*one, other[0]) * side(*one, other[1]) < 0) & (side(*other, one[0]) * side(*other, one[1]) < 0)
    touch = (edges[:, None, :, None] == edges[None, :, None, :]).any(axis=(0, 1))
    return int((cross & ~touch).sum()) // 2


def test_version_and_help(command):
    assert command.works("--version") == f"qgcn {qgcn.__version__}\n"
    assert "--space" in command.works("demo", "--help")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("demo", "--space", "Q0,0"), "no space 'Q0,0': time_dim must be at least 1, got 0"),
        (("demo", "--space", "R10"), "unknown space 'R10': expected E10, H10"),
        (("demo", "--report", "/proc/none/demo.html"), "cannot write to /proc/none"),
        (("demo", "--epochs", "0"), "--epochs"),
        (("demo", "--epochs", "many"), "--epochs"),
        (("demo", "--sapce", "H5"), "--sapce"),
        (("damo",), "damo"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_exit_code_2(command, arguments, expected):
    assert expected in command.fails(*arguments)


def test_ctrl_c_leaves_a_run_that_can_be_resumed(command, here):
    process = command.start("demo", "--epochs", "1000000")
    while not (here / "runs" / "demo" / "metrics.jsonl").exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    command.one_line(err)
    assert err.rstrip().endswith("go on with: qgcn resume runs/demo")


def test_the_module_is_the_command():
    result = run("demo", "--space", "R10")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("qgcn: unknown space 'R10'")
    assert result.stderr.count("\n") == 1
