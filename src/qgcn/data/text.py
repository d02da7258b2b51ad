"""The rows and fields of a long text, found again block by block whenever they are asked for: nothing is kept but the text."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qgcn.data.assemble import Array, Floats, count
from qgcn.data.columns import Columns, check_longest, gather
from qgcn.data.numerals import parse_numbers, read_decimals, read_integers
from qgcn.data.pairs import Ints
from qgcn.progress import Progress, silent

__all__ = ["Text", "TextColumns", "check_columns", "rows_of", "spans"]

_BLOCK = 1 << 19
"""Bytes that are looked at together: they and what is found of them stay in the caches of a processor."""
_NARROW = 8
"""Columns up to which fields are found anew for each column; of wider tables, where they stand is kept."""
_LONG = 1 << 24
"""Bytes of a text from which progress is told."""
_FEW_BLANKS = 8
"""Blanks that are stepped over one by one, in all fields at once."""
_MOST_COLUMNS = 1 << 17
_NEWLINE, _HASH, _PERCENT, _SPACE, _TAB = b"\n#% \t"


class _Block(NamedTuple):
    """Some lines of a text: where they begin and end, their first row, and the number of their rows."""

    begin: int
    end: int
    first: int
    rows: int


class _Found(NamedTuple):
    """The rows of a block: its text, and where their fields begin and stop in it, shape ``(R, K)``."""

    chars: Array
    begins: Ints
    stops: Ints

    def part(self, rows: slice) -> "_Found":
        return _Found(self.chars, self.begins[rows], self.stops[rows])


class Text:
    """A table in a text whose lines all end in a newline.

    Args:
        content: The text, without quoted fields.
        path: Where it was read, for an error.
        progress: Called while rows are found.

    Attributes:
        width: Number of columns.
        lines: Number of the line in which each row stands, from 1, shape ``(R,)``; int32 if that suffices.

    Raises:
        ValueError: It has no rows, or they differ in length.
    """

    def __init__(self, content: bytes, delimiter: bytes | None, path: Path | str, progress: Progress = silent) -> None:
        self._chars = np.frombuffer(content, dtype=np.uint8)
        self._delimiter = delimiter
        self._content = content
        self._kept: dict[int, _Found] = {}
        self._measure: tuple[range, tuple[Ints, Ints, Array]] | None = None
        self.progress = progress if len(content) >= _LONG else silent
        self.path = path
        self.width = 0
        self._blocks, self.lines = self._scanned()

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def size(self) -> int:
        """Length of the text in bytes."""
        return len(self._content)

    def parts(self, rows: range, stage: str = "") -> Iterator[tuple[slice, _Found]]:
        """Yield the fields of some rows, block by block, each with its place among them.

        Args:
            rows: The rows.
            stage: What this is done for, as it is called in progress.
        """
        start = bisect_right(self._blocks, rows.start, key=lambda block: block.first) - 1
        for k in range(start, len(self._blocks)):
            block = self._blocks[k]
            if block.first >= rows.stop:
                return
            if stage:
                self.progress(stage, block.begin, self.size)
            low, high = max(rows.start, block.first), min(rows.stop, block.first + block.rows)
            yield slice(low - rows.start, high - rows.start), self._found(k).part(slice(low - block.first, high - block.first))

    def column(self, k: int, rows: range) -> Array:
        """Return some rows of a column, NumPy bytes of shape ``(R,)``; raise if a field is too long."""
        if len(rows) == 0:
            return np.empty(0, dtype="S1")
        width = self.column_width(k, rows)
        made = np.zeros(len(rows), dtype=f"S{width}")
        for place, found in self.parts(rows):
            made[place] = gather(found.chars, found.begins[:, k], found.stops[:, k], width)
        return made

    def column_width(self, k: int, rows: range) -> int:
        """Return the width of a column as an array; raise if a field is too long."""
        longest, where, _ = self._measured(rows)
        return check_longest(int(longest[k]), int(where[k]), len(rows), self.size)

    def has_empty(self, k: int, rows: range) -> bool:
        """Tell whether a field of a column is empty."""
        return bool(self._measured(rows)[2][k])

    def _measured(self, rows: range) -> tuple[Ints, Ints, Array]:
        """Return, of each column, the length of the longest field, its row, and whether a field is empty."""
        if self._measure is None or self._measure[0] != rows:
            longest, where = np.zeros(self.width, dtype=np.int64), np.zeros(self.width, dtype=np.int64)
            empty = np.zeros(self.width, dtype=bool)
            for place, found in self.parts(rows):
                for k in range(self.width):
                    lengths = found.stops[:, k] - found.begins[:, k]
                    empty[k] |= lengths.min() == 0
                    if lengths.max() > longest[k]:
                        longest[k], where[k] = lengths.max(), place.start + lengths.argmax()
            self._measure = rows, (longest, where, empty)
        return self._measure[1]

    def _found(self, k: int) -> _Found:
        found = self._kept.get(k)
        if found is None:
            if self.width <= _NARROW:
                self._kept.clear()  # but the last one: a header is looked at field by field
            block = self._blocks[k]
            chars, begins, stops, _ = _fields_of(self._chars[block.begin : block.end], self._delimiter)
            if self.width > _NARROW:
                begins, stops = _small(begins), _small(stops)
            shape = (block.rows, self.width)
            self._kept[k] = found = _Found(chars, begins.reshape(shape), stops.reshape(shape))
        return found

    def _scanned(self) -> tuple[list[_Block], Ints]:
        """Find the blocks that have rows, and the line of each row; all rows have as many fields as the first."""
        blocks: list[_Block] = []
        numbers: list[tuple[int, Ints | int]] = []
        rows = line = 0
        for begin, end in spans(self._content):
            self.progress(f"reading {self.path}", begin, self.size)
            _, _, stops, (ends, kept, number) = _fields_of(self._chars[begin:end], self._delimiter)
            if len(ends):
                here: Ints | int = len(ends) if kept is None else np.flatnonzero(kept)
                self._check(stops, ends, here, line, numbers)
                numbers.append((line + 1, here))
                blocks.append(_Block(begin, end, rows, len(ends)))
                rows += len(ends)
            line += number
        check_columns(self.width, self.path)
        lines: Array = np.empty(rows, dtype=np.int32 if line < 1 << 31 else np.int64)
        for block, (first, places) in zip(blocks, numbers, strict=True):
            lines[block.first : block.first + block.rows] = first + (np.arange(places) if isinstance(places, int) else places)
        return blocks, lines

    def _check(self, stops: Ints, ends: Ints, here: Ints | int, line: int, before: list[tuple[int, Ints | int]]) -> None:
        """Raise unless the rows that end here have as many fields as the first one."""
        if self.width and len(stops) == self.width * len(ends) and np.array_equal(stops[self.width - 1 :: self.width], ends):
            return
        widths = np.diff(np.searchsorted(stops, ends, side="right"), prepend=0)
        self.width = self.width or int(widths[0])
        odd = int((widths != self.width).argmax())
        if widths[odd] != self.width:
            first, places = before[0] if before else (line + 1, here)
            first += 0 if isinstance(places, int) else int(places[0])
            number = line + 1 + (odd if isinstance(here, int) else int(here[odd]))
            raise ValueError(
                f"{self.path}, line {number}: {count(int(widths[odd]), 'column')}, but line {first} has {self.width}"
            )


class TextColumns(Columns):
    """The columns of a text.

    Args:
        text: The text.
    """

    def __init__(self, text: Text) -> None:
        super().__init__(text.width, range(len(text)), text.column)
        self._text = text

    def empty(self, k: int) -> Array:
        """See :meth:`Columns.empty`."""
        self._text.column_width(k, self._rows)
        made = np.zeros(len(self._rows), dtype=bool)
        if not self._text.has_empty(k, self._rows):
            return made
        for place, found in self._text.parts(self._rows):
            made[place] = found.stops[:, k] == found.begins[:, k]
        return made

    def first(self, k: int) -> Any:
        """See :meth:`Columns.first`."""
        self._text.column_width(k, self._rows)
        for _, found in self._text.parts(self._rows):
            filled = found.stops[:, k] > found.begins[:, k]
            if filled.any():
                row = int(filled.argmax())
                return gather(found.chars, found.begins[row : row + 1, k], found.stops[row : row + 1, k])[0]
        return None

    def integers(self, ks: Sequence[int]) -> Ints | None:
        """See :meth:`Columns.integers`."""
        made = np.empty((len(ks), len(self._rows)), dtype=np.int64)
        for place, found in self._text.parts(self._rows, f"reading numbers of {self._text.path}"):
            for into, k in zip(made, ks, strict=True):
                values = read_integers(found.chars, found.begins[:, k], found.stops[:, k])
                if values is None:
                    return None
                into[place] = values
        return made if len(self._rows) else None

    def numbers(self, k: int) -> Floats:
        """See :meth:`Columns.numbers`."""
        width = self._text.column_width(k, self._rows)
        made = np.empty(len(self._rows))
        for place, found in self._text.parts(self._rows, f"reading numbers of {self._text.path}"):
            begins, stops = found.begins[:, k], found.stops[:, k]
            values, plain = read_decimals(found.chars, begins, stops)
            if not plain.all():
                values[~plain] = parse_numbers(gather(found.chars, begins[~plain], stops[~plain], width))
            made[place] = values
        return made

    def runs(self, ks: Sequence[int]) -> Iterator[tuple[slice, list[Array]]]:
        """See :meth:`Columns.runs`."""
        widths = {k: self._text.column_width(k, self._rows) for k in ks}
        for place, found in self._text.parts(self._rows, f"reading names of {self._text.path}"):
            yield place, [gather(found.chars, found.begins[:, k], found.stops[:, k], widths[k]) for k in ks]

    def broken(self, k: int) -> None:
        """See :meth:`Columns.broken`: fields end with their line."""


def check_columns(number: int, path: Path | str) -> None:
    """Raise if a table has too many columns."""
    if number > _MOST_COLUMNS:
        raise ValueError(f"{path} has {number:,} columns: expected {_MOST_COLUMNS:,} at most")


# --- where lines and fields are ----------------------------------------------------------------------------------------------


def spans(content: bytes) -> Iterator[tuple[int, int]]:
    """Cut a text into runs of whole lines, of a block's size where lines are shorter."""
    begin = 0
    while begin < len(content):
        end = content.rfind(b"\n", begin, begin + _BLOCK) + 1 or content.index(b"\n", begin) + 1
        yield begin, end
        begin = end


def _fields_of(chars: Array, delimiter: bytes | None) -> tuple[Array, Ints, Ints, tuple[Ints, Any, int]]:
    """Find the rows of some lines and their fields.

    Returns:
        The text of the rows alone, where fields begin and stop in it, and of the rows: where each ends, which lines they are
        (``None`` if all), and the number of lines.
    """
    starts, ends, rows = rows_of(chars)
    number, kept = len(ends), None
    if not rows.all():
        kept = rows
        chars = chars[np.repeat(kept, ends - starts + 1)]
        ends = np.flatnonzero(chars == _NEWLINE)
    if len(chars) == 0:
        return chars, ends, ends, (ends, kept, number)
    return chars, *_fields(chars, delimiter), (ends, kept, number)


def rows_of(chars: Array) -> tuple[Ints, Ints, Array]:
    """Return where each line begins, where its newline is, and which lines are neither blank nor a comment."""
    ends = np.flatnonzero(chars == _NEWLINE)
    starts = np.concatenate(([0], ends[:-1] + 1))
    mark = chars[starts]
    blank = _is_blank(mark)
    if blank.any():
        first = starts.copy()
        _step_over_blanks(chars, first, ends)
        mark, blank = chars[first], first == ends
    return starts, ends, ~blank & (mark != _HASH) & (mark != _PERCENT)


def _is_blank(chars: Array) -> Array:
    """Tell which bytes are white space: a blank, or one from tab to carriage return."""
    return np.asarray((chars == _SPACE) | (chars - np.uint8(_TAB) < 5))


def _fields(chars: Array, delimiter: bytes | None) -> tuple[Ints, Ints]:
    """Return where each field begins and stops, blanks around it left out."""
    blank = _is_blank(chars)
    if delimiter is None:
        edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1  # the last character is a newline: edges come in pairs
        edges = edges if blank[0] else np.concatenate(([0], edges))
        return edges[::2], edges[1::2]
    stop = (chars == ord(delimiter)) | (chars == _NEWLINE)
    stops = np.flatnonzero(stop)
    begins = np.concatenate(([0], stops[:-1] + 1))
    if np.count_nonzero(blank & ~stop):
        _step_over_blanks(chars, begins, stops)
        _step_over_blanks(chars, stops, begins, back=True)
    return begins, stops


def _step_over_blanks(chars: Array, places: Ints, bounds: Ints, back: bool = False) -> None:
    """Move each place, up to its bound, until no blank stands behind it, or, going back, before it."""
    moving = np.arange(len(places))
    for _ in range(_FEW_BLANKS):
        moving = moving[(places[moving] != bounds[moving]) & _is_blank(chars[places[moving] - back])]
        places[moving] += -1 if back else 1
    if len(moving) == 0:
        return
    filled = np.flatnonzero(~_is_blank(chars))
    if back:
        last = np.concatenate(([-1], filled))[np.searchsorted(filled, places[moving])]
        places[moving] = np.maximum(last + 1, bounds[moving])
    else:
        following = np.concatenate((filled, [len(chars)]))[np.searchsorted(filled, places[moving])]
        places[moving] = np.minimum(following, bounds[moving])


def _small(places: Ints) -> Array:
    """Return places within a block in half the space, if they fit."""
    return places.astype(np.int32) if len(places) and places[-1] < 1 << 31 else places
