"""One linear map and many steps of propagation, whose weights are learned."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from qgcn.manifolds import Space, parse_space
from qgcn.models.encoder import Capabilities, Encoder, Options
from qgcn.models.layers import matrix_of
from qgcn.nn import Adjacency, Dropout, QLinear, SparseMatrix, halves_of

__all__ = ["Propagation", "PropagationOptions"]


class PropagationOptions(Options):
    """Options of propagation."""

    steps: int = Field(5, ge=0, le=64, description="Number of propagation steps.", json_schema_extra={"search": [2, 3, 5, 8]})
    aggregation: Literal["sum", "mean", "sym"] = Field("sym", description="Aggregation of neighbours.")
    along: Literal["arrows", "against", "both", "alternating", "phases"] = Field(
        "arrows",
        description="Way along directed edges: with the arrows or against them, both in a learned mix, alternating between "
        "what a node is as a source and as a target, or both as complex numbers with opposite phases.",
    )
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

    Where edges have a direction, :math:`A` aggregates along the arrows. With another way than these, each step is the mean of
    what is there and of what comes, with learned weights, 1 at the start:

    ===============  ==============================================================================================
    ``against``      :math:`2u' = u + w A^\top u`
    ``both``         :math:`2u' = u + w A u + v A^\top u`, the weights 1/2 at the start
    ``alternating``  :math:`2a' = a + w A^\top b,\; 2b' = b + v A a`
    ``phases``       :math:`2z' = z + \frac w2 (e^{i\varphi} A + e^{-i\varphi} A^\top) z` of :math:`z = a + ib`
    ===============  ==============================================================================================

    with :math:`a` and :math:`b` the halves of the free coordinates, what a node is as a source and as a target: a source is
    like those that point where it points. ``phases`` is the complex aggregation of magnetic networks, its angle learned.

    Args:
        in_features: Number of Euclidean features.
        space: The space of the embeddings, or its name.
        steps: Number of propagation steps :math:`K`.
        along: Way along directed edges (default: with the arrows).
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
    halves: Tensor

    def __init__(
        self,
        in_features: int,
        space: Space | str = "Q15,1",
        *,
        steps: int = 5,
        aggregation: Literal["sum", "mean", "sym"] = "sym",
        along: Literal["arrows", "against", "both", "alternating", "phases"] = "arrows",
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
        self.along = along
        if along == "arrows":
            self.gains = nn.Parameter(torch.ones(steps + 1))
        else:
            start = {"both": [0.5, 0.5], "alternating": [1.0, 1.0], "phases": [1.0, math.pi / 4]}
            self.gains = nn.Parameter(torch.tensor(start.get(along, [1.0])).repeat(steps, 1))
            self.register_buffer("halves", halves_of(self.space), persistent=False)
        self.feature_dropout, self.dropout = Dropout(feature_dropout), Dropout(dropout)

    @property
    def space(self) -> Space:  # type: ignore[override]
        """The space of the embeddings."""
        return self.linear.space

    @classmethod
    def capabilities(cls, space: Space, options: Mapping[str, Any]) -> Capabilities:
        """Return what a network with these options can do."""
        able, directed = space.traceable, options.get("along", "arrows") != "arrows"
        # what is drawn are edges that lead to a node: those that lead from it are not all there
        reach = None if directed else int(options.get("steps", 5))
        return Capabilities(batchable=able, recordable=able, reach=reach, directed=directed)

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
        if self.along != "arrows":
            for gain in self.gains:
                u = (u + self._step(u, gain, *matrix.arrows)) / 2  # tangent vectors stay as long as they are
            return self.space.fold0(u)
        total = self.gains[0] * u
        for gain in self.gains[1:]:
            u = matrix @ u
            total = total + gain * u
        return self.space.fold0(total)

    def _step(self, u: Tensor, gain: Tensor, along: SparseMatrix, against: SparseMatrix) -> Tensor:
        """Return what a step adds."""
        if self.along == "against":
            return gain[0] * (against @ u)
        if self.along == "both":
            return gain[0] * (along @ u) + gain[1] * (against @ u)
        sources, targets = self.halves
        a, b = u.index_select(1, sources), u.index_select(1, targets)
        if self.along == "alternating":
            more, other = gain[0] * (against @ b), gain[1] * (along @ a)
        else:
            width = a.shape[1]
            forth, back = (matrix @ torch.cat((a, b), dim=1) for matrix in (along, against))
            even, odd = (gain[0] / 2 * gain[1].cos() * (forth + back), gain[0] / 2 * gain[1].sin() * (forth - back))
            more, other = even[:, :width] - odd[:, width:], even[:, width:] + odd[:, :width]
        return torch.zeros_like(u).index_add(1, sources, more).index_add(1, targets, other)

    def extra_repr(self) -> str:
        """Show sizes and steps."""
        return f"{self.in_features} -> {self.space}, steps={self.steps}"
