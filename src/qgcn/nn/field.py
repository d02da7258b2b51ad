"""What some nodes see of a graph: their neighbours, the neighbours of those, and so on, as far as a network looks."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from qgcn.kernels.part import Part
from qgcn.nn.sparse import revalued, select_rows

__all__ = ["Field", "Hop", "Part"]


@dataclass(frozen=True)
class Hop:
    """One aggregation from some nodes to others.

    Attributes:
        matrix: The rows and columns of the adjacency that are needed, CSR, shape ``(n, m)``.
        entries: Which of the adjacency's entries they are.
        sources: Which nodes the columns are.
    """

    matrix: Tensor
    entries: Tensor
    sources: Part


@dataclass(frozen=True)
class Field:
    """The receptive field of some nodes: all that a network with that many convolutions computes of them depends on it alone.

    Laws: what a network computes on the field is what it computes on the whole graph, at the nodes.

    Attributes:
        x: Features of the nodes that are seen, dense or CSR, shape ``(m, n)``.
        part: Which rows of all features they are; of a CSR matrix, which of all entries.
        hops: The aggregations, in the order in which the network does them.
        nodes: Where the last of them ends.
    """

    x: Tensor
    part: Part
    hops: tuple[Hop, ...]
    nodes: Part

    @classmethod
    def of(cls, nodes: Tensor, x: Tensor, adjacency: Tensor, hops: int) -> "Field":
        """Find the field of some nodes.

        Args:
            nodes: Their indices, shape ``(n,)``.
            x: Features of all nodes, dense or CSR.
            adjacency: CSR, shape ``(N, N)``.
            hops: Number of aggregations.
        """
        found: list[Hop] = []
        ends = Part(nodes, len(adjacency))
        for _ in range(hops):
            matrix, entries = select_rows(adjacency, nodes)
            nodes, columns = torch.unique(matrix.col_indices().long(), return_inverse=True)
            parts = (matrix.crow_indices(), columns.to(matrix.col_indices().dtype), matrix.values())
            narrow = torch.sparse_csr_tensor(*parts, (len(matrix), len(nodes)), check_invariants=False)
            found.insert(0, Hop(narrow, entries, Part(nodes, len(adjacency))))
        if x.layout == torch.sparse_csr:
            seen, entries = select_rows(x, nodes)
            return cls(seen, Part(entries, x.values().numel()), tuple(found), ends)
        return cls(x[nodes], Part(nodes, len(x)), tuple(found), ends)

    def along(self, adjacency: Tensor) -> "Field":
        """Return the same field of an adjacency with other values."""
        values = adjacency.values()
        hops = (replace(hop, matrix=revalued(hop.matrix, values.index_select(0, hop.entries))) for hop in self.hops)
        return replace(self, hops=tuple(hops))
