"""``qgcn demo``: embed a small graph made of a cycle and trees, and write a report to explore."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from qgcn.cli.console import Console, progress_bars
from qgcn.cli.report import report as write_report

__all__ = ["demo"]

RING, BRANCHING, LEVELS = 12, 2, ("0 ring", "1 branch", "2 twig", "3 leaf")
"""The built-in graph: number of nodes on the ring, children of each node, levels of the trees."""
SETTINGS = {"confine": 0.6, "temperature": 5.0, "device": "cpu"}
"""Start confined to hyperbolic space and soft, so that the ring unfolds before the trees settle; the same on every machine."""


def demo(
    space: Annotated[str, typer.Option(help="Space to embed in: E10, H10, S10, Q7,3, H5xS5, ...", metavar="NAME")] = "Q2,2",
    epochs: Annotated[int, typer.Option(min=1, help="Number of epochs.", metavar="N")] = 800,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random start.", metavar="N")] = 5,
    out: Annotated[Path, typer.Option(help="Folder of the run.", metavar="DIR")] = Path("runs/demo"),
    report: Annotated[
        Path | None, typer.Option(help="The report to write (default: DIR.html, as runs/demo.html).", metavar="FILE")
    ] = None,
) -> None:
    """Embed a ring of trees, a graph of cycles and hierarchies, and write a report to open in a browser.

    Equivalent to qgcn train reconstruction --data ring-of-trees, then qgcn report. Every node becomes a point of the space;
    points are moved until neighbours in the graph are nearest points.
    """
    from qgcn.files import check_writable, write_text

    folder = _free(out)
    page = report or folder.with_name(f"{folder.name}.html")
    check_writable(page.parent)
    if page.is_dir():
        raise IsADirectoryError(f"{page} is a folder; name the HTML file to write")
    values = {"task": "reconstruction", "data": "ring-of-trees", "space": space, "epochs": epochs, "seed": seed}

    with progress_bars(Console()) as progress:
        progress("loading PyTorch")
        from qgcn.cli.running import train_and_show
        from qgcn.tasks import Config
        from qgcn.training.run import Run

    config = Config.checked(values | SETTINGS)
    train_and_show(lambda _: (config, lambda _: Run.start(config, folder)))
    write_text(folder / "nodes.csv", _nodes())
    write_report([folder], out=page, columns=folder / "nodes.csv", seed=None, umap=False, geometry=True)
    Console().print(f"Open it in a browser: {escape(str(page.absolute()))}", highlight=False, soft_wrap=True)


def _free(folder: Path) -> Path:
    """Return the first of ``runs/demo``, ``runs/demo-2``, ... that does not exist."""
    number, found = 1, folder
    while found.exists():
        number += 1
        found = folder.with_name(f"{folder.name}-{number}")
    return found


def _nodes() -> str:
    """Return a table to colour nodes by: the level of a node in its tree, and the ring node that the tree is attached to."""
    rows, tree = ["node,level,tree"], list(range(RING))
    number = 0
    for level in LEVELS:
        for root in tree:
            rows.append(f"{number},{level},{root}")
            number += 1
        tree = [root for root in tree for _ in range(BRANCHING)]
    return "\n".join(rows) + "\n"
