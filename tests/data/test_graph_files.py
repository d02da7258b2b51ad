"""Edge lists, ``.npz`` and GraphML: what is understood, what is guessed, and how the rest is refused."""

import gzip

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphs import TRIANGLE, ordered, pairs, weights
from qgcn.data import read_graph


@pytest.mark.parametrize(
    "text",
    [
        "0,1\n1,2\n2,0\n",
        "0,1\n1,2\n2,0",
        "source,target\n0,1\n1,2\n2,0\n",
        "Person A,Person B\n0,1\n1,2\n2,0\n",
        "# comment, with, commas\n0;1\n\n1;2\n% another\n2;0\n",
        "0\t1\r\n1\t2\r\n2\t0\r\n",
        "0 1\n1   2\n 2 0 \n",
        "\ufeff0, 1\n1, 2\n2, 0\n",
        '"0","1"\n"1","2"\n"2","0"\n',
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".txt", ".edges", ".tsv.gz"])
def test_every_form_of_edge_list_is_read(write, text, suffix):
    content = text.encode()
    data = read_graph(write(gzip.compress(content) if suffix.endswith(".gz") else content, f"my{suffix}"))
    assert pairs(data) == TRIANGLE
    assert data.node_ids.dtype == np.int64
    assert data.name == "my"


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("a,b\nb,c\n", {("a", "b"), ("b", "c")}),
        ("from,to\na,b\nb,c\n", {("a", "b"), ("b", "c")}),
        ("x,1\n2,x\n", {("x", "1"), ("2", "x")}),
        ("007,7\n7,8\n", {("007", "7"), ("7", "8")}),
        ("Zürich,東京\n東京,C# club\n", {("Zürich", "東京"), ("東京", "C# club")}),
        ('"a, b",c\nc,d\n', {("a, b", "c"), ("c", "d")}),
        ("1.5,2\n2,3\n", {("1.5", "2"), ("2", "3")}),
        ("-5,3\n3,12345678901234\n", {(-5, 3), (3, 12345678901234)}),
    ],
)
def test_ids_are_names_or_integers(write, text, edges):
    assert pairs(read_graph(write(text))) == {frozenset(edge) for edge in edges}


@given(st.lists(st.tuples(st.integers(-(10**6), 10**6), st.integers(0, 40)), min_size=1, max_size=40))
def test_integers_survive_a_round_trip(tmp_path_factory, edges):
    edges = [edge for edge in edges if edge[0] != edge[1]]
    if not edges:
        return
    path = tmp_path_factory.mktemp("round") / "graph.csv"
    path.write_text("".join(f"{a},{b}\n" for a, b in edges))
    assert pairs(read_graph(path)) == {frozenset(edge) for edge in edges}


def test_third_column_is_the_weight_and_repetition_is_averaged(write):
    data = read_graph(write("a,b,weight\na,b,1\nb,a,2\na,b,6\nb,c,0.5\nc,d,0\nd,d,4\n"))
    assert ordered(data) == {("a", "b"), ("b", "a"), ("b", "c")}
    assert data.edge_weight.tolist() == [3.5, 2.0, 0.5]
    assert data.edge_weight.dtype == torch.float32
    assert data.directed
    assert data.remarks == [
        "column 'weight' read as weights",
        "1 self-loop removed",
        "1 edge of weight 0 removed",
        "1 repeated edge merged, weights averaged",
        "1 isolated node kept",
    ]


def test_npz_with_everything(tmp_path):
    path = tmp_path / "own.npz"
    np.savez(
        path,
        edges=[[0, 1], [1, 2]],
        x=np.eye(4),
        y=["red", "blue", "red", ""],
        edge_weight=[1.0, 2.0],
        node_ids=["a", "b", "c", "d"],
    )
    data = read_graph(path)
    assert weights(data) == {frozenset("ab"): 1.0, frozenset("bc"): 2.0}
    assert data.classes == ["blue", "red"]
    assert data.y.tolist() == [1, 0, 1, -1]
    assert int((data.train_mask | data.val_mask | data.test_mask).sum()) == 3
    assert torch.equal(data.x, torch.eye(4))


def test_npz_of_scipy_and_graphml(tmp_path):
    sp.save_npz(tmp_path / "matrix.npz", sp.csr_matrix(np.ones((3, 3))))
    data = read_graph(tmp_path / "matrix.npz")
    assert pairs(data) == TRIANGLE
    assert data.remarks == ["3 self-loops removed"]
    nx.write_graphml(nx.Graph([("a", "b"), ("b", "c")]), tmp_path / "g.graphml")
    assert ordered(read_graph(tmp_path / "g.graphml")) == {("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")}
    nx.write_graphml(nx.DiGraph([("a", "b"), ("c", "b")]), tmp_path / "d.graphml")
    assert ordered(read_graph(tmp_path / "d.graphml")) == {("a", "b"), ("c", "b")}


def test_many_names_are_kept_apart(write):
    edges = np.random.default_rng(0).integers(0, 3000, (30_000, 2))
    path = write("\n".join(f"n{a}\tn{b}" for a, b in edges.tolist()), "large.tsv")
    expected = {frozenset((f"n{a}", f"n{b}")) for a, b in edges.tolist() if a != b}
    assert pairs(read_graph(path)) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\nb\n", r"graph\.csv has 1 column: expected two ids and perhaps a weight$"),
        ("a,b\nb,\n", r"graph\.csv, line 2: column 2 is empty$"),
        ("a,b,1\nb,c,x\n", r"graph\.csv, line 2: a weight must be a number, got 'x'$"),
        ("a,b,1\nb,c,1_0\n", r"graph\.csv, line 2: a weight must be a number, got '1_0'$"),
        ('a,b,1\nb,"c",1_0\n', r"graph\.csv, line 2: a weight must be a number, got '1_0'$"),
        ("a,b,1\nb,c,-2\n", r"graph\.csv, line 2, column 3: a weight must be finite and not negative, got -2$"),
        ("a,b,1\nb,c,nan\n", r"graph\.csv, line 2, column 3: a weight must be finite and not negative, got nan$"),
        ("a,b,1\nb,c,inf\n", r"line 2, column 3: a weight must be finite"),
        ("a,a\nb,b\n", r"graph has no edges \(2 self-loops removed; 2 isolated nodes kept\)$"),
    ],
)
def test_bad_edge_lists_are_refused_in_one_line(write, content, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_graph(write(content))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"edge_index": np.array([["a", {}]], dtype=object)}, "holds pickled Python objects, which are never read"),
        ({"nodes": [1]}, r"must hold 'edge_index' \(2, E\) or 'edges' \(E, 2\), got 'nodes'"),
        (
            {"edge_index": [[0, 1], [1, 2], [2, 0]]},
            r"edge_index must hold integers in shape \(2, E\), got int64 in \(3, 2\); transpose",
        ),
        ({"edge_index": [[0.0], [1.0]]}, r"edge_index must hold integers in shape \(2, E\), got float64"),
        ({"edges": [[0, 1, 2]]}, r"edges must have shape \(E, 2\), got \(1, 3\)"),
        ({"edges": [[0, 9]], "x": np.eye(4)}, r"edges must lie in \[0, 4\), got 9"),
        ({"edges": [[0, -1]]}, r"edges must lie in \[0, 1\), got -1"),
        ({"edges": [[0, 1]], "edge_weight": [1.0, 2.0]}, r"edge_weight must hold 1 numbers, got float64 in \(2,\)"),
        ({"edges": [[0, 1]], "edge_weight": [-1.0]}, "a weight must be finite and not negative, got -1 between 0 and 1"),
        ({"edges": [[0, 1]], "node_ids": [[1, 2]]}, "node_ids must be 1 integers or strings"),
        ({"edges": [[0, 1]], "x": np.full((2, 2), np.nan)}, "features: row 0, column 0 is nan"),
        ({"edges": [[0, 1]], "x": np.eye(2), "y": [0, 1, 2]}, "labels must have one row for each of the 2 nodes, got 3"),
        ({"edges": np.empty((0, 2), dtype=int)}, "has no edges"),
        ({"format": b"csr", "shape": [2, 2]}, "is not a sparse matrix"),
    ],
)
def test_bad_npz_files_are_refused_in_one_line(tmp_path, arrays, message):
    np.savez(tmp_path / "graph.npz", **arrays)
    with pytest.raises(ValueError, match=message) as caught:
        read_graph(tmp_path / "graph.npz")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("graph.npz", b"", "is empty"),
        ("graph.npz", b"\x00\x01 no archive", "is not a NumPy file"),
        ("graph.npz", b"PK\x03\x04 broken", "is not a NumPy file"),
        ("graph.graphml", b"<graphml>", "is not GraphML"),
        ("graph.graphml", b"", "is not GraphML"),
        ("graph.csv.gz", b"0,1\n", "is not a gzip file"),
        ("graph.csv", b"source,target\n", "has a header and nothing below it"),
        ("graph.csv.gz", gzip.compress(b"0,1\n" * 99, mtime=0)[:-9], "is cut short"),
        ("graph.pdf", b"0,1\n", r"cannot read a graph from .*graph\.pdf: expected one of \.csv, .* \.npz or \.graphml$"),
        ("graph", b"0,1\n", "cannot read a graph from"),
        ("graph.pkl", b"\x80", r"graph\.pkl is a pickle, which is never read, .* networkx\.write_graphml\("),
        ("graph.PT", b"\x80", r"graph\.PT is a pickle, .* numpy\.savez\('graph\.npz', edge_index=edge_index\)$"),
        ("graph.gpickle.gz", b"\x80", r"gpickle\.gz is a pickle, .* scipy\.sparse\.save_npz\("),
        ("graph.npz", b"\x80\x04K\x01.", r"holds pickled Python objects, which are never read: .* numpy\.savez\("),
    ],
)
def test_bad_files_are_refused_in_one_line(write, name, content, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_graph(write(content, name))
    assert "\n" not in str(caught.value)


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^no file .*none\.csv$"):
        read_graph(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OSError, match=r"folder\.csv is a folder, not a file$"):
        read_graph(tmp_path / "folder.csv")
    with pytest.raises(FileNotFoundError, match=r"^no file .*x\.csv$"):
        read_graph(torch.tensor([[0], [1]]), features=tmp_path / "x.csv")


def test_what_was_guessed_about_a_table_is_said(tmp_path):
    dated = tmp_path / "dated.csv"
    dated.write_text("source,target,date\na,b,2020\nb,c,2021\n")
    assert "column 'date' read as weights" in read_graph(dated).remarks
    headed = tmp_path / "headed.csv"
    headed.write_text("person,friend\na,b\nb,c\n")
    assert any(remark.startswith("line 1 (person, friend) was read as an edge") for remark in read_graph(headed).remarks)
    plain = tmp_path / "plain.csv"
    plain.write_text("a,b\nb,c\n")
    assert not any("line 1" in remark for remark in read_graph(plain).remarks)
