"""A table, whatever it was read from: columns that are read when asked for, a header, and where each row stands."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from qgcn.content import Limit
from qgcn.data.assemble import Array, Floats
from qgcn.data.numerals import parse_numbers, read_integers
from qgcn.data.pairs import Ints

__all__ = ["Columns", "Table", "WideFieldError", "check_longest", "check_width", "gather"]

_MOST_WHOLE = 1 << 53  # beyond it not every integer is a float64
_KEPT = 4  # columns kept in memory: those of an edge list and one more
_FEW = 64  # fields that are copied one by one; more are copied character by character, all fields at once
_RUN = 1 << 16  # rows that are looked at together
_SPREAD = Limit(16 << 20, 16)
"""Limit of a column, whose fields are all as wide as the longest, over the size of the file."""


class WideFieldError(ValueError):
    """A field that is too long for its column.

    Attributes:
        row: Row of the field.
        length: Its length in bytes.
        most: The largest length that a table of its size may have.
    """

    def __init__(self, row: int, length: int, most: int) -> None:
        super().__init__(f"row {row}: a field of {length} bytes is too long here, where {most} are possible")
        self.row, self.length, self.most = row, length, most


class Columns:
    """The columns of a table, each read when it is asked for; the last few are kept.

    A column is an array of UTF-8 fields (NumPy bytes, ``b""`` if empty), of int64, or of float64 (NaN if empty). Methods raise
    :class:`WideFieldError` if a field of a column is too long; but :meth:`integers`, as it is none.

    Args:
        number: Number of columns.
        rows: Rows of the source.
        load: Reads some rows of a column.
    """

    def __init__(self, number: int, rows: range, load: Callable[[int, range], Array]) -> None:
        self._number = number
        self._load = load
        self._rows = rows
        self._kept: dict[int, Array] = {}

    def __len__(self) -> int:
        return self._number

    def __getitem__(self, k: int) -> Array:
        """Return a column."""
        column = self._kept.pop(k, None)
        if column is None:
            column = self._load(k, self._rows)
        self._kept[k] = column  # the last one
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return column

    def __iter__(self) -> Iterator[Array]:
        return (self[k] for k in range(len(self)))

    def part(self, rows: slice) -> Self:
        """Return the same columns of some rows, a slice of step 1."""
        made = copy(self)
        made._rows, made._kept = self._rows[rows], {}
        return made

    def empty(self, k: int) -> Array:
        """Tell which fields of a column are empty, shape ``(R,)``."""
        values = self[k]
        if values.dtype.kind == "f":
            return np.isnan(values)
        return values == b"" if values.dtype.kind == "S" else np.zeros(len(values), dtype=bool)

    def first(self, k: int) -> Any:
        """Return the first field of a column that is not empty, ``None`` if there is none."""
        filled = ~self.empty(k)
        return self[k][filled.argmax()] if filled.any() else None

    def broken(self, k: int) -> Array | None:
        """Tell which fields of a column run over the end of a line, shape ``(R,)``; ``None`` if none does."""
        values = self[k]
        if values.dtype.kind != "S" or not (np.ascontiguousarray(values).view(np.uint8) == ord("\n")).any():
            return None
        return np.asarray(np.char.find(values, b"\n") >= 0)

    def integers(self, ks: Sequence[int]) -> Ints | None:
        """Return columns as integers, shape ``(K, R)``, or nothing if one field is not a plainly written integer."""
        found = [_integers(self[k]) for k in ks]
        plain = [column for column in found if column is not None]
        return np.stack(plain) if len(plain) == len(found) else None

    def numbers(self, k: int) -> Floats:
        """Return a column as float64.

        Raises:
            ValueError: A field is no number.
        """
        return parse_numbers(self[k]) if self[k].dtype.kind == "S" else self[k].astype(np.float64)

    def encoded(self, k: int) -> Array:
        """Return a column as UTF-8 fields, NumPy bytes of shape ``(R,)``."""
        values = self[k]
        if values.dtype.kind == "S":
            return values
        whole = _integers(values)
        made = (values if whole is None else whole).astype(np.bytes_)
        made[self.empty(k)] = b""
        return made

    def runs(self, ks: Sequence[int]) -> Iterator[tuple[slice, list[Array]]]:
        """Yield columns as UTF-8 fields, run by run of rows: their place, and the fields of each column."""
        columns = [self.encoded(k) for k in ks]
        for first in range(0, len(self._rows), _RUN):
            place = slice(first, first + _RUN)
            yield place, [column[place] for column in columns]


@dataclass(frozen=True)
class Table:
    """Fields of a table, column by column.

    Attributes:
        path: Where it was read; in an error, its name.
        columns: The columns, of ``R`` rows.
        lines: Number of the line in which each row stands, shape ``(R,)``.
        head: Names of the columns, if they are known.
        unit: How a line is called in an error.
    """

    path: Path | str
    columns: Columns
    lines: Ints
    head: tuple[str, ...] | None = None
    unit: str = "line"

    def __len__(self) -> int:
        return len(self.lines)

    def headed(self) -> "Table":
        """Return the table with the first row as its header; a table that has a header is returned itself."""
        if self.head is not None:
            return self
        return replace(self._rows(slice(1, None)), head=self.fields(0))

    def row(self, row: int) -> "Table":
        """Return a table of one row."""
        return self._rows(slice(row, row + 1))

    def _rows(self, rows: slice) -> "Table":
        return replace(self, columns=self.columns.part(rows), lines=self.lines[rows])

    def at(self, row: int) -> str:
        """Say where a row stands, for an error."""
        return f"{self.path}, {self.unit} {self.lines[row]}"

    def title(self, column: int) -> str:
        """Return the name of a column, its number if it has none, for an error."""
        return str(column + 1) if self.head is None else repr(self.head[column])

    def field(self, row: int, column: int) -> str:
        """Return one field as text."""
        return str(self.row(row).texts(column)[0])

    def fields(self, row: int) -> tuple[str, ...]:
        """Return all fields of a row as text."""
        one = self.row(row)
        return tuple(str(one.texts(k)[0]) for k in range(len(self.columns)))

    def is_number(self, row: int, column: int) -> bool:
        """Tell whether a field reads as a number."""
        return _is_number(self.row(row).values(column)[0])

    def is_numeric(self, column: int) -> bool:
        """Tell whether the first field of a column that is not empty reads as a number; no column of long fields does."""
        try:
            first = self.columns.first(column)
        except WideFieldError:
            return False
        return first is not None and _is_number(first)

    @contextmanager
    def _naming(self, column: int) -> Iterator[None]:
        """Say where a field stands that is too long: it would make the whole column too large."""
        try:
            yield
        except WideFieldError as error:
            raise ValueError(
                f"{self.at(error.row)}: column {self.title(column)} has a field of {error.length:,} bytes, "
                f"too long for {len(self):,} rows: expected {error.most:,} at most"
            ) from None

    def values(self, column: int) -> Array:
        """Return a column as it was read.

        Raises:
            ValueError: A field is too long.
        """
        with self._naming(column):
            return self.columns[column]

    def check_filled(self, column: int) -> None:
        """Raise ``ValueError`` if a field of a column is empty or too long, or runs over the end of its line."""
        with self._naming(column):
            empty, broken = self.columns.empty(column), self.columns.broken(column)
        if empty.any():
            raise ValueError(f"{self.at(int(empty.argmax()))}: column {self.title(column)} is empty")
        if broken is not None:
            raise ValueError(f"{self.at(int(broken.argmax()))}: column {self.title(column)} runs over the end of its line")

    def integers(self, columns: Sequence[int]) -> Ints | None:
        """Return columns as integers, shape ``(K, R)``, or nothing if a field is no plainly written one: ``007`` is a name."""
        try:
            return self.columns.integers(columns)
        except WideFieldError:
            for column in columns:
                self.values(column)
            raise

    def numbers(self, column: int, what: str) -> Floats:
        """Return a column as float64.

        Raises:
            ValueError: A field is no number; ``what`` says what it should have been.
        """
        try:
            with self._naming(column):
                return self.columns.numbers(column)
        except ValueError:
            row = next((row for row, field in enumerate(self.values(column)) if not _is_number(field)), None)
            if row is None:
                raise
            raise ValueError(f"{self.at(row)}: {what} must be a number, got {self.field(row, column)!r}") from None

    def runs(self, columns: Sequence[int]) -> Iterator[tuple[slice, list[Array]]]:
        """Yield columns as UTF-8 fields, run by run of rows: their place, and the fields of each column."""
        return self.columns.runs(columns)

    def texts(self, column: int) -> Array:
        """Return a column as text, NumPy strings of shape ``(R,)``."""
        with self._naming(column):
            return np.char.decode(self.columns.encoded(column), "utf-8")

    def first_word(self, column: int) -> int:
        """Return the first row of a column that is not a plainly written integer; there must be one."""
        low, high = 0, len(self) - 1  # the row lies between them
        while low < high:
            middle = (low + high) // 2
            plain = self._rows(slice(low, middle + 1)).integers([column]) is not None
            low, high = (middle + 1, high) if plain else (low, middle)
        return low


def check_width(lengths: Array, size: int) -> int:
    """Return the width of a column of fields of these lengths, at least 1.

    Args:
        lengths: Lengths in bytes, shape ``(R,)``, of which there is at least one.
        size: Size of all fields of the table, in bytes.

    Raises:
        WideFieldError: The longest field would make the column larger than :data:`_SPREAD` allows.
    """
    row = int(lengths.argmax())
    return check_longest(int(lengths[row]), row, len(lengths), size)


def check_longest(length: int, row: int, rows: int, size: int) -> int:
    """Return the width of a column whose longest field stands in ``row``; see :func:`check_width`."""
    width = max(1, length)
    if width * rows > _SPREAD.of(size):
        raise WideFieldError(row, width, _SPREAD.of(size) // rows)
    return width


def gather(chars: Array, begins: Ints, stops: Ints, width: int | None = None) -> Array:
    """Return the characters between each begin and its stop, NumPy bytes of shape ``(R,)``.

    Args:
        chars: The text, uint8.
        begins: Where each field begins, shape ``(R,)``.
        stops: Where it stops, shape ``(R,)``.
        width: Length of the longest field, or more, if that is known not to be too long.

    Raises:
        WideFieldError: A field is too long.
    """
    lengths = stops - begins
    if len(lengths) == 0:
        return np.empty(0, dtype="S1")
    width = check_width(lengths, len(chars)) if width is None else width
    made = np.zeros((len(begins), width), dtype=np.uint8)
    longer: Any = slice(None)
    for k in range(width):
        if k >= lengths.min():
            longer = np.flatnonzero(lengths > k)
            if len(longer) <= _FEW:
                break
        made[longer, k] = chars[begins[longer] + k]
    else:
        longer = ()
    for row in longer:
        made[row, : lengths[row]] = chars[begins[row] : stops[row]]
    return made.view(f"S{width}").ravel()


def _is_number(field: Any) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return not isinstance(field, bytes) or b"_" not in field


def _integers(column: Array) -> Ints | None:
    """Return a column as integers, if all of its fields are some."""
    if column.dtype.kind == "f":
        whole = (column == np.floor(column)) & (np.abs(column) < _MOST_WHOLE)
        return column.astype(np.int64) if len(column) and whole.all() else None
    if column.dtype.kind != "S":
        return column if len(column) else None
    return _written_integers(column)


def _written_integers(column: Array) -> Ints | None:
    """Parse the fields of an array."""
    width = column.dtype.itemsize
    begins = np.arange(len(column)) * width
    return read_integers(np.ascontiguousarray(column).view(np.uint8), begins, begins + np.char.str_len(column))
