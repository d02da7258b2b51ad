"""Figures of measurements: of graphs, of spaces that were compared, of training."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from qgcn.manifolds import parse_space
from qgcn.viz import style
from qgcn.viz.figures.drawing import new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qgcn.analysis import Curvature, Hyperbolicity, Spectrum, Suggestion
    from qgcn.training.metrics_log import Curve

__all__ = [
    "curvature",
    "curvature_histogram",
    "delta",
    "delta_distribution",
    "map_against_time",
    "signatures",
    "spectrum",
    "training_curves",
]

_GREY = "#888888"
_ROOM = (5.2, 3.4)


# --- one graph -------------------------------------------------------------------------------------------------------


@styled
def delta(found: "Hyperbolicity", name: str) -> "Figure":
    """Draw the distribution of delta over quadruples, with 95 % intervals, and the worst delta if it is known.

    Args:
        found: The hyperbolicity of the graph.
        name: Name of the graph.
    """
    figure, (axis,) = new_figure(*_ROOM)
    first, second = style.categories(2)
    heights = list(found.shares.values())
    below = [max(0.0, height - found.intervals[value][0]) for value, height in found.shares.items()]
    above = [max(0.0, found.intervals[value][1] - height) for value, height in found.shares.items()]
    axis.bar(list(found.shares), heights, width=0.4, color=first, yerr=(below, above), ecolor=_GREY, capsize=2)
    axis.set(title=f"{name}: delta-hyperbolicity", xlabel="delta", ylabel="share of quadruples")
    if found.worst is not None:
        axis.axvline(found.worst, color=second, linestyle="--", label=f"worst: {found.worst:g}")
        axis.legend()
    return figure


@styled
def curvature(found: "Curvature", name: str) -> "Figure":
    """Draw the histograms of sectional curvature, over nodes and over pairs of neighbours.

    Args:
        found: The curvature of the graph.
        name: Name of the graph.
    """
    figure, (axis,) = new_figure(*_ROOM)
    first, second = style.categories(2)
    label = f"nodes, mean {found.node_mean:+.2f}"
    axis.stairs(found.histogram, found.bins, fill=True, alpha=0.6, color=first, label=label)
    axis.stairs(found.pair_histogram, found.bins, color=second, label=f"pairs of neighbours, mean {found.mean:+.2f}")
    axis.axvline(0, color=_GREY, linewidth=0.8)
    axis.set(title=f"{name}: sectional curvature", xlabel="curvature", ylabel="share")
    filled = np.flatnonzero((found.histogram > 0) | (found.pair_histogram > 0))
    if len(filled):
        axis.set_xlim(found.bins[filled[0]], found.bins[filled[-1] + 1])
    axis.legend()
    return figure


@styled
def spectrum(found: "Spectrum", name: str) -> "Figure":
    """Draw the eigenvalues of the doubly centred squared distances, the largest magnitudes first.

    Args:
        found: The spectrum of the graph.
        name: Name of the graph.
    """
    figure, (axis,) = new_figure(*_ROOM)
    first, second = style.categories(2)
    shown = found.eigenvalues[: max(3 * found.dim, 30)]
    axis.bar(np.arange(1, len(shown) + 1), shown, color=[first if value > 0 else second for value in shown])
    axis.axvline(found.dim + 0.5, color=_GREY, linestyle="--", linewidth=0.8, label=f"the first {found.dim}")
    axis.axhline(0, color=_GREY, linewidth=0.8)
    axis.set(title=f"{name}: spectrum of squared distances", xlabel="eigenvalue, by magnitude")
    axis.set_ylabel("share of the sum of magnitudes")
    axis.legend()
    return figure


@styled
def signatures(found: "Suggestion", name: str) -> "Figure":
    """Draw the scores of the first trials against the number of time dimensions, other spaces than ``Q`` as lines.

    Args:
        found: The choice of a space.
        name: Name of the graph.
    """
    spaces = [(parse_space(trial.space), trial.first) for trial in found.ranking]
    by_time = sorted((space.time_dim, score) for space, score in spaces if space.kind == "Q")
    figure, (axis,) = new_figure(*_ROOM)
    others = [(str(space), score) for space, score in spaces if space.kind != "Q"]
    colours = style.categories(1 + len(others))
    axis.plot([t for t, _ in by_time], [score for _, score in by_time], marker="o", color=colours[0], label="Q, by t")
    axis.xaxis.get_major_locator().set_params(integer=True)
    for k, (space, score) in enumerate(others):
        axis.axhline(score, color=colours[k + 1], linestyle=("--", ":", "-.")[k % 3], linewidth=1, label=space)
    axis.set(title=f"{name}: take {found.space}", xlabel="time dimensions t", ylabel=f"{found.metric} of the first trials")
    axis.legend(ncols=2)
    return figure


# --- several graphs or seeds -------------------------------------------------------------------------------------------


@styled
def map_against_time(scores: Mapping[str, Mapping[int, Sequence[float]]], dim: int | None = None) -> "Figure":
    """Draw the mAP of reconstruction against the number of time dimensions: mean of the seeds, deviation as a band.

    Args:
        scores: For each graph, for each number of time dimensions, the mAP of each seed, from 0 to 1.
        dim: The number of dimensions in all, for the label.
    """
    if not scores:
        raise ValueError("scores must hold at least one graph, got none")
    figure, axes = new_figure(4.6, 3.2)
    for (name, by_time), colour in zip(scores.items(), style.categories(len(scores)), strict=True):
        times = sorted(by_time)
        mean = np.array([100 * np.mean(by_time[t]) for t in times])
        deviation = np.array([100 * np.std(by_time[t], ddof=1) if len(by_time[t]) > 1 else 0.0 for t in times])
        axes[0].plot(times, mean, marker="o", markersize=3.5, color=colour, label=name, linewidth=1.4)
        axes[0].fill_between(times, mean - deviation, mean + deviation, color=colour, alpha=0.15, linewidth=0)
    axes[0].set_xticks(sorted({t for by_time in scores.values() for t in by_time}))
    axes[0].set_xlabel("time dimensions $t$" + ("" if dim is None else f" of {dim}"))
    axes[0].set_ylabel("mAP (%)")
    axes[0].legend(loc="best")
    return figure


@styled
def curvature_histogram(values: Mapping[str, Sequence[float]], bins: int = 40) -> "Figure":
    """Draw the distribution of a graph's sectional curvature, one panel per graph, with its mean as a line.

    Args:
        values: Curvatures of each graph.
        bins: Number of bins, the same for all.
    """
    if not values:
        raise ValueError("values must hold at least one graph, got none")
    figure, axes = new_figure(2.4 * len(values) + 0.6, 2.4, len(values), sharey=True)
    low = min(float(np.min(each)) for each in values.values())
    high = max(float(np.max(each)) for each in values.values())
    for axis, (name, each), colour in zip(axes, values.items(), style.categories(len(values)), strict=True):
        weights = np.full(len(each), 1 / len(each))
        axis.hist(each, bins=bins, range=(low, high), weights=weights, color=colour, alpha=0.85)
        mean = float(np.mean(each))
        axis.axvline(mean, color=style.INK, linewidth=1, linestyle="--")
        axis.set_title(f"{name} (mean {mean:.2f})")
        axis.set_xlabel("sectional curvature")
    axes[0].set_ylabel("share of nodes")
    return figure


@styled
def delta_distribution(shares: Mapping[str, Mapping[float, float]]) -> "Figure":
    """Draw how delta is distributed over quadruples of nodes, beside each other for several graphs.

    Args:
        shares: For each graph the share of quadruples with each delta.
    """
    if not shares:
        raise ValueError("shares must hold at least one graph, got none")
    figure, axes = new_figure(4.8, 2.9)
    deltas = sorted({float(delta) for each in shares.values() for delta in each})
    gap = min(np.diff(deltas), default=0.5)
    width = 0.84 * gap / len(shares)
    for k, ((name, each), colour) in enumerate(zip(shares.items(), style.categories(len(shares)), strict=True)):
        at = np.array(deltas) + (k - (len(shares) - 1) / 2) * width
        axes[0].bar(at, [each.get(delta, 0.0) for delta in deltas], width=width, color=colour, label=name)
    axes[0].set_xticks(deltas)
    axes[0].set_xlabel(r"$\delta$ of a quadruple (0: tree-like)")
    axes[0].set_ylabel("share of quadruples")
    axes[0].legend(loc="best")
    return figure


@styled
def training_curves(curves: "Sequence[Curve]", score: str = "score") -> "Figure":
    """Draw loss and validation score against epochs, one line per seed.

    Args:
        curves: Learning curves, from :func:`qgcn.viz.report.runs.read_run`.
        score: Name of the score.
    """
    if not curves:
        raise ValueError("curves must hold at least one seed, got none")
    figure, axes = new_figure(6.6, 2.6, 2)
    for curve, colour in zip(curves, style.categories(len(curves)), strict=True):
        axes[0].plot(curve.epoch, curve.loss, color=colour, linewidth=1.2, label=f"seed {curve.seed}")
        axes[1].plot(curve.epoch, curve.score, color=colour, linewidth=1.2, label=f"seed {curve.seed}")
    for axis, name in zip(axes, ("training loss", f"validation {score}"), strict=True):
        axis.set_xlabel("epoch")
        axis.set_ylabel(name)
    if 1 < len(curves) <= len(style.CATEGORIES["light"]):
        axes[1].legend(loc="best")
    return figure
