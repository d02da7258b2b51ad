"""``qgcn datasets``: the data sets and generated graphs that can be trained on by name."""

from typing import Annotated

import typer
from rich.table import Table

from qgcn.cli.console import Console, progress_bars

__all__ = ["datasets"]


def datasets(
    root: Annotated[
        str | None, typer.Option(help="Folder of the data sets (default: $QGCN_DATA, or a cache folder).", metavar="DIR")
    ] = None,
) -> None:
    """List the data sets and generated graphs, and which of them are on this machine."""
    console = Console()
    with progress_bars(console) as progress:
        progress("loading PyTorch")
        from qgcn.data import datasets as list_datasets

        entries = list_datasets(root)
    table = Table(header_style="bold")
    table.add_column("name", no_wrap=True)
    for name in ("nodes", "edges", "features", "classes"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("here", no_wrap=True)
    for entry in entries:
        counts = [f"{count:,}" if count else "" for count in (entry.nodes, entry.edges, entry.features, entry.classes)]
        here = "generated" if entry.origin == "generated" else "yes" if entry.local else "no"
        table.add_row(entry.name, *counts, here)
    console.print(table)
    about = "Graphs with classes serve every task, the others tasks without labels."
    console.print(
        f"{about} Missing data sets are downloaded, except wordnet-nouns and the directed citations, which are placed by hand.",
        soft_wrap=True,
    )
