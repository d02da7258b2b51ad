"""Read tables: text divided by commas, semicolons, tabs or blanks, also ``.gz``, and Parquet; every error names its line."""

import csv
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from qgcn.content import check_file, read_bytes
from qgcn.data.assemble import Array, count
from qgcn.data.columns import Columns, Table, check_width
from qgcn.data.pairs import Ints
from qgcn.data.parquet import PARQUET_SUFFIXES, read_parquet
from qgcn.data.text import Text, TextColumns, check_columns, rows_of, spans
from qgcn.progress import Progress, silent

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
_PIECE = 1 << 20  # bytes that are checked together
_LONGEST_QUOTED = 131_072  # that Python's reader of quoted fields takes
_BLANKS = " \t\n\v\f\r"  # what bytes.strip() takes; str.strip() would take much more
_TO_QUOTE = r'[^"]*+(?:""[^"]*+)*+(?:"|\Z)'  # the rest of a quoted field, or of its line; possessive: no memory, no return


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


def read_table(path: Path, progress: Progress = silent) -> Table:
    """Read a Parquet file, or split a text file into columns.

    Blank lines and lines that begin with ``#`` or ``%`` are skipped. Columns are divided by tabs, else commas, else semicolons,
    else blanks: whichever the first line has. Quoted fields are understood. The table has no header yet: whether its first
    row is one depends on what the columns should hold.

    Memory: the text, eight bytes for each row, and the columns that are asked for.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not text, has no rows, or its rows differ in length.
    """
    if path.suffix.lower() in PARQUET_SUFFIXES:
        check_file(path)
        return read_parquet(path)
    content = _text(read_bytes(path), path)
    head = _first_row(content)
    if head is None:
        raise ValueError(f"{path} is empty" + (": it has only comments and blank lines" if content.strip() else ""))
    delimiter = next((mark for mark in (b"\t", b",", b";") if mark in head), None)
    if b'"' in content:
        return _from_quoted(path, content, delimiter)
    text = Text(content, delimiter, path, progress)
    return Table(path, TextColumns(text), text.lines)


def _text(content: bytes, path: Path) -> bytes:
    """Return UTF-8 text whose lines all end in a newline, without byte-order mark."""
    if b"\0" in content:
        raise ValueError(f"{path} is not a text file: it has a zero byte in line {content[: content.index(0)].count(10) + 1}")
    odd = None if content.isascii() else _not_utf8(content)
    if odd is not None:
        line = content[:odd].count(b"\n") + 1
        raise ValueError(f"{path}, line {line}: not UTF-8 text (byte 0x{content[odd]:02x})")
    content = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return content if content.endswith(b"\n") else content + b"\n"


def _not_utf8(content: bytes) -> int | None:
    """Return where a text is not UTF-8, if it is not; piece by piece, as text takes up to four times the space of its bytes."""
    begin = 0
    while begin < len(content):
        end = begin + _PIECE
        while end < len(content) and content[end] & 0xC0 == 0x80 and end < begin + _PIECE + 3:  # not within a character
            end += 1
        try:
            content[begin:end].decode("utf-8")
        except UnicodeDecodeError as error:
            return begin + error.start
        begin = end
    return None


def _first_row(content: bytes) -> bytes | None:
    """Return the first line that is neither blank nor a comment."""
    chars = np.frombuffer(content, dtype=np.uint8)
    for begin, end in spans(content):
        starts, ends, rows = rows_of(chars[begin:end])
        if rows.any():
            first = int(rows.argmax())
            return content[begin + starts[first] : begin + ends[first]]
    return None


def _check_widths(widths: Ints, lines: Ints, path: Path) -> None:
    odd = int((widths != widths[0]).argmax())
    if widths[odd] != widths[0]:
        raise ValueError(f"{path}, line {lines[odd]}: {count(int(widths[odd]), 'column')}, but line {lines[0]} has {widths[0]}")


def _from_quoted(path: Path, content: bytes, delimiter: bytes | None) -> Table:
    mark = " " if delimiter is None else delimiter.decode()
    form: Any = {"delimiter": mark}
    feed = _Lines(content.decode(), _tidied(mark))
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
    check_columns(len(rows[0]), path)

    def load(k: int, part: range) -> Array:
        fields = [row[k].strip(_BLANKS).encode() for row in rows[part.start : part.stop]]
        width = check_width(np.array([len(field) for field in fields]), len(content)) if fields else 1
        return np.array(fields, dtype=f"S{width}")

    return Table(path, Columns(len(rows[0]), range(len(rows)), load), numbers)


def _tidied(mark: str) -> Callable[[str, bool], str]:
    """Return what leaves out the blanks of a line that are outside quotes and no part of a field; and divides by one blank.

    It takes a line, and whether that begins within a quoted field.
    """
    blanks = " \t\v\f" if mark == " " else " \t\v\f".replace(mark, "")
    gap, after = (r"[ \t\v\f\n]++", "") if mark == " " else (f"{mark}[{blanks}]*+", f"[{blanks}]*+")
    between = re.compile(f'({gap})(?:("{_TO_QUOTE}){after})?')
    first, rest = (re.compile(begin + _TO_QUOTE) for begin in ('"', ""))

    def tidy(text: str, inside: bool) -> str:
        text = text if inside else text.lstrip(blanks)
        quoted = (rest if inside else first).match(text)
        done = quoted.end() if quoted else 0
        following = text[done:] if mark == " " else text[done:].lstrip(blanks)
        return text[:done] + between.sub(lambda found: ("\n" if "\n" in found[1] else mark) + (found[2] or ""), following)

    return tidy


class _Lines(Iterator[str]):
    """Lines of a text for a reader of quoted fields, which may run over several lines; comments and blank lines are left out.

    Args:
        text: The text.
        tidy: Leaves out the blanks of a line that are no part of a field, see :func:`_tidied`.

    Attributes:
        line: Number of the last line given out.
        taken: Lines of the current row, which the caller empties after it.
    """

    def __init__(self, text: str, tidy: Callable[[str, bool], str]) -> None:
        self._lines = io.StringIO(text)  # divided by newlines alone
        self._tidy = tidy
        self.line = 0
        self.taken: list[str] = []

    def __next__(self) -> str:
        for text in self._lines:
            self.line += 1
            inside = bool(self.taken)  # a quoted field is all that runs over the end of a line
            if inside or (text.strip(_BLANKS) and text.lstrip(_BLANKS)[0] not in "#%"):
                text = self._tidy(text, inside)
                self.taken.append(text)
                return text
        raise StopIteration
