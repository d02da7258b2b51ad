"""Many convolutions with an initial residual and near-identity weights, in the tangent space of any space."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from qgcn.manifolds import Space
from qgcn.models.encoder import Capabilities, Encoder, Options
from qgcn.models.layers import Activation, fresh_space, hidden_space, matrix_of
from qgcn.nn import Adjacency, Dropout, QLinear, SparseMatrix, TangentActivation

__all__ = ["Deep", "DeepOptions"]


class DeepOptions(Options):
    """Options of a deep network."""

    layers: int = Field(
        8,
        ge=1,
        le=64,
        description="Number of convolutions between the two linear layers.",
        json_schema_extra={"search": [4, 8, 16]},
    )
    hidden: str | None = Field(None, description="Space of all layers but the last; the same as the last if not given.")
    residual: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Share of the first layer's output in every convolution.",
        json_schema_extra={"search": [0.1, 0.2, 0.5]},
    )
    identity: float = Field(
        0.5, gt=0, description="How far the weights of a layer are from the identity; layer l has log(1 + x/l)."
    )
    activation: Activation = Field("relu", description="Tangential activation of each layer.")
    aggregation: Literal["sum", "mean", "sym"] = Field("sym", description="Aggregation of neighbours.")
    bias: bool = Field(True, description="Translate by a learned bias in both linear layers.")
    beta: float | None = Field(
        None,
        lt=0,
        description="Initial beta; the curvature is 1/beta. By default -16 on spheres and with two or more time dimensions, "
        "-1 elsewhere.",
    )
    learnable: bool = Field(True, description="Learn the curvatures.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Share of tangent coordinates dropped before each layer.")
    feature_dropout: float = Field(0.0, ge=0, lt=1, description="Share of input features dropped.")


class Deep(Encoder):
    r"""A network of many convolutions in the tangent space, each of which sees the first layer's output again.

    .. math:: u_0 = \sigma\Bigl(\widehat\log_o\bigl(\widehat\exp_o(W x) \oplus b\bigr)\Bigr), \qquad
        u_l = \sigma\Bigl(\bigl((1-\alpha) A u_{l-1} + \alpha u_0\bigr)\bigl((1-\lambda_l) I + \lambda_l W_l\bigr)\Bigr),
        \qquad \lambda_l = \log(1 + \lambda / l)

    A linear layer carries the last one to the space of the embeddings. The share :math:`\alpha` of the start (``residual``)
    keeps nodes apart however many layers there are, and weights near the identity keep gradients alive.

    Args:
        in_features: Number of Euclidean features.
        space: The space of the embeddings, or its name.
        layers: Number of convolutions, at least 1.
        hidden: The space of the layers, or its name; ``space`` if none is given.
        residual: :math:`\alpha`.
        identity: :math:`\lambda`.
        activation: Tangential activation :math:`\sigma`.
        aggregation: Aggregation of neighbours, for graphs given as ``edge_index``.
        bias: Translate by a learned bias in both linear layers.
        beta: Where the curvatures ``1 / beta`` start (default: each space's own).
        learnable: Learn the curvatures.
        dropout: Share of tangent coordinates dropped before each layer, in training.
        feature_dropout: Share of the input features dropped, in training.

    Shapes:
        - **input:** features ``(N, in_features)``, dense or sparse; ``edge_index`` or an :class:`~qgcn.nn.Adjacency`
        - **output:** points ``(N, d)``
    """

    options_type: ClassVar[type[Options]] = DeepOptions

    def __init__(
        self,
        in_features: int,
        space: Space | str = "Q15,1",
        *,
        layers: int = 8,
        hidden: Space | str | None = None,
        residual: float = 0.1,
        identity: float = 0.5,
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
        if not 0 <= residual <= 1:
            raise ValueError(f"residual must be in [0, 1], got {residual}")

        fresh = partial(fresh_space, beta=beta, learnable=learnable)
        inside = fresh(space if hidden is None else hidden)
        self.in_features, self.residual, self.aggregation = in_features, residual, aggregation
        self.enter = QLinear(in_features, inside, bias=bias)
        self.weights = nn.Parameter(torch.empty(layers, inside.ambient_dim, inside.ambient_dim))
        self.strengths = tuple(math.log1p(identity / (index + 1)) for index in range(layers))
        self.activation = TangentActivation(activation, inside)
        self.leave = QLinear(inside, space if isinstance(space, Space) else fresh(space), bias=bias, own_in_space=False)
        self.feature_dropout = Dropout(feature_dropout)
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in range(layers + 1))
        for each in self.weights:
            nn.init.xavier_uniform_(each)

    @property
    def space(self) -> Space:  # type: ignore[override]
        """The space of the embeddings."""
        return self.leave.space

    @classmethod
    def capabilities(cls, space: Space, options: Mapping[str, Any]) -> Capabilities:
        """Return what a network with these options can do."""
        traceable = space.traceable and hidden_space(space, options).traceable
        return Capabilities(batchable=traceable, recordable=traceable, reach=int(options.get("layers", 8)))

    @classmethod
    def check(cls, space: Space, options: Mapping[str, Any]) -> None:
        """Raise if the hidden space has no name that is known."""
        hidden_space(space, options)

    @classmethod
    def width(cls, space: Space, options: Mapping[str, Any]) -> int:
        """Return the number of coordinates of a node in all layers together."""
        return hidden_space(space, options).ambient_dim * (int(options.get("layers", 8)) + 1) + space.ambient_dim

    def tangent(self, x: Tensor | SparseMatrix, graph: Adjacency | Tensor | None = None) -> Tensor:
        """Map features to tangent coordinates at the origin, shape ``(N, d)``.

        Args:
            x: Features.
            graph: The graph.
        """
        matrix = matrix_of(graph, x, self.in_features, self.aggregation)
        part = matrix.sources
        start = u = self.activation.from_tangent(self.enter.from_tangent(self.feature_dropout(x, part)))
        rest = self.residual * start
        for weight, strength, dropout in zip(self.weights, self.strengths, self.dropouts, strict=False):
            mixed = (1 - self.residual) * (matrix @ dropout(u, part)) + rest
            mixed = (1 - strength) * mixed + strength * (mixed @ weight.to(mixed.dtype))
            u = self.activation.from_tangent(self.enter.space.fold0(mixed))
        return self.leave.from_tangent(self.dropouts[-1](u, part))

    def extra_repr(self) -> str:
        """Show sizes and layers."""
        return f"{self.in_features} -> {self.enter.space} -> {self.space}, layers={len(self.strengths)}"
