"""The subject of a report: an embedded graph with everything known of it, and the run that made it."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from qgcn import metrics
from qgcn.answer import Answer
from qgcn.kernels import Neighbourhoods, nearest_neighbours
from qgcn.manifolds import Space
from qgcn.progress import Progress, silent
from qgcn.tasks.insights import Column, Listing, Quality, by_class, by_degree
from qgcn.tasks.precision import precision_of
from qgcn.training.metrics_log import Curve
from qgcn.viz import projections
from qgcn.viz.projections import ExactView, Floats
from qgcn.viz.report.communities import communities
from qgcn.viz.report.shown import MOST_NODES, PART, Shown, part_of

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
    around: int | None = None,
    progress: Progress = silent,
) -> tuple[Embedded | None, list[str]]:
    """Collect everything that a report shows of an embedded graph. Points that are not finite are left out.

    Of a graph with more than 50,000 nodes a connected part of 10,000 is shown, and a notice says so: how well neighbours are
    nearest points is measured for these nodes against all of them.

    Args:
        points: Shape ``(N, d)``.
        space: Their space.
        data: The graph, if available.
        node_ids: Names of the nodes, shape ``(N,)``.
        extra: Additional columns.
        quality: Scores by groups, if already computed.
        umap: Also lay out the points with UMAP; a notice says so if umap-learn is not installed.
        directed: Show which way edges lead.
        around: Node that the part of a large graph lies around; a random one if not given.
        progress: Progress callback.

    Returns:
        The embedding, or none if no point is finite; and notices about omitted parts.
    """
    notices = []
    whole = Shown.of(points, node_ids, extra or [], data, directed=directed)
    kept = points.isfinite().all(1)
    if not bool(kept.all()):
        lost = int((~kept).sum())
        first = node_ids[int((~kept).nonzero()[0])]
        notices.append(
            f"{lost} of {len(points)} points are not finite, the first that of node {first!s}: they are left out of the views."
        )
        whole, around = whole.keep(kept.numpy()), None
    if len(whole) == 0:
        return None, notices
    shown, part = whole, None
    if len(whole) > MOST_NODES:
        part = part_of(whole, PART, around)
        shown = whole.keep(part)
        notices.append(
            f"Views show {len(shown):,} of {len(whole):,} nodes, a connected part; neighbours and ranks on the page are among "
            "these. Scores are of all nodes; how well neighbours are nearest points, of these nodes among all."
        )
    columns = list(shown.columns) + _structure(shown, progress)
    layouts = {each.name: projections.beside_time(shown.points, space, each.values) for each in columns if each.name == "time"}
    if umap and len(shown) >= FEWEST_NODES:
        try:
            layouts |= _layouts(shown.points, space, progress)
        except ImportError as error:
            notices.append(f"{error}, then write the report again.")
    precision, scores = None, list(quality or [])
    if whole.edges is not None and whole.edges.shape[1] and len(shown) > 1:
        progress("how well neighbours are nearest points")
        precision = _precision(whole, whole.edges, part, space)
        scores += _precision_quality(precision, shown)
    return (
        Embedded(
            shown.points,
            space,
            [str(each) for each in shown.ids],
            shown.edges,
            columns,
            layouts,
            projections.exact_view(shown.points, space),
            precision,
            scores,
            shown.ways,
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


def _structure(shown: Shown, progress: Progress) -> list[Column]:
    """Return community and degree of each node."""
    if shown.edges is None or shown.degree is None:
        return []
    progress("communities")
    label = communities(shown.edges, len(shown))
    names = [str(k + 1) for k in range(int(label.max()) + 1)]
    return [Column.of_categories("community", label, names), Column("degree", shown.degree.double().numpy())]


def _precision(whole: Shown, edges: np.ndarray[Any, Any], part: np.ndarray[Any, Any] | None, space: Space) -> Tensor:
    """Return how well each node's nearest points are its neighbours, of all nodes or of a part, among all."""
    both = torch.from_numpy(np.concatenate((edges, edges[::-1]), axis=1).copy())
    if part is None:
        return metrics.node_precision(whole.points, both, space)
    graph = Neighbourhoods.of(both, len(whole))
    return precision_of(whole.points, graph, space, torch.from_numpy(np.flatnonzero(part)))


def _precision_quality(precision: Tensor, shown: Shown) -> list[Quality]:
    """Return the average precision of neighbours, by degree and by class."""
    about = "Average precision: 1 if all neighbours of a node are nearer than every other node."
    found = []
    if shown.degree is not None:
        found.append(Quality("Neighbours found, by degree", about, by_degree(precision, shown.degree)))
    if shown.y is not None:
        found.append(Quality("Neighbours found, by class", about, by_class(precision, shown.y, list(shown.classes))))
    return found
