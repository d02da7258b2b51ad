"""The commands."""

from typing import Annotated

import typer

from qgcn.cli.analyze import analyze
from qgcn.cli.datasets import datasets
from qgcn.cli.demo import demo
from qgcn.cli.report import report
from qgcn.cli.train import resume, train_commands

__all__ = ["build_app"]


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


def build_app() -> typer.Typer:
    """Return the command line, with the tasks that are registered by now."""
    app = typer.Typer(
        help="Graph learning in pseudo-Riemannian spaces.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    app.add_typer(train_commands(), name="train")
    for command in (resume, report, analyze, datasets, demo):
        app.command()(command)
    return app
