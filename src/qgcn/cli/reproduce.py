"""``qgcn reproduce``: the tables and figures of the paper, measured cell by cell and rendered from the lines."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from qgcn.cli.console import Console, ProgressBars, progress_bars
from qgcn.hints import nearest

if TYPE_CHECKING:
    from qgcn.reproduction import Cell, Store
    from qgcn.reproduction.running import Limits, Work
    from qgcn.reproduction.store import Line
    from qgcn.reproduction.tables import Scale

__all__ = ["reproduce"]

WHAT = ("table1", "table2", "table3", "table4", "figure1", "figure2", "figure3", "figure4", "appendix")
"""What can be reproduced."""
_HOUR = 3600


What = Annotated[list[str], typer.Argument(help=f"{', '.join(WHAT)}, or all.", metavar="WHAT...")]
Quick = Annotated[
    bool, typer.Option("--quick", help="A rehearsal on small generated graphs, ten epochs and two seeds: minutes on a CPU.")
]
Limit = Annotated[float | None, typer.Option(min=0, help="Begin no new cell after so many seconds.", metavar="X")]
Trials = Annotated[
    int | None, typer.Option(min=1, max=384, help="Points of the paper's grid that validation chooses from.", metavar="N")
]
Setting = Annotated[
    list[str] | None, typer.Option(help="These settings alone, such as ours or 'ours; *'; may be repeated.", metavar="NAME")
]
Results = Annotated[
    Path | None,
    typer.Option(help="Folder of the lines (default: experiments/results of a checkout, or qgcn-results).", metavar="DIR"),
]
Figures = Annotated[Path | None, typer.Option(help="Folder of the figures (default: beside the lines).", metavar="DIR")]


def reproduce(
    what: What,
    quick: Quick = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that measure at the same time.", metavar="N")] = 1,
    limit: Limit = None,
    device: Annotated[str, typer.Option(help="Device to train on: auto, cpu or cuda.", metavar="NAME")] = "auto",
    seeds: Annotated[int | None, typer.Option(min=1, help="Seeds of every cell (default: 10).", metavar="N")] = None,
    trials: Trials = None,
    data: Annotated[list[str] | None, typer.Option(help="This graph alone; may be repeated.", metavar="NAME")] = None,
    setting: Setting = None,
    method: Annotated[
        list[str] | None, typer.Option(help="These methods alone, such as GCN or 'Q-GCN*'; may be repeated.", metavar="NAME")
    ] = None,
    results: Results = None,
    figures: Figures = None,
    plan: Annotated[bool, typer.Option("--plan", help="Measure nothing: say what is missing and what it costs.")] = False,
) -> None:
    """Reproduce the tables and figures of the paper, cell by cell.

    What is there is not measured again: the same command goes on after an interruption. Choices from the paper's grid are made
    on validation, without the test in sight.

    Example: qgcn reproduce table1 --quick
    """
    names = _names(what)
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device must be auto, cpu or cuda, got {device!r}")
    console, written = Console(), 0
    with progress_bars(console) as progress:
        progress("loading PyTorch")
        from qgcn.reproduction import Store
        from qgcn.reproduction.running import Limits
        from qgcn.reproduction.store import default_folder
        from qgcn.reproduction.tables import FILES

        folder = (default_folder() if results is None else results) / ("quick" if quick else "")
        scale = _scale(quick, seeds, trials)
        store = Store(folder, FILES)
        cells = _cells(names, scale, {"data": data or [], "setting": setting or [], "method": method or []})
        if not plan:
            limits = Limits(jobs, float("inf") if limit is None else limit, device)
            written = _measure(cells, scale, store, limits, console, progress) if cells else 0
            _draw(names, store, scale, folder / "figures" if figures is None else figures, console)
    if not plan:
        _print_tables(names, store, scale)
    _print_rest(cells, scale, store, written, console)


def _measure(
    cells: "list[Cell]", scale: "Scale", store: "Store", limits: "Limits", console: Console, progress: ProgressBars
) -> int:
    """Measure what is missing, and tell each line; return their number."""
    from qgcn.reproduction.running import run

    def told(work: "Work", line: "Line") -> None:
        console.print(f"{escape(work.name)}: {_outcome(line)}", highlight=False, soft_wrap=True)

    try:
        return run(cells, scale.seeds, store, limits, done=told, progress=progress)
    except KeyboardInterrupt:
        raise ValueError("interrupted; what was measured is kept, and the same command goes on") from None
    except RuntimeError as error:
        raise ValueError(f"{error}; what was measured is kept, and the same command goes on") from None


def _names(what: Sequence[str]) -> list[str]:
    for name in what:
        if name not in (*WHAT, "all"):
            raise ValueError(f"nothing to reproduce is called {name!r}{nearest(name, WHAT)} (known: {', '.join(WHAT)}, all)")
    return list(WHAT) if "all" in what else list(dict.fromkeys(what))


def _scale(quick: bool, seeds: int | None, trials: int | None) -> "Scale":
    from qgcn.reproduction.store import default_folder
    from qgcn.reproduction.tables import FULL, QUICK

    scale = QUICK if quick else replace(FULL, searched=default_folder().parent / "configs")
    scale = scale if seeds is None else replace(scale, seeds=seeds)
    return scale if trials is None else replace(scale, trials=trials)


def _cells(names: Sequence[str], scale: "Scale", asked: Mapping[str, Sequence[str]]) -> "list[Cell]":
    """Return the cells that are asked for, each once; ``asked`` has patterns by attribute, none for all.

    Raises:
        ValueError: There are cells, but none of that graph, with those settings or of that method.
    """
    from qgcn.reproduction.tables import cells_of

    found = {(cell.table, cell.hash, cell.method, cell.setting): cell for name in names for cell in cells_of(name, scale)}
    cells = every = list(found.values())
    for attribute, patterns in asked.items():
        known = {str(getattr(cell, attribute)) for cell in every}
        for given in patterns if every else ():
            if not any(fnmatchcase(each, given) for each in known):
                raise ValueError(f"no cell of {', '.join(names)} has {given!r} (known: {', '.join(sorted(known))})")
        if patterns:
            cells = [cell for cell in cells if any(fnmatchcase(getattr(cell, attribute), each) for each in patterns)]
    return cells


def _outcome(line: "Line") -> str:
    if "failed" in line:
        return f"not measured ({line['failed']})"
    if "error" in line:
        return "diverged"
    split = "test" if "test" in line else "val"
    if split not in line:
        return f"measured, {line['seconds']:.1f} s"
    kind = "" if split == "test" else " on validation"
    return f"{100 * line[split][line['metric']]:.2f}{kind}, {line['seconds']:.1f} s"


def _draw(names: Sequence[str], store: "Store", scale: "Scale", folder: Path, console: Console) -> None:
    from qgcn.reproduction.figures import FIGURES, draw

    for name in names:
        if name in FIGURES:
            for path in draw(name, store, scale, folder):
                console.print(f"Written: {escape(str(path))}", highlight=False, soft_wrap=True)


def _print_tables(names: Sequence[str], store: "Store", scale: "Scale") -> None:
    from qgcn.reproduction.blocks import blocks_of

    for title, render in blocks_of(store, scale).items():
        if scale.changes is not None and title.endswith("printed"):
            continue
        if title.split("-")[0] in (*names, *(["claims"] if len(names) == len(WHAT) else [])):
            text = render()
            if re.search(r"\| \**[+-]?\d", text):  # else nothing of it was measured
                typer.echo(f"\n{title}\n{text}")


def _print_rest(cells: "list[Cell]", scale: "Scale", store: "Store", written: int, console: Console) -> None:
    from qgcn.reproduction.running import estimate

    if not cells:
        return
    count, unknown, seconds = estimate(cells, scale.seeds, store)
    told = f"{written} lines written to {store.folder}; " if written else ""
    cost = "" if count == unknown else f", about {seconds / _HOUR:.1f} hours of one process"
    new = f" ({unknown} of them of unknown cost)" if unknown else ""
    left = f"{count} seeds of cells are left{new}{cost}." if count else "Nothing is left to measure."
    console.print(f"{told}{left}", style="dim", highlight=False, soft_wrap=True)
