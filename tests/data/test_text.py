"""A text in blocks: the same table whatever the blocks, columns and rows asked for, and progress of long ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qgcn.content import Limit
from qgcn.data import read_graph, text
from qgcn.data.columns import Columns, WideFieldError
from qgcn.data.tables import read_table
from qgcn.data.text import Text, TextColumns, spans

CASES = [
    "a,b\nc,d\n",
    "# one\n\na\tb c\n  % two\n\t\n d \t\n",
    " a   b \nc\td\n",
    " , \nx,\n",
    "é,東京\nC# club,%\n",
    "1 2 0.5\n# x\n\n3 4 -1e3\n5 6 7\n",
    "\n\n\n1;-2\n%\n345;0\n",
    f"{' ' * 40}a{' ' * 40},{' ' * 40}b c{' ' * 40}\n{' ' * 40}\nd,{' ' * 40}\n",
]


def described(table):
    columns = table.columns
    found = [columns[k].tolist() for k in range(len(columns))]
    ways = [[columns.encoded(k).tolist() for k in range(len(columns))], [[] for _ in found]]
    for _, fields in columns.runs(range(len(columns))):
        for whole, part in zip(ways[1], fields, strict=True):
            whole += part.tolist()
    assert ways == [found, found]
    empty = [columns.empty(k).tolist() for k in range(len(columns))]
    first = [columns.first(k) for k in range(len(columns))]
    integers = [None if (one := columns.integers([k])) is None else one.tolist() for k in range(len(columns))]
    return found, table.lines.tolist(), empty, first, integers


@pytest.mark.parametrize("content", CASES)
@pytest.mark.parametrize("block", [1, 7, 16])
def test_blocks_make_no_difference(monkeypatch, write, content, block):
    whole = described(read_table(write(content)))
    monkeypatch.setattr(text, "_BLOCK", block)
    assert described(read_table(write(content))) == whole
    monkeypatch.setattr(text, "_NARROW", 0)  # where fields are is kept
    assert described(read_table(write(content))) == whole


lines = st.one_of(
    st.tuples(st.integers(-99, 99), st.integers(0, 9)).map(lambda row: f"{row[0]} , {row[1]}"),
    st.sampled_from(["", "# 1,2", " % "]),
)


@settings(max_examples=50)
@given(st.lists(lines, min_size=1, max_size=20), st.integers(1, 60), st.data())
def test_any_rows_of_any_blocks_are_those_of_the_whole(rows, block, data):
    content = ("\n".join([*rows, "0,0"]) + "\n").encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_BLOCK", block)
        made = Text(content, b",", "t")
    columns = TextColumns(made)
    kept = [line for line in content.decode().split("\n") if line.strip() and line.strip()[0] not in "#%"]
    expected = [[int(field) for field in line.split(",")] for line in kept]
    low = data.draw(st.integers(0, len(expected) - 1))
    high = data.draw(st.integers(low + 1, len(expected)))
    part = columns.part(slice(low, high))
    assert part.integers([1, 0]).T.tolist() == [row[::-1] for row in expected[low:high]]
    assert part.numbers(0).tolist() == [row[0] for row in expected[low:high]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1,2\n3,4\n5,6,7\n", "t, line 3: 3 columns, but line 1 has 2"),
        (b"#\n1,2\n\n3,4\n5\n", "t, line 5: 1 column, but line 2 has 2"),
        (b"1,2\n#\n#\n#\n1\n", "t, line 5: 1 column, but line 1 has 2"),
    ],
)
@pytest.mark.parametrize("block", [1, 9, 1 << 20])
def test_rows_of_another_width_are_named_in_any_block(monkeypatch, content, message, block):
    monkeypatch.setattr(text, "_BLOCK", block)
    with pytest.raises(ValueError, match=f"^{message}$"):
        Text(content, b",", "t")


def test_blocks_are_whole_lines(monkeypatch):
    monkeypatch.setattr(text, "_BLOCK", 4)
    assert list(spans(b"a\nb\nlong line\nc\n")) == [(0, 4), (4, 14), (14, 16)]


def test_a_long_field_is_found_among_the_rows_asked_for(monkeypatch):
    monkeypatch.setattr("qgcn.data.columns._SPREAD", Limit(0, 1))
    made = TextColumns(Text(b"1,2\n3,4\n5,66666666\n7,8\n9,0\n", b",", "t"))
    for ask in (made.__getitem__, made.empty, made.first, made.numbers, lambda k: list(made.runs([k]))):
        with pytest.raises(WideFieldError) as caught:
            ask(1)
        assert (caught.value.row, caught.value.length) == (2, 8)
    assert made.integers([0]).tolist() == [[1, 3, 5, 7, 9]]
    assert made.part(slice(0, 2))[1].tolist() == [b"2", b"4"]


def test_numbers_that_are_no_plain_decimals_are_read_by_python():
    made = TextColumns(Text(b"1.5 inf\n-0 1e-3\n0.1 12345678901234567890\n", None, "t"))
    assert made.numbers(1).tolist() == [np.inf, 0.001, 12345678901234567890.0]
    assert made.numbers(0).tolist() == [1.5, 0.0, 0.1]
    assert np.signbit(made.numbers(0)[1])


def test_wide_tables_are_looked_at_once(monkeypatch):
    looked = []
    fields = text._fields_of
    monkeypatch.setattr(text, "_fields_of", lambda *given: looked.append(1) or fields(*given))
    made = TextColumns(Text((",".join(map(str, range(30))) + "\n").encode() * 3, b",", "t"))
    assert [made[k].tolist() for k in range(30)] == [[str(k).encode()] * 3 for k in range(30)]
    assert len(looked) == 2


def test_a_column_is_not_kept_alive_by_itself():
    import gc
    import weakref

    made = TextColumns(Text(b"1,2\n", b",", "t"))
    held = weakref.ref(made._text)
    gc.disable()
    try:
        made[0]
        del made
        assert held() is None
    finally:
        gc.enable()


def test_progress_of_a_long_file_is_told(monkeypatch, write):
    told = []
    monkeypatch.setattr(text, "_BLOCK", 64)
    path = write("".join(f"{k} {k + 1}\n" for k in range(100)))
    read_graph(path, progress=lambda *given: told.append(given))
    assert told == []  # a short one is read before anybody could look
    monkeypatch.setattr(text, "_LONG", 100)
    read_graph(path, progress=lambda *given: told.append(given))
    size = path.stat().st_size
    stages = {stage: [done for name, done, _ in told if name == stage] for stage, _, _ in told}
    assert list(stages) == [f"reading {path}", f"reading numbers of {path}"]
    assert all(done == sorted(done) and done[0] == 0 and 0 < size - done[-1] <= 64 for done in stages.values())
    assert {total for _, _, total in told} == {size}


def test_columns_agree_with_those_of_arrays():
    content = b"1,a,0.5\n-2,,7\n3,bc,1e2\n"
    made = TextColumns(Text(content, b",", "t"))
    held = [np.array([line.split(b",")[k] for line in content.split()]) for k in range(3)]
    plain = Columns(3, range(3), lambda k, rows: held[k][rows.start : rows.stop])
    for k in range(3):
        assert made[k].tolist() == plain[k].tolist()
        assert made.empty(k).tolist() == plain.empty(k).tolist()
        assert made.first(k) == plain.first(k)
        assert np.array_equal(made.integers([k]), plain.integers([k]))
        assert made.broken(k) is plain.broken(k) is None
    assert made.numbers(2).tolist() == plain.numbers(2).tolist()
