"""``qgcn analyze``: the geometry of a graph in numbers and pictures, and the space that fits it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from qgcn.cli.columns import Source, Target, Weight
from qgcn.cli.console import Console, progress_bars

if TYPE_CHECKING:
    from qgcn.analysis import Hyperbolicity, Measurements, Spectrum, Suggestion

__all__ = ["analyze"]


TargetScore = Annotated[
    float | None,
    typer.Option(
        "--target-score",
        "--target-map",
        help="Find the fewest dimensions, up to --dim, that reach this score of the task, such as 0.99 (also --target-map).",
        metavar="X",
    ),
]
TrialNodes = Annotated[
    int,
    typer.Option(min=10, help="Nodes that trials are made with, at most, where their cost grows with all pairs.", metavar="N"),
]
Seconds = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Time limit of the trials (default: 12 for up to 500 nodes, otherwise as long as three trainings in full).",
        metavar="X",
    ),
]


def analyze(
    graph: Annotated[str, typer.Argument(help="Name of a data set, or the path of a graph.", metavar="GRAPH")],
    source: Source = None,
    target: Target = None,
    weight: Weight = None,
    dim: Annotated[int, typer.Option(min=2, max=1024, help="Free dimensions of the space that is sought.", metavar="N")] = 10,
    exact: Annotated[
        bool, typer.Option("--exact", help="The worst delta exactly, all reference nodes, the whole spectrum.")
    ] = False,
    samples: Annotated[int, typer.Option(min=1, help="Quadruples for the distribution of delta.", metavar="N")] = 50_000,
    trials: Annotated[bool, typer.Option(help="Train small models in every space and recommend one.")] = True,
    task: Annotated[str, typer.Option(help="What the space is for: a task of qgcn train.", metavar="NAME")] = "reconstruction",
    trial_nodes: TrialNodes = 500,
    target_score: TargetScore = None,
    seconds: Seconds = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of samples and trials.", metavar="N")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for analysis.json and the figures, PNG and SVG.", metavar="DIR")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure the geometry of a graph: how tree-like it is, how it curves, and which space fits it.

    Example: qgcn analyze cora --dim 16 --out cora-geometry
    """
    from qgcn.files import check_writable

    if out is not None:
        from qgcn.viz.figures import check_matplotlib

        check_writable(out)
        check_matplotlib()
    console = Console(quiet=as_json)
    suggestion = None
    with progress_bars(console) as progress:
        progress("loading PyTorch")
        from qgcn.analysis import measure, suggest_signature
        from qgcn.data import as_data

        read = as_data(graph, source=source, target=target, weight=weight, progress=progress)
        found = measure(read, dim, exact=exact, samples=samples, seed=seed, progress=progress)
        if trials:
            suggestion = suggest_signature(
                found.shape,
                dim,
                target=target_score,
                task=task,
                trial_nodes=trial_nodes,
                seconds=seconds,
                seed=seed,
                measured=found,
                progress=progress,
            )
    report = found.as_dict() | {"suggestion": None if suggestion is None else suggestion.as_dict()}
    if as_json:
        typer.echo(json.dumps(report, indent=2, allow_nan=False))
    else:
        _print(found, console)
        if suggestion is not None:
            _print_suggestion(suggestion, console)
    if out is not None:
        _write(out, found, suggestion, report)
        console.print(f"Written to {escape(str(out))}", highlight=False, soft_wrap=True)


def _print(found: "Measurements", console: Console) -> None:
    shape = found.shape
    console.print(f"[bold]{escape(shape.name)}[/]: {shape.num_nodes:,} nodes, {shape.num_edges:,} edges", highlight=False)
    for remark in shape.remarks:
        console.print(f"  {escape(remark)}", style="dim", highlight=False, soft_wrap=True)
    table = Table(header_style="bold")
    table.add_column("measurement")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("how", style="dim")
    for row in (
        *_delta_rows(found.hyperbolicity),
        *_curvature_rows(found),
        *_spectrum_rows(found.spectrum),
        *_arrow_rows(found),
    ):
        table.add_row(*row)
    console.print(table)


Row = tuple[str, str, str]


def _delta_rows(delta: "Hyperbolicity") -> Iterator[Row]:
    how = "all quadruples" if delta.complete else f"{delta.samples:,} quadruples, 95 % interval"
    low, high = delta.mean_interval
    yield "delta, mean", f"{delta.mean:.3f} ({low:.3f} .. {high:.3f})", how
    for value, share in list(delta.shares.items())[:6]:
        yield f"  share of delta {value:g}", f"{share:.4f}", ""
    yield "delta, largest seen", f"{delta.largest:g}", "a lower bound of the worst"
    if delta.worst is not None and delta.worst_at_most is not None:
        if delta.worst == delta.worst_at_most:
            yield "delta, worst", f"{delta.worst:g}", "exact"
        else:
            yield "delta, worst", f"{delta.worst:g} .. {delta.worst_at_most:g}", "time limit reached; bounds only"
    yield "diameter", f"{delta.diameter}", "at least" if delta.sampled_diameter else "exact"
    yield "2 largest delta / diameter", f"{delta.relative:.3f}", "0 for a tree, 1 at most"
    yield "2 mean delta / diameter", f"{delta.mean_relative:.3f}", "0 for a tree"


def _curvature_rows(found: "Measurements") -> Iterator[Row]:
    curvature = found.curvature
    if curvature is not None:
        low, high = curvature.interval
        how = "exact" if curvature.exact else f"{curvature.references:,} reference nodes"
        shown = f"{curvature.mean:+.3f}" + ("" if curvature.exact else f" ({low:+.3f} .. {high:+.3f})")
        yield "sectional curvature, mean", shown, f"over pairs of neighbours; {how}"
        yield "  over nodes", f"{curvature.node_mean:+.3f}", "each counts once"
        yield "  nodes above / below 0", f"{curvature.positive:.0%} / {curvature.negative:.0%}", ""
    yield "Forman curvature, mean", f"{found.forman.mean():+.2f}", "of edges, triangles as faces"


def _spectrum_rows(spectrum: "Spectrum") -> Iterator[Row]:
    least, most = spectrum.negative_range
    how = "exact" if spectrum.exact else f"{spectrum.samples} samples of {spectrum.nodes:,} nodes, {least:.1%} .. {most:.1%}"
    yield "negative eigenvalues", f"{spectrum.negative:.1%}", how
    split = f"{spectrum.explained:.1%} of the squared spectrum"
    yield f"split of {spectrum.dim} dimensions", spectrum.signature, split


def _arrow_rows(found: "Measurements") -> Iterator[Row]:
    arrows = found.arrows
    if arrows is None:
        return
    yield "edges that lead one way", f"{arrows.edges * (1 - arrows.reciprocity):,.0f}", f"of {arrows.edges:,}"
    yield "reciprocity", f"{arrows.reciprocity:.1%}", "of the edges have a reverse"
    acyclic = "no cycle: a hierarchy" if arrows.acyclic else f"the largest has {arrows.largest:,} nodes"
    yield "strongly connected parts", f"{arrows.strong:,}", acyclic
    yield "sources / sinks", f"{arrows.sources:,} / {arrows.sinks:,}", "nodes without edges in / out"
    yield "trophic levels", f"{arrows.levels.max(initial=0.0):.2f}", "from the lowest to the highest node"
    yield "trophic incoherence", f"{arrows.incoherence:.3f}", "0 if each edge rises one level, 1 at most"


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
    if suggestion.others:
        console.print(_other_dimensions(suggestion))
    console.print(suggestion.sentence, style="bold", highlight=False, soft_wrap=True)
    for reason in suggestion.reasons:
        console.print(f"  {reason}", highlight=False, soft_wrap=True)


def _other_dimensions(suggestion: "Suggestion") -> Table:
    table = Table(header_style="bold", title="Other numbers of dimensions", title_justify="left")
    for name in ("dimensions", "space", suggestion.metric, "epochs"):
        table.add_column(name, justify="left" if name == "space" else "right")
    for trial in suggestion.others:
        mark = " *" if trial.space == suggestion.fewest else ""
        table.add_row(str(trial.dim), trial.space + mark, f"{100 * trial.score:.1f}", str(trial.epochs))
    return table


def _write(out: Path, found: "Measurements", suggestion: "Suggestion | None", report: dict[str, Any]) -> None:
    from qgcn.files import write_json
    from qgcn.viz import figures

    name = found.shape.name
    drawn = {"delta": figures.delta(found.hyperbolicity, name), "spectrum": figures.spectrum(found.spectrum, name)}
    if found.curvature is not None:
        drawn["curvature"] = figures.curvature(found.curvature, name)
    if suggestion is not None:
        drawn["signatures"] = figures.signatures(suggestion, name)
    for stem, figure in drawn.items():
        for suffix in (".png", ".svg"):
            figures.save(figure, out / f"{stem}{suffix}")
    write_json(out / "analysis.json", report)
