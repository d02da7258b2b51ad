"""The commands. The module of a command is imported when that command is called: the list of them is shown at once."""

from importlib import import_module
from typing import Annotated

import typer

__all__ = ["build_app"]

_COMMANDS = {
    "train": "Train a model on a graph, for one or many seeds.",
    "resume": "Resume an interrupted run; show the results of one that is finished.",
    "report": "Write a report to explore in a browser.",
    "analyze": "Measure the geometry of a graph: how tree-like it is, how it curves, and which space fits it.",
    "datasets": "List the data sets and generated graphs, and which of them are on this machine.",
    "demo": "Embed a ring of trees, and write a report to open in a browser.",
}
_HOMES = {"resume": "train"}


def build_app(arguments: list[str]) -> typer.Typer:
    """Return the command line for some arguments: their command, and the names of the others."""
    app = typer.Typer(
        help="Graph learning in pseudo-Riemannian spaces.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    called = next((argument for argument in arguments if not argument.startswith("-")), None)
    for name, about in _COMMANDS.items():
        if name != called:
            app.command(name, help=about)(_unused)
            continue
        module = import_module(f"qgcn.cli.{_HOMES.get(name, name)}")
        if name == "train":
            app.add_typer(module.train_commands(), name=name)
        else:
            app.command(name)(getattr(module, name))
    return app


def _unused() -> None:
    """Stand for a command that is not called."""


def _show_version(wanted: bool) -> None:
    if wanted:
        from qgcn import __version__

        typer.echo(f"qgcn {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Graph learning in pseudo-Riemannian spaces."""
