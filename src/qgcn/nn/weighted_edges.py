"""Edges with weights, and how an aggregation normalises them: what all operands of one graph share."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, get_args

import torch
from scipy.sparse import coo_array
from torch import Tensor

from qgcn.kernels.edges.reference import last_loops
from qgcn.kernels.product import SparseMatrix

__all__ = ["AGGREGATIONS", "Aggregation", "WeightedEdges"]

Aggregation = Literal["sum", "mean", "sym"]
AGGREGATIONS = get_args(Aggregation)


@dataclass(frozen=True, eq=False)
class WeightedEdges:
    """Edges and weights on one device; shared by all operands made of them.

    Attributes:
        edge_index: Sources and targets, shape ``(2, E)``.
        edge_weight: Weights, shape ``(E,)``; ``None`` for ones.
        num_nodes: Number of nodes ``N``.
        aggregation: Normalisation.
        self_loops: Whether every node is made a neighbour of its own.
    """

    edge_index: Tensor
    edge_weight: Tensor | None
    num_nodes: int
    aggregation: Aggregation
    self_loops: bool
    _rounded: dict[torch.dtype, Tensor] = field(default_factory=dict)

    @cached_property
    def weights(self) -> SparseMatrix:
        """Weights of the edges by target, then by source, float64; added up if given twice; a missing loop has 1."""
        edges, n = self.edge_index.int(), self.num_nodes  # in the matrix, indices have 32 bits, too
        given = torch.ones(1, device=edges.device).expand(edges.shape[1]) if self.edge_weight is None else self.edge_weight
        weight = given.double()
        if self.self_loops:
            loops, own = torch.arange(n, dtype=torch.int32, device=edges.device), weight.new_ones(n)
            loose = edges[0] == edges[1]
            if bool(loose.any()):
                own = last_loops(edges, weight, own)
                edges, weight = edges[:, ~loose], weight[~loose]
            edges, weight = torch.cat((edges, loops.expand(2, -1)), dim=1), torch.cat((weight, own))
        if edges.device.type == "cpu":  # in a third of the memory
            rows = coo_array((weight.numpy(), (edges[1].numpy(), edges[0].numpy())), shape=(n, n)).tocsr()
            crow, col, values = (torch.from_numpy(each) for each in (rows.indptr, rows.indices, rows.data))
            return SparseMatrix(crow, col, values, (n, n))
        with torch.sparse.check_sparse_tensor_invariants(enable=False):  # PyTorch 2.11 warns of what it does by default
            matrix = torch.sparse_coo_tensor(edges.flip(0), weight, (n, n)).coalesce()
        target, source = matrix.indices()
        crow = torch.zeros(n + 1, dtype=torch.int64, device=edges.device)
        crow[1:] = torch.bincount(target, minlength=n).cumsum(0)
        return SparseMatrix(crow, source, matrix.values(), (n, n))

    def rounded(self, dtype: torch.dtype) -> Tensor:
        """Return the weights of the entries in another type; remembered."""
        if dtype not in self._rounded:
            self._rounded[dtype] = self.weights.values.to(dtype)
        return self._rounded[dtype]

    def normalized(self, weight: Tensor) -> Tensor:
        """Return the values of the matrix, given the weights of its entries."""
        if self.aggregation == "sum":
            return weight
        target, source = self.weights.coordinates
        degree = weight.new_zeros(self.num_nodes).scatter_add_(0, target, weight)
        inverse = torch.where(degree > 0, degree, 1).reciprocal()  # without neighbours nothing comes, whatever it is divided by
        factor = inverse[target]
        if self.aggregation == "sym":  # in place: a large graph has many edges
            factor = factor.mul_(inverse[source]).sqrt_()
        return factor.mul_(weight)

    def directed(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return the values of the matrices along and against the arrows, both by target, then by source."""
        if self.aggregation == "sum":
            return weight, weight
        inverse = []
        for ends in self.weights.coordinates:
            degree = weight.new_zeros(self.num_nodes).scatter_add_(0, ends, weight)
            inverse.append(torch.where(degree > 0, degree, 1).reciprocal()[ends])
        if self.aggregation == "mean":
            return weight * inverse[0], weight * inverse[1]
        both = weight * (inverse[0] * inverse[1]).sqrt()
        return both, both

    # --- what is dropped together ------------------------------------------------------------------------------------------

    def _number(self, source: Tensor, target: Tensor) -> Tensor:
        """Number edges so that those which are dropped together have the same number."""
        if not self.weights.symmetric:
            return source * self.num_nodes + target
        return torch.minimum(source, target) * self.num_nodes + torch.maximum(source, target)

    @cached_property
    def _numbers(self) -> tuple[Tensor, Tensor]:
        """All numbers, ascending, and the place among them of each entry's."""
        target, source = self.weights.coordinates
        numbers, place = torch.unique(self._number(source, target), return_inverse=True)
        return numbers, place

    @property
    def decisions(self) -> int:
        """Number of edges, or pairs of them, that are dropped independently."""
        return self._numbers[0].numel()

    def entries_left(self, kept: Tensor) -> Tensor:
        """Tell which entries are left after decisions; loops that were added are."""
        left: Tensor = kept[self._numbers[1]]
        return left | self._loops if self.self_loops else left

    @cached_property
    def _loops(self) -> Tensor:
        target, source = self.weights.coordinates
        return torch.eq(target, source)

    @cached_property
    def _place_of_edge(self) -> Tensor:
        return torch.searchsorted(self._numbers[0], self._number(*self.edge_index.long()))

    def edges_left(self, kept: Tensor) -> Tensor:
        """Tell which of the edges given are left after decisions."""
        left: Tensor = kept[self._place_of_edge]
        return left | (self.edge_index[0] == self.edge_index[1]) if self.self_loops else left

    def to(self, device: torch.device | None) -> "WeightedEdges":
        """Move to a device, with what is known of the weights; itself if it is there."""
        edges = self.edge_index.to(device)
        if edges is self.edge_index:
            return self
        weight = None if self.edge_weight is None else self.edge_weight.to(device)
        moved = replace(self, edge_index=edges, edge_weight=weight, _rounded={})
        if "weights" in self.__dict__:
            moved.__dict__["weights"] = self.weights.to(device)
        return moved
