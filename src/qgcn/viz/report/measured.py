"""The geometry of a graph for the report: measurements in sentences, figures and charts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qgcn.analysis import Curvature, Hyperbolicity, Measurements, Spectrum

__all__ = ["graph_section"]

Floats = NDArray[np.float64]

_MOST_BARS = 40
"""Bars of a chart; values that need more are put together."""
_TAILS = 0.05, 0.01
"""Shares of the edges of least and largest Forman curvature that the chart leaves out: hubs would stretch it."""


def graph_section(found: Measurements) -> dict[str, Any]:
    """Describe measurements of a graph as :func:`write_report` takes them for its ``analysis``.

    Returns:
        ``graph``, its name; ``words``, sentences; ``facts``, names and values; ``charts``, each with ``title``, ``about``,
        ``kind``, ``x_label``, ``y_label``, ``x`` and ``y``.
    """
    shape, curvature = found.shape, found.curvature
    words = [_on_delta(found.hyperbolicity)]
    charts = [_chart_of_delta(found.hyperbolicity)]
    if curvature is not None:
        words.append(_on_curvature(curvature, found.forman))
        charts.append(_chart_of_curvature(curvature))
    words.append(_on_spectrum(found.spectrum))
    words += [f"How it was read: {'; '.join(shape.remarks)}."] if shape.remarks else []
    charts += [_chart_of_forman(found.forman), _chart_of_spectrum(found.spectrum)]
    return {"graph": shape.name, "words": words, "facts": _facts(found), "charts": charts}


# --- in words --------------------------------------------------------------------------------------------------------


def _on_delta(delta: Hyperbolicity) -> str:
    at_least = "at least " if delta.sampled_diameter else ""
    return (
        "Delta says how far four nodes are from lying on a tree: 0 if they do, up to half the diameter on a long cycle. "
        f"Here it is 0 for {_percent(delta.shares[0.0])} of quadruples and {delta.mean:.2f} on average, at a diameter of "
        f"{at_least}{delta.diameter}: the graph is {delta.likeness}."
    )


def _on_curvature(curvature: Curvature, forman: Floats) -> str:
    pairs, nodes = round(curvature.mean, 2), round(curvature.node_mean, 2)
    if pairs < 0 < nodes:
        meaning = "hubs branch like trees, while clusters and cycles prevail among the other nodes"
    elif max(pairs, nodes) < 0:
        meaning = "the graph branches, which hyperbolic directions hold well"
    elif min(pairs, nodes) > 0:
        meaning = "clusters and cycles prevail, which spherical directions hold well"
    else:
        meaning = "neither prevails"
    return (
        "Sectional curvature is negative where a graph branches, positive in clusters and on cycles. It is negative at "
        f"{_percent(curvature.negative)} of the nodes and positive at {_percent(curvature.positive)}; its mean is "
        f"{_signed(nodes)} over nodes and {_signed(pairs)} over pairs of neighbours, where hubs count most: {meaning}. "
        f"Forman's curvature, of edges, is negative for {_percent((forman < 0).mean())} of them."
    )


def _on_spectrum(spectrum: Spectrum) -> str:
    if spectrum.negative == 0:
        return (
            "The spectrum of the squared distances has no negative part: a flat space holds them as they are, and nothing in "
            "it asks for time dimensions."
        )
    return (
        f"Of the spectrum of the squared distances {_percent(spectrum.negative)} is negative: no flat space of space "
        f"dimensions alone holds that part, time dimensions do. Of the {spectrum.space_dim + spectrum.time_dim} strongest "
        f"directions {spectrum.space_dim} are space-like and {spectrum.time_dim} time-like, which speaks for "
        f"{spectrum.signature}. That is cheap evidence, no more: qgcn analyze compares spaces by trial runs."
    )


def _facts(found: Measurements) -> dict[str, str]:
    shape, delta, curvature, spectrum = found.shape, found.hyperbolicity, found.curvature, found.spectrum
    low, high = delta.mean_interval
    facts = {
        "nodes": f"{shape.num_nodes:,}",
        "edges": f"{shape.num_edges:,}",
        "components": f"{len(shape.components) + shape.isolated:,}",
        "diameter": f"{'at least ' if delta.sampled_diameter else ''}{delta.diameter}",
        "mean delta": f"{delta.mean:.3f}" + ("" if delta.complete else f" ({low:.3f} to {high:.3f})"),
        "largest delta seen": f"{delta.largest:g}",
        "2 mean delta / diameter": f"{delta.mean_relative:.3f}",
        "quadruples": f"{delta.samples:,}{' (all)' if delta.complete else ''}",
    }
    if curvature is not None:
        low, high = curvature.interval
        sampled = "" if curvature.exact else f" ({_signed(low)} to {_signed(high)})"
        facts |= {
            "sectional curvature, pairs": _signed(curvature.mean) + sampled,
            "sectional curvature, nodes": _signed(curvature.node_mean),
        }
    least, most = spectrum.negative_range
    return facts | {
        "Forman curvature, mean": _signed(float(found.forman.mean())),
        "spectrum below 0": f"{_percent(spectrum.negative, 1)}"
        + ("" if spectrum.exact else f" ({_percent(least, 1)} to {_percent(most, 1)})"),
        f"split of {spectrum.dim} coordinates": f"{spectrum.signature} (holds {_percent(spectrum.explained)})",
    }


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%"


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "\N{MINUS SIGN}")


# --- in charts -------------------------------------------------------------------------------------------------------


def _bars(title: str, about: str, across: str, up: str, x: Floats, y: Floats) -> dict[str, Any]:
    """Describe a chart of the shares ``y`` at ``x``."""
    return {
        "title": title,
        "about": about,
        "kind": "bars",
        "x_label": across,
        "y_label": up,
        "x": x.tolist(),
        "y": (100 * y).tolist(),
    }


def _chart_of_delta(delta: Hyperbolicity) -> dict[str, Any]:
    of = "all quadruples of connected nodes" if delta.complete else f"{delta.samples:,} random quadruples of connected nodes"
    about = f"Over {of}: 0 as on a tree, more where cycles are."
    deltas, shares = np.array(list(delta.shares)), np.array(list(delta.shares.values()))
    return _bars("Delta of four nodes", about, "delta", "% of quadruples", deltas, shares)


def _chart_of_curvature(curvature: Curvature) -> dict[str, Any]:
    middle = (curvature.bins[1:] + curvature.bins[:-1]) / 2
    filled = np.flatnonzero(curvature.histogram)
    kept = slice(filled[0], filled[-1] + 1)
    about = "Of nodes with two neighbours or more: below 0 they branch, above 0 they are in clusters or on cycles."
    return _bars("Sectional curvature", about, "curvature", "% of nodes", middle[kept].round(3), curvature.histogram[kept])


def _chart_of_forman(forman: Floats) -> dict[str, Any]:
    low, high = np.quantile(forman, (_TAILS[0], 1 - _TAILS[1]), method="nearest")
    width = max(1, -(-int(high - low + 1) // _MOST_BARS))
    edges = np.arange(low, high + width + 1, width)
    count = np.histogram(forman, edges - 0.5)[0]
    beyond = 1 - count.sum() / len(forman)
    left_out = f" {_percent(beyond, 1)} of them, at hubs or in dense clusters, lie beyond the chart." if beyond > 0 else ""
    about = f"Of edges: below 0 they join nodes that branch, above 0 they are in triangles.{left_out}"
    return _bars("Forman curvature", about, "curvature", "% of edges", edges[:-1] + (width - 1) / 2, count / len(forman))


def _chart_of_spectrum(spectrum: Spectrum) -> dict[str, Any]:
    shown = spectrum.eigenvalues[: min(_MOST_BARS, max(2 * spectrum.dim, 20))]
    about = f"The {len(shown)} strongest eigenvalues: those above 0 are space dimensions, those below 0 time dimensions."
    place = np.arange(1.0, len(shown) + 1)
    return _bars("Spectrum of the squared distances", about, "eigenvalue, by strength", "% of all", place, shown)
