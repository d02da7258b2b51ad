"""``qgcn datasets``: what can be trained on without a file of one's own."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

__all__ = ["datasets"]


def datasets(
    root: Annotated[str | None, typer.Option(help="Folder of the data sets.  [$QGCN_DATA, or a cache folder]", metavar="DIR")] = None,
) -> None:
    """List the data sets and generated graphs, and which of them are here already."""
    from qgcn.data import datasets as entries

    table = Table(header_style="bold", title="Data sets", title_justify="left")
    for name in ("name", "nodes", "edges", "features", "classes", "tasks", "from"):
        table.add_column(name, justify="right" if name in ("nodes", "edges", "features", "classes") else "left")
    table.add_column("here", justify="center")
    for entry in entries(root):
        counts = [f"{count:,}" if count else "" for count in (entry.nodes, entry.edges, entry.features, entry.classes)]
        table.add_row(entry.name, *counts, ", ".join(entry.tasks), entry.origin, "yes" if entry.local else "")
    Console().print(table)
