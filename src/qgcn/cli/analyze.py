"""``qgcn analyze``: the geometry of a graph in numbers and pictures, and the space that fits it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

if TYPE_CHECKING:
    from qgcn.analysis import Curvature, Hyperbolicity, Shape, Spectrum, Suggestion

__all__ = ["analyze"]

_EXACT_SECONDS = 600.0


def analyze(
    graph: Annotated[str, typer.Argument(help="Name of a data set, or the path of a graph.", metavar="GRAPH")],
    dim: Annotated[int, typer.Option(min=2, max=1024, help="Dimensions of the space that is sought.", metavar="N")] = 10,
    exact: Annotated[
        bool, typer.Option("--exact", help="The worst delta exactly, all reference nodes, the whole spectrum.")
    ] = False,
    samples: Annotated[int, typer.Option(min=1, help="Quadruples for the distribution of delta.", metavar="N")] = 50_000,
    trials: Annotated[bool, typer.Option(help="Train small models in every space and recommend one.")] = True,
    task: Annotated[
        str, typer.Option(help="What the space is for: reconstruction, classification or links.", metavar="NAME")
    ] = "reconstruction",
    trial_nodes: Annotated[
        int, typer.Option(min=10, help="Reconstruction: nodes that trials are made with, at most.", metavar="N")
    ] = 500,
    seconds: Annotated[float, typer.Option(min=0, help="Time after which no new trial is begun.", metavar="X")] = 60.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of samples and trials.", metavar="N")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for analysis.json and the figures, PNG and SVG.", metavar="DIR")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure the geometry of a graph: how tree-like it is, how it curves, and which space fits it.

    Example: qgcn analyze cora --dim 16 --out cora-geometry
    """
    from qgcn.analysis import Shape
    from qgcn.files import check_writable

    if out is not None:
        check_writable(out)
    console = Console(quiet=as_json)
    shape = Shape.of(graph)
    if exact:
        from qgcn.analysis.hyperbolicity import check_exact

        check_exact(shape)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bars:
        found = _measure(shape, dim, exact, samples, seed, bars)
        suggestion = _suggest(shape, dim, task, trial_nodes, seconds, seed, found, bars) if trials else None
    report = _report(shape, found, suggestion)
    if as_json:
        typer.echo(json.dumps(report, indent=2, allow_nan=False))
    else:
        _print(shape, found, suggestion, console)
    if out is not None:
        _write(out, shape, found, suggestion, report)
        console.print(f"Written to {escape(str(out))}", highlight=False, soft_wrap=True)


Found = tuple["Hyperbolicity", "Curvature", "Spectrum", dict[str, float]]


def _measure(shape: "Shape", dim: int, exact: bool, samples: int, seed: int, bars: Progress) -> Found:
    from qgcn.analysis import distance_spectrum, forman_curvature, gromov_hyperbolicity, sectional_curvature

    def tick(name: str) -> Callable[[int, int], None]:
        bar = bars.add_task(name, total=None)
        return lambda done, total: bars.update(bar, completed=done, total=total)

    spectrum = distance_spectrum(shape, dim, exact=exact, seed=seed, tick=tick("spectrum"))
    curvature = sectional_curvature(shape, exact=exact, seed=seed, tick=tick("sectional curvature"))
    delta = gromov_hyperbolicity(
        shape, samples=samples, exact=exact, seconds=_EXACT_SECONDS if exact else None, seed=seed, tick=tick("delta")
    )
    forman = forman_curvature(shape)
    return delta, curvature, spectrum, {"mean": float(forman.mean()), "negative": float((forman < 0).mean())}


def _suggest(
    shape: "Shape", dim: int, task: str, trial_nodes: int, seconds: float, seed: int, found: Found, bars: Progress
) -> "Suggestion":
    from qgcn.analysis import suggest_signature

    bar = bars.add_task("trials", total=None)

    def listen(space: str, done: int, total: int) -> None:
        bars.update(bar, completed=done, total=total, description=f"trials: {space}" if space else "trials")

    return suggest_signature(
        shape, dim, task=task, trial_nodes=trial_nodes, seconds=seconds, seed=seed, measured=found[:3], listener=listen
    )


def _report(shape: "Shape", found: Found, suggestion: "Suggestion | None") -> dict[str, Any]:
    delta, curvature, spectrum, forman = found
    return {
        "graph": shape.name,
        "nodes": shape.num_nodes,
        "edges": shape.num_edges,
        "components": len(shape.components) + shape.isolated,
        "remarks": shape.remarks,
        "hyperbolicity": delta.as_dict(),
        "sectional_curvature": curvature.as_dict(),
        "forman_curvature": forman,
        "spectrum": spectrum.as_dict(),
        "suggestion": None if suggestion is None else suggestion.as_dict(),
    }


def _print(shape: "Shape", found: Found, suggestion: "Suggestion | None", console: Console) -> None:
    delta, curvature, spectrum, forman = found
    console.print(f"[bold]{escape(shape.name)}[/]: {shape.num_nodes:,} nodes, {shape.num_edges:,} edges", highlight=False)
    for remark in shape.remarks:
        console.print(f"  {escape(remark)}", style="dim", highlight=False, soft_wrap=True)
    table = Table(header_style="bold")
    table.add_column("measurement")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("how", style="dim")
    how = "all quadruples" if delta.complete else f"{delta.samples:,} quadruples, 95 % interval"
    low, high = delta.mean_interval
    table.add_row("delta, mean", f"{delta.mean:.3f} ({low:.3f} .. {high:.3f})", how)
    for value, share in list(delta.shares.items())[:6]:
        table.add_row(f"  share of delta {value:g}", f"{share:.4f}", "")
    table.add_row("delta, largest seen", f"{delta.largest:g}", "a lower bound of the worst")
    if delta.worst is not None and delta.worst_at_most is not None:
        if delta.worst == delta.worst_at_most:
            table.add_row("delta, worst", f"{delta.worst:g}", "exact")
        else:
            table.add_row("delta, worst", f"{delta.worst:g} .. {delta.worst_at_most:g}", "time was over: bounds")
    table.add_row("diameter", f"{delta.diameter}", "at least" if delta.sampled_diameter else "exact")
    table.add_row("2 largest delta / diameter", f"{delta.relative:.3f}", "0 for a tree, 1 at most")
    table.add_row("2 mean delta / diameter", f"{delta.mean_relative:.3f}", "0 for a tree")
    low, high = curvature.interval
    how = "exact" if curvature.exact else f"{curvature.references:,} reference nodes"
    shown = f"{curvature.mean:+.3f}" + ("" if curvature.exact else f" ({low:+.3f} .. {high:+.3f})")
    table.add_row("sectional curvature, mean", shown, f"over pairs of neighbours; {how}")
    table.add_row("  over nodes", f"{curvature.node_mean:+.3f}", "each counts once")
    table.add_row("  nodes above / below 0", f"{curvature.positive:.0%} / {curvature.negative:.0%}", "")
    table.add_row("Forman curvature, mean", f"{forman['mean']:+.2f}", "of edges, triangles as faces")
    least, most = spectrum.negative_range
    how = "exact" if spectrum.exact else f"{spectrum.samples} samples of {spectrum.nodes:,} nodes, {least:.1%} .. {most:.1%}"
    table.add_row("negative eigenvalues", f"{spectrum.negative:.1%}", how)
    table.add_row(
        f"split of {spectrum.dim} dimensions", spectrum.signature, f"{spectrum.explained:.1%} of the squared spectrum"
    )
    console.print(table)
    if suggestion is not None:
        _print_suggestion(suggestion, console)


def _print_suggestion(suggestion: "Suggestion", console: Console) -> None:
    table = Table(header_style="bold", title=f"Trials for {suggestion.task}", title_justify="left")
    for name in ("space", suggestion.metric, "±", "epochs", "seeds"):
        table.add_column(name, justify="left" if name == "space" else "right")
    for trial in suggestion.ranking:
        mark = " *" if trial.space == suggestion.space else ""
        spread = f"{100 * trial.deviation:.1f}" if trial.seeds > 1 else "-"
        row = (f"{100 * trial.score:.1f}", spread, str(trial.epochs), str(trial.seeds))
        table.add_row(trial.space + mark, *row)
    console.print(table)
    console.print(suggestion.sentence, style="bold", highlight=False, soft_wrap=True)
    for reason in suggestion.reasons:
        console.print(f"  {reason}", highlight=False, soft_wrap=True)


def _write(out: Path, shape: "Shape", found: Found, suggestion: "Suggestion | None", report: dict[str, Any]) -> None:
    from qgcn.files import create_folder, write_atomically, write_json
    from qgcn.viz.geometry import plot_curvature, plot_deltas, plot_signatures, plot_spectrum, save_figure

    delta, curvature, spectrum, _ = found
    figures = {
        "delta": plot_deltas(delta.shares, delta.intervals, shape.name, delta.worst),
        "curvature": plot_curvature(
            curvature.bins, curvature.histogram, curvature.pair_histogram, curvature.node_mean, curvature.mean, shape.name
        ),
        "spectrum": plot_spectrum(spectrum.eigenvalues, spectrum.dim, shape.name),
    }
    if suggestion is not None:
        first = {trial.space: trial.first for trial in suggestion.ranking}
        by_time = sorted((int(space.split(",")[1]), score) for space, score in first.items() if _is_single(space))
        others = {space: score for space, score in first.items() if not _is_single(space)}
        figures["signatures"] = plot_signatures(
            [t for t, _ in by_time], [score for _, score in by_time], others, suggestion.metric, suggestion.space, shape.name
        )
    create_folder(out)
    for name, figure in figures.items():
        for suffix in (".png", ".svg"):
            path = out / f"{name}{suffix}"
            _write_figure(figure, path, write_atomically, save_figure)
    write_json(out / "analysis.json", report)


def _is_single(space: str) -> bool:
    return space.startswith("Q") and "x" not in space


def _write_figure(figure: Any, path: Path, write: Callable[..., None], save: Callable[[Any, Path], None]) -> None:
    def fill(temporary: Path) -> None:
        named = temporary.with_name(f"{temporary.name}{path.suffix}")
        save(figure, named)
        named.replace(temporary)

    write(path, fill)
