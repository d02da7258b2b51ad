"""The graph convolution of a tangent-space network."""

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import softmax

from qgcn.manifolds import Space
from qgcn.nn.linear import QLinear
from qgcn.nn.sparse import AGGREGATIONS, Aggregation, adjacency, edges_of, matmul

__all__ = ["QGCNConv"]


class QGCNConv(MessagePassing):  # type: ignore[misc]
    r"""Pseudo-Riemannian graph convolution (Eq. 6).

    .. math:: y_i = \widehat\exp_o\Bigl(\sum_{j \in \mathcal N(i) \cup \{i\}} a_{ij}\,
        \widehat\log_o\bigl(W \otimes x_j \oplus b\bigr)\Bigr)

    where :math:`a_{ij}` is 1 (``sum``), :math:`1/d_i` (``mean``), :math:`1/\sqrt{d_i d_j}` (``sym``), each times the edge's
    weight, or learned (``attention``): a softmax over the neighbours of a score of both ends' tangent vectors.

    Args:
        in_space: The space of the inputs, or a number of Euclidean features, which are tangent vectors at the pole as they are.
        space: The space of the outputs.
        aggregation: ``sum``, ``mean`` or ``sym``.
        attention: Learn the weights of the neighbours; ``aggregation`` is not used then.
        self_loops: Count every node among its own neighbours.
        bias: Translate by a learned tangent vector.

    Shapes:
        - **input:** points ``(N, d_in)`` (features may be sparse CSR); ``edge_index`` of shape ``(2, E)`` with optional
          weights ``(E,)``, or a sparse CSR adjacency ``(N, N)``, used as it is (see :func:`qgcn.nn.adjacency`), which is faster
        - **output:** points ``(N, d)``
    """

    aggregates: ClassVar[bool] = True
    """Whether it reads a graph."""

    def __init__(
        self,
        in_space: Space | int,
        space: Space,
        *,
        aggregation: Aggregation = "sym",
        attention: bool = False,
        self_loops: bool = True,
        bias: bool = True,
    ) -> None:
        super().__init__(aggr="add")
        if aggregation not in AGGREGATIONS:
            raise ValueError(f"aggregation must be one of {', '.join(AGGREGATIONS)}, got {aggregation!r}")
        self.aggregation: Aggregation = aggregation
        self.self_loops = self_loops
        self.linear = QLinear(in_space, space, bias=bias)
        self.score = nn.Parameter(torch.empty(2, space.ambient_dim)) if attention else None
        self.reset_parameters()

    @property
    def space(self) -> Space:
        """The space of the outputs."""
        return self.linear.space

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.linear.reset_parameters()
        if self.score is not None:
            nn.init.xavier_uniform_(self.score)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Map points to points."""
        u = x if self.linear.in_space is None else self.linear.in_space.logmap0(x)
        return self.space.expmap0(self.from_tangent(u, edge_index, edge_weight))

    def from_tangent(
        self, u: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None, values: Tensor | None = None
    ) -> Tensor:
        """Do the same from and to tangent coordinates; see :meth:`QLinear.from_tangent`."""
        v = self.linear.from_tangent(u, values)
        return self.space.fold0(self._aggregate(v, edge_index, edge_weight))

    def _aggregate(self, v: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        given = edge_index.layout == torch.sparse_csr
        if given and edge_weight is not None:
            raise ValueError("a CSR adjacency holds its weights, got edge_weight too")
        if given and self.score is None:
            return matmul(edge_index, v)
        if given:
            edge_index, edge_weight = edges_of(edge_index)
        elif self.score is None and (edge_weight is None or not edge_weight.requires_grad):
            weight = v.new_ones(edge_index.shape[-1]) if edge_weight is None else edge_weight.to(v.dtype)
            matrix = adjacency(edge_index, v.shape[0], weight, aggregation=self.aggregation, self_loops=self.self_loops)
            return matmul(matrix, v)
        else:
            matrix = adjacency(edge_index, v.shape[0], edge_weight, aggregation="sum", self_loops=self.self_loops)
            edge_index, edge_weight = edges_of(matrix)
        if self.score is None:
            raise ValueError("edge_weight must not require a gradient")
        source, target = (v @ self.score.t()).unbind(-1)
        score = nn.functional.leaky_relu(source[edge_index[0]] + target[edge_index[1]], 0.2)
        present = edge_weight != 0  # an edge that was left out keeps its place, with weight 0: see EdgeDropout
        score = torch.where(present, score, torch.finfo(score.dtype).min)
        weight = softmax(score, edge_index[1], num_nodes=v.shape[0]) * present
        return self.propagate(edge_index, v=v, weight=weight)  # type: ignore[no-any-return]

    def message(self, v_j: Tensor, weight: Tensor) -> Tensor:
        """Weigh the neighbours' tangent vectors."""
        return weight.unsqueeze(-1) * v_j

    def __repr__(self) -> str:
        how = "attention" if self.score is not None else self.aggregation
        source = self.linear.weight.shape[0] if self.linear.in_space is None else self.linear.in_space
        return f"{type(self).__name__}({source} -> {self.space}, {how})"
