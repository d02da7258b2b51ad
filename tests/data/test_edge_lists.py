"""Which columns of a table are edges: named, guessed, ignored; and lists of pairs."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from graphs import ordered, weights
from qgcn.data import as_data, read_graph

ORDERS = "order,buyer,seller,amount,note\n1,ann,bob,2.5,hi\n2,bob,cid,1,\n3,cid,dan,4,\n"
PAIRS = {("ann", "bob"), ("bob", "cid"), ("cid", "dan")}


@pytest.mark.parametrize(
    "named",
    [
        {"source": "buyer", "target": "seller"},
        {"source": 2, "target": 3},
        {"source": "2", "target": "seller"},
    ],
    ids=str,
)
def test_columns_are_called_by_name_or_number(write, named):
    path = write(ORDERS)
    data = read_graph(path, **named)
    assert ordered(data) == PAIRS
    assert "edge_weight" not in data
    assert data.remarks == ["columns 'order', 'amount', 'note' ignored"]
    for amount in ("amount", 4, "4"):
        data = as_data(str(path), **named, weight=amount)
        assert sorted(data.edge_weight.tolist()) == [1.0, 2.5, 4.0]
        assert data.remarks == ["columns 'order', 'note' ignored"]
    turned = read_graph(path, source=named["target"], target=named["source"])
    assert ordered(turned) == {(b, a) for a, b in PAIRS}


@pytest.mark.parametrize(
    ("text", "edges", "weighted", "remarks"),
    [
        (
            ORDERS,
            {("1", "ann"), ("2", "bob"), ("3", "cid")},
            None,
            ["columns 'order' and 'buyer', the first two, read as source"],
        ),
        (
            "id,from,to,weight,kind\n1,a,b,2,x\n2,b,c,3,y\n",
            {("a", "b"), ("b", "c")},
            [2, 3],
            ["column 'weight' read as weights"],
        ),
        ("Weight,Target,Source\n2,b,a\n3,c,b\n", {("a", "b"), ("b", "c")}, [2, 3], ["column 'Weight' read as weights"]),
        ("to,from\nb,a\n", {("a", "b")}, None, []),
        ("a,b,knows\nb,c,likes\n", {("a", "b"), ("b", "c")}, None, ["column 3 ignored"]),
        ("source,target,how\na,b,knows\n", {("a", "b")}, None, ["column 'how' ignored"]),
        (
            "0,1,1,2020\n1,2,2,2021\n",
            {(0, 1), (1, 2)},
            None,
            ["columns 1 and 2, the first two, read as", "columns 3, 4 ignored"],
        ),
        (
            "who,whom,year,day\na,b,2020,1\n",
            {("a", "b")},
            None,
            ["columns 'who' and 'whom', the first two", "columns 'year', 'd"],
        ),
        ("A,B,c1,c2\n0,1,x,y\n1,2,x,y\n", {(0, 1), (1, 2)}, None, ["columns 'A' and 'B', the first two", "columns 'c1', 'c2'"]),
        ("a,b,\nb,c,2\n", None, None, "line 1: column 3 is empty"),
        ("a,b,,\nb,c,2,x\n", {("a", "b"), ("b", "c")}, None, ["columns 1 and 2, the first two", "columns 3, 4 ignored"]),
    ],
)
def test_columns_that_are_not_named_are_guessed_and_the_guess_is_told(write, text, edges, weighted, remarks):
    path = write(text)
    if edges is None:
        with pytest.raises(ValueError, match=remarks):
            read_graph(path)
        return
    data = read_graph(path)
    assert ordered(data) == edges
    assert (None if weighted is None else data.edge_weight.tolist()) == weighted
    for found, told in zip(data.remarks, remarks, strict=False):
        assert found.startswith(told)
    assert len(remarks) <= len(data.remarks)


def test_a_weight_can_be_named_alone(write):
    data = read_graph(write("amount,source,target,day\n2,a,b,1\n3,b,c,2\n"), weight="amount")
    assert weights(data) == {frozenset("ab"): 2.0, frozenset("bc"): 3.0}
    assert data.remarks == ["column 'day' ignored"]
    data = read_graph(write("2,a,b\n3,b,c\n"), weight=1)
    assert weights(data) == {frozenset("ab"): 2.0, frozenset("bc"): 3.0}


def test_a_column_that_looks_like_a_weight_is_left_out_if_the_others_are_named(write):
    path = write("a,b,2020\nb,c,2021\n")
    assert "edge_weight" in read_graph(path)
    assert "edge_weight" not in read_graph(path, source=1, target=2)


def test_many_ignored_columns_are_counted(write):
    names = [f"c{k}" for k in range(20)]
    data = read_graph(write(",".join(["source", "target", *names]) + "\na,b" + ",x" * 20 + "\n"))
    told = ", ".join(f"'c{k}'" for k in range(8))
    assert f"columns {told} and 12 others ignored" in data.remarks


@pytest.mark.parametrize(
    ("text", "named", "message"),
    [
        (
            ORDERS,
            {"source": "buyr", "target": "seller"},
            r"no column 'buyr' for the source; did you mean 'buyer'\? \(columns: 'or",
        ),
        (
            ORDERS,
            {"source": "buyer", "target": "q"},
            r"graph\.csv has no column 'q' for the target \(columns: 'order', 'buyer', ",
        ),
        (ORDERS, {"source": "buyer"}, r"^source and target must be named together, got source = 'buyer' alone$"),
        (ORDERS, {"target": 2, "weight": 4}, r"^source and target must be named together, got target = 2 alone$"),
        (ORDERS, {"source": 2, "target": 6}, r"graph\.csv has 5 columns, but the target should be column 6$"),
        (ORDERS, {"source": 0, "target": 1}, r"graph\.csv has 5 columns, but the source should be column 0$"),
        (ORDERS, {"source": 2, "target": "buyer"}, r"^source and target must be different columns, got 2 for both$"),
        (ORDERS, {"source": 2, "target": 3, "weight": 3}, r"^target and weight must be different columns, got 3 for both$"),
        (ORDERS, {"source": 2, "target": 3, "weight": "note"}, r"graph\.csv, line 3: column 'note' is empty$"),
        (ORDERS, {"source": 2, "target": "note"}, r"graph\.csv, line 3: column 'note' is empty$"),
        ("a,b,c\n1,2,x\n", {"source": 1, "target": 2, "weight": "c"}, r"line 2: a weight must be a number, got 'x'$"),
        ("a,a,b\nx,y,z\n", {"source": "a", "target": "b"}, r"has 2 columns 'a': call the source by its number, such as 1$"),
        ("a,b\n", {"source": "a", "target": "b"}, r"graph\.csv has a header and nothing below it: expected edges$"),
        ("a\nb\n", {"source": 1, "target": 2}, r"graph\.csv has 1 column: expected two ids and perhaps a weight$"),
        ("a,b\nx,1\n", {"weight": "b"}, r"graph\.csv has 2 columns: expected two ids beside the weight$"),
        ('u,v\na,"b\nc"\n', {}, r"graph\.csv, line 2: column 2 runs over the end of its line$"),
    ],
)
def test_columns_that_cannot_be_are_refused_in_one_line(write, text, named, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_graph(write(text), **named)
    assert "\n" not in str(caught.value)


def test_columns_are_for_tables_alone(tmp_path):
    np.savez(tmp_path / "g.npz", edges=[[0, 1]])
    with pytest.raises(ValueError, match=r"^source names a column of a table, but the graph is .*g\.npz$"):
        read_graph(tmp_path / "g.npz", source="a", target="b")
    with pytest.raises(ValueError, match=r"^weight names a column of a table, but the graph is the data set tree$"):
        as_data("tree", weight="w")
    with pytest.raises(ValueError, match=r"^source names a column of a table, but the graph is a ndarray$"):
        read_graph(np.array([[0, 1], [1, 2]]), source=1, target=2)


def test_long_text_beside_the_edges_may_run_over_lines(write):
    data = read_graph(write('source,target,note\na,b,"one\ntwo, ""three"""\nb,c,"# no comment"\n'))
    assert ordered(data) == {("a", "b"), ("b", "c")}


def test_data_frames_are_tables_with_a_header():
    frame = pd.DataFrame({"day": [1, 2], "u": ["a", "b"], "v": ["b", "c"], "w": [2.0, 3.0]}, index=[5, 9])
    data = read_graph(frame, source="u", target="v", weight="w")
    assert weights(data) == {frozenset("ab"): 2.0, frozenset("bc"): 3.0}
    assert data.remarks == ["column 'day' ignored"]
    assert ordered(read_graph(frame[["u", "v"]])) == {("a", "b"), ("b", "c")}
    assert weights(read_graph(frame[["u", "v", "w"]])) == {frozenset("ab"): 2.0, frozenset("bc"): 3.0}
    assert ordered(read_graph(pd.DataFrame([(10, 20), (20, 30)]))) == {(10, 20), (20, 30)}
    assert read_graph(pd.DataFrame([(0, 1)]), num_nodes=4).num_nodes == 4
    with pytest.raises(ValueError, match=r"^the DataFrame has no column 'x' for the source \(columns: 'day', 'u', 'v', 'w'\)$"):
        read_graph(frame, source="x", target="v")
    frame.loc[9, "v"] = None
    with pytest.raises(ValueError, match=r"^the DataFrame, row 1: column 'v' is empty$"):
        read_graph(frame, source="u", target="v")
    with pytest.raises(ValueError, match=r"^the DataFrame has no rows$"):
        read_graph(frame[:0])


@pytest.mark.parametrize(
    ("weight", "problem"),
    [
        ("1e308", r"fit float32, got 1e\+308$"),
        ("1e39", r"fit float32, got 1e\+39$"),
        ("1e-320", "fit float32, got 9.99989e-321$"),
        ("1e-39", "fit float32, got 1e-39$"),
        ("1e999", "be finite and not negative, got inf$"),
    ],
)
def test_a_weight_that_float32_cannot_hold_is_refused_where_it_stands(tmp_path, weight, problem):
    (tmp_path / "g.csv").write_text(f"source,target,weight\na,b,1\nb,c,{weight}\n")
    with pytest.raises(ValueError, match=rf"g\.csv, line 3, column 'weight': a weight must {problem}"):
        read_graph(tmp_path / "g.csv")
    with pytest.raises(ValueError, match=f"a weight must {problem[:-1]} between 0 and 1$"):
        read_graph(scipy.sparse.coo_array(([float(weight)], ([0], [1])), shape=(2, 2)))


def test_the_largest_and_smallest_weights_of_float32_are_kept(tmp_path):
    limits = np.finfo(np.float32)
    (tmp_path / "g.csv").write_text(f"a,b,{float(limits.max)!r}\nb,c,{float(limits.tiny)!r}\nc,d,0\n")
    assert read_graph(tmp_path / "g.csv").edge_weight.tolist() == [float(limits.max), float(limits.tiny)]


def test_a_header_of_parents_and_children_is_no_edge(tmp_path):
    path = tmp_path / "is-a.csv"
    path.write_text("child,parent\ndog,animal\ncat,animal\n")
    data = read_graph(path)
    assert data.node_ids.tolist() == ["animal", "cat", "dog"]
    assert data.edge_index.tolist() == [[1, 2], [0, 0]]  # from the first column to the second
