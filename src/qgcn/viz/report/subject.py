"""The subject of a report: an embedded graph with everything known of it, and the run that made it."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from qgcn import metrics
from qgcn.answer import Answer
from qgcn.data import undirected
from qgcn.kernels import nearest_neighbours
from qgcn.manifolds import Space
from qgcn.progress import Progress, silent
from qgcn.tasks.insights import Column, Listing, Quality, by_class, by_degree, class_names
from qgcn.training.metrics_log import Curve
from qgcn.viz import projections
from qgcn.viz.projections import ExactView, Floats
from qgcn.viz.report.communities import communities

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Embedded", "Score", "Subject", "embed"]

FEWEST_NODES = 4
"""Fewest nodes that UMAP can lay out."""


@dataclass(frozen=True)
class Score:
    """A score of a run, over its seeds."""

    name: str
    mean: float
    deviation: float


@dataclass(frozen=True)
class Embedded:
    """A graph whose nodes are points of a space.

    Attributes:
        points: Shape ``(N, d)``.
        space: Their space.
        names: The nodes' own names.
        edges: Each edge once, shape ``(2, E)``; none without a graph.
        columns: Columns to colour nodes by.
        layouts: Layouts by UMAP: ``sphere`` and ``hyperboloid``, shape ``(N, 3)`` each.
        exact: The view without reduction.
        precision: Average precision of each node's neighbours among its nearest points, NaN without neighbours, shape ``(N,)``.
        quality: Scores by groups.
        ways: Which way each edge leads, if that matters, shape ``(E,)``: 1 from its first end to its second, 2 back, 3 both.
    """

    points: Tensor
    space: Space
    names: list[str]
    edges: np.ndarray[Any, Any] | None
    columns: list[Column]
    layouts: dict[str, Floats]
    exact: ExactView
    precision: Tensor | None = None
    quality: list[Quality] = field(default_factory=list)
    ways: np.ndarray[Any, Any] | None = None


@dataclass(frozen=True)
class Subject:
    """One run, or anything else that a report can show.

    Attributes:
        name: Name of the run.
        settings: Settings, by name.
        words: Summary of the run and its outcome, in sentences.
        notices: Problems and missing parts.
        metric: Name of the main score.
        curve_metric: Name of the score that the curves show; ``metric`` if not given.
        held_out: Whether that score is measured on held-out nodes or edges.
        titles: Names of scores as a reader knows them; the name itself, with spaces, if not given.
        errors: Names of scores that are errors: not percentages, and lower is better.
        scores: Scores over all seeds.
        yardsticks: Scores of cheap methods on the same split, by name.
        seeds: Scores of each seed, as in ``results.json``.
        curves: Learning curves.
        shown: The seed whose embedding is shown.
        embedded: The embedding, if there is one.
        listings: Nodes or pairs of nodes to look through.
        explained: By the name of a node, the edges that matter most for it: ``source``, ``target`` and ``importance``.
        environment: Versions and machine.
        graph: The graph that was embedded, if available.
    """

    name: str
    settings: dict[str, Any]
    words: list[str]
    notices: list[str] = field(default_factory=list)
    metric: str = ""
    curve_metric: str = ""
    held_out: bool = False
    titles: dict[str, str] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    scores: list[Score] = field(default_factory=list)
    yardsticks: dict[str, dict[str, float]] = field(default_factory=dict)
    seeds: list[dict[str, Any]] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    shown: int | None = None
    embedded: Embedded | None = None
    listings: list[Listing] = field(default_factory=list)
    explained: dict[str, Answer] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    graph: "Data | None" = field(default=None, repr=False, compare=False)


def embed(
    points: Tensor,
    space: Space,
    data: "Data | None",
    node_ids: np.ndarray[Any, Any],
    *,
    extra: list[Column] | None = None,
    quality: list[Quality] | None = None,
    umap: bool = True,
    directed: bool = False,
    progress: Progress = silent,
) -> tuple[Embedded | None, list[str]]:
    """Collect everything that a report shows of an embedded graph. Points that are not finite are left out.

    Args:
        points: Shape ``(N, d)``.
        space: Their space.
        data: The graph, if available.
        node_ids: Names of the nodes, shape ``(N,)``.
        extra: Additional columns.
        quality: Scores by groups, if already computed.
        umap: Also lay out the points with UMAP; a notice says so if umap-learn is not installed.
        directed: Show which way edges lead.
        progress: Progress callback.

    Returns:
        The embedding, or none if no point is finite; and notices about omitted parts.
    """
    notices = []
    columns = list(extra or [])
    edges, ways = None, None
    if data is not None:
        arrows, data = data.edge_index, undirected(data)
        edges = _once(data.edge_index)
        ways = _ways(edges, arrows.numpy(), int(data.num_nodes or 0)) if directed else None
        columns = _classes(data) + columns + _structure(data, edges, progress)
    kept = points.isfinite().all(1)
    if not bool(kept.all()):
        lost = int((~kept).sum())
        first = node_ids[int((~kept).nonzero()[0])]
        notices.append(
            f"{lost} of {len(points)} points are not finite, the first that of node {first!s}: they are left out of the views."
        )
        if ways is not None and edges is not None:
            ways = ways[kept.numpy()[edges].all(axis=0)]
        points, node_ids, edges, columns = _keep(kept, points, node_ids, edges, columns)
        data = None
    if len(points) == 0:
        return None, notices
    layouts = {each.name: projections.beside_time(points, space, each.values) for each in columns if each.name == "time"}
    if umap and len(points) >= FEWEST_NODES:
        try:
            layouts |= _layouts(points, space, progress)
        except ImportError as error:
            notices.append(f"{error}, then write the report again.")
    precision, scores = None, list(quality or [])
    if edges is not None and edges.shape[1] and len(points) > 1:
        progress("how well neighbours are nearest points")
        both = torch.from_numpy(np.concatenate((edges, edges[::-1]), axis=1).copy())
        precision = metrics.node_precision(points, both, space)
        scores += _precision_quality(precision, both, data)
    return (
        Embedded(
            points,
            space,
            [str(each) for each in node_ids],
            edges,
            columns,
            layouts,
            projections.exact_view(points, space),
            precision,
            scores,
            ways,
        ),
        notices,
    )


def _layouts(points: Tensor, space: Space, progress: Progress) -> dict[str, Floats]:
    """Return the layouts by UMAP; raise ImportError if umap-learn is not installed, before anything is computed."""
    progress("UMAP")
    projections.import_umap()
    progress("nearest neighbours", note=f"{len(points):,} points in {space}")
    neighbours = nearest_neighbours(points, space, min(projections.NEIGHBOURS, len(points) - 1))
    progress("UMAP onto the sphere")
    sphere = projections.umap_sphere(points, space, neighbours=neighbours)
    progress("UMAP into the hyperbolic plane")
    return {"sphere": sphere, "hyperboloid": projections.umap_hyperboloid(points, space, neighbours=neighbours)}


def _once(edge_index: Tensor) -> np.ndarray[Any, Any]:
    """Return each undirected edge once, shape ``(2, E)``."""
    source, target = edge_index.numpy()
    return np.stack((source, target))[:, source < target]


def _ways(edges: np.ndarray[Any, Any], arrows: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    """Return which way each edge leads, shape ``(E,)``: 1 forth, 2 back, 3 both."""
    known = arrows[0].astype(np.int64) * count + arrows[1]
    forth, back = (np.isin(a.astype(np.int64) * count + b, known) for a, b in (edges, edges[::-1]))
    return (forth + 2 * back).astype(np.int32)


def _classes(data: "Data") -> list[Column]:
    y = getattr(data, "y", None)
    return [] if y is None else [Column.of_categories("class", y.numpy(), class_names(data))]


def _structure(data: "Data", edges: np.ndarray[Any, Any], progress: Progress) -> list[Column]:
    """Return community and degree of each node."""
    progress("communities")
    count = int(data.num_nodes or 0)
    label = communities(edges, count)
    names = [str(k + 1) for k in range(int(label.max()) + 1)]
    degree = torch.bincount(data.edge_index[0], minlength=count).double().numpy()
    return [Column.of_categories("community", label, names), Column("degree", degree)]


def _keep(
    kept: Tensor,
    points: Tensor,
    node_ids: np.ndarray[Any, Any],
    edges: np.ndarray[Any, Any] | None,
    columns: list[Column],
) -> tuple[Tensor, np.ndarray[Any, Any], np.ndarray[Any, Any] | None, list[Column]]:
    """Restrict a graph to some of its nodes."""
    mask = kept.numpy()
    if edges is not None:
        edges = (np.cumsum(mask) - 1)[edges[:, mask[edges].all(axis=0)]]
    return points[kept], node_ids[mask], edges, [column.select(mask) for column in columns]


def _precision_quality(precision: Tensor, edges: Tensor, data: "Data | None") -> list[Quality]:
    """Return the average precision of neighbours, by degree and by class."""
    degree = torch.bincount(edges[0], minlength=len(precision))
    about = "Average precision: 1 if all neighbours of a node are nearer than every other node."
    found = [Quality("Neighbours found, by degree", about, by_degree(precision, degree))]
    if data is not None and getattr(data, "y", None) is not None:
        found.append(Quality("Neighbours found, by class", about, by_class(precision, data.y, class_names(data))))
    return found
