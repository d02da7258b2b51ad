import gzip

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from qgcn.data import as_data, load, read_graph

TRIANGLE = {frozenset(pair) for pair in [(0, 1), (1, 2), (0, 2)]}


def pairs(data):
    """Undirected edges in terms of the ids, after checking the form."""
    keys = data.edge_index[0] * data.num_nodes + data.edge_index[1]
    assert (keys.diff() > 0).all()
    assert torch.equal((data.edge_index[1] * data.num_nodes + data.edge_index[0]).sort().values, keys)
    assert (data.edge_index[0] != data.edge_index[1]).all()
    return {frozenset(pair) for pair in data.node_ids[data.edge_index.numpy()].T.tolist()}


def weights(data):
    ids = data.node_ids[data.edge_index.numpy()].T.tolist()
    found = {}
    for pair, weight in zip(ids, data.edge_weight.tolist(), strict=True):
        assert found.setdefault(frozenset(pair), weight) == weight  # the same in both directions
    return found


@pytest.fixture
def write(tmp_path):
    def write(content, name="graph.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize(
    "graph",
    [
        torch.tensor([[0, 1, 2], [1, 2, 0]]),
        np.array([[0, 1, 2], [1, 2, 0]], dtype=np.int32),
        Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), num_nodes=3),
        sp.csr_matrix(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])),
        sp.coo_array(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=bool)),
        nx.cycle_graph(3),
        nx.DiGraph([(0, 1), (1, 2), (2, 0)]),
        nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 0)]),
    ],
    ids=lambda graph: f"{type(graph).__module__.split('.')[0]}-{type(graph).__name__}",
)
def test_every_kind_of_object_is_read(graph):
    data = read_graph(graph)
    assert pairs(data) == TRIANGLE
    assert data.num_nodes == 3
    assert data.x is None
    assert data.y is None
    assert "edge_weight" not in data


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
    assert weights(data) == {frozenset("ab"): 3.0, frozenset("bc"): 0.5}
    assert data.edge_weight.dtype == torch.float32
    assert data.remarks == [
        "column 'weight' read as weights",
        "1 self-loop removed",
        "1 edge of weight 0 removed",
        "1 repeated edge merged, weights averaged",
        "1 edge given in one direction, now in both",
        "1 isolated node kept",
    ]


def test_weights_of_a_matrix_and_of_networkx():
    matrix = sp.csr_matrix(np.array([[0, 2.5, 0], [2.5, 0, 1], [0, 1, 0]]))
    assert weights(read_graph(matrix)) == {frozenset((0, 1)): 2.5, frozenset((1, 2)): 1.0}
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=3)
    graph.add_edge("b", "c")
    graph.add_edge("c", "c", weight=9)
    graph.add_node("d")
    data = read_graph(graph)
    assert weights(data) == {frozenset("ab"): 3.0, frozenset("bc"): 1.0}
    assert data.node_ids.tolist() == ["a", "b", "c", "d"]
    assert data.remarks == ["1 self-loop removed", "1 isolated node kept"]


def test_reading_twice_changes_nothing(write):
    once = read_graph(write("a,b,1\nb,a,2\nb,c,0.5\n"))
    twice = read_graph(once)
    assert torch.equal(once.edge_index, twice.edge_index)
    assert torch.equal(once.edge_weight, twice.edge_weight)
    assert twice.node_ids.tolist() == ["a", "b", "c"]


def test_data_keeps_what_it_has():
    y, mask = torch.tensor([5, 5, 9, -1]), torch.tensor([True, False, False, False])
    graph = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), x=torch.eye(4), y=y, train_mask=mask, val_mask=mask, test_mask=mask)
    data = read_graph(graph)
    assert torch.equal(data.x, torch.eye(4))
    assert data.y.tolist() == [0, 0, 1, -1]
    assert data.classes == ["5", "9"]
    assert torch.equal(data.val_mask, mask)
    assert "1 node without label, in no mask" in data.remarks
    assert graph.edge_index.shape == (2, 2)  # the argument stays as it was


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
    assert pairs(read_graph(tmp_path / "g.graphml")) == {frozenset("ab"), frozenset("bc")}


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


def test_many_names_are_kept_apart(write):
    edges = np.random.default_rng(0).integers(0, 3000, (30_000, 2))
    path = write("\n".join(f"n{a}\tn{b}" for a, b in edges.tolist()), "large.tsv")
    expected = {frozenset((f"n{a}", f"n{b}")) for a, b in edges.tolist() if a != b}
    assert pairs(read_graph(path)) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"graph\.csv is empty$"),
        ("\n \n# nothing\n", r"graph\.csv is empty: it has only comments and blank lines$"),
        ("a\nb\n", r"graph\.csv has 1 column: expected two ids and perhaps a weight$"),
        ("a,b,1,2\n", r"graph\.csv has 4 columns"),
        ("a,b\n# c\nb,c,d\n", r"graph\.csv, line 3: 3 columns, but line 1 has 2$"),
        ("a b\nb\n", r"graph\.csv, line 2: 1 column, but line 1 has 2$"),
        ("a,b\nb,\n", r"graph\.csv, line 2: column 2 is empty$"),
        ("a,b,1\nb,c,x\n", r"graph\.csv, line 2: a weight must be a number, got 'x'$"),
        ("a,b,1\nb,c,-2\n", r"graph\.csv, line 2: a weight must be finite and not negative, got -2$"),
        ("a,b,1\nb,c,nan\n", r"graph\.csv, line 2: a weight must be finite and not negative, got nan$"),
        ("a,b,1\nb,c,inf\n", r"line 2: a weight must be finite"),
        (b"a,b\n\xff\xfe,c\n", r"graph\.csv, line 2: not UTF-8 text \(byte 0xff\)$"),
        (b"\x89PNG\r\n\x00\x01", r"graph\.csv is not a text file: it has a zero byte in line 2$"),
        ('a,b\n"b,c\n', r"graph\.csv, line 2: 1 column, but line 1 has 2$"),
        ('a,b\n"b,c\nd",e\n', r"graph\.csv: a quoted field runs over the end of its line$"),
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
        ({"edges": [[0, 1]], "edge_weight": [-1.0]}, "a weight must be finite and not negative, got -1.0 between 0 and 1"),
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
        ("graph.csv.gz", gzip.compress(b"0,1\n" * 99, mtime=0)[:-9], "is not a gzip file"),
        ("graph.pdf", b"0,1\n", r"cannot read a graph from .*graph\.pdf: expected one of \.csv, .* \.npz or \.graphml$"),
        ("graph", b"0,1\n", "cannot read a graph from"),
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


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (torch.tensor([[0.0], [1.0]]), r"edge_index must hold integers in shape \(2, E\), got float32 in \(2, 1\)"),
        (torch.empty((2, 0), dtype=torch.long), "has no edges"),
        (torch.tensor([[0], [1 << 40]]), "at most 2147483648 are possible"),
        (sp.csr_matrix((2, 3)), r"an adjacency matrix must be square, got \(2, 3\)"),
        (sp.csr_matrix(np.array([[0, -1.0], [0, 0]])), "a weight must be finite and not negative, got -1.0 between 0 and 1"),
        (sp.csr_matrix(np.array([[0, np.nan], [0, 0]])), "got nan between 0 and 1"),
        (sp.csr_matrix(np.array([[0, 1j], [0, 0]])), "must hold real numbers, got complex128"),
        (sp.csr_matrix((3, 3)), "has no edges"),
        (nx.Graph(), "has no nodes"),
        (nx.Graph([(1, 2), ("1", 3)]), "node ids are not unique: '1' names 2 nodes"),
        (nx.Graph([(1, 2, {"weight": "heavy"})]), "the edge attribute 'weight' of graph must be a number"),
        (Data(x=torch.eye(2)), "the Data has no edge_index"),
        (Data(edge_index=torch.tensor([[0], [5]]), num_nodes=3), r"must lie in \[0, 3\), got 5"),
    ],
)
def test_bad_objects_are_refused(graph, message):
    with pytest.raises(ValueError, match=message):
        read_graph(graph)


def test_other_objects_are_a_type_error():
    with pytest.raises(TypeError, match=r"graph must be a Data, .* got builtins\.dict"):
        read_graph({0: [1]})


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
        ("a,1\nq,2\n", r"l\.csv, line 2: node 'q' has a label, but is not in the graph$"),
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


def test_as_data_takes_names_and_graphs(write):
    assert as_data("ring-of-trees", ring=4, depth=0).num_nodes == 4
    assert pairs(as_data(str(write("0,1\n1,2\n2,0\n")))) == TRIANGLE
    assert pairs(as_data(torch.tensor([[0, 1, 2], [1, 2, 0]]))) == TRIANGLE
    data = as_data("cycle", nodes=5, features=torch.eye(5), labels=["a", "b", "a", "b", ""])
    assert data.name == "cycle"
    assert torch.equal(data.x, torch.eye(5))
    assert data.y.tolist() == [0, 1, 0, 1, -1]
    assert torch.equal(data.edge_index, load("cycle", nodes=5).edge_index)


def test_as_data_refuses_what_is_neither_name_nor_file(write):
    with pytest.raises(ValueError, match=r"^no file and no data set 'coraa'; did you mean 'cora'\?$"):
        as_data("coraa")
    with pytest.raises(ValueError, match=r"^no file and no data set 'edges\.csv'$"):
        as_data("edges.csv")
    with pytest.raises(ValueError, match="option 'depth' is for named data sets only"):
        as_data(write("0,1\n"), depth=3)


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
