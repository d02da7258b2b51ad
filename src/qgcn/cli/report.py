"""``qgcn report``: one HTML file that explains a run, or several side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from qgcn.cli.console import Console, progress_bars

if TYPE_CHECKING:
    from qgcn.progress import Progress
    from qgcn.viz.report import Subject

__all__ = ["report"]


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs; several are compared.", metavar="RUN...")],
    out: Annotated[
        Path | None, typer.Option(help="The HTML file (default: RUN/report.html, or report.html for several).", metavar="FILE")
    ] = None,
    columns: Annotated[
        Path | None,
        typer.Option(help="CSV file to colour nodes by: a header, then one line per node, its id first.", metavar="FILE"),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed whose embedding is shown (default: the first).", metavar="N")] = None,
    umap: Annotated[
        bool, typer.Option(help="Lay out the points with UMAP, if it is installed; the exact view is always there.")
    ] = True,
    explain: Annotated[
        list[str] | None,
        typer.Option(help="Name of a node for which the edges that matter most are shown; repeat it for more.", metavar="NODE"),
    ] = None,
    geometry: Annotated[bool, typer.Option(help="Measure the graph of the first run: delta, curvature, spectrum.")] = True,
) -> None:
    """Write a report to explore in a browser: views of the embedding, neighbours, quality, learning curves, the graph.

    Example: qgcn report runs/links-cora-qgcn-Q15,1
    """
    console = Console()
    if out is not None and out.is_dir():
        raise IsADirectoryError(f"{out} is a folder; name the HTML file to write")
    path = out or (runs[0] / "report.html" if len(runs) == 1 else Path("report.html"))
    with progress_bars(console) as progress:
        progress("loading PyTorch")
        from qgcn.training.folder import RunFolder
        from qgcn.viz.report import write_report
        from qgcn.viz.report.runs import read_run

        for folder in runs:
            RunFolder(folder).config()  # reject folders without a run before spending time on the others
        subjects = [
            read_run(folder, seed=seed, columns=columns, umap=umap, explain=explain or (), progress=progress) for folder in runs
        ]
        analysis = _geometry(subjects[0], progress) if geometry else None
        progress("writing", note=str(path))
        write_report(subjects, path, analysis)
    for notice in dict.fromkeys(notice for subject in subjects for notice in subject.notices):
        names = ", ".join(subject.name for subject in subjects if notice in subject.notices)
        console.print(f"{escape(names)}: {escape(notice)}", style="yellow", highlight=False, soft_wrap=True)
    size = path.stat().st_size / 2**20
    console.print(f"Written to {escape(str(path))} ({size:.1f} MB)", highlight=False, soft_wrap=True)


def _geometry(subject: "Subject", progress: "Progress") -> dict[str, Any] | None:
    """Measure the graph of a run."""
    if subject.graph is None:
        return None
    from qgcn.analysis import measure
    from qgcn.manifolds import parse_space
    from qgcn.viz.report import graph_section

    dim = parse_space(subject.settings["space"]).ambient_dim
    return graph_section(measure(subject.graph, dim, progress=progress))
