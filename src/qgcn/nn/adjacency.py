"""The graph operand: edges with weights under an aggregation."""

import copy
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from qgcn.kernels.part import Part
from qgcn.kernels.product import SparseMatrix
from qgcn.nn.weighted_edges import AGGREGATIONS, Aggregation, WeightedEdges

__all__ = ["AGGREGATIONS", "Adjacency", "Aggregation", "Hop"]


_NEARLY_ALL = 0.95
"""Share of the nodes from which on a restricted operand reads all of them: a copy of the others takes more than it saves."""


@dataclass(frozen=True)
class Hop:
    """One aggregation of a network.

    Attributes:
        matrix: Multiplied with the inputs, shape ``(n, m)``.
        sources: Nodes that the ``m`` inputs are of; ``None`` for all.
    """

    matrix: SparseMatrix
    sources: Part | None


class Adjacency:
    r"""The matrix that aggregates neighbours, row ``i`` for node ``i``.

    ========  =====================================================
    ``sum``   :math:`A`, Eq. 6
    ``mean``  :math:`D^{-1} A`
    ``sym``   :math:`D^{-1/2} A D^{-1/2}`
    ========  =====================================================

    Built by :meth:`of` or :meth:`from_matrix`. The matrix is built when first used, normalised in float64 and rounded once.

    A network asks :meth:`hop` for the matrix of each of its aggregations. Of a whole graph all are the same; an operand made by
    :meth:`seen_from` has one for each, with as many rows and columns as are needed.

    Example:
        >>> graph = Adjacency.of(torch.tensor([[0, 1], [1, 0]]), 3)
        >>> graph @ torch.eye(3)
        tensor([[0.5000, 0.5000, 0.0000],
                [0.5000, 0.5000, 0.0000],
                [0.0000, 0.0000, 1.0000]])
    """

    def __init__(
        self,
        graph: WeightedEdges,
        dtype: torch.dtype,
        *,
        kept: Tensor | None = None,
        hops: tuple[Hop, ...] | None = None,
        nodes: Part | None = None,
        joint: Part | None = None,
    ) -> None:
        self._graph = graph
        self.dtype = dtype
        self._kept = kept
        self._hops = hops
        self.nodes = nodes
        """Nodes that the last aggregation ends at; ``None`` for all."""
        self._joint = joint
        self.rows_at_once: int | None = None
        """Nodes that are computed at a time, see :meth:`in_blocks`; all if not given."""

    @classmethod
    def of(
        cls,
        edge_index: Tensor,
        num_nodes: int,
        edge_weight: Tensor | None = None,
        *,
        aggregation: Aggregation = "sym",
        self_loops: bool = True,
    ) -> "Adjacency":
        """Take the edges of a graph.

        Args:
            edge_index: Sources and targets, shape ``(2, E)``.
            num_nodes: Number of nodes ``N``.
            edge_weight: Weights, shape ``(E,)`` (default: ones). The matrix has their type.
            aggregation: Normalisation of the rows (default: ``sym``).
            self_loops: Count every node among its own neighbours, with the weight of its loop in ``edge_index`` (of several,
                the last one), else 1 (default: true).

        Raises:
            TypeError: ``edge_index`` does not hold integers.
            ValueError: Unknown aggregation, an index outside ``[0, N)``, or shapes that do not fit.
        """
        if aggregation not in AGGREGATIONS:
            raise ValueError(f"aggregation must be one of {', '.join(AGGREGATIONS)}, got {aggregation!r}")
        _check_edges(edge_index, num_nodes, edge_weight)
        floats = edge_weight is not None and edge_weight.is_floating_point()
        dtype = edge_weight.dtype if edge_weight is not None and floats else torch.get_default_dtype()
        weight = None if edge_weight is None else edge_weight.detach()
        return cls(WeightedEdges(edge_index, weight, num_nodes, aggregation, self_loops), dtype)

    @classmethod
    def from_matrix(cls, matrix: SparseMatrix | Tensor) -> "Adjacency":
        """Take a matrix as it is, rows being targets: a sparse matrix, or a tensor of PyTorch, sparse or dense."""
        matrix = matrix if isinstance(matrix, SparseMatrix) else SparseMatrix.of(matrix.detach())
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"an adjacency has as many rows as columns, got shape {matrix.shape}")
        graph = WeightedEdges(matrix.coordinates.flip(0), matrix.values, len(matrix), "sum", False)
        graph.__dict__["weights"] = matrix
        return cls(graph, matrix.dtype)

    @classmethod
    def of_part(cls, weights: SparseMatrix, matrix: SparseMatrix, part: Part) -> "Adjacency":
        """Take a part of a larger graph: the same matrix for all aggregations.

        Args:
            weights: Weights of its edges, shape ``(n, n)``.
            matrix: The same, normalised.
            part: Its nodes in the larger graph.
        """
        graph = WeightedEdges(weights.coordinates.flip(0), weights.values, len(weights), "sum", False)
        graph.__dict__["weights"] = weights
        made = cls(graph, matrix.dtype, joint=part)
        made.__dict__["matrix"] = matrix
        return made

    # --- edges -------------------------------------------------------------------------------------------------------------

    @property
    def num_nodes(self) -> int:
        """Number of nodes ``N`` of the whole graph."""
        return self._graph.num_nodes

    @property
    def aggregation(self) -> Aggregation:
        """Normalisation of the rows."""
        return self._graph.aggregation

    @property
    def self_loops(self) -> bool:
        """Whether every node was made a neighbour of its own."""
        return self._graph.self_loops

    @property
    def device(self) -> torch.device:
        """Device of all tensors."""
        return self._graph.edge_index.device

    @property
    def directed(self) -> bool:
        """Whether some edge is not there in both directions with the same weight."""
        return not self._graph.weights.symmetric

    @cached_property
    def _edges_left(self) -> Tensor | None:
        return None if self._kept is None else self._graph.edges_left(self._kept)

    @property
    def edge_index(self) -> Tensor:
        """Sources and targets of the edges that are left, in the order given, shape ``(2, E)``."""
        edges = self._graph.edge_index
        return edges if self._edges_left is None else edges[:, self._edges_left]

    @property
    def edge_weight(self) -> Tensor | None:
        """Weights of those edges, shape ``(E,)``; ``None`` if none were given."""
        weight = self._graph.edge_weight
        return weight if weight is None or self._edges_left is None else weight[self._edges_left]

    # --- the matrix --------------------------------------------------------------------------------------------------------

    @cached_property
    def matrix(self) -> SparseMatrix:
        """The normalised matrix of the whole graph, shape ``(N, N)``; an edge that was dropped keeps its place, with zero."""
        graph = self._graph
        if self._kept is None:
            values = graph.normalized(graph.weights.values).to(self.dtype)
        else:
            values = graph.normalized(graph.rounded(self.dtype) * graph.entries_left(self._kept))
        return graph.weights.with_values(values, symmetric=self.aggregation != "mean")

    @property
    def weights(self) -> SparseMatrix:
        """The same before it is normalised: weights of the edges, loops included, shape ``(N, N)``."""
        values = self._graph.rounded(self.dtype)
        return self._graph.weights.with_values(values if self._kept is None else values * self._graph.entries_left(self._kept))

    @property
    def t(self) -> SparseMatrix:
        """The transpose of the matrix."""
        return self.matrix.t

    @cached_property
    def arrows(self) -> tuple[SparseMatrix, SparseMatrix]:
        r"""The matrix that aggregates along the arrows, and the one that aggregates against them, shapes ``(N, N)``.

        ========  =================================================================================
        ``sum``   :math:`A` and :math:`A^\top`
        ``mean``  :math:`D_\text{in}^{-1} A` and :math:`D_\text{out}^{-1} A^\top`
        ``sym``   :math:`D_\text{in}^{-1/2} A D_\text{out}^{-1/2}` and its transpose
        ========  =================================================================================

        Both are :attr:`matrix` where every edge has its reverse.

        Raises:
            ValueError: The operand is a part of a larger graph: not all edges that leave its nodes are there.
        """
        if self.ends is not None:
            raise ValueError("a part of a graph has no arrows: edges that leave its nodes may not be there")
        graph = self._graph
        kept = self._kept
        weight = graph.weights.values if kept is None else graph.rounded(self.dtype) * graph.entries_left(kept)
        into, out_of = (each.to(self.dtype) for each in graph.directed(weight))
        along = graph.weights.with_values(into)
        return along, along.t if self.aggregation != "mean" else graph.weights.with_values(out_of).t

    @cached_property
    def turned(self) -> "Adjacency":
        """The edges that are left, each the other way round.

        Raises:
            ValueError: The operand is a part of a larger graph: not all edges that leave its nodes are there.
        """
        if self.ends is not None:
            raise ValueError("a part of a graph cannot be turned round: edges that leave its nodes may not be there")
        graph = WeightedEdges(self.edge_index.flip(0), self.edge_weight, self.num_nodes, self.aggregation, self.self_loops)
        made = Adjacency(graph, self.dtype)
        made.rows_at_once = self.rows_at_once
        return made

    def __matmul__(self, columns: Tensor) -> Tensor:
        """Aggregate once: the first aggregation of a restricted operand."""
        return self.hop(0).matrix @ columns

    def to_dense(self) -> Tensor:
        """Return the matrix with all its entries, shape ``(N, N)``."""
        return self.matrix.to_dense()

    @cached_property
    def _whole(self) -> Hop:
        return Hop(self.matrix, self._joint)

    def hop(self, index: int) -> Hop:
        """Return the aggregation that a network does at this place, counted as in a list.

        Raises:
            ValueError: The operand is restricted to fewer aggregations.
        """
        if self._hops is None:
            return self._whole
        if not -len(self._hops) <= index < len(self._hops):
            raise ValueError(f"the graph is restricted to {len(self._hops)} aggregations, got one more: {index}")
        return self._hops[index]

    def in_blocks(self, rows: int) -> "Adjacency":
        """Ask networks to compute so many nodes at a time, where they can and no gradient is needed: it takes less memory."""
        made = copy.copy(self)
        made.rows_at_once = rows
        return made

    # --- other operands of it ------------------------------------------------------------------------------------------------

    def to(self, device: torch.device | None = None, dtype: torch.dtype | None = None) -> "Adjacency":
        """Move to a device and to a type; itself if nothing changes."""
        graph, dtype = self._graph.to(device), dtype or self.dtype
        if graph is self._graph and dtype == self.dtype:
            return self
        moved = Adjacency(graph, dtype, kept=None if self._kept is None else self._kept.to(device))
        if self._hops is None or self.nodes is None:
            return moved
        hops = [Hop(hop.matrix.to(device), None if hop.sources is None else hop.sources.to(device)) for hop in self._hops]
        return moved.restricted(hops, self.nodes.to(device)).along(moved)

    def thinned(self, p: float, generator: torch.Generator) -> "Adjacency":
        """Drop edges at random and normalise what is left; loops that were added stay.

        Both directions of an edge are dropped together; in a directed graph, each on its own.

        Args:
            p: Share of the edges dropped, ``0 <= p < 1``.
            generator: Source of the randomness, on the device of the graph.
        """
        return self.keeping(self.decide(p, generator))

    def decide(self, p: float, generator: torch.Generator) -> Tensor | None:
        """Decide which edges to keep, as :meth:`thinned` does, which takes the same arguments; ``None`` for all."""
        if not 0 <= p < 1:
            raise ValueError(f"p must be in [0, 1), got {p}")
        return torch.rand(self._graph.decisions, device=self.device, generator=generator) >= p if p > 0 else None

    def keeping(self, kept: Tensor | None) -> "Adjacency":
        """Drop the edges that :meth:`decide` decided not to keep, and normalise what is left."""
        if kept is None:
            return self
        kept = kept if self._kept is None else kept & self._kept
        thinned = Adjacency(self._graph, self.dtype, kept=kept)
        return thinned if self._hops is None else self.along(thinned)

    def seen_from(self, nodes: Tensor, hops: int) -> "Adjacency":
        """Restrict to what some nodes see: what a network with that many aggregations computes of them depends on it alone.

        Laws: what a network computes with the result and :meth:`gather` of its features is what it computes with the whole
        graph and all features, at the nodes.

        Args:
            nodes: Their indices, shape ``(n,)``.
            hops: Number of aggregations.
        """
        if self._hops is not None:
            raise ValueError("the graph is restricted already")
        found: list[Hop] = []
        ends = Part(nodes, self.num_nodes)
        for _ in range(hops):
            if found and found[0].sources is None:
                found.insert(0, self._whole)
                continue
            some = self.matrix.rows(nodes)
            seen = torch.zeros(self.num_nodes, dtype=torch.bool, device=nodes.device)
            seen[some.col.long()] = True
            nodes = seen.nonzero().squeeze(1)
            if len(nodes) > _NEARLY_ALL * self.num_nodes:
                found.insert(0, Hop(some, None))
                continue
            columns = (seen.cumsum(0, dtype=torch.int32) - 1).index_select(0, some.col)
            narrow = SparseMatrix(some.crow, columns, some.values, (len(some), len(nodes)), part=some.part)
            found.insert(0, Hop(narrow, Part(nodes, self.num_nodes)))
        return self.restricted(found, ends)

    def restricted(self, hops: list[Hop], nodes: Part) -> "Adjacency":
        """Restrict to aggregations that are given, which end at some nodes."""
        made = Adjacency(self._graph, self.dtype, kept=self._kept, hops=tuple(hops), nodes=nodes)
        made.__dict__["matrix"] = self.matrix  # built once
        return made

    def along(self, other: "Adjacency") -> "Adjacency":
        """Restrict another operand of the same edges, such as a thinned one, in the same way."""
        if self._hops is None or self.nodes is None:
            return other
        hops = []
        for hop in self._hops:
            entries = hop.matrix.part
            if hop.matrix.structure is other.matrix.structure:
                hops.append(replace(hop, matrix=other.matrix))
                continue
            values = hop.matrix.values if entries is None else other.matrix.values.index_select(0, entries.rows)
            hops.append(replace(hop, matrix=hop.matrix.with_values(values)))
        return other.restricted(hops, self.nodes)

    @property
    def sources(self) -> Part | None:
        """Nodes whose features are read; ``None`` for all."""
        return self._hops[0].sources if self._hops else self.ends

    @property
    def ends(self) -> Part | None:
        """Nodes that outputs are of; ``None`` for all."""
        return self._joint if self.nodes is None else self.nodes

    def gather(self, x: Tensor | SparseMatrix) -> Tensor | SparseMatrix:
        """Return the features that are read, of those of all nodes; dense or sparse, which then know their entries."""
        if (sources := self.sources) is None:
            return x
        return x.rows(sources.rows, scattered=sources.scattered) if isinstance(x, SparseMatrix) else x[sources.rows]

    def __repr__(self) -> str:
        seen = "" if self.nodes is None else f", seen from {len(self.nodes.rows)} in {len(self._hops or ())} hops"
        return f"Adjacency({self.num_nodes} nodes, {self._graph.edge_index.shape[1]} edges, {self.aggregation}{seen})"


def _check_edges(edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None) -> None:
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise ValueError(f"edge_index must have shape (2, E), got {tuple(edge_index.shape)}")
    if edge_index.is_floating_point() or edge_index.dtype == torch.bool:
        raise TypeError(f"edge_index must hold integers, got {edge_index.dtype}")
    low, high = (int(edge_index.min()), int(edge_index.max())) if edge_index.numel() else (0, -1)
    if low < 0 or high >= num_nodes:
        raise ValueError(f"edge_index must lie in [0, {num_nodes}), got {low if low < 0 else high}")
    if edge_weight is not None and edge_weight.shape != edge_index.shape[1:]:
        raise ValueError(f"edge_weight must have shape ({edge_index.shape[1]},), got {tuple(edge_weight.shape)}")
