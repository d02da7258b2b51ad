"""The commands that ask a run."""

import csv
import io
import signal
import subprocess
import sys
import time

import pytest

from commands import SCRIPT, listing

EDGES = [
    ("ann", "bob"),
    ("bob", "cyd"),
    ("cyd", "ann"),
    ("cyd", "dan"),
    ("dan", "eve"),
    ("eve", "fay"),
    ("fay", "dan"),
    ("bob", "gus"),
]
EDGES += [(f"p{k}", f"p{(k * 7 + 1) % 40}") for k in range(40)] + [("ann", "p0"), ("gus", "p5")]


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def runs(command, here):
    """A finished run of each kind, and a table of pairs."""
    (here / "edges.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in EDGES))
    names = sorted({name for pair in EDGES for name in pair})
    (here / "labels.csv").write_text(
        "id,label\n" + "".join(f"{name},{'even' if k % 2 else 'odd'}\n" for k, name in enumerate(names))
    )
    (here / "pairs.csv").write_text("a,b\nann,dan\nbob,p7\n")
    common = ("--data", "edges.csv", "--space", "Q2,2", "--epochs", "3", "--no-yardsticks")
    command.works("train", "links", *common, "--val", "0.1", "--test", "0.1", "--out", "links", "--seeds", "2")
    command.works("train", "classification", *common, "--labels", "labels.csv", "--out", "classes")
    command.works("train", "reconstruction", *common, "--out", "points")
    return names


def test_answers_are_printed_as_csv_or_written_to_files(command, here, runs):
    predicted = rows_of(command.works("predict", "classes"))
    assert [row["node"] for row in predicted] == runs
    assert {row["class"] for row in predicted} <= {"even", "odd"}
    scored = rows_of(command.works("score", "links", "pairs.csv"))
    assert [(row["node"], row["other"]) for row in scored] == [("ann", "dan"), ("bob", "p7")]
    assert list(scored[0]) == ["node", "other", "probability", "spread"]
    best = rows_of(command.works("recommend", "links", "--node", "eve", "--node", "ann", "--top", "2"))
    assert [row["node"] for row in best] == ["eve", "eve", "ann", "ann"]
    assert "Written to all.parquet" in command.works("recommend", "links", "--top", "3", "--out", "all.parquet")
    import pandas as pd

    assert len(pd.read_parquet(here / "all.parquet")) == 3 * len(runs)
    assert len(rows_of(command.works("recommend", "links", "--overall", "--top", "4"))) == 4
    near = rows_of(command.works("neighbors", "points", "ann", "--top", "3"))
    assert list(near[0]) == ["node", "neighbor", "distance", "linked"]


def test_new_nodes_are_answered_for(command, here, runs):
    (here / "new.csv").write_text((here / "edges.csv").read_text() + "zoe,ann\nzoe,bob\n")
    best = rows_of(command.works("recommend", "links", "--graph", "new.csv", "--node", "zoe", "--top", "2"))
    assert [row["node"] for row in best] == ["zoe", "zoe"]
    assert len(rows_of(command.works("predict", "classes", "--graph", "new.csv"))) == len(runs) + 1
    assert rows_of(command.works("neighbors", "points", "zoe", "--graph", "new.csv"))[0]["node"] == "zoe"


def test_embeddings_are_exported_in_every_format(command, here, runs):
    import networkx as nx
    import numpy as np

    for kind, suffix in (
        ("csv", "csv"),
        ("tsv", "tsv"),
        ("parquet", "parquet"),
        ("npz", "npz"),
        ("graphml", "graphml"),
        ("word2vec", "txt"),
    ):
        assert f"export.{suffix}" in command.works("export", "classes", "--format", kind)
    assert nx.read_graphml(here / "classes/export.graphml").nodes["ann"]["predicted"] in ("even", "odd")
    with np.load(here / "classes/export.npz") as held:
        assert held["node_ids"].tolist() == runs
    assert (here / "classes/export.txt").read_text().splitlines()[0] == f"{len(runs)} 4"
    command.works("export", "points", "--out", "mine.tsv")
    assert (here / "mine.tsv").read_text().splitlines()[0] == "node\tx0\tx1\tx2\tx3"


def test_what_cannot_be_answered_is_one_line(command, here, runs):
    assert "no node 'fai' in the graph; did you mean 'fay'?" in command.fails("neighbors", "points", "fai")
    assert "a run of links predicts no classes" in command.fails("predict", "links")
    assert "predicts no links" in command.fails("recommend", "points")
    assert "the run has seeds 0 to 1, got 99" in command.fails("score", "links", "pairs.csv", "--seed", "99")
    assert "expected a name that ends in .csv, .tsv, .parquet" in command.fails("predict", "classes", "--out", "x.docx")
    assert "there is no folder" in command.fails("predict", "classes", "--out", "none/x.csv")
    assert "no format 'xml'" in command.fails("export", "points", "--format", "xml")
    (here / "one.csv").write_text("ann\nbob\n")
    assert "has 1 column: expected two" in command.fails("score", "links", "one.csv")
    (here / "empty.csv").write_text("")
    assert "empty.csv is empty" in command.fails("score", "links", "empty.csv")
    assert "holds no run" in command.fails("predict", "nothing-here")
    (here / "links/results.json").unlink()
    assert "the run is not finished; resume it: qgcn resume links" in command.fails("recommend", "links")


def test_the_edges_that_matter_for_a_node_or_a_link_are_listed(command, here, runs):
    found = rows_of(command.works("explain", "classes", "dan", "--top", "3"))
    assert list(found[0]) == ["source", "target", "importance"]
    assert len(found) == 3
    assert {frozenset((row["source"], row["target"])) for row in found} <= {frozenset(pair) for pair in EDGES}
    shares = [float(row["importance"]) for row in found]
    assert shares == sorted(shares, reverse=True)
    one = rows_of(command.works("explain", "links", "ann", "dan", "--seed", "1"))
    assert one != rows_of(command.works("explain", "links", "ann", "dan"))
    assert "Written to why.csv" in command.works("explain", "links", "ann", "--out", "why.csv")
    assert rows_of((here / "why.csv").read_text())
    (here / "new.csv").write_text((here / "edges.csv").read_text() + "zoe,ann\nzoe,bob\n")
    best = rows_of(command.works("explain", "classes", "zoe", "--graph", "new.csv"))
    assert any("zoe" in (row["source"], row["target"]) for row in best)


def test_what_cannot_be_explained_is_one_line(command, here, runs):
    assert "no node 'fai' in the graph; did you mean 'fay'?" in command.fails("explain", "classes", "fai")
    assert "no node 'fai' in the graph; did you mean 'fay'?" in command.fails("explain", "links", "ann", "fai")
    assert "a run of classification predicts no links" in command.fails("explain", "classes", "ann", "bob")
    assert "a link joins two nodes, got 'ann' twice" in command.fails("explain", "links", "ann", "ann")
    assert "the model shallow does not read the graph" in command.fails("explain", "points", "ann")
    assert "the run has seed 0 alone, got 7" in command.fails("explain", "classes", "ann", "--seed", "7")
    assert "expected a name that ends in .csv, .tsv, .parquet" in command.fails("explain", "classes", "ann", "--out", "x.docx")
    common = ("--data", "edges.csv", "--labels", "labels.csv", "--epochs", "2", "--no-yardsticks")
    command.works("train", "classification", *common, "--model", "mlp", "--space", "E4", "--out", "flat")
    assert "the model mlp does not read the graph: there are no edges to explain" in command.fails("explain", "flat", "ann")


def test_a_reader_that_has_enough_gets_no_traceback(runs, here):
    with subprocess.Popen([SCRIPT, "recommend", "links", "--top", "40"], cwd=here, stdout=-1, stderr=-1, text=True) as asked:
        head = asked.stdout.readline()
        asked.stdout.close()
        _, err = asked.communicate()
    assert head == "node,other,probability,spread\n"
    assert err == ""


STOPPED = """
import os, signal
from qgcn.cli import main
from qgcn.training.answers import Answers

def scores(self, pairs, *, seed=None):
    yield first
    os.kill(os.getpid(), signal.SIGTERM)

import numpy as np
from qgcn.answer import Answer
first = Answer({"node": np.array(["ann"]), "other": np.array(["bob"]), "probability": np.array([0.5])})
Answers.link_scores = scores
main(["score", "links", "pairs.csv", "--out", "late.csv"])
"""


def test_sigterm_while_a_file_is_written_leaves_no_part_of_it(runs, here, command):
    before = listing(here)
    done = subprocess.run([sys.executable, "-c", STOPPED], cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    command.one_line(done.stderr)
    assert listing(here) == before


def test_columns_of_a_wider_table_are_named(runs, here, command):
    extra = [*EDGES, ("zoe", "ann"), ("zoe", "bob")]
    (here / "wide.csv").write_text("day,who,whom,note\n" + "".join(f"mon,{a},{b},x\n" for a, b in extra))
    columns = ("--source", "who", "--target", "3")
    best = rows_of(command.works("recommend", "links", "--graph", "wide.csv", *columns, "--node", "zoe", "--top", "2"))
    assert [row["node"] for row in best] == ["zoe", "zoe"]
    assert len(rows_of(command.works("predict", "classes", "--graph", "wide.csv", *columns))) == len(runs) + 1
    assert rows_of(command.works("neighbors", "points", "zoe", "--graph", "wide.csv", *columns))[0]["node"] == "zoe"
    wrong = ("--graph", "wide.csv", "--source", "whose", "--target", "whom")
    assert "no column 'whose'" in command.fails("predict", "classes", *wrong)
    assert "source names a column of a changed graph: give the graph" in command.fails("predict", "classes", "--source", "who")


def test_features_of_new_nodes_and_integer_names(here, command):
    import numpy as np

    rng = np.random.default_rng(0)
    edges = [(10 * k, 10 * ((k * 7 + j) % 40)) for k in range(40) for j in (1, 2, 5)]
    edges = [(a, b) for a, b in edges if a != b]
    (here / "edges.csv").write_text("".join(f"{a},{b}\n" for a, b in edges))
    (here / "new.csv").write_text("".join(f"{a},{b}\n" for a, b in [*edges, (7, 10), (7, 20)]))
    nodes = [10 * k for k in range(40)]

    def write(name, ids):
        lines = (f"{node}," + ",".join(f"{value:.3f}" for value in rng.standard_normal(4)) for node in ids)
        (here / name).write_text("\n".join(lines) + "\n")

    write("x.csv", nodes)
    write("new_x.csv", [*nodes, 7])
    (here / "y.csv").write_text("".join(f"{node},{node // 10 % 2}\n" for node in nodes))
    common = ("--data", "edges.csv", "--features", "x.csv", "--space", "Q2,2", "--epochs", "3", "--no-yardsticks")
    command.works("train", "classification", *common, "--labels", "y.csv", "--out", "classes")
    command.works("train", "links", *common, "--val", "0.1", "--test", "0.1", "--out", "links")
    assert [row["node"] for row in rows_of(command.works("predict", "classes"))] == [str(node) for node in nodes]
    assert "7" in command.fails("predict", "classes", "--graph", "new.csv")  # it has no features
    changed = ("--graph", "new.csv", "--features", "new_x.csv")
    found = {row["node"]: row for row in rows_of(command.works("predict", "classes", *changed))}
    assert set(found) == {*map(str, nodes), "7"}
    assert found["7"]["class"] in ("0", "1")
    best = rows_of(command.works("recommend", "links", *changed, "--node", "7", "--top", "3"))
    assert [row["node"] for row in best] == ["7"] * 3
    assert not {row["other"] for row in best} & {"7", "10", "20"}
    (here / "pairs.csv").write_text("7,10\n0,390\n")
    assert [row["other"] for row in rows_of(command.works("score", "links", "pairs.csv", *changed))] == ["10", "390"]
    near = rows_of(command.works("neighbors", "links", "20", "--top", "2"))
    assert [row["node"] for row in near] == ["20", "20"]
    assert "no node '21' in the graph" in command.fails("neighbors", "links", "21")
    narrow = "\n".join(f"{node},1" for node in [*nodes, 7])
    (here / "narrow.csv").write_text(narrow + "\n")
    assert "4" in command.fails("predict", "classes", "--graph", "new.csv", "--features", "narrow.csv")


def test_an_interrupted_answer_leaves_nothing_behind(runs, here, command):
    process = command.start("recommend", "links", "--out", "late.csv")
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    if process.returncode:  # it may have been done
        command.one_line(err)
        assert not (here / "late.csv").exists()
    assert not [path for path in here.iterdir() if path.name.startswith(".late")]
