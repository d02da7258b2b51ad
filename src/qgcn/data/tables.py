"""Read tables: text divided by commas, semicolons, tabs or blanks, also ``.gz``, and Parquet; every error names its line."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from qgcn.content import check_file, read_bytes
from qgcn.data.assemble import Array, count
from qgcn.data.columns import Columns, Table, check_width, gather
from qgcn.data.pairs import Ints
from qgcn.data.parquet import PARQUET_SUFFIXES, read_parquet

__all__ = ["TABLE_SUFFIXES", "read_table", "refuse_pickle", "suffix_of"]

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".edges", ".edgelist", ".tab", ".dat", *PARQUET_SUFFIXES)
_PICKLE_SUFFIXES = (".pkl", ".pickle", ".p", ".gpickle", ".joblib", ".pt", ".pth")
_CONVERSIONS = {
    "a graph": (
        "networkx.write_graphml(graph, 'graph.graphml'), scipy.sparse.save_npz('graph.npz', matrix) "
        "or numpy.savez('graph.npz', edge_index=edge_index)"
    ),
    "features": "numpy.save('features.npy', x) or scipy.sparse.save_npz('features.npz', x)",
    "labels": "numpy.save('labels.npy', y)",
    "a split": "pandas.DataFrame({'id': ids, 'part': parts}).to_csv('split.csv', index=False)",
}
"""Calls that write what a pickle holds as a file that can be read."""
_BLANK = np.isin(np.arange(256), tuple(b" \t\n\v\f\r"))
"""Whether a byte is white space."""
_FEW_BLANKS = 8
"""Blanks that are stepped over one by one, in all fields at once."""
_MOST_COLUMNS = 1 << 17
_LONGEST_QUOTED = 131_072  # that Python's reader of quoted fields takes


def suffix_of(path: Path) -> str:
    """Return the lower-case suffix, looking through ``.gz``."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def refuse_pickle(path: Path, what: str) -> None:
    """Raise for a file that is a pickle by its name, with the way to convert it; ``what`` it should hold.

    Raises:
        ValueError: It is a pickle.
    """
    if suffix_of(path) in _PICKLE_SUFFIXES:
        raise ValueError(
            f"{path} is a pickle, which is never read, because reading one runs it: convert it where you trust it, "
            f"for example by {_CONVERSIONS[what]}"
        )


def read_table(path: Path) -> Table:
    """Read a Parquet file, or split a text file into columns.

    Blank lines and lines that begin with ``#`` or ``%`` are skipped. Columns are divided by tabs, else commas, else semicolons,
    else blanks: whichever the first line has. Quoted fields are understood. The table has no header yet: whether its first
    row is one depends on what the columns should hold.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not text, has no rows, or its rows differ in length.
    """
    if path.suffix.lower() in PARQUET_SUFFIXES:
        check_file(path)
        return read_parquet(path)
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
        return _from_quoted(path, content, delimiter)
    if len(lines) < len(kept):
        chars = chars[np.repeat(kept, ends - starts + 1)]
        ends = _lines(chars)[1]
    begins, stops = _fields(chars, delimiter)
    _check_widths(np.diff(np.searchsorted(stops, ends, side="right"), prepend=0), lines, path)
    _check_columns(len(stops) // len(lines), path)
    begins, stops = begins.reshape(len(lines), -1), stops.reshape(len(lines), -1)

    def load(k: int, rows: range) -> Array:
        part = slice(rows.start, rows.stop)
        return gather(chars, begins[part, k], stops[part, k])

    return Table(path, Columns(begins.shape[1], range(len(lines)), load), lines)


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
    for _ in range(_FEW_BLANKS):
        moving = moving[(places[moving] != bounds[moving]) & _BLANK[chars[places[moving] - back]]]
        places[moving] += -1 if back else 1
    if len(moving) == 0:
        return
    filled = np.flatnonzero(~_BLANK[chars])
    if back:
        last = np.concatenate(([-1], filled))[np.searchsorted(filled, places[moving])]
        places[moving] = np.maximum(last + 1, bounds[moving])
    else:
        following = np.concatenate((filled, [len(chars)]))[np.searchsorted(filled, places[moving])]
        places[moving] = np.minimum(following, bounds[moving])


def _check_widths(widths: Ints, lines: Ints, path: Path) -> None:
    odd = int((widths != widths[0]).argmax())
    if widths[odd] != widths[0]:
        raise ValueError(f"{path}, line {lines[odd]}: {count(int(widths[odd]), 'column')}, but line {lines[0]} has {widths[0]}")


def _check_columns(number: int, path: Path) -> None:
    if number > _MOST_COLUMNS:
        raise ValueError(f"{path} has {number:,} columns: expected {_MOST_COLUMNS:,} at most")


def _from_quoted(path: Path, content: bytes, delimiter: bytes | None) -> Table:
    form: Any = {"delimiter": " " if delimiter is None else delimiter.decode(), "skipinitialspace": True}
    feed = _Lines(content.decode())
    reader = csv.reader(feed, **form)
    rows, lines = [], []
    try:
        for row in reader:
            if len(feed.taken) > 1:  # a quotation mark that is left over would swallow rows
                next(csv.reader(feed.taken, strict=True, **form))
            rows.append(row)
            lines.append(feed.line - len(feed.taken) + 1)
            feed.taken = []
    except csv.Error as error:
        where = f"{path}, line {feed.line - len(feed.taken) + 1}"
        if "limit" in str(error):
            raise ValueError(
                f"{where}: a field has more than {_LONGEST_QUOTED:,} characters; is a quotation mark not closed?"
            ) from None
        raise ValueError(f"{where}: a quoted field is not closed: {error}") from None
    numbers = np.array(lines)
    _check_widths(np.array([len(row) for row in rows]), numbers, path)
    _check_columns(len(rows[0]), path)

    def load(k: int, part: range) -> Array:
        fields = [row[k].strip().encode() for row in rows[part.start : part.stop]]
        width = check_width(np.array([len(field) for field in fields]), len(content)) if fields else 1
        return np.array(fields, dtype=f"S{width}")

    return Table(path, Columns(len(rows[0]), range(len(rows)), load), numbers)


class _Lines(Iterator[str]):
    """Lines of a text for a reader of quoted fields, which may run over several lines; comments and blank lines are left out.

    Attributes:
        line: Number of the last line given out.
        taken: Lines of the current row, which the caller empties after it.
    """

    def __init__(self, text: str) -> None:
        self._lines = io.StringIO(text)  # divided by newlines alone
        self.line = 0
        self.taken: list[str] = []

    def __next__(self) -> str:
        for text in self._lines:
            self.line += 1
            if self.taken or (text.strip() and text.lstrip()[0] not in "#%"):
                self.taken.append(text)
                return text
        raise StopIteration
