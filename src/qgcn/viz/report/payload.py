"""The data of a report's page."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from qgcn import __version__
from qgcn.answer import Answer
from qgcn.manifolds import Space
from qgcn.numerics import limits
from qgcn.tasks.insights import Column, Listing
from qgcn.viz import style
from qgcn.viz.report.subject import Embedded, Subject

__all__ = ["payload_of"]

PAGE_KINDS = ("E", "H", "S", "K", "Q")
"""Kinds of spaces whose distances and geodesics the page computes itself, see ``template/geometry.js``."""
NEAREST = 10
"""Number of nearest points shown for a node."""
_WORST = 12
"""Number of nodes listed as the worst."""
_ROWS = 512
"""Number of nodes whose distances to all others are computed at once."""


def payload_of(subjects: Sequence[Subject], analysis: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the contents of the page as plain data, arrays packed as base64."""
    return {
        "version": __version__,
        "palette": {"categories": style.CATEGORIES, "other": style.OTHER, "sequence": style.SEQUENCE},
        "subjects": [_subject(subject) for subject in subjects],
        "analysis": None if analysis is None else dict(analysis),
    }


def _subject(subject: Subject) -> dict[str, Any]:
    return {
        "name": subject.name,
        "settings": {name: value for name, value in subject.settings.items() if value is not None},
        "words": subject.words,
        "notices": subject.notices,
        "metric": subject.metric,
        "curve_metric": subject.curve_metric or subject.metric,
        "held_out": subject.held_out,
        "titles": subject.titles,
        "errors": list(subject.errors),
        "scores": [{"name": each.name, "mean": each.mean, "std": each.deviation} for each in subject.scores],
        "yardsticks": [{"name": name, "scores": scores} for name, scores in subject.yardsticks.items()],
        "seeds": subject.seeds,
        "curves": [vars(curve) for curve in subject.curves],
        "shown": subject.shown,
        "listings": [_listing(listing) for listing in subject.listings],
        "environment": subject.environment,
        "embedded": None if subject.embedded is None else _embedded(subject.embedded, subject.explained),
    }


def _embedded(embedded: Embedded, explained: Mapping[str, Answer]) -> dict[str, Any]:
    known = all(part.kind in PAGE_KINDS for part in embedded.space.parts)
    return {
        "names": embedded.names,
        "points": _array(embedded.points.cpu().numpy(), np.float32),
        "space": _space(embedded.space),
        "edges": None if embedded.edges is None else _array(embedded.edges.T, np.int32),
        "ways": None if embedded.ways is None else _array(embedded.ways, np.int32),
        "columns": [_column(column) for column in embedded.columns],
        "layouts": {name: _array(layout, np.float32) for name, layout in embedded.layouts.items()},
        "exact": {
            "shape": embedded.exact.shape,
            "axes": embedded.exact.axes,
            "mean": embedded.exact.mean.tolist(),
            "coordinates": None if known else _array(embedded.exact.coordinates, np.float32),
        },
        "measured": None if known else _measured(embedded),
        "precision": None if embedded.precision is None else _array(embedded.precision.cpu().numpy(), np.float32),
        "worst": _worst(embedded.precision),
        "explained": _explained(explained, embedded.names),
        "quality": [
            {"title": each.title, "about": each.about, "groups": [vars(group) for group in each.groups]}
            for each in embedded.quality
        ],
    }


def _explained(explained: Mapping[str, Answer], names: list[str]) -> list[dict[str, Any]]:
    """Return the edges that matter most for some nodes, by the places of their ends; nodes without a point are left out."""
    places, found = {name: place for place, name in enumerate(names)}, []
    for node in (node for node in explained if node in places):
        rows = ((str(source), str(target), share) for source, target, share in explained[node])
        edges = [(places[source], places[target], share) for source, target, share in rows if {source, target} <= places.keys()]
        found.append({"node": places[node], "edges": edges})
    return found


def _worst(precision: torch.Tensor | None) -> list[int]:
    if precision is None:
        return []
    order = torch.where(precision.isnan(), torch.inf, precision).argsort(stable=True)
    return [int(k) for k in order[:_WORST] if precision[k] < 1]


@torch.no_grad()
def _measured(embedded: Embedded) -> dict[str, Any]:
    """Return the nearest points of each node, and of each edge its length and its rank from either end.

    A page that does not know the formulas of a space shows these instead of measuring itself.
    """
    points, space = embedded.points, embedded.space
    count = len(points)
    edges = torch.empty(2, 0, dtype=torch.int64) if embedded.edges is None else torch.from_numpy(embedded.edges.copy())
    nearest, length = torch.empty(count, min(NEAREST, count - 1), dtype=torch.int64), torch.zeros(edges.shape[1])
    distance, rank = torch.zeros(nearest.shape), torch.zeros(edges.shape[1], 2, dtype=torch.int64)
    for first in range(0, count, _ROWS):
        rows = torch.arange(first, min(first + _ROWS, count))
        block = space.pairwise_dist(points[rows], points)
        block[torch.arange(len(rows)), rows] = torch.inf  # a point is not near itself
        order = block.argsort(dim=1, stable=True)
        place = order.argsort(dim=1)
        nearest[rows] = order[:, : nearest.shape[1]]
        distance[rows] = block.gather(1, nearest[rows]).float()
        for end in range(2):
            mine = (edges[end] >= first) & (edges[end] < first + len(rows))
            source, target = edges[end, mine] - first, edges[1 - end, mine]
            rank[mine, end] = place[source, target] + 1
            length[mine] = block[source, target].float()
    return {
        "nearest": _array(nearest.numpy(), np.int32),
        "distance": _array(distance.numpy(), np.float32),
        "length": _array(length.numpy(), np.float32),
        "rank": _array(rank.numpy(), np.int32),
    }


def _listing(listing: Listing) -> dict[str, Any]:
    """Return a listing with the kind of each column: ``node``, ``share``, ``number`` or ``text``."""
    columns = []
    for name, values in listing.table.columns.items():
        number = np.issubdtype(values.dtype, np.number) and name not in listing.nodes
        kind = "node" if name in listing.nodes else "share" if name in listing.shares else "number" if number else "text"
        columns.append({"name": name, "kind": kind, "values": values.tolist() if number else [str(each) for each in values]})
    return {"name": listing.name, "title": listing.title, "about": listing.about, "columns": columns}


def _column(column: Column) -> dict[str, Any]:
    kind = np.int32 if column.labels else np.float32
    return {"name": column.name, "labels": list(column.labels), "values": _array(column.values, kind)}


def _array(values: np.ndarray[Any, Any], kind: Any) -> dict[str, Any]:
    """Return an array as base64 of its bytes, lowest first, in the order of rows."""
    plain = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    return {"type": np.dtype(kind).name, "shape": list(plain.shape), "data": base64.b64encode(plain.tobytes()).decode()}


def _space(space: Space) -> dict[str, Any]:
    """Return what distances and geodesics need: the parts, and when float32 points count as null or antipodal."""
    rounding = limits(torch.float32)
    parts = [part.as_dict() for part in space.parts]
    return {
        "name": str(space),
        "parts": parts,
        "curvatures": space.curvatures,
        "null": rounding.null,
        "antipode": rounding.antipode,
    }
