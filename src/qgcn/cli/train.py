"""``qgcn train`` and ``qgcn resume``: one configuration, all its seeds, a folder that can be trusted."""

import inspect
import re
import shlex
import types
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from qgcn.cli.console import progress_bars
from qgcn.training.config import OF_TASK, Config, defaults_of, read_config

if TYPE_CHECKING:
    from qgcn.training.loop import Progress as Validation
    from qgcn.training.run import Run, Summary

__all__ = ["resume", "train"]

train = typer.Typer(help="Train a model on a graph, for one or many seeds.", no_args_is_help=True)

_PURPOSE = {
    "reconstruction": """Embed a graph so that neighbours are nearest points.

    Example: qgcn train reconstruction --data ring-of-trees --space Q7,3 --epochs 500""",
    "classification": """Learn the classes of some nodes, and predict those of the others.

    Example: qgcn train classification --data cora --space Q15,1 --dropout 0.5 --seeds 10""",
    "links": """Learn some edges of a graph, and tell the others from pairs that are none.

    Example: qgcn train links --data friends.csv --space Q15,1 --seeds 5""",
}
_ONLY = {"Reconstruction:": "reconstruction", "Classification:": "classification", "Links:": "links"}
_PANELS = {"data": "Data", "model": "Model", "objective": "Training", "seed": "Seeds and device"}
"""The first key of each group of options."""


def _command(task: str) -> Callable[..., None]:
    """Build the command of a task: every key of the config is a flag of it."""

    def run(**given: Any) -> None:
        config_file, out = given.pop("config"), given.pop("out")
        values = read_config(config_file) if config_file is not None else {}
        if values.get("task", task) != task:
            raise ValueError(f"{config_file} is for {values['task']}, but the command is for {task}")
        flags = {name: value for name, value in given.items() if value is not None}
        values |= flags
        if "data" not in values:
            raise ValueError("no data: give --data NAME or --data FILE (qgcn datasets lists the names)")

        def prepare() -> "Run":
            config = _checked(values | {"task": task} | _chosen(values, task), config_file, flags)
            from qgcn.training.run import Run

            return Run.start(config, _free_folder(config) if out is None else out)

        run_and_show(prepare)

    parameters = [
        _option("config", Path, "YAML file of keys; flags override it.", "FILE"),
        _option("out", Path, "Folder of the run (default: runs/TASK-DATA-MODEL-SPACE).", "DIR"),
    ]
    panel = None
    for name, field in Config.model_fields.items():
        panel = _PANELS.get(name, panel)
        about = field.description or ""
        meant_for = next((only for mark, only in _ONLY.items() if about.startswith(mark)), task)
        if name != "task" and meant_for == task:
            kind = _plain(field.annotation)
            parameters.append(
                _option(
                    name, kind, _help(about, field.annotation, field, _default(task, name, field)), _metavar(name, kind), panel
                )
            )
    run.__name__ = task
    run.__doc__ = _PURPOSE[task]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _chosen(values: dict[str, Any], task: str) -> dict[str, str]:
    """Return the space that ``auto:16`` stands for, chosen by trial runs on this graph; nothing if a space is named."""
    space = values.get("space")
    if not isinstance(space, str) or not space.strip().lower().startswith("auto"):
        return {}
    from qgcn.analysis.signature import auto_space, suggest_signature
    from qgcn.data import as_data

    dim = auto_space(space)
    if dim is None:
        return {}
    data = as_data(values["data"], **{name: values[name] for name in ("split_seed", "features", "labels") if name in values})
    console = Console()
    fixed = ("task", "data", "features", "labels", "space", "epochs", "seeds", "eval_every", "patience", "start", "seed")
    options = {name: value for name, value in values.items() if name not in fixed}
    with progress_bars(console) as progress:
        found = suggest_signature(data, dim, task=task, options=options, seed=values.get("seed", 0), progress=progress)
    console.print(f"{space}: {found.sentence}", highlight=False, soft_wrap=True)
    return {"space": found.space}


def _option(name: str, kind: Any, about: str, metavar: str | None, panel: str | None = None) -> inspect.Parameter:
    flag = "--" + name.replace("_", "-")
    flags = (f"{flag}/--no-{flag[2:]}",) if kind is bool else (flag,)
    option = typer.Option(*flags, help=about, metavar=metavar, show_default=False, rich_help_panel=panel)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option])


def _plain(annotation: Any) -> Any:
    """Return the type a flag is read as; the config checks the rest."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return _plain(next(part for part in get_args(annotation) if part is not type(None)))
    return annotation if annotation in (bool, int, float) else str


def _metavar(name: str, kind: Any) -> str | None:
    if name in ("data", "features", "labels"):
        return "FILE" if name != "data" else "NAME|FILE"
    return {str: "NAME", int: "N", float: "X"}.get(kind)


def _default(task: str, name: str, field: Any) -> Any:
    return OF_TASK[task].get(name, field.default)


def _help(about: str, annotation: Any, field: Any, default: Any) -> str:
    """Say what an option is, what it can be, and what it is if not given."""
    more = [", ".join(get_args(annotation))] if get_origin(annotation) is Literal else []
    if not field.is_required() and default not in (None, ""):
        more.append(f"default: {_shown(default)}")
    return f"{about.removesuffix('.')} ({'; '.join(more)})." if more else about


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


for _task in _PURPOSE:
    train.command(_task)(_command(_task))


def resume(
    folder: Annotated[Path, typer.Argument(help="Folder of the run.", metavar="DIR")],
    config: Annotated[
        Path | None, typer.Option(help="The settings expected there; an error if the run has others.", metavar="FILE")
    ] = None,
) -> None:
    """Go on with a run that was interrupted, as if it had not been; show the results of one that is finished."""

    def prepare() -> "Run":
        from qgcn.training.run import Run, check_same, config_of

        if config is not None:
            saved = config_of(folder)
            check_same(saved.model_dump(), _checked({"task": saved.task, **read_config(config)}, config), folder)
        return Run.resume(folder)

    run_and_show(prepare)


def _checked(values: dict[str, Any], file: Path | None, flags: Any = ()) -> Config:
    """Build the config, with files named from the root, so that a run can be resumed from any folder."""
    from qgcn.data.load import is_known

    for name in ("data", "features", "labels", "start"):
        value = values.get(name)
        if isinstance(value, str) and value.strip() and not (name == "data" and is_known(value)) and Path(value).exists():
            values[name] = str(Path(value).absolute())
    return Config.checked(values, str(file) if file else "", flags)


def _free_folder(config: Config) -> Path:
    """Return the first folder of the run's name that does not exist."""
    name = re.sub(r"[^\w,.-]+", "-", f"{config.task}-{Path(config.data).stem}-{config.model}-{config.space}")
    folder, number = Path("runs") / name, 1
    while folder.exists():
        number += 1
        folder = Path("runs") / f"{name}-{number}"
    return folder


def run_and_show(prepare: Callable[[], "Run"]) -> None:
    """Prepare a run, train it, show what came out; a wish to stop is answered with the way to go on."""
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    run = None
    try:
        run = prepare()
        _print_settings(run, console)
        with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
            summary = run.train(_Bars(bars, run))
    except KeyboardInterrupt as stop:  # Interrupted, or the second Ctrl-C, which does not wait for the current step
        if run is None or run.folder is None or not (run.folder / "config.yaml").exists():
            raise ValueError("interrupted before training began; nothing was written") from None
        raise ValueError(f"{str(stop) or 'interrupted'}; go on with: qgcn resume {shlex.quote(str(run.folder))}") from None
    _print_results(run, summary, console)


class _Bars:
    """Shows a bar for each group of seeds, with loss and score."""

    def __init__(self, bars: Progress, run: "Run") -> None:
        self.bars = bars
        self.run = run
        self.bar: Any = None
        self.label = ""

    def group(self, seeds: list[int], epoch: int) -> None:
        if self.bar is not None:
            self.bars.update(self.bar, visible=False)
        self.label = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]}-{seeds[-1]}"
        self.bar = self.bars.add_task(self.label, total=self.run.config.epochs, completed=epoch)

    def progress(self, progress: "Validation") -> None:
        loss = sum(progress.loss) / len(progress.loss)
        best = sum(progress.best) / len(progress.best)
        shown = f"{self.label}  loss {loss:.4f}  best {self.run.task.metric} {best:.4f}"
        self.bars.update(self.bar, completed=progress.epoch, description=shown)


def _print_settings(run: "Run", console: Console) -> None:
    config, data = run.config, run.data
    features = "one-hot" if getattr(data, "x", None) is None else f"{data.x.shape[1]}"
    if config.model == "shallow":
        features = "no" if features == "one-hot" else "no (for those of the data: --model qgcn --use-features)"
    elif config.task == "reconstruction" and features != "one-hot" and not config.use_features:
        features = "one-hot (those of the data are not used without --use-features)"
    console.print(
        f"[bold]{config.task}[/] on [bold]{escape(config.data)}[/]: {data.num_nodes} nodes, {data.num_edges // 2} edges, "
        f"{features} features; [bold]{config.model}[/] in [bold]{config.space}[/], {run.fabric.device.type}.",
        highlight=False,
        soft_wrap=True,
    )
    for remark in [*getattr(data, "remarks", []), *_remarks_on_weights(run)]:
        console.print(f"  {escape(remark)}", style="dim", highlight=False, soft_wrap=True)
    of_task = defaults_of(config.task, config.model)
    defaults = {name: of_task.get(name, field.default) for name, field in Config.model_fields.items()}
    own = {name: value for name, value in config.model_dump().items() if name not in ("task", "data", "model", "space")}
    changed = ", ".join(f"{name} {_shown(value)}" for name, value in own.items() if value != defaults[name])
    console.print(f"  settings: {escape(changed) or 'all default'}", style="dim", highlight=False, soft_wrap=True)


def _remarks_on_weights(run: "Run") -> list[str]:
    """Return what those should know whose edges have weights."""
    if getattr(run.data, "edge_weight", None) is None:
        return []
    if run.config.task == "links" or run.config.model == "shallow" or not run.task.takes_matrix:
        return ["weights of edges are not used"]
    if run.config.task == "reconstruction":
        return ["weights of edges are used by convolutions alone: objective and score ask whether nodes are joined"]
    return []


def _print_results(run: "Run", summary: "Summary", console: Console) -> None:
    config = run.config
    seeds = f"{config.seeds} seeds, mean ± standard deviation" if config.seeds > 1 else "1 seed"
    of = {"links": f"{config.protocol} split", "reconstruction": "the graph that was embedded", "classification": "test nodes"}
    console.print(f"{config.model} in {config.space}, {of[config.task]} ({seeds})", highlight=False, soft_wrap=True)
    table = Table(header_style="bold")
    table.add_column("score")
    table.add_column("test" if config.task != "reconstruction" else "value", justify="right")
    for name, (mean, deviation) in summary.items():
        percent = 1 if "distortion" in name else 100
        spread = f" ± {percent * deviation:.2f}" if config.seeds > 1 else ""
        table.add_row(name, f"{percent * mean:.2f}{spread}")
    console.print(table)
    if config.task == "links" and config.protocol == "hgcn":
        about = "The hgcn split leaks test pairs into training negatives; it is there to compare with the papers."
        console.print(about, style="yellow", soft_wrap=True)
    if run.folder is not None:
        console.print(f"Written to {escape(str(run.folder))}", highlight=False, soft_wrap=True)
        console.print(f"Look at it: qgcn report {escape(shlex.quote(str(run.folder)))}", highlight=False, soft_wrap=True)
