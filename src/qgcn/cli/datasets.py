"""``qgcn datasets``: what can be trained on without a file of one's own."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

__all__ = ["datasets"]


def datasets(
    root: Annotated[
        str | None, typer.Option(help="Folder of the data sets (default: $QGCN_DATA, or a cache folder).", metavar="DIR")
    ] = None,
) -> None:
    """List the data sets and generated graphs, and which of them are on this machine."""
    from qgcn.data import datasets as entries

    table = Table(header_style="bold")
    table.add_column("name", no_wrap=True)
    for name in ("nodes", "edges", "features", "classes"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("here", no_wrap=True)
    for entry in entries(root):
        counts = [f"{count:,}" if count else "" for count in (entry.nodes, entry.edges, entry.features, entry.classes)]
        here = "generated" if entry.origin == "generated" else "yes" if entry.local else "no"
        table.add_row(entry.name, *counts, here)
    console = Console()
    console.print(table)
    about = "Those with classes serve every task, the others those without labels."
    console.print(f"{about} What is not here is downloaded, but for wordnet-nouns.", soft_wrap=True)
