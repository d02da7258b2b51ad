"""A run on the terminal: what it is about to do, its progress, its results."""

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from qgcn.cli.console import progress_bars
from qgcn.cli.flags import shown

if TYPE_CHECKING:
    from qgcn.training.run import Run, Summary

__all__ = ["train_and_show"]


def train_and_show(prepare: "Callable[[Console], Run]") -> "Run":
    """Prepare a run, train it and print its results; an interrupted one is answered with the way to resume it.

    Args:
        prepare: Returns the run; what it prints goes to the console.
    """
    console = Console()
    run = None
    try:
        run = prepare(console)
        _print_settings(run, console)
        with progress_bars(console) as progress:
            summary = run.train(progress)
    except KeyboardInterrupt as stop:  # Interrupted, or the second Ctrl-C, which does not wait for the current step
        if run is None or run.folder is None or not run.folder.holds_run:
            raise ValueError("interrupted before training began; nothing was written") from None
        raise ValueError(f"{str(stop) or 'interrupted'}; go on with: qgcn resume {shlex.quote(str(run.folder))}") from None
    _print_results(run, summary, console)
    return run


def _print_settings(run: "Run", console: Console) -> None:
    config, task = run.config, run.task
    edges = task.data.num_edges if task.directed else task.data.num_edges // 2
    console.print(
        f"[bold]{config.task}[/] on [bold]{escape(config.data)}[/]: {task.num_nodes} nodes, {edges} edges, "
        f"{task.features_used()} features; [bold]{config.model}[/] in [bold]{config.space}[/], {run.fabric.device.type}.",
        highlight=False,
        soft_wrap=True,
    )
    for remark in [*getattr(task.data, "remarks", []), *task.remarks()]:
        console.print(f"  {escape(remark)}", style="dim", highlight=False, soft_wrap=True)
    changed = ", ".join(f"{name} {shown(value)}" for name, value in config.changed().items())
    console.print(f"  settings: {escape(changed) or 'all default'}", style="dim", highlight=False, soft_wrap=True)


def _print_results(run: "Run", summary: "Summary", console: Console) -> None:
    config, task = run.config, run.task
    seeds = f"{config.seeds} seeds, mean ± standard deviation" if config.seeds > 1 else "1 seed"
    console.print(f"{config.model} in {config.space}, {task.scored_on()} ({seeds})", highlight=False, soft_wrap=True)
    table = Table(header_style="bold")
    table.add_column("score")
    table.add_column("test" if task.held_out else "value", justify="right")
    for name, (mean, deviation) in summary.items():
        percent = 1 if name in task.plain_scores else 100
        spread = f" ± {percent * deviation:.2f}" if config.seeds > 1 else ""
        table.add_row(name, f"{percent * mean:.2f}{spread}")
    console.print(table)
    if task.caution():
        console.print(task.caution(), style="yellow", soft_wrap=True)
    if run.folder is not None:
        console.print(f"Written to {escape(str(run.folder))}", highlight=False, soft_wrap=True)
        console.print(f"Look at it: qgcn report {escape(shlex.quote(str(run.folder)))}", highlight=False, soft_wrap=True)
