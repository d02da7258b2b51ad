"""Parquet: every usual type, nulls, the index of pandas; only what is asked for is read."""

import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from graphs import ordered, weights
from qgcn.data import read_graph
from qgcn.data.parquet import read_parquet


@pytest.fixture
def store(tmp_path):
    """Write columns to a Parquet file and return its path."""

    def store(columns, name="t.parquet"):
        frame = columns if isinstance(columns, pd.DataFrame) else pa.table(columns)
        path = tmp_path / name
        frame.to_parquet(path) if isinstance(frame, pd.DataFrame) else pq.write_table(frame, path, row_group_size=2)
        return path

    return store


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1, 2, 3], pa.int16()), [1, 2, 3]),
        (pa.array([1, 2, 3], pa.uint8()), [1, 2, 3]),
        (pa.array([2**62, 0, -1]), [2**62, 0, -1]),
        (pa.array([True, False, True]), [1, 0, 1]),
        (pa.array([0.5, 2.0, 1.0], pa.float32()), [0.5, 2.0, 1.0]),
        (pa.array([1, None, 3]), [1.0, np.nan, 3.0]),
        (pa.array([True, None, False]), [1.0, np.nan, 0.0]),
        (pa.array(["a", "", None]), [b"a", b"", b""]),
        (pa.array(["é", "東京", "x"], pa.large_string()), ["é".encode(), "東京".encode(), b"x"]),
        (pa.array(["u", "v", "u"]).dictionary_encode(), [b"u", b"v", b"u"]),
        (pa.array([7, 8, 7]).dictionary_encode(), [7, 8, 7]),
        (pa.array([b"a", b"b", None], pa.binary()), [b"a", b"b", b""]),
        (pa.array([None, None, None], pa.string()), [b"", b"", b""]),
        (pa.array([18262, 1, 2], pa.date32()), [b"2020-01-01", b"1970-01-02", b"1970-01-03"]),
    ],
    ids=str,
)
def test_columns_of_every_usual_type(store, column, expected):
    table = read_parquet(store({"x": column}))
    np.testing.assert_array_equal(table.columns[0], np.array(expected))
    np.testing.assert_array_equal(table.row(1).columns[0], np.array(expected[1:2]))
    assert table.head == ("x",)
    assert len(table) == 3
    assert table.at(2).endswith("t.parquet, row 2")


def test_columns_that_are_not_asked_for_need_not_be_readable(store):
    path = store({"a": ["x", "y"], "b": ["y", "z"], "embedding": [[1.0], [2.0]]})
    assert ordered(read_graph(path, source="a", target="b")) == {("x", "y"), ("y", "z")}
    with pytest.raises(ValueError, match=r"t\.parquet: column 'embedding' must hold numbers or strings, got list<") as caught:
        read_graph(path, source="a", target="embedding")
    assert "\n" not in str(caught.value)


def test_edges_features_and_labels_are_read(store):
    edges = store({"from": ["c", "b", "a"], "to": ["a", "c", "d"], "weight": [2, 1, None], "day": ["mon", None, "tue"]})
    with pytest.raises(ValueError, match=r"row 2: column 'weight' is empty$"):
        read_graph(edges)
    edges = store({"day": ["mon", None, "tue"], "from": ["c", "b", "a"], "to": ["a", "c", "d"], "weight": [2, 1, 4]})
    data = read_graph(
        edges,
        features=store({"id": ["b", "c", "d", "a"], "h": [1, 3, 9, 7], "w": [2.0, 4.0, 9.0, 8.0]}, "f.parquet"),
        labels=store({"node": ["d", "a", "b", "c"], "team": pa.array([7, 5, None, 5])}, "l.pq"),
    )
    assert weights(data) == {frozenset("ac"): 2.0, frozenset("bc"): 1.0, frozenset("ad"): 4.0}
    assert data.x.tolist() == [[7, 8], [1, 2], [3, 4], [9, 9]]
    assert data.y.tolist() == [0, -1, 0, 1]
    assert data.classes == ["5", "7"]
    assert data.remarks[:2] == ["column 'weight' read as weights", "column 'day' ignored"]


def test_integers_are_ids_and_whole_floats_too(store):
    data = read_graph(store({"source": [10.0, 20.0], "target": [20, 30]}))
    assert ordered(data) == {(10, 20), (20, 30)}
    data = read_graph(store({"source": [1.0, 2.0], "target": ["2", "x"]}))
    assert ordered(data) == {("1", "2"), ("2", "x")}


@pytest.mark.parametrize("ids", [[0, 1, 2], [2, 0, 1], ["a", "b", "c"]], ids=str)
def test_a_named_index_of_pandas_is_the_first_column(store, ids):
    frame = pd.DataFrame({"id": ids, "x": [1.0, 2.0, 3.0]}).set_index("id")
    table = read_parquet(store(frame))
    assert table.head == ("id", "x")
    assert table.texts(0).tolist() == [str(each) for each in ids]
    data = read_graph(list(pairwise(ids)), features=store(frame))
    assert data.x.flatten().tolist() == [frame.x[each] for each in data.node_ids]


def test_an_index_without_a_name_is_left_out(store):
    frame = pd.DataFrame({"a": ["x", "y", "z"], "b": ["y", "z", "x"]}).iloc[[2, 0, 1]]
    assert "__index_level_0__" in pq.read_schema(store(frame)).names
    assert read_parquet(store(frame)).head == ("a", "b")


def test_what_is_no_parquet_file_is_refused_in_one_line(store, tmp_path, write):
    whole = store({"a": ["x"] * 500, "b": ["y"] * 500}).read_bytes()
    cases = [
        (write(b"a,b\n", "t.parquet"), "t.parquet is not a Parquet file"),
        (write(b"", "t.parquet"), "t.parquet is not a Parquet file"),
        (write(whole[:4] + bytes(60) + whole[64:], "d.parquet"), "d.parquet is damaged"),
        (store({"a": pa.array([], pa.string())}, "e.parquet"), r"e\.parquet is empty: it has no rows"),
        (store({"a": [1]}, "o.parquet"), r"o\.parquet has 1 column: expected two ids and perhaps a weight"),
    ]
    for path, message in cases:
        with pytest.raises(ValueError, match=message) as caught:
            read_graph(path)
        assert "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError, match=r"^no file .*none\.parquet$"):
        read_graph(tmp_path / "none.parquet")


def test_a_missing_pyarrow_is_said_with_the_way_to_install_it(store, monkeypatch):
    path = store({"a": ["x"], "b": ["y"]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"^reading .*t\.parquet needs pyarrow: pip install 'qgcn\[tables\]'$"):
        read_graph(path)


def test_long_columns_come_back_whole(store):
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 500, (20_000, 2))
    path = store(pd.DataFrame({"u": [f"n{a}" for a, _ in edges], "v": [f"n{b}" for _, b in edges]}))
    expected = {(f"n{a}", f"n{b}") for a, b in edges.tolist() if a != b}
    assert ordered(read_graph(path)) == expected
    assert torch.equal(read_graph(path).edge_index, read_graph(path).edge_index)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"index_columns": 3}', '{"index_columns": [{"kind": "range", "name": "a", "start": "x"}]}']
)
def test_a_note_of_pandas_that_makes_no_sense_is_passed_over(tmp_path, text):
    table = pa.table({"a": ["x", "y"], "b": ["y", "z"]}).replace_schema_metadata({"pandas": text})
    pq.write_table(table, tmp_path / "g.parquet")
    assert read_parquet(tmp_path / "g.parquet").head == ("a", "b")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_strings_are_read_the_same_however_they_are_kept(tmp_path, kind):
    words = ["a", None, "", "ünï", "a", "b" * 40]
    table = pa.table({"t": pa.array(words).cast(kind), "n": range(6)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    found = read_parquet(tmp_path / "t.parquet")
    assert found.texts(0).tolist() == [word or "" for word in words]
    assert found.row(3).texts(0).tolist() == ["ünï"]


def test_many_rows_of_one_long_string_are_refused(tmp_path):
    table = pa.table({"a": pa.array(["x" * 5000]).take(pa.array([0] * 20_000)), "b": range(20_000)})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"row 0: column 'a' has a field of 5,000 bytes, too long for 20,000 rows"):
        read_parquet(tmp_path / "t.parquet").texts(0)
    assert read_parquet(tmp_path / "t.parquet").numbers(1, "n")[-1] == 19_999


def test_a_regular_index_of_pandas_that_has_a_name_is_a_column(store):
    frame = pd.DataFrame({"to": [5, 6, 7]}, index=pd.RangeIndex(10, 16, 2, name="from"))
    assert ordered(read_graph(store(frame), source="from", target="to")) == {(10, 5), (12, 6), (14, 7)}
    plain = store(frame.reset_index(drop=True), "plain.parquet")
    with pytest.raises(ValueError, match="has 1 column"):
        read_graph(plain, source="from", target="to")
