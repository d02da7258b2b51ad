"""A run on the terminal: what it is about to do, its progress, its results."""

import shlex
import statistics
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape
from rich.prompt import Confirm
from rich.table import Table

from qgcn.cli.console import Console, ProgressBars, progress_bars
from qgcn.cli.flags import shown
from qgcn.manifolds import parse_space
from qgcn.training.machine import device_of
from qgcn.training.processes import LostProcess, Place

if TYPE_CHECKING:
    from qgcn.progress import Progress
    from qgcn.tasks import Config, Task
    from qgcn.training.costs import Cost
    from qgcn.training.run import Run
    from qgcn.training.summary import Summary

__all__ = ["train_and_show"]


MOST_NAMED = 10
"""Seeds whose number of epochs is named."""
Plan = tuple["Config", Callable[["Progress"], "Run"]]
"""The settings of a run, and a function that reads its graph and returns it, ready to be trained."""
HOUR = 3600
"""Seconds beyond which a training needs to be agreed to."""


def train_and_show(prepare: "Callable[[Console], Plan]", *, yes: bool = False) -> "Run":
    """Prepare a run, train it and print its results; an interrupted one is answered with the way to resume it.

    What the run is about to do is printed before its graph is read, which may take long.

    Args:
        prepare: Returns the settings, and a function that reads the graph; what it prints goes to the console.
        yes: Train however long it takes; otherwise more than an hour is asked about.
    """
    place = Place.here()
    console = Console(quiet=place.rank > 0)
    run = None
    try:
        config, start = prepare(console)
        _print_settings(config, console)
        with progress_bars(console) as progress:
            progress("reading", note=config.data)
            run = start(progress)
        _print_graph(run, console)
        with progress_bars(console) as progress:
            summary = run.train(progress, partial(_agree, console, progress, yes))
    except LostProcess as error:
        if place.rank > 0:  # the first process says it for all
            raise typer.Exit(2) from None
        known = run is not None and run.folder is not None and run.folder.holds_run
        raise ValueError(f"{error}; {_way_on(run) if known else 'nothing was written'}") from None
    except KeyboardInterrupt as stop:  # Interrupted, or the second Ctrl-C, which does not wait for the current step
        if place.rank > 0:
            raise typer.Exit(2) from None
        if run is None or run.folder is None or not run.folder.holds_run:
            raise ValueError("interrupted before training began; nothing was written") from None
        raise ValueError(f"{str(stop) or 'interrupted'}; {_way_on(run)}") from None
    except (ValueError, OSError):
        if place.local_rank > 0:  # the first process of this machine has found the same, and says so
            raise typer.Exit(2) from None
        raise
    finally:
        for remark in [] if run is None else run.remarks:
            console.print(escape(remark), style="yellow", highlight=False, soft_wrap=True)
    if place.rank == 0:
        _print_results(run, summary, console)
    return run


def _way_on(run: "Run | None") -> str:
    return "" if run is None else f"go on with: qgcn resume {shlex.quote(str(run.folder))}"


def _print_settings(config: "Config", console: Console) -> None:
    space = parse_space(config.space)
    console.print(
        f"[bold]{config.task}[/] on [bold]{escape(config.data)}[/]: [bold]{config.model}[/] in [bold]{space}[/] "
        f"({space.family}, {space.dim} dimensions), {device_of(config).type}.",
        highlight=False,
        soft_wrap=True,
    )
    changed = ", ".join(f"{name} {shown(value)}" for name, value in config.changed().items())
    console.print(f"  settings: {escape(changed) or 'all default'}", style="dim", highlight=False, soft_wrap=True)


def _print_graph(run: "Run", console: Console) -> None:
    task = run.task
    edges = task.data.num_edges if task.directed else task.data.num_edges // 2
    size = f"{task.num_nodes:,} nodes, {edges:,} edges, {task.features_used()} features"
    for remark in [size, *getattr(task.data, "remarks", []), *task.remarks()]:
        console.print(f"  {escape(remark)}", style="dim", highlight=False, soft_wrap=True)


def _agree(console: Console, progress: ProgressBars, yes: bool, cost: "Cost") -> None:
    """Print the cost of a training; ask whether to go on if it is high, and raise if not."""
    from qgcn.training.costs import Declined

    console.print(f"  estimate: {cost}", style="dim", highlight=False, soft_wrap=True)
    if yes or cost.seconds <= HOUR:
        return
    if console.is_terminal and sys.stdin.isatty():
        with progress.paused():
            if Confirm.ask("Train for that long?", console=console, default=False):
                return
    raise Declined(f"not trained, as it would take {cost}; to train it without being asked, give --yes")


def _print_results(run: "Run", summary: "Summary", console: Console) -> None:
    config, task = run.config, run.task
    seeds = f"{config.seeds} seeds, mean ± standard deviation" if config.seeds > 1 else "1 seed"
    console.print(f"{config.model} in {config.space}, {task.scored_on()} ({seeds})", highlight=False, soft_wrap=True)
    console.print(_table(run, summary))
    shown = task.main_scores or tuple(summary)
    others = [f"{_title(task, name)} {_cell(run, name, *summary[name])}" for name in summary if name not in shown]
    if others:
        console.print(f"also {', '.join(others)}", style="dim", highlight=False, soft_wrap=True)
    if (verdict := task.verdict(summary[task.metric], run.yardsticks)) is not None:
        console.print(escape(verdict.sentence), style="yellow" if verdict.outcome == "worse" else "", soft_wrap=True)
    if found := [each["calibration"] for each in run.results if "calibration" in each]:
        now, before = (100 * statistics.fmean(each[name] for each in found) for name in ("error", "uncalibrated"))
        about = f"Expected calibration error of the probabilities: {now:.1f} %, before calibration {before:.1f} %."
        console.print(about, highlight=False, soft_wrap=True)
    if config.refit:
        epochs = ", ".join(f"{result['best_epoch']:,}" for result in run.results[:MOST_NAMED])
        more = ", ..." if len(run.results) > MOST_NAMED else ""
        console.print(
            f"Model and embedding were then trained again on {task.everything} (epochs: {epochs}{more}); "
            "the scores are those of the first training, which held some out.",
            highlight=False,
            soft_wrap=True,
        )
    if task.caution():
        console.print(task.caution(), style="yellow", soft_wrap=True)
    if run.folder is not None:
        console.print(f"Written to {escape(str(run.folder))}", highlight=False, soft_wrap=True)
        console.print(f"Look at it: qgcn report {escape(shlex.quote(str(run.folder)))}", highlight=False, soft_wrap=True)


def _table(run: "Run", summary: "Summary") -> Table:
    """Return a row of scores for the model and one for each yardstick, the best of each column in bold."""
    task = run.task
    names = [name for name in task.main_scores or tuple(summary) if name in summary]
    own = {run.config.model: summary} | ({"network alone": run.network_summary} if run.network_summary else {})
    cheap = {method: {name: (value, None) for name, value in scores.items()} for method, scores in run.yardsticks.items()}
    rows: dict[str, Mapping[str, tuple[float, float | None]]] = {**own, **cheap}
    best = {name: _best(task, name, [row[name][0] for row in rows.values() if name in row]) for name in names}
    table = Table(header_style="bold")
    table.add_column("method")
    for name in names:
        table.add_column(_title(task, name), justify="right")
    for k, (method, row) in enumerate(rows.items()):
        cells = [_cell(run, name, *row[name]) if name in row else "" for name in names]
        bold = [name in row and len(rows) > 1 and row[name][0] == best[name] for name in names]
        shown = [f"[bold]{cell}[/]" if top else cell for cell, top in zip(cells, bold, strict=True)]
        table.add_row(method, *shown, end_section=k == len(own) - 1)
    return table


def _best(task: "Task[Any]", name: str, values: list[float]) -> float:
    return min(values) if name in task.plain_scores else max(values)


def _cell(run: "Run", name: str, value: float, deviation: float | None = None) -> str:
    percent = 1 if name in run.task.plain_scores else 100
    spread = f" ± {percent * deviation:.2f}" if run.config.seeds > 1 and deviation is not None else ""
    return f"{percent * value:.2f}{spread}"


def _title(task: "Task[Any]", name: str) -> str:
    return task.titles.get(name, name.replace("_", " "))
