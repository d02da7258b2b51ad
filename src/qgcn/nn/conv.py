"""The graph convolution of a tangent-space network."""

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import softmax

from qgcn.kernels.product import SparseMatrix
from qgcn.manifolds import Space
from qgcn.nn.adjacency import AGGREGATIONS, Adjacency, Aggregation
from qgcn.nn.linear import QLinear

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
        - **input:** points ``(N, d_in)`` (features may be a sparse matrix); ``edge_index`` of shape ``(2, E)`` with optional
          weights ``(E,)``, or an :class:`~qgcn.nn.Adjacency`, used as it is, which is faster; or a sparse CSR tensor ``(N, N)``
        - **output:** points ``(N, d)``
    """

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

    def forward(self, x: Tensor | SparseMatrix, edge_index: Tensor | Adjacency, edge_weight: Tensor | None = None) -> Tensor:
        """Map points to points."""
        return self.space.expmap0(self.from_tangent(self.linear.tangent_of(x), edge_index, edge_weight))

    def from_tangent(
        self,
        u: Tensor | SparseMatrix,
        graph: Tensor | Adjacency | SparseMatrix,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Do the same from and to tangent coordinates; see :meth:`QLinear.from_tangent`.

        Args:
            u: Tangent vectors, shape ``(N, d_in)``, dense or sparse.
            graph: As for :meth:`forward`; or the matrix of one aggregation, see :meth:`Adjacency.hop`.
            edge_weight: Weights of an ``edge_index``.
        """
        v = self.linear.from_tangent(u)
        if not isinstance(graph, SparseMatrix):
            graph = self.operand(graph, v.shape[0], v.dtype, edge_weight).hop(0).matrix
        return self.space.fold0(graph @ v if self.score is None else self._attend(v, graph, self.score))

    def operand(
        self, graph: Tensor | Adjacency, num_nodes: int, dtype: torch.dtype, edge_weight: Tensor | None = None
    ) -> Adjacency:
        """Return a graph as this layer aggregates it; an :class:`~qgcn.nn.Adjacency` as it is.

        Args:
            graph: As for :meth:`forward`.
            num_nodes: Number of nodes ``N``.
            dtype: Type of the matrix made of an ``edge_index``.
            edge_weight: Weights of an ``edge_index``.

        Raises:
            ValueError: Weights are given twice, or require a gradient.
        """
        if edge_weight is not None and (isinstance(graph, Adjacency) or graph.layout == torch.sparse_csr):
            raise ValueError("an adjacency holds its weights, got edge_weight too")
        if isinstance(graph, Adjacency):
            return graph
        if graph.layout == torch.sparse_csr:
            return Adjacency.from_matrix(graph)
        if edge_weight is not None and edge_weight.requires_grad and self.score is None:
            raise ValueError("edge_weight must not require a gradient")
        made = Adjacency.of(graph, num_nodes, edge_weight, aggregation=self.aggregation, self_loops=self.self_loops)
        return made.to(dtype=dtype)

    def _attend(self, v: Tensor, matrix: SparseMatrix, directions: Tensor) -> Tensor:
        """Weigh neighbours by attention; the matrix says which there are."""
        edge_index = matrix.coordinates.flip(0)
        source, target = (v @ directions.t()).unbind(-1)
        score = nn.functional.leaky_relu(source[edge_index[0]] + target[edge_index[1]], 0.2)
        present = matrix.values != 0  # an edge that was dropped keeps its place, with zero: see Adjacency.thinned
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
