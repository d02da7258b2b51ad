"""Text tables: every division of columns, line numbers, integers and numbers; NumPy and SciPy files."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from qgcn.content import read_bytes
from qgcn.data import read_graph
from qgcn.data.arrays import read_arrays, sparse_from
from qgcn.data.tables import read_table, refuse_pickle, suffix_of


def fields(table):
    return [[value.decode() for value in column.tolist()] for column in table.columns]


@pytest.mark.parametrize(
    ("text", "columns", "lines"),
    [
        ("a,b\nc,d\n", [["a", "c"], ["b", "d"]], [1, 2]),
        ("a,b\r\nc,d", [["a", "c"], ["b", "d"]], [1, 2]),
        ("a,b\rc,d\r", [["a", "c"], ["b", "d"]], [1, 2]),
        ("\ufeffa;b\n", [["a"], ["b"]], [1]),
        ("# one\n\na\tb c\n  % two\n\t\n d \t\n", [["a", "d"], ["b c", ""]], [3, 6]),
        ("\ta\n1\t2\n", [["", "1"], ["a", "2"]], [1, 2]),
        (" a   b \nc\td\n", [["a", "c"], ["b", "d"]], [1, 2]),
        ("a,b;c\nd,e;f\n", [["a", "d"], ["b;c", "e;f"]], [1, 2]),
        (" , \nx,\n", [["", "x"], ["", ""]], [1, 2]),
        ('"a, b" , c\n# "\nd,"e"\n', [["a, b", "d"], ["c", "e"]], [1, 3]),
        ("é,東京\nC# club,%\n", [["é", "C# club"], ["東京", "%"]], [1, 2]),
        ("alone\n", [["alone"]], [1]),
        ('a,"b\n# c\n"\n# x\n"d",e\n', [["a", "d"], ["b\n# c", "e"]], [1, 5]),
    ],
)
def test_fields_and_lines_are_found(write, text, columns, lines):
    table = read_table(write(text))
    assert fields(table) == columns
    assert table.lines.tolist() == lines
    assert len(table) == len(lines)


words = st.text(st.characters(codec="utf-8", exclude_characters='\0\r\n\t\v\f ,;"#%\x85\xa0', exclude_categories=("Z", "Cc")))


@given(rows=st.lists(st.tuples(words, words, words), min_size=1), mark=st.sampled_from([",", ";", "\t", " ; ", ", "]))
def test_fields_survive_a_round_trip(tmp_path_factory, rows, mark):
    if any(not "".join(row) for row in rows) and mark == "\t":
        return  # a line of tabs alone is blank
    path = tmp_path_factory.mktemp("round") / "t.csv"
    path.write_bytes("".join(mark.join(row) + "\n" for row in rows).encode())
    assert fields(read_table(path)) == [list(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"graph\.csv is empty$"),
        ("\n \n# nothing\n", r"graph\.csv is empty: it has only comments and blank lines$"),
        ("a,b\n# c\nb,c,d\n", r"graph\.csv, line 3: 3 columns, but line 1 has 2$"),
        ("# c\na b\n\nb\n", r"graph\.csv, line 4: 1 column, but line 2 has 2$"),
        (b"a,b\n\xff\xfe,c\n", r"graph\.csv, line 2: not UTF-8 text \(byte 0xff\)$"),
        (b"\x89PNG\r\n\x00\x01", r"graph\.csv is not a text file: it has a zero byte in line 2$"),
        ('a,b\n"b,c\n', r"graph\.csv, line 2: 1 column, but line 1 has 2$"),
        ('a,b\nc,"d\ne,f\ng,"h\n', r"graph\.csv, line 2: a quoted field is not closed"),
        (f'a,"{"b" * 200_000}"\n', r"graph\.csv, line 1: a field has more than 131,072 characters; is a quo"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(write, content, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_table(write(content))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (["0", "-5", "123456789012345678"], [0, -5, 123456789012345678]),
        (["-0"], [0]),
        (["7", "007"], None),
        (["1", ""], None),
        (["1", "-"], None),
        (["1", "1.0"], None),
        (["1", "+1"], None),
        (["9223372036854775808"], None),  # does not fit 64 bits
        (["1", "x"], None),
    ],
)
def test_integers_are_those_plainly_written(write, column, expected):
    found = read_table(write("".join(f"{value},a\n" for value in column))).integers([0])
    assert found is None if expected is None else found[0].tolist() == expected


@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=1, max_size=30))
def test_integers_survive_a_round_trip(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("round") / "t.csv"
    path.write_text("".join(f"{value},\n" for value in values))
    assert read_table(path).integers([0])[0].tolist() == values


def test_numbers_are_parsed_and_the_bad_one_is_named(write):
    table = read_table(write("# x\na,1.5\n\nb,-2e3\nc,inf\n"))
    assert table.numbers(1, "a size").tolist() == [1.5, -2000, np.inf]
    with pytest.raises(ValueError, match=r"graph\.csv, line 2: a size must be a number, got 'a'$"):
        table.numbers(0, "a size")


def test_rows_keep_their_lines(write):
    table = read_table(write("id,n\n# x\na,1\nb,2\n"))
    rest = table.headed()
    assert rest.head == ("id", "n")
    assert rest.headed() is rest
    assert fields(rest) == [["a", "b"], ["1", "2"]]
    assert rest.at(1).endswith("graph.csv, line 4")
    assert fields(table.row(1)) == [["a"], ["1"]]
    assert table.is_number(1, 1)
    assert not table.is_number(0, 1)


def test_gzip_is_looked_through(write):
    assert suffix_of(Path("A.CSV.gz")) == ".csv"
    assert read_bytes(write(gzip.compress(b"x"), "a.csv.gz")) == b"x"
    with pytest.raises(ValueError, match=r"a\.csv\.gz is not a gzip file"):
        read_bytes(write(b"x", "a.csv.gz"))


def test_arrays_and_matrices_are_read_and_pickles_are_not(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(2))
    assert list(read_arrays(tmp_path / "a.npy")) == [""]
    sp.save_npz(tmp_path / "m.npz", sp.csr_matrix(np.eye(3)))
    arrays = read_arrays(tmp_path / "m.npz")
    np.testing.assert_array_equal(sparse_from(arrays, tmp_path / "m.npz").toarray(), np.eye(3))
    assert sparse_from({"x": np.eye(2)}, tmp_path) is None
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object))
    with pytest.raises(ValueError, match=r"o\.npy holds pickled Python objects, which are never read"):
        read_arrays(tmp_path / "o.npy")


def test_pickles_are_refused_with_the_way_to_convert_them():
    for name, what, call in [
        ("g.pickle", "a graph", "networkx.write_graphml(graph, 'graph.graphml')"),
        ("x.joblib", "features", "numpy.save('features.npy', x)"),
        ("y.pth", "labels", "numpy.save('labels.npy', y)"),
        ("s.p", "a split", "to_csv('split.csv', index=False)"),
    ]:
        with pytest.raises(ValueError, match="is a pickle, which is never read") as caught:
            refuse_pickle(Path(name), what)
        assert call in str(caught.value)
        assert "\n" not in str(caught.value)
    refuse_pickle(Path("graph.csv"), "a graph")


def test_blanks_of_any_number_are_stepped_over(write):
    many = " " * 5000
    table = read_table(write(f"{many}a{many},{many}b c{many}\n{many}\nd,{many}\n"))
    assert fields(table) == [["a", "d"], ["b c", ""]]
    assert fields(read_table(write(f"{many}a{many}b\n"))) == [["a"], ["b"]]


def test_a_table_may_be_wide_but_not_without_limit(write):
    assert len(read_table(write("1," * 131_071 + "1\n")).columns) == 131_072
    for mark in ("", '"a",'):
        with pytest.raises(ValueError, match=r"graph\.csv has 131,07[34] columns: expected 131,072 at most$"):
            read_table(write(mark + "1," * 131_072 + "1\n"))


@pytest.mark.parametrize("quote", ["", '"'])
def test_one_long_field_does_not_widen_a_long_column(write, quote):
    rows = "".join(f"{k},x\n" for k in range(20_000))
    table = read_table(write(f"{rows}{quote}{'a' * 3000}{quote},{quote}{'b' * 100}{quote}\n"))
    with pytest.raises(
        ValueError, match=r"line 20001: column 1 has a field of 3,000 bytes, too long for 20,001 rows: expected \d+ at"
    ):
        table.texts(0)
    assert table.texts(1)[-1] == "b" * 100
    assert not table.is_numeric(0)
    assert table.row(20_000).texts(0)[0] == "a" * 3000
    with pytest.raises(ValueError, match=r"line 20001: column 1 has a field of 3,000 bytes"):
        read_graph(table.path)


def test_a_long_comment_beside_the_edges_is_not_read(write):
    rows = "".join(f"{k},{k + 1},x\n" for k in range(20_000))
    assert read_graph(write(f"{rows}0,2,{'a' * 3000}\n")).num_edges == 20_001


@pytest.mark.parametrize(
    "text",
    [
        "a b 1 \nb c 2 \nc d 5 \n",
        "a b\nc\td\n",
        "a  b\nb \t  c\n",
        "  a b\n\tb c\n\x0b# x\n \x0b\f\n",
        "a b\nb\x0bc\nc\fd\n",
        "a,b\x0b\n\fb , \tc\n",
        " a\t b\n\tb\n\t\nc\x0b\t\x0cd \n",
        "a;b\nb ;c\n",
        "a,b\xa0\nb,c\u3000\n",
        "a,b\nb,\x85c\x1c\n",
        "a b\x85c\nb c\x1cd\n",
        "a\xa0b c\nd e\n",
        "a,b\n\xa0#x,c\n",
        "a,b,\nb,c,\n",
    ],
)
def test_a_quotation_mark_changes_nothing_but_its_field(write, text):
    plain = read_table(write(text))
    first = re.compile("[a-z]")
    for rewritten in (first.sub('"a"', text, count=1), text[:-1] + text.splitlines(keepends=True)[0].replace("a", '\n"a"', 1)):
        quoted = read_table(write(rewritten))
        assert [column[: len(plain)] for column in fields(quoted)] == fields(plain)
        assert quoted.lines[: len(plain)].tolist() == plain.lines.tolist()


@pytest.mark.parametrize("mark", [" ", ",", "\t"])
def test_blanks_within_quotes_stay_and_those_around_them_go(write, mark):
    apart = f" {mark}\x0b " if mark != " " else " \t "
    text = f'"new  york"{apart}x\n "a ""b"" \t c"{apart}"d\n \t e"{apart if mark == " " else " "}\n'
    assert fields(read_table(write("x" + mark + "y\n" + text))) == [["x", "new  york", 'a "b" \t c'], ["y", "x", "d\n \t e"]]


def test_weights_are_read_beside_a_quoted_name(write):
    graphs = [read_graph(write(f"a b 1 \n{name} c 2 \nc d 5 \n")) for name in ("b", '"b"')]
    assert [graph.edge_weight.tolist() for graph in graphs] == [[1, 2, 5]] * 2
    assert graphs[0].remarks == graphs[1].remarks


@pytest.mark.parametrize("text", ['"a"' + " " * 400_000 + "c", 'a,"b' + '""' * 60_000 + '" c'])
def test_many_blanks_and_quotation_marks_are_read(write, text):
    assert len(read_table(write(text + "\n")).columns) == 2


@pytest.mark.parametrize("text", ['"' * 400_001, '"a' + " " * 400_000 + 'b" c'])
def test_a_long_quoted_field_is_refused(write, text):
    with pytest.raises(ValueError, match=r"line 1: a field has more than 131,072 characters"):
        read_table(write(text + "\n"))


def test_ids_of_64_bits_are_numbers(write):
    graph = read_graph(write(f"{2**63 - 1},1000000000000000000\n-{2**63},2\n10,2\n"))
    assert graph.node_ids.tolist() == [-(2**63), 2, 10, 10**18, 2**63 - 1]
    assert read_graph(write(f"{2**63},2\n10,3\n")).node_ids.tolist() == ["10", "2", "3", str(2**63)]
