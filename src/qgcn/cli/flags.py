"""Flags of the command line, one for every setting of a task, under the same name."""

import inspect
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from qgcn.tasks.config import models_for, settings_of
from qgcn.tasks.registry import TASKS

__all__ = ["flags_of", "option", "shown"]

_METAVARS = {"data": "NAME|FILE"} | dict.fromkeys(("features", "labels", "split"), "FILE")
_METAVARS |= dict.fromkeys(("source", "target", "weight"), "COLUMN")


def flags_of(task: str) -> list[inspect.Parameter]:
    """Return a flag for every setting of a task, for all its models."""
    defaults = TASKS[task].config_type.defaults
    names = ", ".join(dict.fromkeys(model.name for model in models_for(task)))
    flags = []
    for name, (field, panel) in settings_of(task).items():
        if name == "task":
            continue
        kind = _plain(field.annotation)
        about = f"Model: {names}." if name == "model" else field.description or ""
        metavar = _METAVARS.get(name) or {str: "NAME", int: "N", float: "X"}.get(kind)
        flags.append(option(name, kind, _help(about, field, defaults.get(name, field.default)), metavar, panel))
    return flags


def option(
    name: str, kind: Any, about: str, metavar: str | None, panel: str | None = None, flags: tuple[str, ...] = ()
) -> inspect.Parameter:
    """Return an option that is ``None`` if it is not given; its flag is its name, unless flags are named."""
    flag = "--" + name.replace("_", "-")
    flags = flags or ((f"{flag}/--no-{flag[2:]}",) if kind is bool else (flag,))
    given = typer.Option(*flags, help=about, metavar=metavar, show_default=False, rich_help_panel=panel)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, given])


def shown(value: Any) -> str:
    """Format the value of a setting."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plain(annotation: Any) -> Any:
    """Return the type that a flag is parsed as; the config validates the rest."""
    if get_origin(annotation) in (Union, types.UnionType):
        return _plain(next(part for part in get_args(annotation) if part is not type(None)))
    return annotation if annotation in (bool, int, float) else str


def _help(about: str, field: FieldInfo, default: Any) -> str:
    """Return the help text of an option, with its choices and default."""
    more = [", ".join(get_args(field.annotation))] if get_origin(field.annotation) is Literal else []
    if not field.is_required() and default not in (None, ""):
        more.append(f"default: {shown(default)}")
    return f"{about.removesuffix('.')} ({'; '.join(more)})." if more else about
