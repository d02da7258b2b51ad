"""Draw the path of an edge list through the code, from ``qgcn train links --data my.csv`` to the page, from a real trace.

    python docs/draw_path.py        # writes docs/images/path.svg

Both commands run under a profiler. Each arrow is the first call from one folder of the source into a module of another.
"""

import os
import sys
import tempfile
import threading
from html import escape
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import qgcn
from qgcn.cli import main

SOURCE = Path(qgcn.__file__).parent
LANES = ("cli", "training", "data", "tasks", "models", "nn", "manifolds", "geometry", "kernels", "metrics", "viz")
"""Folders that are drawn, from left to right."""
LEFT, TOP, COLUMN, ROW = 16, 74, 108, 27


class Call(NamedTuple):
    """A call from one folder into another."""

    caller: str
    callee: str
    name: str


def folder_of(frame: FrameType) -> str | None:
    """Return the folder or side module of the source that a frame runs in."""
    path = Path(frame.f_code.co_filename)
    return path.relative_to(SOURCE).parts[0].removesuffix(".py") if path.is_relative_to(SOURCE) else None


class Trace:
    """Collects first calls between folders."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._seen: set[tuple[str, str]] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Look at one event of the profiler."""
        name = frame.f_code.co_qualname
        if event != "call" or "<" in name:
            return
        callee, caller, above = folder_of(frame), None, frame.f_back
        if callee not in LANES:
            return
        while above is not None and caller is None:
            caller, above = folder_of(above), above.f_back
        module = frame.f_code.co_filename
        public = not any(part.startswith("_") and part != "__init__" for part in name.split("."))
        if caller in LANES and caller != callee and public and (caller, module) not in self._seen:
            self._seen.add((caller, module))
            file = Path(module).relative_to(SOURCE).as_posix()
            self.calls.append(Call(caller, callee, f"{file}: {name.removesuffix('.__init__')}"))


def traced(*arguments: str) -> list[Call]:
    """Run a command and return the calls between folders, in their order."""
    trace = Trace()
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
    return trace.calls


def drawn(parts: dict[str, list[Call]]) -> str:
    """Return the figure as SVG: a column for each folder, time downwards."""
    rows = sum(len(calls) + 1 for calls in parts.values())
    width, height = LEFT + COLUMN * len(LANES) + 190, TOP + ROW * rows + 16
    place = {lane: LEFT + COLUMN * k + COLUMN // 2 for k, lane in enumerate(LANES)}
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#0072b2"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="24" font-size="15" font-weight="bold" fill="#22262b">'
        "The path of an edge list, from a trace: each arrow is the first call from one folder into a file of another</text>",
    ]
    for lane, x in place.items():
        out.append(f'<rect x="{x - 46}" y="40" width="92" height="22" rx="5" fill="#eaf2f9"/>')
        out.append(f'<text x="{x}" y="55" text-anchor="middle" font-weight="bold" fill="#22262b">{lane}</text>')
        out.append(f'<line x1="{x}" y1="62" x2="{x}" y2="{height - 10}" stroke="#d7dbe0"/>')
    y, number = TOP, 0
    for command, calls in parts.items():
        y += ROW
        out.append(f'<rect x="{LEFT}" y="{y - 19}" width="{width - 2 * LEFT}" height="24" fill="#f6f1e3"/>')
        out.append(f'<text x="{LEFT + 8}" y="{y - 2}" font-family="monospace" fill="#22262b">{escape(command)}</text>')
        for call in calls:
            y, number = y + ROW, number + 1
            start, end = place[call.caller], place[call.callee]
            anchor, beside = ("start", max(start, end) + 8)
            out.append(
                f'<line x1="{start}" y1="{y - 6}" x2="{end}" y2="{y - 6}" stroke="#0072b2" stroke-width="1.4" '
                'marker-end="url(#tip)"/>'
            )
            label = escape(f"{number}  {call.name}")
            out.append(
                f'<text x="{beside}" y="{y - 2}" text-anchor="{anchor}" fill="#22262b" stroke="#ffffff" '
                f'stroke-width="4" paint-order="stroke">{label}</text>'
            )
    return "\n".join([*out, "</svg>", ""])


def trace_commands() -> dict[str, list[Call]]:
    """Trace both commands on a small edge list in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        try:
            people = [f"{a},{b}\n" for a in range(60) for b in (a + 1, 2 * a + 1, 2 * a + 2) if b < 60]
            Path("my.csv").write_text("from,to\n" + "".join(people))
            train = ("train", "links", "--data", "my.csv", "--epochs", "10", "--out", "run")
            report = ("report", "run", "--no-umap")
            return {f"qgcn {' '.join(command)}": traced(*command) for command in (train, report)}
        finally:
            os.chdir(before)


if __name__ == "__main__":
    target = Path(__file__).parent / "images" / "path.svg"
    target.write_text(drawn(trace_commands()), encoding="utf-8")
    print(f"Written to {target}")
