"""The Euclidean networks of PyTorch Geometric, with the constructor and the methods of our own."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field
from torch import Tensor, nn

from qgcn.kernels.edges import Ends
from qgcn.manifolds import Space, parse_space
from qgcn.models.encoder import Capabilities, Encoder, Options
from qgcn.models.layers import Activation
from qgcn.nn import Adjacency, Aggregation, SparseMatrix
from qgcn.nn.edges import Edges

__all__ = ["AggregatingNetwork", "AggregatingOptions", "EuclideanNetwork", "EuclideanOptions"]


class EuclideanOptions(Options):
    """Options of PyTorch Geometric's networks."""

    layers: int = Field(2, ge=1, le=64, description="Number of layers.")
    hidden: str | None = Field(None, description="Space of all layers but the last; the same as the last if not given.")
    activation: Activation = Field("relu", description="Activation between layers.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Share of coordinates dropped.")
    feature_dropout: float = Field(0.0, ge=0, lt=1, description="Share of input features dropped.")


class AggregatingOptions(EuclideanOptions):
    """Options of PyTorch Geometric's GCN, which takes any aggregation."""

    aggregation: Aggregation = Field("sym", description="Aggregation of neighbours.")


class EuclideanNetwork(Encoder):
    """A network of PyTorch Geometric, with the constructor and the methods of :class:`TangentNetwork`.

    Args:
        in_features: Number of features.
        space: A Euclidean space, whose size is that of the outputs.
        kind: ``gcn``, ``gat``, ``sage``, ``sgc`` or ``mlp``.
        layers: Number of layers.
        hidden: A Euclidean space, whose size is that of all layers but the last; ``space`` if none is given.
        activation: Name of the activation between layers.
        dropout: Share of coordinates dropped between layers, in training.
        feature_dropout: Share of the input features dropped, in training.
        aggregation: Aggregation of neighbours, for ``gcn`` and graphs given as ``edge_index`` (default: ``"sym"``).

    Shapes:
        - **input:** features ``(N, in_features)``, sparse only for ``gcn`` and ``gat``; ``edge_index`` of shape ``(2, E)``, or
          an :class:`~qgcn.nn.Adjacency`, of which ``gcn`` takes the matrix, the others take the edges
        - **output:** points ``(N, d)``
    """

    options_type: ClassVar[type[Options]] = EuclideanOptions
    KINDS: ClassVar[tuple[str, ...]] = ("gcn", "gat", "sage", "mlp", "sgc")

    def __init__(
        self,
        in_features: int,
        space: Space | str,
        *,
        kind: str,
        layers: int = 2,
        hidden: Space | str | None = None,
        activation: str = "relu",
        dropout: float = 0.0,
        feature_dropout: float = 0.0,
        aggregation: Aggregation = "sym",
    ) -> None:
        super().__init__()
        if kind not in self.KINDS:
            raise ValueError(f"kind must be one of {', '.join(self.KINDS)}, got {kind!r}")
        if kind != "gcn" and aggregation != "sym":
            raise ValueError(f"aggregation is for gcn, got {aggregation!r} with {kind}")
        if layers < 1:
            raise ValueError(f"layers must be at least 1, got {layers}")
        space, inner = _euclidean(space, kind), _euclidean(hidden or space, kind)
        self.kind, self.aggregation = kind, aggregation
        self.in_features = in_features
        self.space = space
        self.feature_dropout = nn.Dropout(feature_dropout)
        act = None if activation == "identity" else activation
        self.network = _network(kind, (in_features, inner.dim, layers, space.dim), dropout, act)

    @classmethod
    def capabilities(cls, space: Space, options: Mapping[str, Any]) -> Capabilities:
        """Return what a network can do: GCN takes a matrix, which saves normalising it and is several times faster."""
        kind = options["kind"]
        return Capabilities(
            graph="matrix" if kind == "gcn" else "none" if kind == "mlp" else "edges",
            sparse_features=kind in ("gcn", "gat"),  # they multiply features with weights before anything else
            # SGC divides by the degrees of the graph it is given, which are not those of a part
            reach={"mlp": 0, "sgc": None}.get(kind, int(options.get("layers", 2))),
            batchable=False,
            keyed=False,
            classifies=True,
        )

    @classmethod
    def check(cls, space: Space, options: Mapping[str, Any]) -> None:
        """Raise if a layer is not Euclidean."""
        _euclidean(options.get("hidden") or space, options["kind"])

    def forward(
        self, x: Tensor | SparseMatrix, edge_index: Tensor | Adjacency | None = None, edge_weight: Tensor | None = None
    ) -> Tensor:
        """Map features to points."""
        return self.tangent(x, edge_index, edge_weight)

    def tangent(
        self, x: Tensor | SparseMatrix, edge_index: Tensor | Adjacency | None = None, edge_weight: Tensor | None = None
    ) -> Tensor:
        """Map features to tangent vectors at the origin, which are the points themselves.

        Args:
            x: Features.
            edge_index: The graph.
            edge_weight: Weights of an ``edge_index``, for ``gcn`` alone.
        """
        drop = self.feature_dropout  # of a sparse matrix, entries alone: dropping the zeros too would change nothing
        features = x.with_values(drop(x.values)).csr if isinstance(x, SparseMatrix) else drop(x)
        return self.network(features, *self._graph(x, edge_index, edge_weight))  # type: ignore[no-any-return]

    def _graph(self, x: Tensor | SparseMatrix, graph: Tensor | Adjacency | None, weight: Tensor | None) -> tuple[Tensor, ...]:
        """Return the graph as the network of PyG takes it, if it takes one."""
        if isinstance(graph, Adjacency) and graph.nodes is not None:
            raise ValueError(f"a restricted graph is for tangent-space networks, got {self.kind}")
        if self.kind == "mlp":
            return ()
        if graph is None:
            raise ValueError("a convolution needs edge_index, got None")
        if weight is not None and (self.kind != "gcn" or isinstance(graph, Adjacency)):
            raise ValueError(f"edge_weight goes with gcn and an edge_index, got it with {self.kind}")
        if self.kind == "gcn" and not isinstance(graph, Adjacency):  # edges, so that PyG's hooks and explanations see messages
            edges = Edges.read(graph, weight, Ends(x.shape[0], x.shape[0], True), self.aggregation, True)
            messages = edges.messages(*edges.coefficients(x.dtype))
            return messages.index, messages.weight
        if self.kind == "gcn":
            return (graph.matrix.csr,)  # type: ignore[union-attr]
        return (graph.edge_index if isinstance(graph, Adjacency) else graph,)

    def extra_repr(self) -> str:
        """Show the spaces."""
        return f"{self.in_features} -> {self.space}"


class AggregatingNetwork(EuclideanNetwork):
    """A network of PyTorch Geometric that takes any aggregation of neighbours: GCN."""

    options_type: ClassVar[type[Options]] = AggregatingOptions


def _euclidean(space: Space | str, kind: str) -> Space:
    space = parse_space(space) if isinstance(space, str) else space
    if space.kind != "E":
        raise ValueError(f"{kind} lives in a Euclidean space such as E16, got {space}")
    return space


def _network(kind: str, sizes: tuple[int, int, int, int], dropout: float, act: str | None) -> nn.Module:
    """Build PyTorch Geometric's network of a kind."""
    from torch_geometric import nn as pyg  # here, so that a command line that trains nothing does not wait for it

    features, inner, layers, out = sizes
    if kind == "sgc":
        network: nn.Module = pyg.SGConv(features, out, K=layers)
    elif kind == "mlp":
        network = pyg.MLP([features, *[inner] * (layers - 1), out], act=act, dropout=dropout, norm=None)
    else:
        given = {"normalize": False} if kind == "gcn" else {}  # the adjacency is normalised already
        named = {"gcn": pyg.GCN, "gat": pyg.GAT, "sage": pyg.GraphSAGE}
        network = named[kind](*sizes, dropout=dropout, act=act, **given)
    return network
