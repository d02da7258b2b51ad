"""``qgcn sweep``: one search of settings for every model and space, with the same budget, chosen on validation."""

import inspect
import re
import shlex
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from qgcn.cli.console import Console, progress_bars
from qgcn.cli.flags import flags_of, option
from qgcn.cli.train import checked_config
from qgcn.tasks import TASKS, read_config

if TYPE_CHECKING:
    from qgcn.sweeping import Sweep
    from qgcn.sweeping.results import Row

__all__ = ["sweep_commands"]

_SWEEPS = Path("sweeps")
_SEEDS, _TRIALS, _ROWS = 3, 30, 20
"""Seeds of a trial and trials of a model if not asked for; rows of the table that is printed."""
_DECIDED = ("model", "space", "refit")
"""Settings that a sweep decides, or that have no effect on it."""
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def sweep_commands() -> typer.Typer:
    """Return the commands ``qgcn sweep TASK``, one for every task that is registered."""
    about = "Search the settings of several models, with the same budget for each, by validation."
    commands = typer.Typer(help=about, no_args_is_help=True)
    for task in TASKS:
        commands.command(task)(_command(task))
    return commands


def _command(task: str) -> Callable[..., None]:
    """Build the command of a task: a setting that is given is fixed, and not searched."""

    def run(**given: Any) -> None:
        _check_optuna()
        own = {each.name: given.pop(each.name) for each in _own_flags()}
        file = own["config"]
        values = read_config(file) if file is not None else {}
        if values.get("task", task) != task:
            raise ValueError(f"{file} is for {values['task']}, but the command is for {task}")
        flags = {name: value for name, value in given.items() if value is not None}
        values |= flags | {"task": task}
        for name in _DECIDED:
            if values.pop(name, None) is not None:
                raise ValueError(f"{name} is nothing to be fixed in a sweep: leave it out of {file}")
        if "data" not in values:
            raise ValueError("no data: give --data NAME or --data FILE (qgcn datasets lists the names)")
        names = [name for each in [*own["models"], *own["more"]] for name in each.split()]
        if not names:
            raise ValueError("no models: give --models MODEL:SPACE, such as --models qgcn:Q15,1 --models gcn:E16")
        _search(values | {"seeds": values.get("seeds", _SEEDS)}, names, own, flags)

    more = typer.Argument(help="More models, as after --models.", metavar="[MODEL:SPACE]...", show_default=False)
    searched = ", ".join(dict.fromkeys(each.name.replace("_", "-") for each in TASKS[task].search))
    run.__name__ = task
    run.__doc__ = (
        f"Search settings for: {TASKS[task].purpose[0].lower()}{TASKS[task].purpose[1:]}\n\n"
        f"Searched: {searched}, as far as a model has them. A setting that is given is fixed instead. "
        "The same command goes on with a sweep that was interrupted; with more --trials it goes further.\n\n"
        f"Example: qgcn sweep {task} {TASKS[task].sweep_example} --trials 30 --jobs 2"
    )
    parameters = [
        inspect.Parameter("more", _KEYWORD, default=[], annotation=Annotated[list[str], more]),
        *_own_flags()[1:],
        *(flag for flag in flags_of(task) if flag.name not in _DECIDED),
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _own_flags() -> list[inspect.Parameter]:
    """Return the options of the search; the first stands for the models that follow ``--models``."""
    panel = "Search"

    def number(name: str, default: int, about: str, least: int = 1) -> inspect.Parameter:
        given = typer.Option(f"--{name.replace('_', '-')}", min=least, help=about, metavar="N", rich_help_panel=panel)
        return inspect.Parameter(name, _KEYWORD, default=default, annotation=Annotated[int, given])

    models = typer.Option(
        "--models",
        help="Model and space, such as qgcn:Q15,1; a model alone takes its default space. May be repeated.",
        metavar="MODEL:SPACE",
        show_default=False,
        rich_help_panel=panel,
    )
    prune = typer.Option("--prune/--no-prune", help="Give up trials that do worse than the median.", rich_help_panel=panel)
    return [
        inspect.Parameter("more", _KEYWORD, default=[], annotation=list[str]),
        inspect.Parameter("models", _KEYWORD, default=[], annotation=Annotated[list[str], models]),
        number("trials", _TRIALS, "Trials of each model."),
        number("jobs", 1, "Processes that train at the same time."),
        number("search_seed", 0, "Seed of what is drawn; --seed is the first seed of training.", 0),
        inspect.Parameter("prune", _KEYWORD, default=True, annotation=Annotated[bool, prune]),
        option("storage", str, "Database to share, such as sqlite:///sweep.db (default: a file in --out).", "URL", panel),
        option("config", Path, "YAML file of settings to be fixed; flags override it.", "FILE", panel),
        option("out", Path, "Folder of the sweep (default: sweeps/TASK-DATA).", "DIR", panel),
    ]


def _check_optuna() -> None:
    if find_spec("optuna") is None:
        raise ValueError("a sweep needs Optuna: pip install 'qgcn[sweep]'")


def _search(values: dict[str, Any], names: list[str], own: dict[str, Any], flags: dict[str, Any]) -> None:
    console = Console()
    with progress_bars(console) as progress:
        progress("reading", note=str(values["data"]))
        from qgcn.data.own import check_found
        from qgcn.sweeping import Sweep, parse_candidate

        model, _, space = names[0].partition(":")
        given = values | {"model": model} | ({"space": space} if space else {})
        checked = checked_config(given, own["config"], flags)
        values = {name: value for name, value in given.items() if name not in _DECIDED}  # files are named from the root now
        check_found(checked.data)
        candidates = [parse_candidate(name, values) for name in names]
        usual = _SWEEPS / re.sub(r"[^\w,.-]+", "-", f"{checked.task}-{Path(checked.data).stem}")
        folder = usual if own["out"] is None else own["out"]
        options = {name: own[name] for name in ("trials", "jobs", "prune", "storage")}
        sweep = Sweep(candidates, folder, seed=own["search_seed"], **options)
        try:
            rows = sweep.run(progress)
        except KeyboardInterrupt:
            done = len(sweep.rows())
            raise ValueError(f"interrupted after {done} trials, which are kept; the same command goes on with them") from None
    _print(sweep, rows, console)


def _print(sweep: "Sweep", rows: "list[Row]", console: Console) -> None:
    from qgcn.sweeping.results import best_rows

    ranked = best_rows(rows)
    table = Table(header_style="bold", title=f"{sweep.metric} on validation, per cent", title_justify="left")
    for name in ("rank", "model", "space", "score", "seconds", "settings"):
        table.add_column(name, justify="right" if name in ("rank", "seconds") else "left", no_wrap=name != "settings")
    for rank, row in enumerate(ranked[:_ROWS], 1):
        table.add_row(str(rank), row.model, row.space, row.shown, f"{row.seconds:.1f}", escape(row.words))
    console.print(table)
    ends = {state: sum(row.state == state for row in rows) for state in ("complete", "pruned", "diverged", "failed")}
    console.print(", ".join(f"{count} {state}" for state, count in ends.items() if count), style="dim", highlight=False)
    if sweep.recovered:
        told = "1 trial was" if sweep.recovered == 1 else f"{sweep.recovered} trials were"
        console.print(f"{told} begun again: a process had been killed.", style="yellow", highlight=False)
    if not ranked:
        failed = next((row.message for row in rows if row.message), "")
        raise ValueError(f"no trial was completed; {sweep.folder / 'trials.jsonl'} lists them{failed and ': ' + failed}")
    best = shlex.quote(str(sweep.folder / "best.yaml"))
    console.print(f"Written to {escape(str(sweep.folder))}", highlight=False, soft_wrap=True)
    console.print(f"Train the best: qgcn train {sweep.task.name} --config {escape(best)}", highlight=False, soft_wrap=True)
