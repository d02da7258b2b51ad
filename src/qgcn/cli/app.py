"""The commands."""

from typing import Annotated

import typer

from qgcn.cli.analyze import analyze
from qgcn.cli.datasets import datasets
from qgcn.cli.demo import demo
from qgcn.cli.report import report
from qgcn.cli.train import resume, train

__all__ = ["app"]

app = typer.Typer(
    help="Graph learning in pseudo-Riemannian spaces.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(datasets)
app.command()(analyze)
app.add_typer(train, name="train")
app.command()(resume)
app.command()(report)


def _show_version(wanted: bool) -> None:
    if wanted:
        from qgcn import __version__

        typer.echo(f"qgcn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Graph learning in pseudo-Riemannian spaces."""
