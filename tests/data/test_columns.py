"""Tables: columns are read when asked for, numbers may be typed or written, and errors say where."""

import numpy as np
import pytest

from qgcn.data.columns import Columns, Table, WideFieldError, check_width, gather


def table(*columns, head=None):
    """Build a table of lists: bytes are fields, numbers are typed."""
    arrays = [np.array(column) for column in columns]
    rows = range(len(arrays[0]))
    read = Columns(len(arrays), rows, lambda k, part: arrays[k][part.start : part.stop])
    return Table("t.csv", read, np.arange(len(rows)) + 1, head)


def test_columns_are_read_when_asked_for_and_the_last_few_are_kept():
    asked = []

    def load(k, rows):
        asked.append((k, len(rows)))
        return np.arange(rows.start, rows.stop) + 10 * k

    columns = Columns(9, range(5), load)
    assert len(columns) == 9
    assert asked == []
    assert columns[3].tolist() == columns[3].tolist() == [30, 31, 32, 33, 34]
    assert asked == [(3, 5)]
    part = columns.part(slice(1, None)).part(slice(2, 3))
    assert part[0].tolist() == [3]
    assert asked[-1] == (0, 1)
    assert [column[0] for column in columns] == list(range(0, 90, 10))


def test_a_header_is_looked_at_without_reading_the_columns():
    lengths = []

    def load(k, rows):
        lengths.append(len(rows))
        return np.array([b"x", b"y", b"z"])[rows.start : rows.stop]

    headed = Table("t.csv", Columns(50, range(3), load), np.arange(3)).headed()
    assert headed.head == ("x",) * 50
    assert set(lengths) == {1}
    assert len(headed) == 2


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([3, -1], [3, -1]),
        ([3.0, -1.0], [3, -1]),
        ([3.5, 1.0], None),
        ([3.0, np.nan], None),
        ([3.0, np.inf], None),
        ([1e300], None),
        ([b"3", b"-1"], [3, -1]),
        ([b"3", b"x"], None),
    ],
)
def test_integers_are_typed_or_written(column, expected):
    found = table(column).integers([0])
    assert found is None if expected is None else found[0].tolist() == expected


def test_fields_as_text_and_as_numbers():
    made = table([1, 2], [1.0, np.nan], [0.5, 2.0], [b"a", b""], head=("i", "w", "f", "s"))
    assert [made.texts(k).tolist() for k in range(4)] == [["1", "2"], ["1.0", ""], ["0.5", "2.0"], ["a", ""]]
    assert made.fields(0) == ("1", "1", "0.5", "a")
    assert [made.columns.empty(k).tolist() for k in (0, 1, 3)] == [[False, False], [False, True], [False, True]]
    assert [made.is_numeric(k) for k in range(4)] == [True, True, True, False]
    assert made.numbers(0, "a size").dtype == np.float64
    with pytest.raises(ValueError, match=r"^t\.csv, line 1: a size must be a number, got 'a'$"):
        made.numbers(3, "a size")
    assert not table([b"", b""]).is_numeric(0)
    assert table([b"", b"2", b"x"]).is_numeric(0)


def test_empty_and_broken_fields_are_named():
    with pytest.raises(ValueError, match=r"^t\.csv, line 2: column 1 is empty$"):
        table([b"a", b""]).check_filled(0)
    with pytest.raises(ValueError, match=r"^t\.csv, line 2: column 'size' is empty$"):
        table([1.0, np.nan], head=("size",)).check_filled(0)
    with pytest.raises(ValueError, match=r"^t\.csv, line 1: column 1 runs over the end of its line$"):
        table([b"a\nb", b"c"]).check_filled(0)
    table([b"a", b"c"]).check_filled(0)


@pytest.mark.parametrize("lengths", [[0, 1, 5], [3] * 200, [40] * 100 + [3], [1] * 100 + [200], [0] * 70 + list(range(70))])
def test_gather_takes_fields_of_any_length(lengths):
    fields = [bytes(97 + (k + j) % 26 for j in range(length)) for k, length in enumerate(lengths)]
    stops = np.cumsum(lengths)
    made = gather(np.frombuffer(b"".join(fields), dtype=np.uint8), stops - lengths, stops)
    assert made.tolist() == fields


def test_a_column_may_be_sixteen_times_its_file_and_16_mebibytes():
    assert check_width(np.array([16 << 20]), 0) == 16 << 20
    assert check_width(np.array([0, 0]), 0) == 1
    assert check_width(np.array([(16 << 20) + 160]), 10) == (16 << 20) + 160
    with pytest.raises(WideFieldError) as caught:
        check_width(np.array([1, (8 << 20) + 1]), 0)
    assert (caught.value.row, caught.value.length, caught.value.most) == (1, (8 << 20) + 1, 8 << 20)


@pytest.mark.parametrize("place", [0, 1, 2, 3, 6])
def test_the_first_word_among_integers_is_found(place):
    fields = [b"1"] * 7
    fields[place] = b"x"
    columns = Columns(1, range(7), lambda _, part: np.array(fields[part.start : part.stop]))
    assert Table("t", columns, np.arange(7)).first_word(0) == place
    fields[6] = b"y"
    assert Table("t", Columns(1, range(7), columns._load), np.arange(7)).first_word(0) == place
