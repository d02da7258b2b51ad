"""Edges as PyTorch Geometric's layers take them: an ``edge_index`` with weights, or the transposed adjacency ``adj_t``."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from qgcn.kernels.edges import Ends, coefficients
from qgcn.kernels.product import SparseMatrix
from qgcn.nn.adjacency import Aggregation

__all__ = ["Edges", "Messages", "is_sparse"]

_LAYOUTS = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)


def is_sparse(graph: Any) -> bool:
    """Tell whether a graph is given as a sparse matrix: PyTorch's, or ``torch_sparse``'s."""
    return graph.layout in _LAYOUTS if isinstance(graph, Tensor) else hasattr(graph, "coo")


@dataclass(frozen=True)
class Edges:
    """Edges of one aggregation, in the order given.

    Attributes:
        index: Sources and targets, shape ``(2, E)``.
        weight: Weights, shape ``(E,)``; ones if there are none.
        ends: Numbers of sources and targets, and whether they are the same nodes.
        aggregation: How the weights are still to be normalised.
        self_loops: Whether every target is still to be counted among its own neighbours.
    """

    index: Tensor
    weight: Tensor | None
    ends: Ends
    aggregation: Aggregation
    self_loops: bool

    @classmethod
    def read(
        cls,
        graph: Any,
        weight: Tensor | None,
        ends: Ends,
        aggregation: Aggregation,
        self_loops: bool,
    ) -> "Edges":
        """Read edges, which the layer normalises.

        Args:
            graph: ``edge_index``; or the transposed adjacency, rows being targets: a sparse tensor of PyTorch (COO, CSR or
                CSC), or a ``torch_sparse.SparseTensor``.
            weight: Weights of an ``edge_index``.
            ends: The nodes.
            aggregation: How the weights are to be normalised.
            self_loops: Whether every target is to be counted among its own neighbours.

        Raises:
            TypeError: ``edge_index`` does not hold integers.
            ValueError: Shapes do not fit, weights are given twice, or an index is no node.
        """
        if is_sparse(graph):
            if weight is not None:
                raise ValueError("a sparse matrix holds its weights, got edge_weight too")
            graph, weight = _from_sparse(graph, ends)
        else:
            graph = graph.as_tensor() if hasattr(graph, "as_tensor") else graph  # PyG's EdgeIndex
            _check(graph, weight, ends)
        return cls(graph, weight, ends, aggregation, self_loops)

    @classmethod
    def of_matrix(cls, matrix: SparseMatrix, same: bool = True) -> "Edges":
        """Take the entries of a matrix as they are: it is normalised already."""
        edges = matrix.coordinates.flip(0)
        return cls(edges, matrix.values, Ends(matrix.shape[1], matrix.shape[0], same), "sum", False)

    def coefficients(self, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
        """Return the normalised weights of the edges and of the loops; see :func:`qgcn.kernels.edges.coefficients`."""
        return coefficients(self.index, self.weight, self.ends, self.aggregation, self.self_loops, dtype)

    def weights(self, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
        """Return the weights of the edges and of the loops, not normalised."""
        return replace(self, aggregation="sum").coefficients(dtype)

    def checked(self, features: Tensor, size: int) -> Tensor:
        """Return features of the edges as they were given, shape ``(E, size)``; a single one may have shape ``(E,)``.

        Raises:
            ValueError: They have another shape.
        """
        rows = features.unsqueeze(-1) if features.ndim == 1 else features
        if rows.shape != (self.index.shape[1], size):
            raise ValueError(f"edge_attr must have shape ({self.index.shape[1]}, {size}), got {tuple(features.shape)}")
        return rows

    def messages(self, of_edges: Tensor, of_loops: Tensor | None) -> "Messages":
        """List edges and loops as PyTorch Geometric's layers do: edges that are no loops first, then the loop of each node.

        Where each node has a loop among the edges, edges and loops stay in the order given. Between two sets of nodes, the
        loops begin at further sources, numbered after the others: the targets themselves.

        Args:
            of_edges: Weights of the edges, shape ``(E,)``.
            of_loops: Weights of the loops, shape ``(N,)``; without them, edges are all there is.
        """
        if of_loops is None:
            return Messages(self.index, of_edges, None)
        count, nodes = self.index.shape[1], torch.arange(self.ends.targets, device=self.index.device)
        place = torch.arange(count, device=self.index.device)
        added = torch.full_like(nodes, count)
        if not self.ends.same:
            index = torch.cat((self.index, torch.stack((nodes + self.ends.sources, nodes)).to(self.index)), dim=1)
            return Messages(index, torch.cat((of_edges, of_loops)), torch.cat((place, added)))
        source, target = self.index[0], self.index[1]
        kept = source != target
        if torch.compiler.is_compiling():  # no number of edges may depend on values: loops stay, without weight
            index = torch.cat((self.index, nodes.to(self.index).expand(2, -1)), dim=1)
            return Messages(index, torch.cat((of_edges, of_loops)), torch.cat((place, added)))
        index = torch.cat((self.index[:, kept], nodes.to(self.index).expand(2, -1)), dim=1)
        if index.shape[1] == count:  # an edge mask could not be told from one in the other order
            return Messages(self.index, torch.where(kept, of_edges, of_loops[target]), torch.where(kept, place, count))
        return Messages(index, torch.cat((of_edges[kept], of_loops)), torch.cat((place[kept], added)))


@dataclass(frozen=True)
class Messages:
    """What is sent along edges and loops.

    Attributes:
        index: Sources and targets, shape ``(2, E')``.
        weight: Weights, shape ``(E',)``.
        place: Which of the edges given each of them is, their number for a loop; ``None`` if they are those edges.
    """

    index: Tensor
    weight: Tensor
    place: Tensor | None

    def of(self, features: Tensor) -> Tensor:
        """Return the features of the messages, given those of the edges, shape ``(E, n)``: loops have none, zeros."""
        if self.place is None:
            return features
        return torch.cat((features, features.new_zeros(1, features.shape[-1]))).index_select(0, self.place)


def _from_sparse(graph: Any, ends: Ends) -> tuple[Tensor, Tensor | None]:
    if isinstance(graph, Tensor):
        found = graph if graph.layout == torch.sparse_coo else graph.to_sparse_coo()
        found, shape = found.coalesce(), tuple(graph.shape)
        index, weight = found.indices().flip(0), found.values()
    else:
        row, col, weight = graph.coo()
        index, shape = torch.stack((col, row)), tuple(graph.sparse_sizes())
    if shape != (ends.targets, ends.sources):
        raise ValueError(f"adj_t must have shape ({ends.targets}, {ends.sources}), targets by sources, got {shape}")
    if weight is not None and weight.ndim > 1:
        raise ValueError(f"adj_t must hold one weight for each edge, got values of shape {tuple(weight.shape)}")
    return index, weight if weight is None or weight.is_floating_point() else weight.to(torch.get_default_dtype())


def _check(edge_index: Tensor, weight: Tensor | None, ends: Ends) -> None:
    if not isinstance(edge_index, Tensor):  # as of PyG's to_hetero where the argument has another name
        raise TypeError(f"edge_index must be a tensor of shape (2, E), got {type(edge_index).__name__}")
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise ValueError(f"edge_index must have shape (2, E), got {tuple(edge_index.shape)}")
    if edge_index.is_floating_point() or edge_index.dtype == torch.bool:
        raise TypeError(f"edge_index must hold integers, got {edge_index.dtype}")
    if weight is not None and weight.shape != edge_index.shape[1:]:
        raise ValueError(f"edge_weight must have shape ({edge_index.shape[1]},), got {tuple(weight.shape)}")
    if torch.compiler.is_compiling() or edge_index.shape[1] == 0:
        return  # values are not known yet
    for row, limit in zip(edge_index, ends[:2], strict=True):
        low, high = (int(each) for each in row.aminmax())
        if low < 0 or high >= limit:
            raise ValueError(f"edge_index must lie in [0, {limit}), got {low if low < 0 else high}")
