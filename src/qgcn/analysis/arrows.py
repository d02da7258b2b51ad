"""The direction of edges in numbers: parts that are strongly connected, edges with a reverse, and levels along the arrows."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Arrows", "measure_arrows", "trophic_levels"]

PRECISE = float(np.sqrt(np.finfo(float).eps))
"""Relative residual at which levels are solved."""


@dataclass(frozen=True)
class Arrows:
    """The direction of the edges of a graph.

    Attributes:
        edges: Number of edges, both directions of a pair being two.
        strong: Number of strongly connected parts: in each, all nodes reach each other along the arrows.
        largest: Number of nodes of the largest one.
        reciprocity: Share of the edges whose reverse is an edge.
        sources: Number of nodes that no edge leads to, but some lead from.
        sinks: Number of nodes that no edge leads from, but some lead to.
        levels: Trophic level of each node, shape ``(N,)``; the lowest of each connected part has 0.
        incoherence: Mean squared difference of an edge's rise in level from 1: 0 where all edges rise by one level, 1 where
            levels say nothing.
    """

    edges: int
    strong: int
    largest: int
    reciprocity: float
    sources: int
    sinks: int
    levels: NDArray[np.float64] = field(repr=False)
    incoherence: float

    @property
    def acyclic(self) -> bool:
        """Whether no path along the arrows comes back to where it began."""
        return self.largest <= 1

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers, as JSON can hold them."""
        return {
            "edges": self.edges,
            "acyclic": self.acyclic,
            "strongly_connected_parts": self.strong,
            "largest_strongly_connected_part": self.largest,
            "reciprocity": self.reciprocity,
            "sources": self.sources,
            "sinks": self.sinks,
            "trophic_levels": float(self.levels.max(initial=0.0)),
            "trophic_incoherence": self.incoherence,
        }


def measure_arrows(data: "Data") -> Arrows | None:
    """Measure the direction of the edges of a graph; ``None`` if each edge is there in both directions.

    Args:
        data: A graph as :func:`qgcn.data.read_graph` returns it.

    Example:
        >>> from qgcn.data import read_graph
        >>> found = measure_arrows(read_graph([(0, 1), (1, 2), (0, 2)]))
        >>> found.acyclic, found.sources, found.sinks, round(found.incoherence, 3)
        (True, 1, 1, 0.111)
    """
    if not data.directed:
        return None
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    size = int(data.num_nodes or 0)
    source, target = data.edge_index.cpu().numpy()
    matrix = csr_array((np.ones(len(source)), (source, target)), shape=(size, size))
    strong, label = connected_components(matrix, connection="strong")
    out, into = (np.bincount(end, minlength=size) for end in (source, target))
    levels = trophic_levels(source, target, size)
    return Arrows(
        edges=len(source),
        strong=int(strong),
        largest=int(np.bincount(label).max(initial=0)),
        reciprocity=float(np.isin(target * size + source, source * size + target).mean()),
        sources=int(((into == 0) & (out > 0)).sum()),
        sinks=int(((out == 0) & (into > 0)).sum()),
        levels=levels,
        incoherence=float(np.square(levels[target] - levels[source] - 1).mean()),
    )


def trophic_levels(source: NDArray[Any], target: NDArray[Any], num_nodes: int) -> NDArray[np.float64]:
    r"""Return levels of nodes that rise by 1 along edges as nearly as can be, shape ``(N,)`` (MacKay et al., 2020).

    .. math:: \min_h \sum_{u \to v} (h_v - h_u - 1)^2

    Its normal equations are those of a graph Laplacian, solved by conjugate gradients. These begin with levels that rise along
    a spanning forest, if they are nearer: where there are no cycles, they are the solution. In each connected part the lowest
    level is 0.

    Args:
        source: Sources of the edges, shape ``(E,)``.
        target: Their targets.
        num_nodes: Number of nodes.
    """
    from scipy.sparse import csr_array, diags_array
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import cg

    out, into = (np.bincount(end, minlength=num_nodes).astype(float) for end in (source, target))
    matrix = csr_array((np.ones(len(source)), (source, target)), shape=(num_nodes, num_nodes))
    degree = np.maximum(out + into, 1)
    laplacian = diags_array(out + into) - matrix - matrix.T
    precondition = diags_array(1 / degree)
    _, part = connected_components(matrix, directed=False)
    laplacian, sides, start = laplacian.tocsr(), into - out, _along_a_forest(source, target, part)
    start *= np.linalg.norm(sides - laplacian @ start) < np.linalg.norm(sides)
    levels, _ = cg(laplacian, sides, x0=start, rtol=PRECISE, maxiter=10 * num_nodes + 100, M=precondition)
    lowest = np.full(part.max(initial=-1) + 1, np.inf)
    np.minimum.at(lowest, part, levels)
    return np.asarray(levels - lowest[part])


def _along_a_forest(source: NDArray[Any], target: NDArray[Any], part: NDArray[Any]) -> NDArray[np.float64]:
    """Return levels that rise by 1 along the edges of a spanning tree of each connected part, shape ``(N,)``."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    nodes = len(part)
    _, roots = np.unique(part, return_index=True)
    # one more node, which a root of each part hangs on
    ends = np.concatenate((source, np.full(len(roots), nodes))), np.concatenate((target, roots))
    matrix = csr_array((np.ones(len(ends[0])), ends), shape=(nodes + 1, nodes + 1))
    _, above = breadth_first_order(matrix, nodes, directed=False)
    above = above.astype(np.int64)
    above[nodes] = nodes
    own = np.arange(nodes + 1)
    keys = source.astype(np.int64) * (nodes + 1) + target
    rise = np.isin(above * (nodes + 1) + own, keys).astype(float) - np.isin(own * (nodes + 1) + above, keys)
    while (above != nodes).any():  # twice as far up each time
        rise += rise[above]
        above = above[above]
    return np.asarray(rise[:nodes])
