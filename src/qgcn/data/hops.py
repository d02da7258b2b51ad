"""Graphs by component, and their distances in numbers of edges, from many nodes at once."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qgcn.data.assemble import undirected
from qgcn.data.own import as_data
from qgcn.progress import Progress, silent

__all__ = ["Component", "Ints", "Shape", "plural"]

Ints = NDArray[np.int64]

_STAGE = "distances"
_TOGETHER = 512
"""Sources of one search: eight words a node, which stay in the processor's cache."""
_UNPACKED = 1 << 16
"""Nodes whose distances are unpacked together."""
_FAR = 1 << 25
"""Distances that are found together where searches are made one by one."""
_DEEPEST = 255
"""Eccentricity beyond which a search of its own from each node is faster than one of all nodes, level by level."""


def plural(number: int, what: str) -> str:
    """Return ``"1 node"``, ``"2,485 nodes"``."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


@dataclass(frozen=True)
class Component:
    """A connected graph with at least 2 nodes, numbered from 0."""

    nodes: Ints
    """Its nodes, as the whole graph numbers them, shape ``(n,)``."""
    start: Ints
    """Index of each node's first neighbour, then ``2m``; shape ``(n + 1,)``."""
    neighbours: Ints
    """Neighbours of all nodes, one node after the other, ascending; shape ``(2m,)``."""

    @classmethod
    def of(cls, nodes: Ints, source: Ints, target: Ints) -> "Component":
        """Build the graph on ``nodes`` from its edges, both directions of each, numbered from 0.

        Args:
            nodes: How the whole graph numbers them, shape ``(n,)``.
            source: Shape ``(2m,)``.
            target: Shape ``(2m,)``.
        """
        order = np.lexsort((target, source))
        degree = np.bincount(source, minlength=len(nodes))
        return cls(nodes, np.concatenate(([0], np.cumsum(degree))), target[order])

    @property
    def size(self) -> int:
        """Number of nodes, ``n``."""
        return len(self.nodes)

    @property
    def num_edges(self) -> int:
        """Number of undirected edges, ``m``."""
        return len(self.neighbours) // 2

    @property
    def degree(self) -> Ints:
        """Number of neighbours of each node, shape ``(n,)``."""
        return np.diff(self.start)

    @property
    def source(self) -> Ints:
        """Node that each entry of ``neighbours`` is a neighbour of, shape ``(2m,)``."""
        return np.repeat(np.arange(self.size), self.degree)

    def matrix(self) -> Any:
        """Return the adjacency as a SciPy CSR array."""
        from scipy.sparse import csr_array

        return csr_array((np.ones(len(self.neighbours)), self.neighbours, self.start), shape=(self.size, self.size))

    def hops(
        self, sources: Ints | None = None, progress: Progress = silent, stage: str = _STAGE, *, ends: Ints | None = None
    ) -> NDArray[Any]:
        """Return the distances from ``sources`` to all nodes, shape ``(k, n)``, the smallest unsigned type that holds them.

        All searches go on together, level by level: 64 sources are the bits of one word, the frontier of a node's neighbours is
        the bitwise or of their words, and the levels at which bits appear are added up in bit planes.

        Args:
            sources: Nodes, numbered from 0, shape ``(k,)``; all of them if not given.
            progress: Progress callback, in sources.
            stage: Name of the work for it.
            ends: Nodes that the distances are wanted to, shape ``(n,)``; all of them if not given.
        """
        sources = np.arange(self.size) if sources is None else sources
        parts = [part for _, part in self.hops_in_parts(sources, progress, stage, ends=ends)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def hops_in_parts(
        self, sources: Ints, progress: Progress = silent, stage: str = _STAGE, *, ends: Ints | None = None
    ) -> Iterator[tuple[Ints, NDArray[Any]]]:
        """Yield some of the sources and their distances, shape ``(k, n)``, at a time, so that memory is bounded."""
        deep = self.is_deep()
        for part in self.batches(sources, progress, stage):
            yield part, self._one_by_one(part, ends) if deep else self._together(part, ends)

    def levels(self, sources: Ints) -> Iterator[tuple[int, NDArray[np.uint64]]]:
        """Yield, for each distance from 1 on, which sources are at that distance from each node: bits, shape ``(n, words)``.

        Args:
            sources: Nodes, source ``k`` is bit ``k % 64`` of word ``k // 64``; few at a time, see :meth:`batches`.
        """
        seen = np.zeros((self.size, -(-len(sources) // 64)), dtype=np.uint64)
        column = np.arange(len(sources))
        np.bitwise_or.at(seen, (sources, column // 64), np.uint64(1) << (column % 64).astype(np.uint64))
        level = 0
        while True:
            level += 1
            reached = np.bitwise_or.reduceat(seen[self.neighbours], self.start[:-1], axis=0)
            fresh = reached & ~seen
            if not fresh.any():
                return
            seen |= fresh
            yield level, fresh

    def batches(self, sources: Ints, progress: Progress = silent, stage: str = _STAGE) -> Iterator[Ints]:
        """Cut sources into runs that are searched from together; what was yielded before counts as done."""
        for first in range(0, len(sources), _TOGETHER):
            yield sources[first : first + _TOGETHER]
            progress(stage, min(first + _TOGETHER, len(sources)), len(sources))

    def is_deep(self) -> bool:
        """Tell whether distances are so long that a search level by level does not pay."""
        return self._eccentricity(0) > _DEEPEST

    def _together(self, sources: Ints, ends: Ints | None) -> NDArray[Any]:
        planes: list[NDArray[np.uint64]] = []
        for level, fresh in self.levels(sources):
            for bit in range(level.bit_length()):
                if bit == len(planes):
                    planes.append(np.zeros_like(fresh))
                if level >> bit & 1:
                    planes[bit] |= fresh
        ends = np.arange(self.size) if ends is None else ends
        found = np.zeros((len(sources), len(ends)), dtype=np.uint8 if len(planes) <= 8 else np.uint16)
        for first in range(0, len(ends), _UNPACKED):
            some = ends[first : first + _UNPACKED]
            for bit, plane in enumerate(planes):
                bits = np.unpackbits(plane[some].astype("<u8", copy=False).view(np.uint8), axis=1, bitorder="little")
                numbers = bits[:, : len(sources)].T.astype(found.dtype) << found.dtype.type(bit)
                found[:, first : first + _UNPACKED] |= numbers
        return found

    def _one_by_one(self, sources: Ints, ends: Ints | None) -> NDArray[Any]:
        from scipy.sparse.csgraph import dijkstra

        matrix, parts = self.matrix(), []
        each = max(1, _FAR // self.size)
        for first in range(0, len(sources), each):
            far = dijkstra(matrix, unweighted=True, indices=sources[first : first + each])
            far = far if ends is None else far[:, ends]
            parts.append(far.astype(np.min_scalar_type(int(far.max()))))
        return np.concatenate(parts)

    def _eccentricity(self, node: int) -> int:
        from scipy.sparse.csgraph import dijkstra

        return int(dijkstra(self.matrix(), unweighted=True, indices=node).max())

    def blocks(self) -> list["Component"]:
        """Return its biconnected components with at least 4 nodes, the largest first.

        Distances within a block are those of the whole graph.
        """
        import networkx

        graph = networkx.Graph()
        graph.add_edges_from(zip(self.source.tolist(), self.neighbours.tolist(), strict=True))
        found = [np.array(sorted(block)) for block in networkx.biconnected_components(graph) if len(block) >= 4]
        return [self._restricted(block) for block in sorted(found, key=len, reverse=True)]

    def _restricted(self, kept: Ints) -> "Component":
        number = np.full(self.size, -1)
        number[kept] = np.arange(len(kept))
        degree = self.degree[kept]
        within = np.arange(degree.sum()) - np.repeat(np.cumsum(degree) - degree, degree)
        target = number[self.neighbours[np.repeat(self.start[kept], degree) + within]]
        source = np.repeat(np.arange(len(kept)), degree)
        inside = target >= 0
        return Component.of(self.nodes[kept], source[inside], target[inside])


@dataclass(frozen=True)
class Shape:
    """A graph as the measurements see it: unweighted, undirected, cut into its components."""

    name: str
    num_nodes: int
    num_edges: int
    components: list[Component] = field(repr=False)
    """Those with at least 2 nodes, the largest first."""
    isolated: int
    """Number of nodes without a neighbour."""
    remarks: list[str]
    """Remarks on what was done to the graph."""
    data: Any = field(repr=False)
    """The graph itself, with its direction and weights."""

    @classmethod
    def of(cls, graph: Any, root: str | Path | None = None) -> "Shape":
        """Read a graph.

        Args:
            graph: A PyG ``Data``, an ``edge_index``, a SciPy sparse matrix, a NetworkX graph, a path, the name of a data set,
                or a ``Shape``, which is returned as it is.
            root: Folder of the data sets.

        Raises:
            OSError: A file cannot be read.
            ValueError: It is no graph, or has no edges.
            TypeError: It is none of these.
        """
        if isinstance(graph, Shape):
            return graph
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        data = as_data(graph, root)
        symmetric = undirected(data)
        source, target = symmetric.edge_index.numpy()
        size = int(data.num_nodes or 0)
        count, label = connected_components(csr_array((np.ones(len(source)), (source, target)), shape=(size, size)))
        sizes = np.bincount(label, minlength=count)
        rank = np.empty(count, dtype=np.int64)
        rank[np.argsort(-sizes, kind="stable")] = np.arange(count)
        label = rank[label]
        order = np.argsort(label, kind="stable")
        sizes = np.bincount(label, minlength=count)
        first = np.cumsum(sizes) - sizes
        number = np.empty(size, dtype=np.int64)
        number[order] = np.arange(size) - np.repeat(first, sizes)
        by_label = np.argsort(label[source], kind="stable")
        edges = np.bincount(label[source], minlength=count)
        ends = np.cumsum(edges)
        components = []
        for k in range(int((sizes > 1).sum())):
            mine = by_label[ends[k] - edges[k] : ends[k]]
            nodes = order[first[k] : first[k] + sizes[k]]
            components.append(Component.of(nodes, number[source[mine]], number[target[mine]]))
        isolated = int((sizes == 1).sum())
        remarks = list(symmetric.remarks)
        if getattr(data, "edge_weight", None) is not None:
            remarks.append("weights are not used: distances count edges")
        if count > 1:
            remarks.append(
                f"{plural(count, 'component')}, the largest with {sizes[0]:,} of {plural(size, 'node')}: "
                "distances are within components"
            )
        return cls(str(data.name), size, len(source) // 2, components, isolated, remarks, data)
