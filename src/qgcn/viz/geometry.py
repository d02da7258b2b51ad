"""Figures of what is known of a graph: delta, curvature, spectrum, and how each number of time dimensions did."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_curvature", "plot_deltas", "plot_signatures", "plot_spectrum", "save_figure"]

Floats = NDArray[np.float64]

_BLUE, _RED, _GREY = "#3b6ea8", "#b5483a", "#888888"
_SIZE = (5.2, 3.4)


def _figure(title: str, across: str, up: str) -> tuple["Figure", Any]:
    from matplotlib.figure import Figure  # not pyplot: nothing is shown, and no window system is looked for

    figure = Figure(figsize=_SIZE, layout="constrained")
    axes = figure.add_subplot()
    axes.set(title=title, xlabel=across, ylabel=up)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def plot_deltas(
    shares: Mapping[float, float], intervals: Mapping[float, tuple[float, float]], name: str, worst: float | None = None
) -> "Figure":
    """Draw the distribution of delta over quadruples, with 95 % intervals, and the worst delta if it is known.

    Args:
        shares: Share of the quadruples with each delta.
        intervals: Confidence interval of each share.
        name: Name of the graph.
        worst: The worst delta.
    """
    figure, axes = _figure(f"{name}: delta-hyperbolicity", "delta", "share of quadruples")
    deltas, heights = list(shares), list(shares.values())
    below = [max(0.0, height - intervals[delta][0]) for delta, height in shares.items()]
    above = [max(0.0, intervals[delta][1] - height) for delta, height in shares.items()]
    axes.bar(deltas, heights, width=0.4, color=_BLUE, yerr=(below, above), ecolor=_GREY, capsize=2)
    if worst is not None:
        axes.axvline(worst, color=_RED, linestyle="--", label=f"worst: {worst:g}")
        axes.legend(frameon=False)
    return figure


def plot_curvature(bins: Floats, nodes: Floats, pairs: Floats, node_mean: float, mean: float, name: str) -> "Figure":
    """Draw the histograms of sectional curvature, over nodes and over pairs of neighbours.

    Args:
        bins: Edges of the bins, shape ``(B + 1,)``.
        nodes: Share of the nodes in each bin, shape ``(B,)``.
        pairs: Share of the pairs in each bin, shape ``(B,)``.
        node_mean: Mean over nodes.
        mean: Mean over pairs.
        name: Name of the graph.
    """
    figure, axes = _figure(f"{name}: sectional curvature", "curvature", "share")
    axes.stairs(nodes, bins, fill=True, alpha=0.6, color=_BLUE, label=f"nodes, mean {node_mean:+.2f}")
    axes.stairs(pairs, bins, color=_RED, label=f"pairs of neighbours, mean {mean:+.2f}")
    axes.axvline(0, color=_GREY, linewidth=0.8)
    filled = np.flatnonzero((nodes > 0) | (pairs > 0))
    if len(filled):
        axes.set_xlim(bins[filled[0]], bins[filled[-1] + 1])
    axes.legend(frameon=False)
    return figure


def plot_spectrum(eigenvalues: Floats, dim: int, name: str) -> "Figure":
    """Draw the eigenvalues of the doubly centred squared distances, the largest magnitudes first.

    Args:
        eigenvalues: As shares of the sum of magnitudes, by decreasing magnitude.
        dim: How many of them the suggested signature counts.
        name: Name of the graph.
    """
    shown = eigenvalues[: max(3 * dim, 30)]
    figure, axes = _figure(
        f"{name}: spectrum of squared distances", "eigenvalue, by magnitude", "share of the sum of magnitudes"
    )
    axes.bar(np.arange(1, len(shown) + 1), shown, color=[_BLUE if value > 0 else _RED for value in shown])
    axes.axvline(dim + 0.5, color=_GREY, linestyle="--", linewidth=0.8, label=f"the first {dim}")
    axes.axhline(0, color=_GREY, linewidth=0.8)
    axes.legend(frameon=False)
    return figure


def plot_signatures(
    times: Sequence[int], scores: Sequence[float], others: Mapping[str, float], metric: str, chosen: str, name: str
) -> "Figure":
    """Draw the score against the number of time dimensions, with the other spaces as lines.

    Args:
        times: Numbers of time dimensions, ``t``.
        scores: Scores of ``Q`` with those, in [0, 1].
        others: Scores of other spaces.
        metric: Name of the score.
        chosen: The space that is recommended.
        name: Name of the graph.
    """
    figure, axes = _figure(f"{name}: take {chosen}", "time dimensions t", f"{metric} of the first trials")
    axes.plot(times, scores, marker="o", color=_BLUE, label="Q, by t")
    axes.xaxis.get_major_locator().set_params(integer=True)
    styles = ("--", ":", "-.")
    for k, (space, score) in enumerate(others.items()):
        axes.axhline(score, color=f"C{k + 1}", linestyle=styles[k % 3], linewidth=1, label=space)
    axes.legend(frameon=False, fontsize="small", ncols=2)
    return figure


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure; the suffix of the path, ``.png`` or ``.svg``, says as what. Equal figures give equal files.

    Raises:
        ValueError: The suffix is neither.
    """
    kind = path.suffix.removeprefix(".")
    if kind not in ("png", "svg"):
        raise ValueError(f"a figure is written as .png or .svg, got {path.name!r}")
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "qgcn", "svg.fonttype": "none"}):
        figure.savefig(path, format=kind, dpi=160, metadata={"Date": None} if kind == "svg" else {"Software": None})
