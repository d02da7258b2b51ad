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

from qgcn.data.assemble import Array, Floats
from qgcn.data.pairs import Ints

__all__ = ["TEXT_SUFFIXES", "Table", "read_arrays", "read_bytes", "read_table", "sparse_from", "suffix_of"]

TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".edges", ".edgelist", ".tab", ".dat")
_MOST_DIGITS = 18  # more could overflow 64 bits


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
    content = read_bytes(path)
    if b"\0" in content:
        raise ValueError(f"{path} is not a text file: it has a zero byte in line {content[: content.index(0)].count(10) + 1}")
    try:
        content.decode("utf-8")  # checks only: fields stay bytes, which NumPy stores in a quarter of the space
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"{path}, line {line}: not UTF-8 text (byte 0x{content[error.start]:02x})") from None
    content = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = content.split(b"\n")
    # the empty start of a blank line is "in" too
    kept = [k for k, line in enumerate(lines) if line.lstrip()[:1] not in b"#%"]
    if not kept:
        raise ValueError(f"{path} is empty" + (": it has only comments and blank lines" if content.strip() else ""))
    if len(kept) < len(lines):
        lines = [lines[k] for k in kept]
    numbers = np.array(kept, dtype=np.int64) + 1
    delimiter = next((mark for mark in (b"\t", b",", b";") if mark in lines[0]), None)
    fields, widths = _split_quoted(lines, delimiter) if b'"' in content else _split(lines, delimiter)
    if len(widths) != len(lines):
        raise ValueError(f"{path}: a quoted field runs over the end of its line")
    if (widths != widths[0]).any():
        odd = int((widths != widths[0]).argmax())
        columns = f"{widths[odd]} column" + "s" * int(widths[odd] != 1)
        raise ValueError(f"{path}, line {numbers[odd]}: {columns}, but line {numbers[0]} has {widths[0]}")
    table = np.array(fields, dtype=np.bytes_).reshape(len(lines), -1)
    if delimiter is not None and b" " in content:
        table = np.char.strip(table)
    return Table(path, tuple(np.ascontiguousarray(column) for column in table.T), numbers)


def _split(lines: list[bytes], delimiter: bytes | None) -> tuple[list[bytes], Ints]:
    """Return all fields in one list, and the number of fields of each line.

    One list instead of one for each line: a million small lists keep the garbage collector busy for seconds.
    """
    body = b"\n".join(lines) + b"\n"
    chars = np.frombuffer(body, dtype=np.uint8)
    starts = np.concatenate(([0], np.flatnonzero(chars == ord("\n"))[:-1] + 1))
    if delimiter is None:
        blank = (chars == ord(" ")) | ((chars >= ord("\t")) & (chars <= ord("\r")))
        marks = ~blank
        marks[1:] &= blank[:-1]  # the first character of each field
        return body.split(), np.add.reduceat(marks, starts, dtype=np.int64)
    marks = chars == ord(delimiter)
    return body[:-1].replace(b"\n", delimiter).split(delimiter), np.add.reduceat(marks, starts, dtype=np.int64) + 1


def _split_quoted(lines: list[bytes], delimiter: bytes | None) -> tuple[list[bytes], Ints]:
    mark = " " if delimiter is None else delimiter.decode()
    rows = list(csv.reader([line.decode() for line in lines], delimiter=mark, skipinitialspace=True))
    return [field.strip().encode() for row in rows for field in row], np.array([len(row) for row in rows])


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
