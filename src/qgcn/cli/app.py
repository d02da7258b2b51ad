"""The list of commands. The module of a command is imported only when it is called, so that the list appears at once."""

from importlib import import_module
from types import ModuleType
from typing import Annotated

import typer

__all__ = ["build_app"]

_COMMANDS = {
    "train": "Train a model on a graph, for one or many seeds.",
    "resume": "Resume an interrupted run, with as many processes as you like; show the results of one that is finished.",
    "sweep": "Search the settings of several models, with the same budget for each, by validation.",
    "predict": "Predict the class of every node.",
    "score": "Score pairs of nodes: how probable it is that they are linked.",
    "recommend": "Recommend links: the most probable ones that the graph does not have.",
    "neighbors": "List the nearest nodes in the embedding.",
    "explain": "List the edges that matter most for what the network says of a node, or of the link between two.",
    "export": "Export an embedding: CSV, Parquet, npz, GraphML, word2vec.",
    "report": "Write a report to explore in a browser.",
    "analyze": "Measure the geometry of a graph: how tree-like it is, how it curves, and which space fits it.",
    "reproduce": "Reproduce the tables and figures of the paper, cell by cell.",
    "datasets": "List the data sets and generated graphs, and which of them are on this machine.",
    "info": "Show versions, the device, which kernels run and how fast, and the folders of data and cache.",
    "demo": "Embed a ring of trees, and write a report to open in a browser.",
}
_GROUPS = ("train", "sweep")
"""Commands that have one for each task."""
_HOMES = {"resume": "train"} | dict.fromkeys(("predict", "score", "recommend", "neighbors", "explain", "export"), "ask")


def build_app(arguments: list[str]) -> typer.Typer:
    """Return the command line for the given arguments: the command they call, and the names of all others."""
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
        module = _load(_HOMES.get(name, name))
        if name in _GROUPS:
            app.add_typer(getattr(module, f"{name}_commands")(), name=name)
        else:
            app.command(name)(getattr(module, name))
    return app


def _load(name: str) -> ModuleType:
    """Import the module of a command."""
    if name not in _GROUPS:
        return import_module(f"qgcn.cli.{name}")
    from qgcn.cli.console import Console, progress_bars

    with progress_bars(Console()) as progress:
        progress("loading PyTorch")  # options are the settings of tasks, which need it
        return import_module(f"qgcn.cli.{name}")


def _unused() -> None:
    """Serve as a placeholder for commands that are not called."""


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
