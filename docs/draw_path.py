"""Draw the path of an edge list through the code, from ``qgcn train links --data my.csv`` to the page, from a real trace.

    python docs/draw_path.py        # writes docs/images/path.svg

Both commands run under a profiler. A row is the first call into a file from another folder, in each part of the path; a
function is shown once. Checks and properties are left out.
"""

import inspect
import os
import sys
import tempfile
import threading
from functools import cached_property
from html import escape
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import qgcn
from qgcn.cli import main

SOURCE = Path(qgcn.__file__).parent
LANES = (
    *("cli", "viz", "analysis", "training", "tasks", "metrics", "models", "nn"),
    *("embedding", "manifolds", "kernels", "geometry", "data", "files"),
)
"""Folders that are drawn, from left to right: each imports from those to its right only."""
PHASES = {
    "cli/flags.py: flags_of": "Flags become a config",
    "training/run.py: Run.start": "The edge list becomes a problem",
    "training/folder.py: RunFolder.opened": "The run folder is created",
    "training/loop.py: Trainer.__init__": "A network is built",
    "tasks/batches.py: FullBatch.batches": "A training step: batch, forward pass, loss",
    "training/loop.py: Trainer._validate": "Validation",
    "training/folder.py: RunFolder.save_seed": "Weights, embeddings and results are written",
    "viz/report/runs.py: read_run": "The run is read back from its folder",
    "tasks/links.py: LinkPrediction.insights": "The model is evaluated by node",
    "viz/report/subject.py: embed": "Points become views",
    "analysis/measurements.py: measure": "The graph is measured",
    "viz/report/page.py: write_report": "The page is written",
}
"""Functions with which a part of the path begins, and what is said about it."""
TEXT, COLUMN, ROW, TOP, EDGE = 356, 40, 21, 92, 14
LINE, INK, FAINT = "#0072b2", "#22262b", "#5b636c"


class Step(NamedTuple):
    """A call from one folder into another; a phase has no folders."""

    caller: str
    callee: str
    name: str


def place_of(frame: FrameType) -> str | None:
    """Return the file of the source that a frame runs in."""
    path = Path(frame.f_code.co_filename)
    return path.relative_to(SOURCE).as_posix() if path.is_relative_to(SOURCE) else None


def lane_of(file: str) -> str:
    """Return the folder or side module of a file."""
    return file.split("/")[0].removesuffix(".py")


def is_told(file: str, name: str) -> bool:
    """Tell whether a function says something: it is public, and neither a check, a property nor plumbing of ``torch.func``."""
    parts = name.split(".")
    if any(
        part.startswith(("_", "check", "is_", "under_", "transformed"))
        for part in parts
    ):
        return False
    found: Any = sys.modules[
        "qgcn." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    ]
    for part in parts:
        found = inspect.getattr_static(found, part, None)
    return not isinstance(found, (property, cached_property))


class Trace:
    """Collects phases and the first call into each file.

    Args:
        told: Functions that need not be shown any more; those that are shown are added.
    """

    def __init__(self, told: set[str]) -> None:
        self.steps: list[Step] = []
        self._told = told
        self._begun: set[str] = set()
        self._seen: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Look at one event of the profiler."""
        file, name, is_function = (
            place_of(frame),
            frame.f_code.co_qualname,
            frame.f_code.co_flags & inspect.CO_OPTIMIZED,
        )
        if event != "call" or file is None or not is_function or "<" in name:
            return
        if (phase := PHASES.get(f"{file}: {name}")) and phase not in self._begun:
            self._begun.add(phase)
            self._seen.clear()
            self.steps.append(Step("", "", phase))
        name = name.removesuffix(".__init__")
        caller, above = None, frame.f_back
        while above is not None and caller is None:
            caller, above = place_of(above), above.f_back
        start, end = lane_of(caller or ""), lane_of(file)
        if (
            {start, end} <= set(LANES)
            and start != end
            and file not in self._seen
            and is_told(file, name)
        ):
            self._seen.add(file)
            if (step := f"{file}: {name}") not in self._told:
                self._told.add(step)
                self.steps.append(Step(start, end, step))


def traced(arguments: tuple[str, ...], told: set[str]) -> list[Step]:
    """Run a command and return its steps, in their order."""
    trace = Trace(told)
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        main(list(arguments))
    except SystemExit as stop:
        if stop.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return trace.steps


def trace_commands() -> dict[str, list[Step]]:
    """Trace both commands on a small edge list in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        try:
            people = [
                f"{a},{b}\n"
                for a in range(60)
                for b in (a + 1, 2 * a + 1, 2 * a + 2)
                if b < 60
            ]
            Path("my.csv").write_text("from,to\n" + "".join(people))
            train = (
                "train",
                "links",
                "--data",
                "my.csv",
                "--epochs",
                "10",
                "--out",
                "run",
            )
            report = ("report", "run", "--no-umap")
            told: set[str] = set()
            return {
                f"qgcn {' '.join(command)}": traced(command, told)
                for command in (train, report)
            }
        finally:
            os.chdir(before)


class Drawing:
    """Rows from top to bottom: text on the left, a column for each folder on the right."""

    def __init__(self) -> None:
        self.width = TEXT + COLUMN * len(LANES) + EDGE
        self.y, self.number = TOP, 0
        self.shapes: list[str] = []

    def place(self, lane: str) -> float:
        """Return where a folder's column is."""
        return TEXT + COLUMN * (LANES.index(lane) + 0.5)

    def text(self, x: float, words: str, colour: str = INK, more: str = "") -> None:
        """Write a line."""
        self.shapes.append(
            f'<text x="{x:g}" y="{self.y:g}" fill="{colour}" {more}>{words}</text>'
        )

    def command(self, words: str) -> None:
        """Begin a command."""
        self.y += ROW + 14
        self.shapes.append(
            f'<rect x="0" y="{self.y - 17}" width="{self.width}" height="25" fill="{INK}"/>'
        )
        self.text(
            EDGE,
            f"$ {escape(words)}",
            "#ffffff",
            'font-family="monospace" font-size="14"',
        )
        self.y += 4

    def phase(self, words: str) -> None:
        """Begin a part of it."""
        self.y += ROW + 4
        self.shapes.append(
            f'<rect x="0" y="{self.y - 15}" width="{self.width}" height="21" fill="#f6f1e3"/>'
        )
        self.text(EDGE, escape(words), INK, 'font-weight="bold"')

    def step(self, step: Step) -> None:
        """Draw a call."""
        self.y, self.number = self.y + ROW, self.number + 1
        file, name = step.name.split(": ")
        start, end = self.place(step.caller), self.place(step.callee)
        self.text(EDGE + 18, str(self.number), FAINT, 'text-anchor="end"')
        self.text(
            EDGE + 28,
            f'{escape(name)} <tspan fill="{FAINT}" font-size="11">{escape(file)}</tspan>',
        )
        ends = f'x1="{start:g}" y1="{self.y - 4}" x2="{end:g}" y2="{self.y - 4}"'
        self.shapes.append(
            f'<circle cx="{start:g}" cy="{self.y - 4}" r="3" fill="{LINE}"/>'
        )
        self.shapes.append(
            f'<line {ends} stroke="{LINE}" stroke-width="1.6" marker-end="url(#tip)"/>'
        )

    def frame(self) -> list[str]:
        """Return what lies behind the rows: names and lines of the columns."""
        height = self.y + 16
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height}" font-family="sans-serif" '
            'font-size="12.5">',
            "<title>The path of an edge list through the code</title>",
            '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
            f'<path d="M0 0L8 4L0 8z" fill="{LINE}"/></marker>',
            f'<rect width="{self.width}" height="{height}" fill="#ffffff"/>',
        ]
        said = (
            "Top to bottom: functions called, and their files.",
            "Arrows: from the calling folder to the called one.",
        )
        for row, words in enumerate(said):
            out.append(
                f'<text x="{EDGE}" y="{56 + 20 * row}" fill="{INK}">{words}</text>'
            )
        for lane in LANES:
            x = self.place(lane)
            out.append(
                f'<line x1="{x:g}" y1="{TOP}" x2="{x:g}" y2="{height - 8}" stroke="#d7dbe0"/>'
            )
            out.append(
                f'<text x="{x + 4:g}" y="{TOP - 6}" font-weight="bold" fill="{INK}" '
                f'transform="rotate(-55 {x + 4:g} {TOP - 6})">{lane}</text>'
            )
        return out


def drawn(parts: dict[str, list[Step]]) -> str:
    """Return the figure as SVG."""
    drawing = Drawing()
    for command, steps in parts.items():
        drawing.command(command)
        for step in steps:
            if step.caller:
                drawing.step(step)
            else:
                drawing.phase(step.name)
    return "\n".join([*drawing.frame(), *drawing.shapes, "</svg>", ""])


if __name__ == "__main__":
    target = Path(__file__).parent / "images" / "path.svg"
    target.write_text(drawn(trace_commands()), encoding="utf-8")
    print(f"Written to {target}")
