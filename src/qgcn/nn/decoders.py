"""Decoders of embeddings: probabilities of edges, scores of classes."""

import math

import torch
from torch import Tensor, nn

from qgcn.kernels.part import Part
from qgcn.manifolds import Space
from qgcn.nn.adjacency import Adjacency
from qgcn.nn.dropout import Dropout
from qgcn.nn.tangent import TangentActivation

__all__ = ["FermiDirac", "TangentClassifier"]


class FermiDirac(nn.Module):
    r"""Turn distances into the logits of edges.

    .. math:: P(u \sim v) = \frac{1}{e^{(d(u, v)^2 - r)/\tau} + 1}

    Args:
        r: Squared distance at which an edge is as likely as not.
        tau: Softness of that boundary, positive.
        learnable: Make ``r`` and ``tau`` parameters; ``tau`` stays positive.

    Shapes:
        - **input:** squared distances ``(...)``
        - **output:** logits of the probabilities ``(...)``
    """

    def __init__(self, r: float = 2.0, tau: float = 1.0, learnable: bool = True) -> None:
        super().__init__()
        if not tau > 0:
            raise ValueError(f"tau must be positive, got {tau}")
        values = torch.tensor([float(r), math.log(tau)])
        if learnable:
            self.values = nn.Parameter(values)
        else:
            self.register_buffer("values", values)

    @property
    def r(self) -> Tensor:
        """Squared distance at which an edge is as likely as not, shape ``()``."""
        return self.values[0]

    @property
    def tau(self) -> Tensor:
        """Softness of the boundary, shape ``()``."""
        return self.values[1].exp()

    def forward(self, sqdist: Tensor) -> Tensor:
        """Return the logits of edges."""
        return self.logits(sqdist)

    def logits(self, sqdist: Tensor) -> Tensor:
        """Return the logits of edges."""
        return (self.r - sqdist) / self.tau

    def overwrite(self, sqdist: Tensor) -> Tensor:
        """Return the same logits in the memory of the squared distances; without gradient."""
        return sqdist.sub_(self.r).div_(-self.tau)

    def extra_repr(self) -> str:
        """Show both numbers."""
        return f"r={self.r.item():.4g}, tau={self.tau.item():.4g}"


class TangentClassifier(nn.Module):
    r"""Multinomial logistic regression in the tangent space of the pole.

    .. math:: \operatorname{softmax}\bigl(A\,(W \sigma(\log_o(x)) + b)\bigr)

    where :math:`A` is the adjacency of the graph, if one is given: the classifier is a convolution then, the last of its model.

    Args:
        space: The space of the points.
        num_classes: Number of classes ``C``.
        activation: Applied to the tangent vectors; see :class:`TangentActivation`.
        dropout: Share of tangent coordinates dropped in training.

    Shapes:
        - **input:** points ``(N, d)``; optionally the graph
        - **output:** logits ``(N, C)``
    """

    def __init__(self, space: Space, num_classes: int, activation: str = "identity", dropout: float = 0.0) -> None:
        super().__init__()
        self.activation = TangentActivation(activation, space)
        self.dropout = Dropout(dropout)
        self.linear = nn.Linear(space.ambient_dim, num_classes)
        self._space = (space,)  # a tuple: the encoder owns it

    def forward(self, x: Tensor, graph: Adjacency | None = None) -> Tensor:
        """Return the logits of the classes."""
        return self.from_tangent(self._space[0].logmap0(x), graph)

    def from_tangent(self, u: Tensor, graph: Adjacency | None = None, part: Part | None = None) -> Tensor:
        """Do the same from tangent coordinates.

        Args:
            u: Tangent vectors, shape ``(N, d)``.
            graph: Aggregate along its last hop (default: look at each node alone).
            part: Nodes that ``u`` is of, without a graph (default: all).
        """
        hop = None if graph is None else graph.hop(-1)
        sources = part if hop is None else hop.sources
        logits: Tensor = self.linear(self.dropout(self.activation.from_tangent(u), sources))
        return logits if hop is None else hop.matrix @ logits
