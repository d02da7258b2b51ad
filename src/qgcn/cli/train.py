"""``qgcn train`` and ``qgcn resume``: one configuration, all its seeds, a folder that can be trusted."""

import inspect
import re
import types
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from qgcn.training.config import Config, read_config

if TYPE_CHECKING:
    from qgcn.training.loop import Progress as Validation
    from qgcn.training.run import Run, Summary

__all__ = ["resume", "train"]

train = typer.Typer(help="Train a model on a graph, for one or many seeds.", no_args_is_help=True)

_PURPOSE = {
    "reconstruction": "Embed a graph so that neighbours are nearest points.",
    "classification": "Learn the classes of some nodes, and predict those of the others.",
    "links": "Learn some edges of a graph, and tell the others from pairs that are none.",
}
_ONLY = {"Reconstruction:": "reconstruction", "Classification:": "classification", "Links:": "links"}


def _command(task: str) -> Callable[..., None]:
    """Build the command of a task: every key of the config is a flag of it."""

    def run(**given: Any) -> None:
        config_file, out = given.pop("config"), given.pop("out")
        values = read_config(config_file) if config_file is not None else {}
        if values.get("task", task) != task:
            raise ValueError(f"{config_file} is for {values['task']}, but the command is for {task}")
        values |= {name: value for name, value in given.items() if value is not None}
        if "data" not in values:
            raise ValueError("no data: give --data NAME or --data FILE (qgcn datasets lists the names)")
        config = Config.checked(values | {"task": task}, str(config_file) if config_file else "")
        _train(config, out)

    parameters = [
        _option("config", Path, "YAML file of keys; flags override it.", "FILE"),
        _option("out", Path, "Folder of the run.  [runs/TASK-DATA-MODEL-SPACE]", "DIR"),
    ]
    for name, field in Config.model_fields.items():
        about = field.description or ""
        meant_for = next((only for mark, only in _ONLY.items() if about.startswith(mark)), task)
        if name == "task" or meant_for != task:
            continue
        default = "" if field.is_required() or field.default in (None, "") else f"  [{_shown(field.default)}]"
        parameters.append(_option(name, _plain(field.annotation), about + default, _choices(field.annotation)))
    run.__name__ = task
    run.__doc__ = _PURPOSE[task]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _option(name: str, kind: Any, about: str, metavar: str | None) -> inspect.Parameter:
    flag = "--" + name.replace("_", "-")
    flags = (f"{flag}/--no-{flag[2:]}",) if kind is bool else (flag,)
    annotation = Annotated[kind | None, typer.Option(*flags, help=about, metavar=metavar, show_default=False)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _plain(annotation: Any) -> Any:
    """Return the type a flag is read as; the config checks the rest."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) is types.UnionType:
        return _plain(next(part for part in get_args(annotation) if part is not type(None)))
    return annotation if annotation in (bool, int, float) else str


def _choices(annotation: Any) -> str | None:
    return "|".join(get_args(annotation)) if get_origin(annotation) is Literal else None


def _shown(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


for _task in _PURPOSE:
    train.command(_task)(_command(_task))


def resume(
    folder: Annotated[Path, typer.Argument(help="Folder of the run.", metavar="DIR")],
    config: Annotated[
        Path | None, typer.Option(help="The settings expected there; an error if the run has others.", metavar="FILE")
    ] = None,
) -> None:
    """Go on with a run that was interrupted, as if it had not been; show the results of one that is finished."""
    from qgcn.training.run import Run, check_same

    run = Run.resume(folder)
    if config is not None:
        values = {"task": run.config.task, **read_config(config)}
        check_same(run.config.model_dump(), Config.checked(values, str(config)), folder)
    _go(run, Console())


def _train(config: Config, out: Path | None) -> None:
    from qgcn.training.run import Run

    _go(Run.start(config, _free_folder(config) if out is None else out), Console())


def _free_folder(config: Config) -> Path:
    """Return the first folder of the run's name that does not exist."""
    name = re.sub(r"[^A-Za-z0-9,.-]+", "-", f"{config.task}-{Path(config.data).stem}-{config.model}-{config.space}")
    folder, number = Path("runs") / name, 1
    while folder.exists():
        number += 1
        folder = Path("runs") / f"{name}-{number}"
    return folder


def _go(run: "Run", console: Console) -> None:
    from qgcn.training.run import Interrupted

    _print_settings(run, console)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=not console.is_terminal) as bars:
        listener = _Bars(bars, run)
        try:
            summary = run.train(listener)
        except Interrupted:
            bars.stop()
            raise ValueError(f"interrupted at epoch {listener.epoch}; go on with: qgcn resume {run.folder}") from None
    _print_results(run, summary, console)


class _Bars:
    """Shows a bar for each group of seeds, with loss and score."""

    def __init__(self, bars: Progress, run: "Run") -> None:
        self.bars = bars
        self.run = run
        self.epoch = 0
        self.bar: Any = None
        self.label = ""

    def group(self, seeds: list[int], epoch: int) -> None:
        if self.bar is not None:
            self.bars.update(self.bar, visible=False)
        self.label = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]}-{seeds[-1]}"
        self.epoch = epoch
        self.bar = self.bars.add_task(self.label, total=self.run.config.epochs, completed=epoch)

    def progress(self, progress: "Validation") -> None:
        self.epoch = progress.epoch
        loss = sum(progress.loss) / len(progress.loss)
        best = sum(progress.best) / len(progress.best)
        shown = f"{self.label}  loss {loss:.4f}  best {self.run.task.metric} {best:.4f}"
        self.bars.update(self.bar, completed=progress.epoch, description=shown)


def _print_settings(run: "Run", console: Console) -> None:
    config, data = run.config, run.data
    features = "one-hot" if getattr(data, "x", None) is None else f"{data.x.shape[1]}"
    console.print(
        f"[bold]{config.task}[/] on [bold]{config.data}[/]: {data.num_nodes} nodes, {data.num_edges // 2} edges, "
        f"{features} features; [bold]{config.model}[/] in [bold]{config.space}[/], {run.fabric.device.type}."
    )
    for remark in getattr(data, "remarks", []):
        console.print(f"  {remark}", style="dim")
    defaults = {name: field.default for name, field in Config.model_fields.items()}
    own = {name: value for name, value in config.model_dump().items() if name not in ("task", "data", "model", "space")}
    changed = ", ".join(f"{name} {value}" for name, value in own.items() if value != defaults[name])
    console.print(f"  settings: {changed or 'all default'}", style="dim", highlight=False)


def _print_results(run: "Run", summary: "Summary", console: Console) -> None:
    config = run.config
    seeds = f"{config.seeds} seeds, mean ± standard deviation" if config.seeds > 1 else "1 seed"
    about = {"links": f", {config.protocol} split", "reconstruction": ", of the graph that was embedded"}.get(config.task, ", test nodes")
    table = Table(title=f"{config.model} in {config.space}{about} ({seeds})", title_justify="left", header_style="bold")
    table.add_column("score")
    table.add_column("test" if config.task != "reconstruction" else "value", justify="right")
    for name, (mean, deviation) in summary.items():
        percent = 1 if "distortion" in name else 100
        spread = f" ± {percent * deviation:.2f}" if config.seeds > 1 else ""
        table.add_row(name, f"{percent * mean:.2f}{spread}")
    console.print(table)
    if config.task == "links" and config.protocol == "hgcn":
        console.print("The hgcn split leaks test pairs into training negatives; it is there to compare with the papers.", style="yellow")
    if run.folder is not None:
        console.print(f"Written to {run.folder}", highlight=False, soft_wrap=True)
