"""``qgcn train`` and ``qgcn resume``: one configuration, all its seeds, a folder that can be trusted."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qgcn.cli.console import Console, progress_bars
from qgcn.cli.flags import flags_of, option
from qgcn.cli.launching import DEVICES, NODES, launch
from qgcn.cli.running import train_and_show
from qgcn.tasks import TASKS, Config, read_config
from qgcn.tasks.config import settings_of

if TYPE_CHECKING:
    from qgcn.cli.running import Plan
    from qgcn.progress import Progress
    from qgcn.tasks import Task

__all__ = ["checked_config", "resume", "train_commands"]

_RUNS = Path("runs")
Yes = Annotated[bool, typer.Option("--yes", help="Train without asking, however long it is estimated to take.")]


def train_commands() -> typer.Typer:
    """Return the commands ``qgcn train TASK``, one for every task that is registered."""
    commands = typer.Typer(help="Train a model on a graph, for one or many seeds.", no_args_is_help=True)
    for task in TASKS:
        commands.command(task)(_command(task))
    return commands


def _command(task: str) -> Callable[..., None]:
    """Build the command of a task: every key of its configs is a flag."""

    def run(**given: Any) -> None:
        config_file, out, target = given.pop("config"), given.pop("out"), given.pop("target_score")
        yes = given.pop("yes")
        processes = [1 if (number := given.pop(name)) is None else number for name in ("devices", "nodes")]
        values = read_config(config_file) if config_file is not None else {}
        if values.get("task", task) != task:
            raise ValueError(f"{config_file} is for {values['task']}, but the command is for {task}")
        flags = {name: value for name, value in given.items() if value is not None}
        values |= flags | {"task": task}
        if "data" not in values:
            raise ValueError("no data: give --data NAME or --data FILE (qgcn datasets lists the names)")

        def prepare(console: Console) -> "Plan":
            with progress_bars(console) as progress:
                progress("reading", note=str(values["data"]))
                from qgcn.data.own import check_found
                from qgcn.files import check_writable
                from qgcn.training.folder import RunFolder
                from qgcn.training.problem import build_problem
                from qgcn.training.run import Run

                if out is not None:
                    RunFolder(out).check_free()  # before a space is sought
                check_writable(_RUNS if out is None else out)
                config, problem = _configured(values, config_file, flags, console, progress, target)
                check_found(config.data)
            folder = _usual_folder(config) if out is None else out

            def start(progress: "Progress") -> Run:
                task = problem or build_problem(config, None, None, progress)
                return Run.start(config, folder, task=task, numbered=out is None)

            return config, start

        launch(*processes)
        train_and_show(prepare, yes=yes)

    parameters = [
        option("config", Path, "YAML file of keys; flags override it.", "FILE"),
        option("out", Path, "Folder of the run (default: runs/TASK-DATA-MODEL-SPACE).", "DIR"),
        _target_flag(task),
        option("devices", int, DEVICES, "N"),
        option("nodes", int, NODES, "N"),
        inspect.Parameter("yes", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Yes),
        *flags_of(task),
    ]
    run.__name__ = task
    run.__doc__ = f"{TASKS[task].purpose}\n\n    Example: {TASKS[task].example}" if TASKS[task].example else TASKS[task].purpose
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _target_flag(task: str) -> inspect.Parameter:
    """Return the flag of the score that ``auto`` has to reach; a task that has one score alone gives it a second name."""
    about = "With --space auto:16: take the fewest dimensions, up to 16, that reach this score, such as 0.99."
    also = [] if "select" in settings_of(task) else [f"--target-{TASKS[task].metric.replace('_', '-')}"]
    return option("target_score", float, about, "X", "Model", flags=("--target-score", *also))


def _configured(
    values: dict[str, Any],
    file: Path | None,
    flags: dict[str, Any],
    console: Console,
    progress: "Progress",
    target: float | None,
) -> "tuple[Config, Task[Any] | None]":
    """Return the config, and the problem if it had to be built to choose a space for ``auto:16``."""
    from qgcn.analysis.signature import auto_space

    space = values.get("space")
    dim = auto_space(space) if isinstance(space, str) else None
    if dim is None:
        if target is not None:
            raise ValueError(f"a target score needs --space auto or auto:DIM, got {space or 'no space'}")
        return checked_config(values, file, flags), None
    from qgcn.analysis.signature import settings_somewhere, suggest_signature
    from qgcn.training.run import Run

    named = {name: value for name, value in values.items() if name != "space"}
    problem = Run(checked_config(settings_somewhere(dict(named), dim), file, flags)).task
    found = suggest_signature(problem, dim, target=target, progress=progress)
    console.print(f"{space}: {found.sentence}", highlight=False, soft_wrap=True)
    config = checked_config(named | {"space": found.space}, file, flags)
    return config, problem.reconfigured(config)


def checked_config(values: dict[str, Any], file: Path | None, flags: Any = ()) -> Config:
    """Build the config, with files named from the root, so that a run can be resumed from any folder."""
    from qgcn.data.load import is_known

    paths = [name for name, (field, _) in settings_of(values["task"]).items() if field.json_schema_extra == {"path": True}]
    for name in ("data", *paths):
        value = values.get(name)
        if isinstance(value, str) and value.strip() and not (name == "data" and is_known(value)) and Path(value).exists():
            values[name] = str(Path(value).absolute())
    return Config.checked(values, str(file) if file else "", flags)


def _usual_folder(config: Config) -> Path:
    """Return the folder that a run is written to if none is given, without the number that tells it from others."""
    name = re.sub(r"[^\w,.-]+", "-", f"{config.task}-{Path(config.data).stem}-{config.model}-{config.space}")
    return _RUNS / name


def resume(
    folder: Annotated[Path, typer.Argument(help="Folder of the run.", metavar="DIR")],
    config: Annotated[
        Path | None, typer.Option(help="The settings expected there; an error if the run has others.", metavar="FILE")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Device to go on with: auto, cpu or cuda (default: that of the run).", metavar="NAME")
    ] = None,
    devices: Annotated[int, typer.Option(help=DEVICES, metavar="N", min=1)] = 1,
    nodes: Annotated[int, typer.Option(help=NODES, metavar="N", min=1)] = 1,
    yes: Yes = False,
) -> None:
    """Resume an interrupted run, with as many processes as you like; show the results of one that is finished."""
    launch(devices, nodes)

    def prepare(console: Console) -> "Plan":
        with progress_bars(console) as progress:
            progress("reading", note=str(folder))
            from qgcn.training.origin import check_same
            from qgcn.training.run import load_run

            run = load_run(folder, device=device)
        if config is not None:
            expected = checked_config({"task": run.config.task, **read_config(config)}, config)
            check_same(run.config.model_dump(), expected, folder)
        return run.config, lambda _: run

    train_and_show(prepare, yes=yes)
