"""Read text tables: comma, semicolon, tab or blanks between columns, comments, ``.gz``; every error names its line."""

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from qgcn.data.assemble import Array, Floats, count
from qgcn.data.pairs import Ints

__all__ = ["TEXT_SUFFIXES", "Table", "read_arrays", "read_bytes", "read_table", "sparse_from", "suffix_of"]

TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".edges", ".edgelist", ".tab", ".dat")
_MOST_DIGITS = 18  # more could overflow 64 bits
_BLANK = np.isin(np.arange(256), tuple(b" \t\n\v\f\r"))
"""Whether a byte is white space."""


@dataclass(frozen=True)
class Table:
    """Fields of a text file, column by column.

    Attributes:
        path: Where it was read.
        columns: UTF-8 fields of each column, NumPy bytes, shape ``(R,)`` each.
        lines: Line of the file each row stands in, counted from 1, shape ``(R,)``.
    """

    path: Path
    columns: tuple[Array, ...]
    lines: Ints

    def __len__(self) -> int:
        return len(self.lines)

    def without_header(self) -> "Table":
        """Return the rows below the first."""
        return Table(self.path, tuple(column[1:] for column in self.columns), self.lines[1:])

    def row(self, row: int) -> "Table":
        """Return a table of one row."""
        return Table(self.path, tuple(column[row : row + 1] for column in self.columns), self.lines[row : row + 1])

    def at(self, row: int) -> str:
        """Say where a row stands, for an error."""
        return f"{self.path}, line {self.lines[row]}"

    def field(self, row: int, column: int) -> str:
        """Return one field as text."""
        return str(self.columns[column][row].decode())

    def is_number(self, row: int, column: int) -> bool:
        """Tell whether a field reads as a number."""
        try:
            float(self.columns[column][row])
        except ValueError:
            return False
        return True

    def integers(self, columns: Sequence[int]) -> list[Ints] | None:
        """Return columns as integers, or nothing if one field is not a plainly written integer (``007`` is a name)."""
        found = [_integers(self.columns[column]) for column in columns]
        plain = [column for column in found if column is not None]
        return plain if len(plain) == len(found) else None

    def numbers(self, column: int, what: str) -> Floats:
        """Return a column as float64.

        Raises:
            ValueError: A field is no number; ``what`` says what it should have been.
        """
        try:
            return self.columns[column].astype(np.float64)
        except ValueError:
            row = next(row for row in range(len(self)) if not self.is_number(row, column))
            raise ValueError(f"{self.at(row)}: {what} must be a number, got {self.field(row, column)!r}") from None


def suffix_of(path: Path) -> str:
    """Return the lower-case suffix, looking through ``.gz``."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, unpacked if it is gzipped.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not the gzip file it claims to be.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"no file {path}") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{path} is a folder, not a file") from None
    except OSError as error:
        raise OSError(f"cannot read {path}: {error.strerror or error}") from None
    if path.suffix.lower() != ".gz":
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is not a gzip file: {error}") from None


def read_table(path: Path) -> Table:
    """Split a text file into columns.

    Blank lines and lines that begin with ``#`` or ``%`` are skipped. Columns are divided by tabs, else commas, else semicolons,
    else blanks: whichever the first line has. Quoted fields are understood.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not text, has no rows, or its rows differ in length.
    """
    content = _text(read_bytes(path), path)
    chars = np.frombuffer(content, dtype=np.uint8)
    starts, ends = _lines(chars)
    kept = _is_row(chars, starts, ends)
    if not kept.any():
        raise ValueError(f"{path} is empty" + (": it has only comments and blank lines" if content.strip() else ""))
    first = int(kept.argmax())
    head = content[starts[first] : ends[first]]
    delimiter = next((mark for mark in (b"\t", b",", b";") if mark in head), None)
    lines = np.flatnonzero(kept) + 1
    if b'"' in content:
        return _from_quoted(path, [content[starts[k - 1] : ends[k - 1]].decode() for k in lines], lines, delimiter)
    if len(lines) < len(kept):
        chars = chars[np.repeat(kept, ends - starts + 1)]
        ends = _lines(chars)[1]
    begins, stops = _fields(chars, delimiter)
    _check_widths(np.diff(np.searchsorted(stops, ends, side="right"), prepend=0), lines, path)
    columns = (_gather(chars, begins[k], stops[k]) for k in np.arange(len(begins)).reshape(len(lines), -1).T)
    return Table(path, tuple(columns), lines)


def _text(content: bytes, path: Path) -> bytes:
    """Return UTF-8 text whose lines all end in a newline, without byte-order mark."""
    if b"\0" in content:
        raise ValueError(f"{path} is not a text file: it has a zero byte in line {content[: content.index(0)].count(10) + 1}")
    try:
        content.isascii() or content.decode("utf-8")  # checks only: fields stay bytes, a quarter of the space of NumPy's text
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"{path}, line {line}: not UTF-8 text (byte 0x{content[error.start]:02x})") from None
    content = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return content if content.endswith(b"\n") else content + b"\n"


def _lines(chars: Array) -> tuple[Ints, Ints]:
    """Return where each line begins, and where its newline is."""
    ends = np.flatnonzero(chars == ord("\n"))
    return np.concatenate(([0], ends[:-1] + 1)), ends


def _is_row(chars: Array, starts: Ints, ends: Ints) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    """Tell which lines are neither blank nor a comment."""
    first = starts.copy()
    _step_over_blanks(chars, first, ends)
    mark = chars[first]
    return np.asarray((first < ends) & (mark != ord("#")) & (mark != ord("%")))


def _fields(chars: Array, delimiter: bytes | None) -> tuple[Ints, Ints]:
    """Return where each field begins and stops, blanks around it left out."""
    if delimiter is None:
        blank = _BLANK[chars]
        edges = np.flatnonzero(np.diff(blank, prepend=True))  # the last character is a newline: edges come in pairs
        return edges[::2], edges[1::2]
    stops = np.flatnonzero((chars == ord(delimiter)) | (chars == ord("\n")))
    begins = np.concatenate(([0], stops[:-1] + 1))
    _step_over_blanks(chars, begins, stops)
    _step_over_blanks(chars, stops, begins, back=True)
    return begins, stops


def _step_over_blanks(chars: Array, places: Ints, bounds: Ints, back: bool = False) -> None:
    """Move each place, up to its bound, until no blank stands behind it, or, going back, before it."""
    moving = np.arange(len(places))
    while len(moving):
        moving = moving[(places[moving] != bounds[moving]) & _BLANK[chars[places[moving] - back]]]
        places[moving] += -1 if back else 1


def _gather(chars: Array, begins: Ints, stops: Ints) -> Array:
    """Return the characters between each begin and its stop, NumPy bytes of shape ``(R,)``."""
    lengths = stops - begins
    width = max(1, int(lengths.max()))
    made = np.zeros((len(begins), width), dtype=np.uint8)
    for k in range(width):
        longer = slice(None) if k < lengths.min() else np.flatnonzero(lengths > k)
        made[longer, k] = chars[begins[longer] + k]
    return made.view(f"S{width}").ravel()


def _check_widths(widths: Ints, lines: Ints, path: Path) -> None:
    odd = int((widths != widths[0]).argmax())
    if widths[odd] != widths[0]:
        raise ValueError(f"{path}, line {lines[odd]}: {count(int(widths[odd]), 'column')}, but line {lines[0]} has {widths[0]}")


def _from_quoted(path: Path, texts: list[str], lines: Ints, delimiter: bytes | None) -> Table:
    mark = " " if delimiter is None else delimiter.decode()
    rows = list(csv.reader(texts, delimiter=mark, skipinitialspace=True))
    if len(rows) != len(lines):
        raise ValueError(f"{path}: a quoted field runs over the end of its line")
    _check_widths(np.array([len(row) for row in rows]), lines, path)
    columns = zip(*rows, strict=True)
    return Table(path, tuple(np.array([field.strip().encode() for field in column]) for column in columns), lines)


def _integers(column: Array) -> Ints | None:
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


def read_arrays(path: Path) -> dict[str, Array]:
    """Read the arrays of an ``.npz`` or ``.npy`` file (the latter under the name ``""``), never a pickle.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no such file, or holds pickled objects.
    """
    content = io.BytesIO(read_bytes(path))
    if content.getbuffer().nbytes == 0:
        raise ValueError(f"{path} is empty")
    try:
        loaded = np.load(content, allow_pickle=False)
        return {"": loaded} if isinstance(loaded, np.ndarray) else {key: loaded[key] for key in loaded.files}
    except Exception as error:  # zip and NumPy raise many kinds for a damaged file
        if "allow_pickle" in str(error) and "Object" in str(error):
            raise ValueError(f"{path} holds pickled Python objects, which are never read: save plain arrays") from None
        why = (
            str(error).splitlines()[0]
            if str(error) and "allow_pickle" not in str(error)
            else "it is damaged, or something else"
        )
        raise ValueError(f"{path} is not a NumPy file: {why}") from None


def sparse_from(arrays: dict[str, Array], path: Path) -> Any:
    """Return the SciPy matrix that ``scipy.sparse.save_npz`` wrote, or nothing if these arrays are something else.

    Raises:
        ValueError: They claim to be one and are not.
    """
    if "format" not in arrays or "shape" not in arrays:
        return None
    from scipy import sparse

    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    buffer.seek(0)
    try:
        return sparse.load_npz(buffer)
    except Exception as error:  # whatever inconsistent arrays lead to
        raise ValueError(f"{path} is not a sparse matrix: {error}") from None
