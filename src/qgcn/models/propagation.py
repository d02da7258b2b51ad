"""One linear map and many steps of propagation, whose weights are learned."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from qgcn.manifolds import Space, parse_space
from qgcn.models.encoder import Capabilities, Encoder, Options
from qgcn.models.layers import matrix_of
from qgcn.nn import Adjacency, Dropout, QLinear, SparseMatrix

__all__ = ["Propagation", "PropagationOptions"]


class PropagationOptions(Options):
    """Options of propagation."""

    steps: int = Field(5, ge=0, le=64, description="Number of propagation steps.", json_schema_extra={"search": [2, 3, 5, 8]})
    aggregation: Literal["sum", "mean", "sym"] = Field("sym", description="Aggregation of neighbours.")
    bias: bool = Field(True, description="Translate by a learned bias before the first step.")
    beta: float | None = Field(
        None,
        lt=0,
        description="Initial beta; the curvature is 1/beta. By default -16 on spheres and with two or more time dimensions, "
        "-1 elsewhere.",
    )
    learnable: bool = Field(True, description="Learn the curvature.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Share of tangent coordinates dropped before the first step.")
    feature_dropout: float = Field(0.0, ge=0, lt=1, description="Share of input features dropped.")


class Propagation(Encoder):
    r"""A linear network that mixes what is 0, 1, ..., K steps away, in the tangent space of the origin.

    .. math:: u = \sum_{k=0}^{K} g_k A^k u_0, \qquad u_0 = \widehat\log_o\bigl(\widehat\exp_o(W x) \oplus b\bigr),
        \qquad z = \widehat\exp_o(u)

    where :math:`A` is the aggregation of neighbours and the :math:`g_k` are learned, each 1 at the start.

    Args:
        in_features: Number of Euclidean features.
        space: The space of the embeddings, or its name.
        steps: Number of propagation steps :math:`K`.
        aggregation: Aggregation of neighbours, for graphs given as ``edge_index``.
        bias: Translate by a learned bias.
        beta: Where the curvature ``1 / beta`` starts (default: the space's own).
        learnable: Learn the curvature.
        dropout: Share of tangent coordinates dropped before the first step, in training.
        feature_dropout: Share of the input features dropped, in training.

    Shapes:
        - **input:** features ``(N, in_features)``, dense or sparse; ``edge_index`` or an :class:`~qgcn.nn.Adjacency`
        - **output:** points ``(N, d)``
    """

    options_type: ClassVar[type[Options]] = PropagationOptions

    def __init__(
        self,
        in_features: int,
        space: Space | str = "Q15,1",
        *,
        steps: int = 5,
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
        if steps < 0:
            raise ValueError(f"steps must be at least 0, got {steps}")
        self.in_features, self.steps, self.aggregation = in_features, steps, aggregation
        space = parse_space(space, beta=beta, learnable=learnable) if isinstance(space, str) else space
        self.linear = QLinear(in_features, space, bias=bias)
        self.gains = nn.Parameter(torch.ones(steps + 1))
        self.feature_dropout, self.dropout = Dropout(feature_dropout), Dropout(dropout)

    @property
    def space(self) -> Space:  # type: ignore[override]
        """The space of the embeddings."""
        return self.linear.space

    @classmethod
    def capabilities(cls, space: Space, options: Mapping[str, Any]) -> Capabilities:
        """Return what a network with these options can do."""
        able = space.traceable
        return Capabilities(batchable=able, recordable=able, reach=int(options.get("steps", 5)))

    @classmethod
    def width(cls, space: Space, options: Mapping[str, Any]) -> int:
        """Return the number of coordinates of a node in all steps together."""
        return space.ambient_dim * (int(options.get("steps", 5)) + 1)

    def tangent(self, x: Tensor | SparseMatrix, graph: Adjacency | Tensor | None = None) -> Tensor:
        """Map features to tangent coordinates at the origin, shape ``(N, d)``.

        Args:
            x: Features.
            graph: The graph.
        """
        matrix = matrix_of(graph, x, self.in_features, self.aggregation)
        part = matrix.sources
        u = self.dropout(self.linear.from_tangent(self.feature_dropout(x, part)), part)
        total = self.gains[0] * u
        for gain in self.gains[1:]:
            u = matrix @ u
            total = total + gain * u
        return self.space.fold0(total)

    def extra_repr(self) -> str:
        """Show sizes and steps."""
        return f"{self.in_features} -> {self.space}, steps={self.steps}"
