"""The graph convolution of a tangent-space network."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing
from torch_geometric.typing import Adj, OptTensor

from qgcn.kernels.edges import Ends, gathered
from qgcn.kernels.product import SparseMatrix
from qgcn.manifolds import Euclidean, Space
from qgcn.nn.adjacency import AGGREGATIONS, Adjacency, Aggregation
from qgcn.nn.attention import ATTENTIONS, AttentionKind, DistanceScore, weighted_softmax
from qgcn.nn.edges import Edges, is_sparse
from qgcn.nn.linear import QLinear

__all__ = ["QGCNConv"]

Inputs = Tensor | SparseMatrix
Source = Space | str | int
_SLOPE = 0.2  # of attention's leaky ReLU, as its papers have it
_HOOKS = tuple(
    f"_{what}_forward_{when}"
    for what in ("propagate", "message", "aggregate", "message_and_aggregate", "edge_update")
    for when in ("pre_hooks", "hooks")
)


class _Ends(NamedTuple):
    """Vectors at both ends of the edges: ``v`` of the sources, and what is known of the targets."""

    v: Tensor
    own: Tensor | None
    """Vectors of the targets as the layer sends them; ``None`` if they have no features."""
    listener: Tensor | None
    """Vectors that targets listen with, under ``gatv2``."""
    sizes: Ends


class QGCNConv(MessagePassing):  # type: ignore[misc]
    r"""Pseudo-Riemannian graph convolution (Eq. 6).

    .. math:: y_i = \widehat\exp_o\Bigl(\sum_{j \in \mathcal N(i) \cup \{i\}} a_{ij}\,
        \bigl(\widehat\log_o(W \otimes x_j \oplus b) + E\,e_{ij}\bigr)\Bigr)

    where :math:`a_{ij}` is 1 (``sum``), :math:`1/d_i` (``mean``), :math:`1/\sqrt{d_i d_j}` (``sym``), each times the edge's
    weight, or learned (``attention``): the share :math:`w_{ij} e^{s_{ij}} / \sum_k w_{ik} e^{s_{ik}}` of a score

    ============  ==================================================================================
    ``gat``       :math:`s_{ij} = \sigma(a_1 \cdot v_j + a_2 \cdot v_i + a_3 \cdot E e_{ij})`
    ``gatv2``     :math:`s_{ij} = a \cdot \sigma(v_j + R u_i + E e_{ij})`
    ``distance``  minus the signed squared distance, see :class:`~qgcn.nn.attention.DistanceScore`
    ============  ==================================================================================

    with a leaky ReLU :math:`\sigma`, the tangent vectors :math:`u_i` of the inputs and :math:`v_i` of what is sent. The
    features :math:`e_{ij}` of edges, if there are any, are part of the message, or, with attention, of the score alone.

    It is a layer of PyTorch Geometric: hooks, explanations, ``torch.compile`` and ``torch.export`` work as for ``GCNConv``.
    Without hooks, messages are not formed.

    Args:
        in_space: The space of the inputs, or its name; or a number of Euclidean features, which are tangent vectors at the pole
            as they are, ``-1`` for as many as the first input has. A pair for sources and targets that differ, each of which
            then has a weight of its own.
        space: The space of the outputs, or its name.
        aggregation: ``sum``, ``mean`` or ``sym`` (default: ``sym``).
        attention: Learn the weights of the neighbours: ``gat`` (or true), ``gatv2`` or ``distance``; ``aggregation`` is not
            used then (default: false).
        heads: Number of heads of ``distance``, whose shares are averaged (default: 1).
        self_loops: Count every node among its own neighbours, with the weight of its loop, or 1 (default: true).
        bias: Translate by a learned tangent vector (default: true).
        edge_dim: Number of features of an edge (default: none).
        own_in_space: See :class:`QLinear`.
        options: ``flow`` and ``decomposed_layers`` of PyG's ``MessagePassing``.

    Shapes:
        - **input:** points ``(N, d_in)``, of a static graph ``(..., N, d_in)``; features may be a sparse matrix; of a bipartite
          graph a pair of them, the second of which may be ``None``. ``edge_index`` of shape ``(2, E)`` with optional weights
          ``(E,)`` and features ``(E, edge_dim)``; or the transposed adjacency ``adj_t``, a sparse tensor ``(N, M)``, which is
          normalised as edges are; or an :class:`~qgcn.nn.Adjacency`, used as it is, which is fastest
        - **output:** points ``(..., N, d)``
    """

    def __init__(
        self,
        in_space: Source | tuple[Source, Source],
        space: Space | str,
        *,
        aggregation: Aggregation = "sym",
        attention: bool | AttentionKind = False,
        heads: int = 1,
        self_loops: bool = True,
        bias: bool = True,
        edge_dim: int | None = None,
        own_in_space: bool = True,
        **options: Any,
    ) -> None:
        if aggregation not in AGGREGATIONS:
            raise ValueError(f"aggregation must be one of {', '.join(AGGREGATIONS)}, got {aggregation!r}")
        if attention not in (False, True, *ATTENTIONS):
            raise ValueError(f"attention must be a bool or one of {', '.join(ATTENTIONS)}, got {attention!r}")
        if heads != 1 and attention != "distance":
            raise ValueError(f"several heads are for attention by distance, got heads={heads} and attention={attention!r}")
        super().__init__(aggr="add", **options)
        self.aggregation: Aggregation = aggregation
        self.self_loops = self_loops
        self.attention: AttentionKind | None = "gat" if attention is True else attention or None
        pair = isinstance(in_space, tuple)
        source, target = in_space if isinstance(in_space, tuple) else (in_space, in_space)
        self.linear = QLinear(source, space, bias=bias, own_in_space=own_in_space)
        dim = self.space.ambient_dim
        self.linear_target = QLinear(target, self.space, bias=bias, own_in_space=own_in_space) if pair else None
        self.linear_edge = None if edge_dim is None else nn.Linear(edge_dim, dim, bias=False)
        rows = {None: 0, "gat": 2 if edge_dim is None else 3, "gatv2": 1, "distance": 0}[self.attention]
        self.score = nn.Parameter(torch.empty(rows, dim)) if rows else None
        listens = self._of_target.in_space or self._of_target.source
        self.listener = QLinear(listens, Euclidean(dim), bias=False, own_in_space=False) if attention == "gatv2" else None
        self.distance = DistanceScore(self.space, heads, 0 if edge_dim is None else dim) if attention == "distance" else None
        self.reset_parameters()

    @property
    def space(self) -> Space:
        """The space of the outputs."""
        return self.linear.space

    @property
    def _of_target(self) -> QLinear:
        """The linear part of targets."""
        return self.linear if self.linear_target is None else self.linear_target

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for part in (self.linear, self.linear_target, self.linear_edge, self.listener, self.distance):
            if part is not None:
                part.reset_parameters()
        if self.score is not None:
            nn.init.xavier_uniform_(self.score)

    def forward(
        self,
        x: Inputs | tuple[Inputs, Inputs | None],
        edge_index: Tensor | Adjacency,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        size: tuple[int, int] | None = None,
    ) -> Tensor:
        """Map points to points.

        Args:
            x: Points, or a pair of those of the sources and of the targets.
            edge_index: The graph.
            edge_weight: Weights of an ``edge_index``; gradients flow to them.
            edge_attr: Features of the edges, in the order of ``edge_index``, or of the entries of a sparse matrix; a single one
                also of shape ``(E,)``.
            size: Numbers of sources and targets, if ``x`` does not say them.
        """
        u: Any
        if isinstance(x, (tuple, list)):
            u = self.linear.tangent_of(x[0]), None if x[1] is None else self._of_target.tangent_of(x[1])
        else:
            u = self.linear.tangent_of(x)
        # whole turns need not be taken off: the exponential does not see them
        return self.space.expmap0(self._aggregated(u, edge_index, edge_weight, edge_attr, size))

    def from_tangent(
        self,
        u: Inputs | tuple[Inputs, Inputs | None],
        graph: Tensor | Adjacency | SparseMatrix,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        size: tuple[int, int] | None = None,
    ) -> Tensor:
        """Do the same from and to tangent coordinates; see :meth:`QLinear.from_tangent`.

        Args:
            u: Tangent vectors, shape ``(..., N, d_in)``, dense or sparse, or a pair of them.
            graph: As for :meth:`forward`; or the matrix of one aggregation, see :meth:`Adjacency.hop`.
            edge_weight: Weights of an ``edge_index``.
            edge_attr: Features of the edges.
            size: Numbers of sources and targets.

        Raises:
            ValueError: Weights are given twice, shapes do not fit, or features of edges are missing or not expected.
        """
        return self.space.fold0(self._aggregated(u, graph, edge_weight, edge_attr, size))

    def in_blocks(self, u: Inputs, before: Callable[[Any], Any], matrix: SparseMatrix, rows: int) -> Tensor:
        """Do what :meth:`from_tangent` does, some rows at a time, without a gradient.

        Args:
            u: Tangent vectors, shape ``(N, d_in)``, dense or sparse.
            before: Applied to some rows of them first.
            matrix: The matrix of the aggregation.
            rows: Number of rows at a time.
        """
        v = matrix.values.new_empty(u.shape[0], self.space.ambient_dim)
        for first in range(0, u.shape[0], rows):
            last = min(first + rows, u.shape[0])
            part = u.rows(torch.arange(first, last, device=u.device)) if isinstance(u, SparseMatrix) else u[first:last]
            v[first:last] = self.linear.from_tangent(before(part))
        total = matrix @ v
        for part in total.split(rows):
            part.copy_(self.space.fold0(part))
        return total

    def _aggregated(
        self, u: Any, graph: Any, edge_weight: Tensor | None, edge_attr: Tensor | None, size: tuple[int, int] | None
    ) -> Tensor:
        """Return the sums of the neighbours' tangent vectors, shape ``(..., N, d)``."""
        if (edge_attr is None) != (self.linear_edge is None):
            expected = "none without edge_dim" if self.linear_edge is None else f"shape (E, {self.linear_edge.in_features})"
            raise ValueError(f"edge_attr: expected {expected}, got {None if edge_attr is None else tuple(edge_attr.shape)}")
        if edge_weight is not None and isinstance(graph, (Adjacency, SparseMatrix)):
            raise ValueError("an adjacency holds its weights, got edge_weight too")
        paired = isinstance(u, (tuple, list))
        if self.attention is None and not paired and not self.observed and isinstance(graph, (Adjacency, SparseMatrix)):
            if edge_attr is not None:
                raise ValueError("edge_attr goes with an edge_index, got an adjacency")
            return _product(graph, self.linear.from_tangent(u))  # type: ignore[no-any-return]
        ends = self._ends(u, size, graph)
        edges = self._edges(graph, edge_weight, ends.sizes, self.self_loops and ends.own is not None)
        if self.attention is not None or edge_attr is not None or self.observed:
            return self._passed(ends, edges, edge_attr, is_sparse(graph))
        of_edges, of_loops = edges.coefficients(ends.v.dtype)
        if ends.sizes.same:  # with the loops in the sum there is one gradient of it, not two that are to be added
            return gathered(ends.v, edges.index, of_edges, ends.sizes.targets, of_loops)
        total = gathered(ends.v, edges.index, of_edges, ends.sizes.targets)
        return total if of_loops is None or ends.own is None else total + of_loops.unsqueeze(-1) * ends.own

    # --- what is given -----------------------------------------------------------------------------------------------------

    @property
    def observed(self) -> bool:
        """Whether messages have to be formed: a hook is registered, an explanation is under way, or a subclass changes them."""
        own = type(self)
        methods = ("message", "message_and_aggregate", "aggregate", "update")
        changed = any(getattr(own, name) is not getattr(QGCNConv, name) for name in methods)
        return bool(self.explain) or changed or any(getattr(self, name) for name in _HOOKS)

    def _ends(self, u: Any, size: tuple[int, int] | None, graph: Any) -> _Ends:
        """Apply the linear part to what is at both ends of the edges."""
        paired = isinstance(u, (tuple, list))
        first, second = u if paired else (u, u)
        v = self.linear.from_tangent(first)
        own = v if not paired else None if second is None else self._of_target.from_tangent(second)
        listener = None if self.listener is None or second is None else self.listener.from_tangent(second)
        sources = v.shape[-2]
        targets = own.shape[-2] if own is not None else size[1] if size is not None else _rows(graph, sources)
        if size is not None and tuple(size) != (sources, targets):
            raise ValueError(f"size must be ({sources}, {targets}), as x is, got {tuple(size)}")
        return _Ends(v, own, listener, Ends(sources, targets, not paired))

    def _edges(self, graph: Any, edge_weight: Tensor | None, sizes: Ends, loops: bool) -> Edges:
        """Read the graph, from sources to targets; without vectors of its own, a target is no neighbour of itself."""
        if isinstance(graph, Adjacency) and self.attention is not None:  # shares are normalised anew
            graph = graph.weights
        if isinstance(graph, (Adjacency, SparseMatrix)):
            matrix = graph if isinstance(graph, SparseMatrix) else graph.hop(0).matrix
            return Edges.of_matrix(matrix, sizes.same)
        if self.flow == "target_to_source":
            if is_sparse(graph):
                raise ValueError(
                    "flow target_to_source goes with an edge_index, got a sparse matrix: give its transpose instead"
                )
            graph = graph.flip(0)
        return Edges.read(graph, edge_weight, sizes, self.aggregation, loops)

    def operand(
        self, graph: Tensor | Adjacency, num_nodes: int, dtype: torch.dtype, edge_weight: Tensor | None = None
    ) -> Adjacency:
        """Return a graph as this layer aggregates it, to be used again and again; an :class:`~qgcn.nn.Adjacency` as it is.

        Args:
            graph: As for :meth:`forward`.
            num_nodes: Number of nodes ``N``.
            dtype: Type of the matrix.
            edge_weight: Weights of an ``edge_index``, without a gradient.

        Raises:
            ValueError: Weights are given twice.
        """
        if isinstance(graph, Adjacency):
            if edge_weight is not None:
                raise ValueError("an adjacency holds its weights, got edge_weight too")
            return graph
        edges = self._edges(graph, edge_weight, Ends(num_nodes, num_nodes, True), self.self_loops)
        made = Adjacency.of(edges.index, num_nodes, edges.weight, aggregation=self.aggregation, self_loops=self.self_loops)
        return made.to(dtype=dtype)

    # --- PyG's way: messages -----------------------------------------------------------------------------------------------

    def _passed(self, ends: _Ends, edges: Edges, edge_attr: Tensor | None, sparse: bool) -> Tensor:
        """Form messages and add them up, by PyG's ``propagate``."""
        v, targets, same = ends.v, ends.sizes.targets, ends.sizes.same
        messages = edges.messages(*(edges.coefficients if self.attention is None else edges.weights)(v.dtype))
        features = None
        if edge_attr is not None and self.linear_edge is not None:
            given = edges.checked(edge_attr, self.linear_edge.in_features)
            features = messages.of(self.linear_edge(given).to(v.dtype))
        if not same and edges.self_loops and ends.own is not None:
            v = torch.cat((v, ends.own), dim=-2)  # whose loops begin there
        index, weight = messages.index, messages.weight.unsqueeze(-1)
        if self.flow == "target_to_source":
            index = index.flip(0)
        if self.attention is not None:
            weight, features = self._shares(v, ends, index, weight, features), None
        elif sparse and same and features is None and not self.explain and v.ndim == 2:
            matrix = torch.sparse_coo_tensor(index.flip(0), weight.squeeze(-1), (targets, v.shape[-2]), check_invariants=False)
            return self.propagate(matrix.coalesce().to_sparse_csr(), v=v, weight=weight, features=None)  # type: ignore[no-any-return]
        size = self._pair(v.shape[-2], targets)
        return self.propagate(index, size=size, v=self._pair(v, None, same), weight=weight, features=features)  # type: ignore[no-any-return]

    def _pair(self, source: Any, target: Any, same: bool = False) -> Any:
        """Order what belongs to both ends as PyG does, by the rows of ``edge_index``; of the same nodes, one is enough."""
        if same:
            return target if source is None else source
        return (source, target) if self.flow == "source_to_target" else (target, source)

    def _shares(self, v: Tensor, ends: _Ends, index: Tensor, weight: Tensor, features: Tensor | None) -> Tensor:
        """Score the messages and return the weights that attention gives them, shape ``(..., E, 1)``."""
        directions: Any = None if self.score is None else self.score.to(v.dtype)
        source: Tensor
        target: Tensor | None
        if self.distance is not None:
            # without features, targets listen from the origin
            own = v.new_zeros(*v.shape[:-2], ends.sizes.targets, v.shape[-1]) if ends.own is None else ends.own
            source, target = self.distance.points(v), self.distance.points(own)
        elif self.attention == "gatv2":
            source, target = v, ends.listener
        else:
            source, target = (
                v @ directions[0].unsqueeze(-1),
                None if ends.own is None else ends.own @ directions[1].unsqueeze(-1),
            )
            features = None if features is None else features @ directions[2].unsqueeze(-1)
        same = ends.sizes.same
        terms = {"source": self._pair(source, None, same), "target": self._pair(None, target, same), "features": features}
        away = 0 if same else ends.sizes.sources  # where the loops of targets begin
        begins, ends_at = index.flip(0) if self.flow == "target_to_source" else index
        loops = torch.eq(begins, ends_at + away)
        shares: Tensor = self.edge_updater(index, **terms, weight=weight, loops=loops, targets=ends.sizes.targets)
        return shares

    def edge_update(
        self,
        source_j: Tensor,
        target_i: OptTensor,
        features: OptTensor,
        weight: Tensor,
        loops: Tensor,
        index: Tensor,
        targets: int,
    ) -> Tensor:
        """Score edges, and turn the scores into shares of their targets."""
        if self.distance is not None and target_i is not None:
            score = self.distance(source_j, target_i, loops, features)
            return weighted_softmax(score, weight.squeeze(-1), index, targets).mean(-1, keepdim=True)
        score = source_j if target_i is None else source_j + target_i
        score = nn.functional.leaky_relu(score if features is None else score + features, _SLOPE)
        if self.attention == "gatv2" and self.score is not None:
            score = score @ self.score.to(score.dtype).t()
        return weighted_softmax(score, weight.squeeze(-1), index, targets)

    def message(self, v_j: Tensor, weight: Tensor, features: OptTensor) -> Tensor:
        """Weigh the neighbours' tangent vectors, and with them what the features of the edges say."""
        return weight * (v_j if features is None else v_j + features)

    def message_and_aggregate(self, adj_t: Adj, v: Tensor) -> Tensor:
        """Multiply with a matrix that is normalised already."""
        return adj_t @ v  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        how = {None: self.aggregation, "gat": "attention"}.get(self.attention, self.attention)
        source = str(self.linear.source)
        if self.linear_target is not None:
            source = f"({source}, {self.linear_target.source})"
        return f"{type(self).__name__}({source} -> {self.space}, {how})"


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _product(graph: Adjacency | SparseMatrix, v: Tensor) -> Tensor:
    """Multiply with the matrix of a graph, which is built and remembered: nothing that a compiler could trace."""
    return (graph if isinstance(graph, SparseMatrix) else graph.hop(0).matrix) @ v


def _rows(graph: Any, sources: int) -> int:
    """Return the number of targets that a graph has by itself; as many as sources if it does not say."""
    if isinstance(graph, SparseMatrix):
        return graph.shape[0]
    if isinstance(graph, Adjacency) or not is_sparse(graph):
        return sources
    return int(graph.shape[0] if isinstance(graph, Tensor) else graph.sparse_sizes()[0])
