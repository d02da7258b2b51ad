"""A graph transformer: attention to all nodes by signed squared distance, beside convolutions."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Literal

from pydantic import Field
from torch import Tensor, nn

from qgcn.manifolds import Space, parse_space
from qgcn.models.encoder import Capabilities, Encoder, Options
from qgcn.models.layers import Activation, fresh_space, hidden_space, matrix_of
from qgcn.nn import Adjacency, Dropout, GlobalAttention, QLinear, SparseMatrix, TangentActivation

__all__ = ["Transformer", "TransformerOptions"]


class TransformerOptions(Options):
    """Options of a graph transformer."""

    layers: int = Field(
        1,
        ge=1,
        le=64,
        description="Number of layers of attention; a convolution comes last.",
        json_schema_extra={"search": [1, 2]},
    )
    hidden: str | None = Field(None, description="Space of all layers but the last; the same as the last if not given.")
    head_spaces: str | None = Field(
        None, description="Space of each head of attention, such as 'Q3,1 Q2,2 E4'; one, the last layer's, if not given."
    )
    energy: Literal["distance", "chord"] = Field(
        "distance", description="Attend by the signed squared distance, or by the squared chord, a dot product."
    )
    two_points: bool = Field(False, description="Give nodes points to be heard at beside those they listen from.")
    activation: Activation = Field("relu", description="Tangential activation of each layer.")
    aggregation: Literal["sum", "mean", "sym"] = Field("sym", description="Aggregation of neighbours.")
    bias: bool = Field(True, description="Translate by a learned bias in linear layers.")
    beta: float | None = Field(
        None,
        lt=0,
        description="Initial beta; the curvature is 1/beta. By default -16 on spheres and with two or more time dimensions, "
        "-1 elsewhere.",
    )
    learnable: bool = Field(True, description="Learn the curvatures.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Share of tangent coordinates dropped before each layer.")
    feature_dropout: float = Field(0.0, ge=0, lt=1, description="Share of input features dropped.")


class Transformer(Encoder):
    r"""A graph transformer over any spaces: in each layer a convolution, attention to all nodes and a residual.

    .. math:: u_0 = \sigma(W x), \qquad u_l = \sigma\bigl(u_{l-1} + A u_{l-1} C_l + \operatorname{Att}_l(u_{l-1})\bigr),
        \qquad z = \widehat\exp_o\bigl(A\, W' u_L\bigr)

    in tangent coordinates, linear layers with a translation by a bias. The attention, :class:`~qgcn.nn.GlobalAttention`, is
    exact over all pairs of nodes: its time grows with their number squared, its memory does not.

    Args:
        in_features: Number of Euclidean features.
        space: The space of the embeddings, or its name.
        layers: Number of layers of attention, at least 1.
        hidden: The space of the layers, or its name; ``space`` if none is given.
        head_spaces: Names of the spaces of the heads, separated by blanks (default: one head in ``space``).
        energy: ``distance`` or ``chord``.
        two_points: Give nodes points of their own to be heard at.
        activation: Tangential activation :math:`\sigma`.
        aggregation: Aggregation of neighbours, for graphs given as ``edge_index``.
        bias: Translate by a learned bias.
        beta: Where the curvatures ``1 / beta`` start (default: each space's own).
        learnable: Learn the curvatures.
        dropout: Share of tangent coordinates dropped before each layer, in training.
        feature_dropout: Share of the input features dropped, in training.

    Shapes:
        - **input:** features ``(N, in_features)``, dense or sparse; ``edge_index`` or an :class:`~qgcn.nn.Adjacency`
        - **output:** points ``(N, d)``
    """

    options_type: ClassVar[type[Options]] = TransformerOptions

    def __init__(
        self,
        in_features: int,
        space: Space | str = "Q15,1",
        *,
        layers: int = 1,
        hidden: Space | str | None = None,
        head_spaces: str | None = None,
        energy: Literal["distance", "chord"] = "distance",
        two_points: bool = False,
        activation: Activation = "relu",
        aggregation: Literal["sum", "mean", "sym"] = "sym",
        bias: bool = True,
        beta: float | None = None,
        learnable: bool = True,
        dropout: float = 0.0,
        feature_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if in_features < 1:
            raise ValueError(f"in_features must be at least 1, got {in_features}")
        if layers < 1:
            raise ValueError(f"layers must be at least 1, got {layers}")

        fresh = partial(fresh_space, beta=beta, learnable=learnable)
        inside = fresh(space if hidden is None else hidden)
        size = inside.ambient_dim
        heads = head_spaces.split() if head_spaces else [space]
        self.in_features, self.aggregation = in_features, aggregation
        self.enter = QLinear(in_features, inside, bias=bias)
        self.attentions = nn.ModuleList(
            GlobalAttention(size, [fresh(each) for each in heads], energy=energy, two_points=two_points, bias=bias)
            for _ in range(layers)
        )
        self.convolutions = nn.ModuleList(nn.Linear(size, size, bias=False) for _ in range(layers))
        self.activation = TangentActivation(activation, inside)
        self.leave = QLinear(inside, space if isinstance(space, Space) else fresh(space), bias=bias, own_in_space=False)
        self.feature_dropout = Dropout(feature_dropout)
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in range(layers + 1))
        for each in self.convolutions:
            nn.init.xavier_uniform_(each.weight)  # type: ignore[arg-type]

    @property
    def space(self) -> Space:  # type: ignore[override]
        """The space of the embeddings."""
        return self.leave.space

    @classmethod
    def capabilities(cls, space: Space, options: Mapping[str, Any]) -> Capabilities:
        """Return what a network with these options can do: seeds are trained one after the other."""
        return Capabilities(batchable=False)

    @classmethod
    def check(cls, space: Space, options: Mapping[str, Any]) -> None:
        """Raise if a space has no name that is known, or no chords."""
        hidden_space(space, options)
        for each in _heads(space, options):
            if options.get("energy") == "chord" and each.factors is None:
                raise ValueError(f"attention by the chord needs heads of flat factors and quadrics, got {each}")

    @classmethod
    def width(cls, space: Space, options: Mapping[str, Any]) -> int:
        """Return the number of coordinates of a node in all layers together."""
        size, heads = hidden_space(space, options).ambient_dim, _heads(space, options)
        points = sum(2 * each.ambient_dim for each in heads)
        return (4 * size + points) * int(options.get("layers", 1)) + space.ambient_dim

    def tangent(self, x: Tensor | SparseMatrix, graph: Adjacency | Tensor | None = None) -> Tensor:
        """Map features to tangent coordinates at the origin, shape ``(N, d)``.

        Args:
            x: Features.
            graph: The graph.
        """
        matrix = matrix_of(graph, x, self.in_features, self.aggregation)
        u = self.activation.from_tangent(self.enter.from_tangent(self.feature_dropout(x)))
        for attention, convolution, dropout in zip(self.attentions, self.convolutions, self.dropouts, strict=False):
            v = dropout(u)
            mixed = u + matrix @ convolution(v) + attention(v, matrix)
            u = self.activation.from_tangent(self.enter.space.fold0(mixed))
        return self.space.fold0(matrix @ self.leave.from_tangent(self.dropouts[-1](u)))

    def extra_repr(self) -> str:
        """Show the path through the spaces."""
        return f"{self.in_features} -> {self.enter.space} -> {self.space}"


def _heads(space: Space, options: Mapping[str, Any]) -> list[Space]:
    """Return the spaces of the heads."""
    given = options.get("head_spaces")
    return [parse_space(each) for each in given.split()] if given else [space]
