"""``qgcn predict``, ``score``, ``recommend``, ``neighbors``, ``explain`` and ``export``: ask a finished run."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from qgcn.cli.columns import Source, Target, Weight
from qgcn.cli.console import Console, progress_bars

if TYPE_CHECKING:
    from qgcn.answer import Answer
    from qgcn.progress import Progress
    from qgcn.training.answers import Answers

__all__ = ["explain", "export", "neighbors", "predict", "recommend", "score"]

SHOWN = 40
"""Rows that are shown on a terminal."""
FORMATS = {"csv": ".csv", "tsv": ".tsv", "parquet": ".parquet", "npz": ".npz", "graphml": ".graphml", "word2vec": ".txt"}
"""Formats of an embedding, and the suffix of each."""

_Folder = Annotated[Path, typer.Argument(help="Folder of a finished run.", metavar="RUN")]
_Seed = Annotated[int | None, typer.Option(help="Seed whose model answers (default: the mean over all).", metavar="N")]
_Graph = Annotated[
    Path | None,
    typer.Option(help="Ask about this graph instead, with nodes and edges that were not there in training.", metavar="FILE"),
]
_Features = Annotated[Path | None, typer.Option(help="Features of the nodes of that graph.", metavar="FILE")]
_Device = Annotated[str | None, typer.Option(help="auto, cpu or cuda (default: that of the run).", metavar="NAME")]
_Out = Annotated[
    Path | None, typer.Option(help="Write the answer to a .csv, .tsv or .parquet file instead of showing it.", metavar="FILE")
]


def predict(
    run: _Folder,
    seed: _Seed = None,
    graph: _Graph = None,
    source: Source = None,
    target: Target = None,
    weight: Weight = None,
    features: _Features = None,
    device: _Device = None,
    out: _Out = None,
) -> None:
    """Predict the class of every node, with calibrated probabilities.

    Example: qgcn predict runs/classification-cora-qgcn-Q15,1 --out classes.csv
    """
    _answer(
        _Subject(run, device, graph, features, source=source, target=target, weight=weight),
        lambda asked, _: [asked.predictions(seed=seed)],
        out,
    )


def score(
    run: _Folder,
    pairs: Annotated[Path, typer.Argument(help="Table whose first two columns name the nodes of a pair.", metavar="PAIRS")],
    seed: _Seed = None,
    graph: _Graph = None,
    source: Source = None,
    target: Target = None,
    weight: Weight = None,
    features: _Features = None,
    device: _Device = None,
    out: _Out = None,
) -> None:
    """Score pairs of nodes: how probable a link between them is.

    Example: qgcn score runs/links-friends-qgcn-Q15,1 pairs.csv
    """
    _answer(
        _Subject(run, device, graph, features, source=source, target=target, weight=weight),
        lambda asked, _: asked.link_scores(pairs, seed=seed),
        out,
    )


def recommend(
    run: _Folder,
    top: Annotated[int, typer.Option(min=1, help="Number of links of each node.", metavar="N")] = 20,
    node: Annotated[
        list[str] | None, typer.Option(help="Name of a node; repeat it for more (default: all).", metavar="NAME")
    ] = None,
    overall: Annotated[
        bool, typer.Option("--overall", help="The most probable links of the whole graph instead of each node's.")
    ] = False,
    known: Annotated[bool, typer.Option("--known", help="Keep links that the graph has already, or implies.")] = False,
    seed: _Seed = None,
    graph: _Graph = None,
    source: Source = None,
    target: Target = None,
    weight: Weight = None,
    features: _Features = None,
    device: _Device = None,
    out: _Out = None,
) -> None:
    """Recommend links: the most probable ones that the graph does not have, for every node or for those named.

    Example: qgcn recommend runs/links-friends-qgcn-Q15,1 --node ann --top 5
    """
    if overall and (node or known):
        raise ValueError("--overall is about all nodes and links that are not there: leave out --node and --known")

    def ask(asked: "Answers", progress: "Progress") -> "Iterable[Answer]":
        if overall:
            return [asked.missing_links(top, seed=seed, progress=progress)]
        return asked.recommendations(node, top, not known, seed=seed, progress=progress)

    subject = _Subject(run, device, graph, features, source=source, target=target, weight=weight)
    _answer(subject, ask, out)


def neighbors(
    run: _Folder,
    nodes: Annotated[list[str], typer.Argument(help="Names of nodes.", metavar="NAME...")],
    top: Annotated[int, typer.Option(min=1, help="Number of neighbours of each node.", metavar="N")] = 10,
    seed: _Seed = None,
    graph: _Graph = None,
    source: Source = None,
    target: Target = None,
    weight: Weight = None,
    features: _Features = None,
    device: _Device = None,
    out: _Out = None,
) -> None:
    """List the nearest nodes in the embedding, with their distances.

    Example: qgcn neighbors runs/reconstruction-animals-shallow-Q8,2 cat --top 5
    """
    _answer(
        _Subject(run, device, graph, features, source=source, target=target, weight=weight),
        lambda asked, _: [asked.neighbors(nodes, top, seed=seed)],
        out,
    )


def explain(
    run: _Folder,
    node: Annotated[str, typer.Argument(help="Name of a node.", metavar="NODE")],
    other: Annotated[
        str | None, typer.Argument(help="Name of another node, to explain the link between both.", metavar="OTHER")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of edges.", metavar="N")] = 10,
    seed: _Seed = None,
    graph: _Graph = None,
    source: Source = None,
    target: Target = None,
    weight: Weight = None,
    features: _Features = None,
    device: _Device = None,
    out: _Out = None,
) -> None:
    """List the edges that matter most for what the network says of a node, or of the link between two.

    Example: qgcn explain runs/classification-cora-qgcn-Q15,1 12 --top 5
    """
    _answer(
        _Subject(run, device, graph, features, source=source, target=target, weight=weight),
        lambda asked, progress: [asked.explain(node, other, top, seed=seed, progress=progress)],
        out,
    )


def export(
    run: _Folder,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option(help=f"One of {', '.join(FORMATS)} (default: by the name of the file, else csv).", metavar="NAME"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write (default: RUN/export.SUFFIX).", metavar="FILE")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed whose embedding is exported (default: the first).", metavar="N")
    ] = None,
    tangent: Annotated[
        bool, typer.Option("--tangent", help="Tangent coordinates, for programs that expect flat space.")
    ] = False,
    graph: _Graph = None,
    source: Source = None,
    target: Target = None,
    weight: Weight = None,
    features: _Features = None,
    device: _Device = None,
) -> None:
    """Export an embedding with the names of its nodes, and predicted classes where there are some.

    Example: qgcn export runs/reconstruction-animals-shallow-Q8,2 --format parquet
    """
    kind = _format(format, out)
    path = out or run / f"export{FORMATS[kind]}"
    console = Console()
    with progress_bars(console) as progress:
        progress("reading", note=str(run))
        from qgcn import export as writers
        from qgcn.training.machine import signals_raise

        asked = _Subject(run, device, graph, features, source=source, target=target, weight=weight).read()
        asked.check_finished()
        writers.check_target(path, kind)
        with signals_raise():
            if kind == "npz":
                from qgcn.embedding import write_embedding

                write_embedding(path, asked.embedding(seed))
            elif kind == "graphml":
                writers.write_graphml(path, asked.to_networkx(seed=seed, tangent=tangent))
            elif kind == "word2vec":
                points, space, ids = asked.embedding(seed)
                writers.write_word2vec(path, ids, (space.logmap0(points) if tangent else points).cpu().numpy())
            else:
                writers.write_table(path, [asked.table(seed=seed, tangent=tangent)], kind)
    console.print(f"Written to {escape(str(path))}", highlight=False, soft_wrap=True)


def _format(given: str | None, out: Path | None) -> str:
    """Return the format: as named, or that of the file's name."""
    from qgcn.hints import nearest

    if given is not None:
        if given not in FORMATS:
            raise ValueError(f"no format {given!r}{nearest(given, FORMATS)} (known: {', '.join(FORMATS)})")
        return given
    if out is None:
        return "csv"
    found = next((name for name, suffix in FORMATS.items() if suffix == out.suffix.lower()), None)
    if found is None:
        raise ValueError(f"the name {out.name!r} does not tell the format: give --format ({', '.join(FORMATS)})")
    return found


class _Subject:
    """A run, and the changed graph that it is asked about, if there is one."""

    def __init__(
        self, folder: Path, device: str | None, graph: Path | None, features: Path | None, **columns: str | None
    ) -> None:
        self.folder, self.device, self.columns = folder, device, columns
        # as text: a name of a data set is taken, too
        self.graph, self.features = (None if path is None else str(path) for path in (graph, features))

    def read(self) -> "Answers":
        from qgcn.training.run import load_run

        return load_run(self.folder, device=self.device).with_graph(self.graph, self.features, **self.columns)


def _answer(subject: _Subject, ask: "Callable[[Answers, Progress], Iterable[Answer]]", out: Path | None) -> None:
    """Ask a run, and write the answer to a file, show its first rows on a terminal, or print it as CSV where there is none."""
    console = Console()
    with progress_bars(console) as progress:
        progress("reading", note=str(subject.folder))
        from qgcn.export import check_target, table_format, write_rows, write_table
        from qgcn.training.machine import signals_raise

        if out is not None:
            check_target(out, table_format(out))
        blocks = iter(ask(subject.read(), progress))
        if out is not None:
            with signals_raise():  # so that no temporary file is left
                rows = write_table(out, blocks)
        elif console.is_terminal:
            shown = _first(blocks)
    if out is not None:
        console.print(f"Written to {escape(str(out))} ({rows:,} rows)", highlight=False, soft_wrap=True)
    elif console.is_terminal:
        _show(shown, console)
    else:
        write_rows(sys.stdout, blocks)


def _first(blocks: "Iterable[Answer]") -> "Answer":
    """Return as many blocks as are shown, and whatever tells that there are more."""
    found = []
    for block in blocks:
        found.append(block)
        if sum(map(len, found)) > SHOWN:
            break
    return found[0].joined(found)


def _show(answer: "Answer", console: Console) -> None:
    """Show the first rows as a table."""
    table = Table(header_style="bold")
    for name, column in answer.columns.items():
        table.add_column(name, justify="left" if column.dtype.kind in "UOb" else "right")
    for row in answer.rows(0, SHOWN):
        table.add_row(*(f"{value:.4f}" if isinstance(value, float) else escape(str(value)) for value in row))
    console.print(table)
    if len(answer) > SHOWN:
        console.print(f"The first {SHOWN} rows; --out FILE writes all.", highlight=False)
