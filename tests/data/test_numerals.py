"""Numbers in text: the integers and decimals that Python reads, to the bit, and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgcn.data.numerals import parse_numbers, read_decimals, read_integers


def laid_out(fields):
    """Return fields as one text, and where each begins and stops."""
    lengths = np.array([len(field) for field in fields])
    stops = np.cumsum(lengths + 1) - 1
    return np.frombuffer(b"".join(field + b"\n" for field in fields), dtype=np.uint8), stops - lengths, stops


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=40))
def test_integers_are_read_as_python_reads_them(values):
    found = read_integers(*laid_out([str(value).encode() for value in values]))
    assert found is not None
    assert found.dtype == np.int64
    assert found.tolist() == values


@pytest.mark.parametrize(
    "field",
    [b"", b"-", b"007", b"-07", b"+1", b"1.0", b"1e3", b"--1", b"1-", b"x", b" 1", b"12345678901234567890", b"\xb2"]
    + [str(large).encode() for large in (2**63, -(2**63) - 1, 10**19 - 1, 1 - 10**19)],
)
@pytest.mark.parametrize("others", [[], [b"12", b"-345"]])
def test_what_is_not_plainly_written_is_no_integer(field, others):
    assert read_integers(*laid_out([*others, field])) is None


def test_the_largest_integers_are_read():
    ends = [2**63 - 1, -(2**63), 10**18, -(10**18), 0, 7]
    assert read_integers(*laid_out([str(end).encode() for end in ends])).tolist() == ends


def test_numbers_are_those_of_python_without_underscores():
    assert parse_numbers(np.array([b"1e5", b" 2", b"nan", b"+.5"])).tolist()[:2] == [1e5, 2.0]
    for field in (b"1_0", b"x", b""):
        with pytest.raises(ValueError, match=r"number|convert"):
            parse_numbers(np.array([b"1", field]))


def test_no_integers_are_none():
    assert read_integers(np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)) is None


decimals = st.from_regex(r"-?[0-9]{0,9}(\.[0-9]{0,7})?", fullmatch=True)


@given(st.lists(decimals, min_size=1, max_size=40))
def test_decimals_are_read_as_python_reads_them_to_the_bit(texts):
    values, plain = read_decimals(*laid_out([text.encode() for text in texts]))
    for text, value, read in zip(texts, values.tolist(), plain.tolist(), strict=True):
        digits = sum(char.isdigit() for char in text)
        assert read == (0 < digits <= 15)
        if read:
            assert np.float64(value).tobytes() == np.float64(float(text)).tobytes()


@given(st.lists(st.floats(allow_nan=False).map(repr), min_size=1))
def test_what_is_read_of_any_number_is_right(texts):
    values, plain = read_decimals(*laid_out([text.encode() for text in texts]))
    assert all(value == float(text) for text, value, read in zip(texts, values, plain, strict=True) if read)


@pytest.mark.parametrize(
    "field", [b"", b"-", b".", b"-.", b"1..2", b"1e3", b"inf", b"nan", b"1_0", b"+1", b"1-2", b"1234567890123456", "é".encode()]
)
def test_other_fields_are_left_to_the_caller(field):
    values, plain = read_decimals(*laid_out([b"1.5", field, b"-2"]))
    assert plain.tolist() == [True, False, True]
    assert values[[0, 2]].tolist() == [1.5, -2.0]
