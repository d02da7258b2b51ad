"""Features and labels, by id or by order, and what does not fit."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

from graphs import pairs
from qgcn.data import read_graph
from qgcn.data.attributes import label_classes, read_features
from qgcn.data.nodes import Nodes


def test_features_and_labels_find_their_nodes_by_id(write):
    data = read_graph(
        write("c,a\nb,c\n"),
        features=write("id,height,width\nb,1,2\nc,3,4\nq,5,6\na,7,8\n", "features.csv"),
        labels=write("node,label\nq,red\na,blue\nb,red\n", "labels.csv"),
    )
    assert data.node_ids.tolist() == ["a", "b", "c", "q"]  # q is known from the features
    assert data.x.tolist() == [[7, 8], [1, 2], [3, 4], [5, 6]]
    assert data.y.tolist() == [0, 1, -1, 1]
    assert data.classes == ["blue", "red"]
    assert pairs(data) == {frozenset("ac"), frozenset("bc")}
    assert not (data.train_mask | data.val_mask | data.test_mask)[2]
    assert "1 isolated node kept" in data.remarks


def test_features_without_header_and_integer_ids(write):
    data = read_graph(
        write("10,20\n20,30\n30,40\n"),
        features=write("30\t3\n10\t1\n20\t2\n40\t4\n", "f.tsv"),
        labels=write("20 7\n10 7\n30 -1\n40 5\n", "l.txt"),
    )
    assert data.x.tolist() == [[1], [2], [3], [4]]
    assert data.node_ids.tolist() == [10, 20, 30, 40]
    assert data.y.tolist() == [1, 1, -1, 0]
    assert data.classes == ["5", "7"]


def test_arrays_stand_in_the_order_of_the_nodes(write, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(10).reshape(5, 2))
    data = read_graph(write("0,1\n1,3\n"), features=tmp_path / "x.npy", labels=np.array([0, 1, 0, 1, 1]))
    assert data.num_nodes == 5
    assert data.x[3].tolist() == [6, 7]
    assert pairs(data) == {frozenset((0, 1)), frozenset((1, 3))}
    data = read_graph(torch.tensor([[0], [1]]), features=torch.ones(4, 1))
    assert data.num_nodes == 4
    assert read_graph(torch.tensor([[0], [1]]), num_nodes=7).num_nodes == 7
    assert read_graph(write("0,5\n"), num_nodes=7).num_nodes == 7


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("id,a\na,1\nb,2\n", r"f\.csv has no features for node 'c'$"),
        ("a,1\n", r"f\.csv has no features for node 'b' and 1 other$"),
        ("id,size\na,1\nb,nan\nc,2\n", r"f\.csv, line 3: column 'size' of node 'b' is nan$"),
        ("a,1,2\nb,3,-inf\nc,2,3\n", r"f\.csv, line 2: column 3 of node 'b' is -inf$"),
        ("a,1\nb,tall\nc,2\n", r"f\.csv, line 2: column 2 must be a number, got 'tall'$"),
        ("a,1\nb,\nc,2\n", r"f\.csv, line 2: column 2 must be a number, got ''$"),
        ("a,1\nb,2\na,3\nc,1\n", r"f\.csv, line 3: node 'a' is given a second time$"),
        ("a\nb\nc\n", r"f\.csv has 1 column: expected the id of a node, then its features$"),
    ],
)
def test_bad_features_are_refused(write, features, message):
    with pytest.raises(ValueError, match=message):
        read_graph(write("a,b\nb,c\n"), features=write(features, "f.csv"))


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.ones((3, 2, 1)), r"features must have shape \(N, F\), got \(3, 2, 1\)"),
        (np.array([["x"], ["y"], ["z"]]), "features must hold numbers"),
        (np.array([[1.0, 2.0], [3.0, np.inf], [0, 0]]), "features: row 1, column 1 is inf"),
        (np.ones((2, 2)), "features has 2 rows, for nodes 0 to 1, but the graph has a node 2"),
        ([[1], [2, 3]], "features must be an array, got rows of different lengths"),
        ("f.pdf", "cannot read features from f.pdf"),
    ],
)
def test_bad_feature_arrays_are_refused(write, features, message):
    with pytest.raises(ValueError, match=message):
        read_graph(write("0,1\n1,2\n"), features=features)


def test_arrays_do_not_fit_named_nodes(write):
    with pytest.raises(ValueError, match="features has no ids, but nodes have names such as 'a': give a CSV with ids"):
        read_graph(write("a,b\n"), features=np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"num_nodes is for ids 0 \.\. N - 1, but .* has names such as 'a'"):
        read_graph(write("a,b\n"), num_nodes=4)
    with pytest.raises(ValueError, match="num_nodes must be 3, the number of nodes of the graph, got 4"):
        read_graph(nx.cycle_graph(3), num_nodes=4)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("a,1\nq,2\n", r"l\.csv, line 2: no node 'q' in the graph$"),
        ("a,1\na,2\n", r"l\.csv, line 2: node 'a' is given a second time$"),
        ("a\nb\n", r"l\.csv has 1 column: expected two, the id of a node and its label$"),
        ("a,1,2\n", r"l\.csv has 3 columns"),
        ("a,-1\nb,-1\n", r"l\.csv has no label at all$"),
        ("a,1\nb,1\n", "needs at least 3 labelled nodes, got 2"),
    ],
)
def test_bad_labels_are_refused(write, labels, message):
    with pytest.raises(ValueError, match=message):
        read_graph(write("a,b\nb,c\n"), labels=write(labels, "l.csv"))


def test_integer_ids_refuse_names(write):
    with pytest.raises(ValueError, match=r"l\.csv, line 3: node 'x' is not in the graph, whose ids are integers"):
        read_graph(write("0,1\n1,2\n"), labels=write("id,label\n0,a\nx,b\n", "l.csv"))


# --- no label ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "y", "classes"),
    [
        (["x", None, "y", "x"], [0, -1, 1, 0], ["x", "y"]),
        (["x", -1, "y", "x"], [0, -1, 1, 0], ["x", "y"]),
        (["x", "", "y", "-1"], [1, -1, 2, 0], ["-1", "x", "y"]),
        (np.array(["x", -1, "y", "x"], dtype=object), [0, -1, 1, 0], ["x", "y"]),
        (pd.Series(["x", None, "y", "x"]), [0, -1, 1, 0], ["x", "y"]),
        (pd.Series([3, None, 5, 3], dtype="Int64"), [0, -1, 1, 0], ["3", "5"]),
        ([3, None, 5, 3], [0, -1, 1, 0], ["3", "5"]),
        ((3, -1, 5, 3), [0, -1, 1, 0], ["3", "5"]),
        (np.array([3, np.nan, 5, 3]), [0, -1, 1, 0], ["3", "5"]),
        (np.array([[3], [-1], [5], [3]]), [0, -1, 1, 0], ["3", "5"]),
        (np.array([[0, 1, 0], [0, 0, 0], [0, 0, 1], [0, 1, 0]]), [0, -1, 1, 0], ["1", "2"]),
        (sp.csr_matrix(np.array([[0, 1], [0, 0], [1, 0], [0, 1]])), [1, -1, 0, 1], ["0", "1"]),
        (torch.tensor([3, -1, 5, 3]), [0, -1, 1, 0], ["3", "5"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_no_label_can_be_written_in_every_usual_way(labels, y, classes):
    data = read_graph(nx.cycle_graph(4), labels=labels)
    assert data.y.tolist() == y
    assert data.classes == classes
    masks = data.train_mask | data.val_mask | data.test_mask
    assert masks.tolist() == [number >= 0 for number in y]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["x", 1.5, "y", "x"], "^labels must hold integers or strings, got float, str$"),
        (["x", 3, "y", "x"], "^labels must hold integers or strings, got int, str$"),
        ([None] * 4, "^labels has no label at all$"),
        (np.array([0.5, 1, 2, 3]), "^labels must hold integers or strings, got float64$"),
        (np.ones((4, 2)), r"^labels must have shape \(N,\), or \(N, C\) with a single 1 in a row, which row 0 has not$"),
        (2 * np.eye(4), r"a single 1 in a row, which row 0 has not$"),
        (np.ones((4, 2, 2)), r"^labels must have shape \(N,\), got \(4, 2, 2\)$"),
        (7, "^labels must be an array of numbers or strings, got int$"),
        (["x", None], "^labels must have one row for each of the 4 nodes, got 2$"),
        ("l.pkl", r"^l\.pkl is a pickle, which is never read, .* numpy\.save\('labels\.npy', y\)$"),
        ("l.pdf", r"^cannot read labels from l\.pdf: expected one of \.csv, .* \.parquet, \.pq, \.npy or \.npz$"),
    ],
    ids=str,
)
def test_labels_that_are_none_are_refused(labels, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_graph(nx.cycle_graph(4), labels=labels)
    assert "\n" not in str(caught.value)


def test_matrices_of_scipy_are_read_from_files(tmp_path):
    x, y = sp.random_array((4, 6), density=0.5, rng=0), np.eye(4)[:, [0, 0, 1, 2]]
    graph = sp.csr_matrix(np.roll(np.eye(4), 1, axis=1) * 2)
    for name, matrix in (("graph", graph), ("x", x), ("y", sp.csr_matrix(y.T[[0, 1, 2, 3]]))):
        sp.save_npz(tmp_path / f"{name}.npz", sp.csr_matrix(matrix))
    data = read_graph(tmp_path / "graph.npz", features=tmp_path / "x.npz", labels=tmp_path / "y.npz")
    torch.testing.assert_close(data.x, torch.tensor(x.toarray()).float())
    assert data.y.tolist() == [0, 0, 1, 2]
    assert data.edge_weight.tolist() == [2.0] * 4


def test_a_pickle_of_features_is_refused(write):
    for name in ("x.pkl", "x.pt", "x.joblib"):
        with pytest.raises(ValueError, match=r"is a pickle, which is never read, .* numpy\.save\('features\.npy', x\)"):
            read_graph(nx.cycle_graph(3), features=write(b"", name))
    objects = write(b"", "o.npy")
    np.save(objects, np.array([[{}]], dtype=object))
    with pytest.raises(ValueError, match=r"o\.npy holds pickled Python objects, which are never read"):
        read_graph(nx.cycle_graph(3), features=objects)


@pytest.mark.parametrize("value", ["1e39", "-1e308"])
def test_a_feature_that_float32_cannot_hold_is_refused_where_it_stands(tmp_path, value):
    (tmp_path / "x.csv").write_text(f"id,a,b\n0,1,2\n1,1,{value}\n")
    message = rf"x\.csv, line 3: column 'b' of node 1 is {float(value)!r}, which is too large for float32$".replace("+", r"\+")
    with pytest.raises(ValueError, match=message):
        read_features(tmp_path / "x.csv", Nodes(np.arange(2), "all"))
    np.save(tmp_path / "x.npy", np.array([[1.0, 2.0], [3.0, float(value)]]))
    with pytest.raises(ValueError, match=r"x\.npy: row 1, column 1 is .*, which is too large for float32$"):
        read_features(tmp_path / "x.npy", Nodes(np.arange(2), "all"))
    sp.save_npz(tmp_path / "x.npz", sp.csr_array(np.array([[1.0, 2.0], [3.0, float(value)]])))
    with pytest.raises(ValueError, match=r"x\.npz: row 1, column 1 is"):
        read_features(tmp_path / "x.npz", Nodes(np.arange(2), "all"))


def test_a_feature_that_is_small_is_rounded(tmp_path):
    x, _ = read_features(np.array([[1e-320], [3e38]]), Nodes(np.arange(2), "all"))
    assert x.tolist() == [[0.0], [float(np.float32(3e38))]]


@pytest.mark.parametrize("values", [np.array([1e308, 0.0]), np.array([2**63, 0], dtype=np.uint64), np.array([1e19, -1e19])])
def test_a_label_that_is_no_integer_of_64_bits_is_refused(values):
    with pytest.raises(ValueError, match=r"^labels has a label \S+, which is too large for an integer$"):
        label_classes(values, "labels")


def test_labels_of_small_floats_and_of_bytes_are_read():
    assert label_classes(np.array([1, np.nan, 0], dtype=np.float16), "y")[1] == ["0", "1"]
    with pytest.raises(ValueError, match="y has a label that is not UTF-8 text"):
        label_classes(np.array([b"\xff", b"a"]), "y")
