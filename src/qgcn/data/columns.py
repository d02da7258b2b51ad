"""A table, whatever it was read from: columns that are read when asked for, a header, and where each row stands."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from qgcn.content import Limit
from qgcn.data.assemble import Array, Floats
from qgcn.data.pairs import Ints

__all__ = ["Columns", "Table", "WideFieldError", "check_width", "gather"]

_MOST_DIGITS = 18  # more could overflow 64 bits
_MOST_WHOLE = 1 << 53  # beyond it not every integer is a float64
_KEPT = 4  # columns kept in memory: those of an edge list and one more
_FEW = 64  # fields that are copied one by one; more are copied character by character, all fields at once
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

    A column is an array of UTF-8 fields (NumPy bytes, ``b""`` if empty), of int64, or of float64 (NaN if empty).

    Args:
        number: Number of columns.
        rows: Rows of the source.
        load: Reads some rows of a column.
    """

    def __init__(self, number: int, rows: range, load: Callable[[int, range], Array]) -> None:
        self._number = number
        self._rows = rows
        self._load = load
        self._column = lru_cache(_KEPT)(lambda k: load(k, rows))

    def __len__(self) -> int:
        return self._number

    def __getitem__(self, k: int) -> Array:
        """Return a column.

        Raises:
            WideFieldError: A field is too long.
        """
        return self._column(k)

    def __iter__(self) -> Iterator[Array]:
        return (self[k] for k in range(len(self)))

    def part(self, rows: slice) -> "Columns":
        """Return the same columns of some rows, a slice of step 1."""
        return Columns(self._number, self._rows[rows], self._load)


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
            values = self.columns[column]
        except WideFieldError:
            return False
        filled = ~self.empty(column)
        return bool(filled.any()) and _is_number(values[filled.argmax()])

    def values(self, column: int) -> Array:
        """Return a column as it was read.

        Raises:
            ValueError: A field is too long: it would make the whole column too large.
        """
        try:
            return self.columns[column]
        except WideFieldError as error:
            raise ValueError(
                f"{self.at(error.row)}: column {self.title(column)} has a field of {error.length:,} bytes, "
                f"too long for {len(self):,} rows: expected {error.most:,} at most"
            ) from None

    def empty(self, column: int) -> Array:
        """Tell which fields of a column are empty, shape ``(R,)``."""
        values = self.values(column)
        if values.dtype.kind == "f":
            return np.isnan(values)
        return values == b"" if values.dtype.kind == "S" else np.zeros(len(values), dtype=bool)

    def check_filled(self, column: int) -> None:
        """Raise ``ValueError`` if a field of a column is empty, or runs over the end of its line."""
        empty, values = self.empty(column), self.values(column)
        if empty.any():
            raise ValueError(f"{self.at(int(empty.argmax()))}: column {self.title(column)} is empty")
        if values.dtype.kind == "S" and (np.ascontiguousarray(values).view(np.uint8) == ord("\n")).any():
            row = int((np.char.find(values, b"\n") >= 0).argmax())
            raise ValueError(f"{self.at(row)}: column {self.title(column)} runs over the end of its line")

    def integers(self, columns: Sequence[int]) -> list[Ints] | None:
        """Return columns as integers, or nothing if one field is not a plainly written integer (``007`` is a name)."""
        found = [_integers(self.values(column)) for column in columns]
        plain = [column for column in found if column is not None]
        return plain if len(plain) == len(found) else None

    def numbers(self, column: int, what: str) -> Floats:
        """Return a column as float64.

        Raises:
            ValueError: A field is no number; ``what`` says what it should have been.
        """
        values = self.values(column)
        try:
            return values.astype(np.float64)
        except ValueError:
            row = next(row for row, field in enumerate(values) if not _is_number(field))
            raise ValueError(f"{self.at(row)}: {what} must be a number, got {self.field(row, column)!r}") from None

    def encoded(self, column: int) -> Array:
        """Return a column as UTF-8 fields, NumPy bytes of shape ``(R,)``."""
        values = self.values(column)
        if values.dtype.kind == "S":
            return values
        whole = _integers(values)
        made = (values if whole is None else whole).astype(np.bytes_)
        made[self.empty(column)] = b""
        return made

    def texts(self, column: int) -> Array:
        """Return a column as text, NumPy strings of shape ``(R,)``."""
        return np.char.decode(self.encoded(column), "utf-8")

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
    width = max(1, int(lengths.max()))
    if width * len(lengths) > _SPREAD.of(size):
        raise WideFieldError(int(lengths.argmax()), width, _SPREAD.of(size) // len(lengths))
    return width


def gather(chars: Array, begins: Ints, stops: Ints) -> Array:
    """Return the characters between each begin and its stop, NumPy bytes of shape ``(R,)``.

    Raises:
        WideFieldError: A field is too long.
    """
    lengths = stops - begins
    if len(lengths) == 0:
        return np.empty(0, dtype="S1")
    width = check_width(lengths, len(chars))
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
    return True


def _integers(column: Array) -> Ints | None:
    """Return a column as integers, if all of its fields are some."""
    if column.dtype.kind == "f":
        whole = (column == np.floor(column)) & (np.abs(column) < _MOST_WHOLE)
        return column.astype(np.int64) if len(column) and whole.all() else None
    if column.dtype.kind != "S":
        return column if len(column) else None
    return _written_integers(column)


def _written_integers(column: Array) -> Ints | None:
    """Parse plainly written integers, all fields at once: one pass per digit instead of one call per field."""
    width = column.dtype.itemsize
    if width > _MOST_DIGITS + 1 or len(column) == 0:
        return None
    chars = np.ascontiguousarray(column).view(np.uint8).reshape(len(column), width)
    used = chars != 0
    digits = chars - np.uint8(ord("0"))  # wraps around below "0"
    negative = chars[:, 0] == ord("-")
    is_digit = digits < 10
    is_digit[:, 0] |= negative
    lengths = used.sum(axis=1) - negative
    leading = np.where(negative, chars[:, 1] if width > 1 else 0, chars[:, 0])
    if not (is_digit | ~used).all() or (lengths < 1).any() or (lengths > _MOST_DIGITS).any():
        return None
    if ((leading == ord("0")) & (lengths > 1)).any():
        return None
    value = np.zeros(len(column), dtype=np.int64)
    for k in range(width):
        read = used[:, k] & ~(negative & (k == 0))
        value = np.where(read, value * 10 + digits[:, k], value)
    return np.where(negative, -value, value)
