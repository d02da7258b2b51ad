"""The paper's figures, drawn from lines of the store; the projections train a model of their own."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qgcn.progress import Progress, silent
from qgcn.reproduction.blocks import MAP_SETTINGS, Results
from qgcn.reproduction.paper import RECONSTRUCTED, SIGNATURES, TITLES
from qgcn.reproduction.store import Store
from qgcn.reproduction.tables import Scale, cells_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FIGURES", "draw"]

PROJECTED = ("pubmed", "cora")
TRAINED = "figure3"
"""The figure that trains models of its own."""
LARGEST = 2.5
"""Largest delta that is drawn, as in the paper's table."""
COLUMNS = 4
"""Histograms in a row."""
SPACE = "Q15,1"
"""Space of the embeddings that are projected: that of our default model."""


def draw(name: str, store: Store, scale: Scale, folder: Path, progress: Progress = silent) -> list[Path]:
    """Draw a figure; return the files that were written, none if nothing of it was measured yet.

    The projections, for which models are trained, are drawn only if they are not there.

    Args:
        name: Such as ``figure2``.
        store: The lines.
        scale: What was to be measured.
        folder: Where files are written.
        progress: Progress callback.

    Raises:
        ValueError: Matplotlib, or UMAP for the projections, is not installed.
    """
    from qgcn.viz.figures import check_matplotlib, save

    check_matplotlib()
    if name == TRAINED and any(folder.glob(f"{name}-*")):
        return []
    return [save(figure, folder / file) for file, figure in FIGURES[name](store, scale, progress).items()]


def _submanifolds(_store: Store, _scale: Scale, _progress: Progress) -> "dict[str, Figure]":
    from qgcn.viz.figures import submanifolds

    return {"figure1.png": submanifolds()}


def _against_time(store: Store, scale: Scale, _progress: Progress) -> "dict[str, Figure]":
    """Draw mAP against the number of time dimensions, one picture for each setting."""
    from qgcn.viz.figures import map_against_time

    results, found = Results(store, scale, ("table1",)), dict[str, Any]()
    for name, setting in MAP_SETTINGS.items():
        scores: dict[str, dict[int, list[float]]] = {}
        for data in scale.of("table1", RECONSTRUCTED):
            for t, method in enumerate(SIGNATURES, 1):
                measured = results.scores("table1", "reconstruction", data, method.name, setting)
                if measured:
                    title = TITLES.get(data, data)
                    scores.setdefault(title, {})[t] = [value / 100 for value in measured.values()]
        if scores:
            found[f"figure2-{name}.svg"] = map_against_time(scores, len(SIGNATURES))
    return found


def _projections(_store: Store, scale: Scale, progress: Progress) -> "dict[str, Figure]":
    """Train links with our defaults, and draw the three projections by class."""
    from qgcn.tasks import Config
    from qgcn.training.run import Run
    from qgcn.viz.figures import views
    from qgcn.viz.projections import import_umap
    from qgcn.viz.report.runs import read_run

    import_umap()
    found = {}
    for data in PROJECTED if scale.changes is None else scale.of("table2", PROJECTED):
        values = {"task": "links", "data": data, "space": SPACE, "blend": False, "yardsticks": False, "device": "cpu"}
        with tempfile.TemporaryDirectory() as parent:
            progress("training", note=data)
            Run.start(Config.checked(values | (scale.changes or {})), Path(parent) / data).train()
            embedded = read_run(Path(parent) / data, progress=progress).embedded
        if embedded is not None:
            classes = next(column for column in embedded.columns if column.name == "class")
            found[f"figure3-{data}.png"] = views(embedded.layouts["sphere"], embedded.layouts["hyperboloid"], classes)
    return found


def _curvatures(store: Store, scale: Scale, _progress: Progress) -> "dict[str, Figure]":
    """Draw the curvature of the nodes of all graphs, and the distribution of delta."""
    from qgcn.viz.figures import delta_distribution, styled

    bends: dict[str, dict[str, Any]] = {}
    deltas: dict[str, dict[float, float]] = {}
    for cell in cells_of("appendix", scale):
        line = store.find(cell, 0)
        if line is not None:
            title = TITLES.get(cell.data, cell.data)
            bends[title] = line["curvature"]
            deltas[title] = {float(at): share for at, share in line["delta"]["shares"].items() if float(at) <= LARGEST}
    if not bends:
        return {}
    return {"figure4.svg": styled(_histograms)(bends), "delta.svg": delta_distribution(deltas)}


def _histograms(bends: Mapping[str, Mapping[str, Any]]) -> "Figure":
    """Draw a histogram for each graph, four in a row, with the mean over nodes as a line."""
    from matplotlib.figure import Figure

    from qgcn.viz import style

    rows = -(-len(bends) // COLUMNS)
    figure = Figure(figsize=(10, 2.3 * rows), layout="constrained")
    panels = list(figure.subplots(rows, COLUMNS, squeeze=False).flat)
    for panel, (title, bend), colour in zip(panels, bends.items(), style.categories(len(bends)), strict=False):
        shares, bins = bend["histogram"], bend["bins"]
        panel.stairs(shares, bins, fill=True, alpha=0.85, color=colour)
        panel.axvline(bend["node_mean"], color=style.INK, linewidth=1, linestyle="--")
        filled = [index for index, share in enumerate(shares) if share > 0]
        panel.set(title=f"{title} (mean {bend['node_mean']:+.2f})", xlim=(bins[filled[0]], bins[filled[-1] + 1]))
        panel.set_xlabel("sectional curvature of a node")
    for panel in panels[len(bends) :]:
        panel.axis("off")
    for panel in panels[::COLUMNS]:
        panel.set_ylabel("share of nodes")
    return figure


FIGURES: "dict[str, Callable[[Store, Scale, Progress], dict[str, Figure]]]" = {
    "figure1": _submanifolds,
    "figure2": _against_time,
    TRAINED: _projections,
    "figure4": _curvatures,
}
