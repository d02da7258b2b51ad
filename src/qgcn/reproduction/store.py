"""The store of measured lines: JSON, one object a line, in one file for each table.

There are two kinds of lines. ``{"hash": ..., "settings": {...}}`` tells settings once; every other line is one seed of a cell,
and names its settings by their hash. Files of several machines can be joined with ``cat``.
"""

import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qgcn.content import read_regular
from qgcn.files import check_writable
from qgcn.locks import FileLock
from qgcn.reproduction.cells import Cell, digest

__all__ = ["Line", "Store", "default_folder"]

Line = dict[str, Any]
"""One seed of a cell: ``hash``, ``kind``, ``table``, ``data``, ``method``, ``setting``, ``seed``, then what was measured,
``seconds``, ``machine`` and ``version``."""
Append = Callable[[Cell, int, Line], None]
_NAMES = ("table", "task", "data", "method", "setting", "kind")


def default_folder() -> Path:
    """Return ``experiments/results`` of the checkout that the package runs from; ``qgcn-results`` here if it is none."""
    committed = Path(__file__).resolve().parents[3] / "experiments" / "results"
    return committed if committed.is_dir() else Path("qgcn-results")


class Store:
    """The lines of a folder.

    Args:
        folder: The folder; it need not exist.
        tables: Names of the files that are read.

    Raises:
        ValueError: A line cannot be understood. Half a line at the end of a file is what a killed process was writing: it is
            left out.
        OSError: A file cannot be read.
    """

    def __init__(self, folder: Path, tables: tuple[str, ...]) -> None:
        self.folder = folder
        self._lines: dict[tuple[str, int], Line] = {}
        self._schemas: dict[frozenset[str], None] = {}
        self._told: dict[str, set[str]] = {}
        self._lookups: dict[int, tuple[Cell, list[str]]] = {}
        for table in tables:
            path = self.path(table)
            self._told[table] = set()
            if path.exists():
                for line in _whole_lines(read_regular(path), path):
                    self._take(table, line)

    def path(self, table: str) -> Path:
        """Return the file of a table."""
        return self.folder / f"{table}.jsonl"

    def _take(self, table: str, line: Line) -> None:
        if "settings" not in line:
            self._lines[line["hash"], line["seed"]] = line
            return
        self._told[table].add(line["hash"])
        schema = frozenset(line["settings"])
        if schema not in self._schemas:
            self._schemas[schema] = None
            self._lookups.clear()

    def _hashes(self, cell: Cell) -> list[str]:
        """Return the hashes that the settings of a cell may have been written under.

        A setting that a line does not know, because it was not there yet, must be at its default.
        """
        held = self._lookups.get(id(cell))
        if held is None:
            settings, defaults, found = cell.settings, cell.defaults, []
            for schema in self._schemas:
                known = {name: value for name, value in settings.items() if name in schema}
                new = (name for name in settings if name not in schema)
                if len(known) == len(schema) and all(name in defaults and settings[name] == defaults[name] for name in new):
                    found.append(digest(known))
            held = self._lookups[id(cell)] = (cell, found)  # the cell is kept, so that its id stays its own
        return held[1]

    def find(self, cell: Cell, seed: int) -> Line | None:
        """Return the line of a seed of a cell, if it was measured; cells of several tables that are alike share it."""
        for key in self._hashes(cell):
            if (line := self._lines.get((key, seed))) is not None:
                return line
        return None

    def every(self) -> list[Line]:
        """Return all lines."""
        return list(self._lines.values())

    def lines(self, cell: Cell, seeds: int) -> list[Line]:
        """Return the lines of the first seeds of a cell, those that were measured."""
        found = (self.find(cell, seed) for seed in range(seeds))
        return [line for line in found if line is not None]

    def choice(self, cell: Cell) -> Cell | None:
        """Return the cell with the settings of its grid that do best on validation; ``None`` while a trial is missing.

        A trial that diverged is not chosen; of equal ones, the first is.
        """
        if not cell.grid:
            return cell
        scores = []
        for trial in cell.trials:
            line = self.find(trial, 0)
            if line is None:
                return None
            scores.append(float("-inf") if "error" in line else next(iter(line["val"].values())))
        return cell.candidates[scores.index(max(scores))]

    @contextmanager
    def writing(self, table: str) -> Iterator[Append]:
        """Hold the file of a table for writing; lend a function that appends the line of a cell and seed.

        Raises:
            Locked: Another process holds it.
            OSError: It cannot be written.
        """
        check_writable(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(table)

        def append(cell: Cell, seed: int, measured: Line) -> None:
            key = cell.hash
            line = {"hash": key} | {name: getattr(cell, name) for name in _NAMES} | {"seed": seed} | measured
            new = [] if key in self._told[table] else [{"hash": key, "settings": cell.settings}]
            _append(path, [*new, line])
            for each in (*new, line):
                self._take(table, each)

        with FileLock(self.folder / f".{table}.lock").held():
            _cut_half_line(path)
            yield append


def _append(path: Path, lines: list[Line]) -> None:
    """Append lines in one write, and wait until they are on the disk."""
    text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _cut_half_line(path: Path) -> None:
    """Remove what a killed process has left of a line at the end of a file."""
    if path.exists():
        content = read_regular(path)
        if content and not content.endswith(b"\n"):
            with path.open("rb+") as file:
                file.truncate(content.rfind(b"\n") + 1)


def _whole_lines(content: bytes, path: Path) -> Iterator[Line]:
    """Read the lines of a file but for half a line at its end; raise ``ValueError`` for one that is not as they are."""
    for number, text in enumerate(content.split(b"\n")[:-1], 1):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            line = None
        if not isinstance(line, dict) or not (_tells_settings(line) or _is_measured(line)):
            raise ValueError(f"{path}: line {number} is no line of results")
        yield line


def _tells_settings(line: Line) -> bool:
    return isinstance(line.get("hash"), str) and isinstance(line.get("settings"), dict)


def _is_measured(line: Line) -> bool:
    """Tell whether a line has a key, and scores that can be read off it."""
    named = isinstance(line.get("hash"), str) and type(line.get("seed")) is int and _is_number(line.get("seconds"))
    scores = [line[split] for split in ("val", "test") if split in line]
    return named and all(isinstance(each, dict) and _is_number(each.get(line.get("metric"))) for each in scores)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
