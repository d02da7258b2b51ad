"""What a page shows of an embedded graph: all of its nodes, or a connected part of a large one."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from qgcn.data import undirected
from qgcn.tasks.insights import Column, class_names

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["MOST_NODES", "PART", "Shown", "part_of"]

Array = np.ndarray[Any, Any]

MOST_NODES = 50_000
"""Nodes beyond which a page shows a part of a graph."""
PART = 10_000
"""Nodes of that part."""


@dataclass(frozen=True)
class Shown:
    """Some nodes of a graph, numbered anew, with their points.

    Attributes:
        points: Shape ``(N, d)``.
        ids: Names of the nodes, shape ``(N,)``.
        columns: One value for each node.
        edges: Edges between them, each once, shape ``(2, E)``; ``None`` without a graph.
        ways: Which way each edge leads, shape ``(E,)``, if that matters.
        degree: Number of neighbours in the whole graph, shape ``(N,)``; ``None`` without a graph.
        y: Class of each node, shape ``(N,)``, if there are classes.
        classes: Their names.
    """

    points: Tensor
    ids: Array
    columns: tuple[Column, ...]
    edges: Array | None = None
    ways: Array | None = None
    degree: Tensor | None = None
    y: Tensor | None = None
    classes: tuple[str, ...] = ()

    @classmethod
    def of(cls, points: Tensor, ids: Array, columns: list[Column], data: "Data | None", *, directed: bool = False) -> Self:
        """Take all nodes of an embedding, and of its graph if there is one."""
        if data is None:
            return cls(points, ids, tuple(columns))
        arrows, data = data.edge_index, undirected(data)
        source, target = data.edge_index.numpy()
        edges = np.stack((source, target))[:, source < target]  # each once
        ways = _ways(edges, arrows.numpy(), len(points)) if directed else None
        degree = torch.bincount(data.edge_index[0], minlength=len(points))
        y: Tensor | None = getattr(data, "y", None)
        if y is None:
            return cls(points, ids, tuple(columns), edges, ways, degree)
        classes = tuple(class_names(data))
        return cls(points, ids, (Column.of_categories("class", y.numpy(), classes), *columns), edges, ways, degree, y, classes)

    def __len__(self) -> int:
        return len(self.points)

    def keep(self, mask: Array) -> Self:
        """Return some of the nodes, given as a mask, with the edges between them."""
        chosen = torch.from_numpy(mask)
        made = replace(
            self, points=self.points[chosen], ids=self.ids[mask], columns=tuple(c.select(mask) for c in self.columns)
        )
        if self.edges is None or self.degree is None:
            return made
        inside = mask[self.edges].all(axis=0)
        return replace(
            made,
            edges=(np.cumsum(mask) - 1)[self.edges[:, inside]],
            ways=None if self.ways is None else self.ways[inside],
            degree=self.degree[chosen],
            y=None if self.y is None else self.y[chosen],
        )


def part_of(shown: Shown, size: int, start: int | None = None) -> Array:
    """Return a mask of so many nodes: those that a search meets first; without edges, nodes drawn at random.

    Args:
        shown: The nodes.
        size: How many are wanted, at most.
        start: Node that the search starts from; a random one of the largest component if not given.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    random, mask = np.random.default_rng(0), np.zeros(len(shown), dtype=bool)
    if shown.edges is None:
        mask[random.choice(len(shown), size, replace=False)] = True
        return mask
    ends = tuple(np.concatenate((shown.edges, shown.edges[::-1]), axis=1).astype(np.int32))
    matrix = coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(len(shown), len(shown))).tocsr()
    if start is None:
        _, label = connected_components(matrix, directed=False)
        start = int(random.choice(np.flatnonzero(label == np.bincount(label).argmax())))
    mask[breadth_first_order(matrix, start, return_predecessors=False)[:size]] = True
    return mask


def _ways(edges: Array, arrows: Array, count: int) -> Array:
    """Return which way each edge leads, shape ``(E,)``: 1 forth, 2 back, 3 both."""
    known = arrows[0].astype(np.int64) * count + arrows[1]
    forth, back = (np.isin(a.astype(np.int64) * count + b, known) for a, b in (edges, edges[::-1]))
    return (forth + 2 * back).astype(np.int32)
