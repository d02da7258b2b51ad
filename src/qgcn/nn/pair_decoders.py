"""Decoders of pairs: the logit of an edge from the points of its ends."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from qgcn.kernels.pairs import distances_from
from qgcn.manifolds import Space
from qgcn.nn.decoders import FermiDirac

__all__ = ["BilinearForm", "Distance", "InnerProduct", "PairDecoder", "SquaredDistance", "metric_signs"]


class PairDecoder(nn.Module, ABC):
    """Tells how probable an edge between two points is.

    Shapes:
        - **input:** points ``(P, d)`` and ``(P, d)`` of one space
        - **output:** logits ``(P,)``
    """

    @abstractmethod
    def pairs(self, x: Tensor, y: Tensor, space: Space) -> Tensor:
        """Return the logits of edges between ``x`` and ``y``, row by row."""

    @abstractmethod
    def rows(self, points: Tensor, nodes: Tensor, space: Space) -> Tensor:
        """Return the logits of some points with all of them, shape ``(n, N)``, without gradient; the caller may overwrite them.

        Args:
            points: All points, shape ``(N, d)``.
            nodes: Positions of some of them, shape ``(n,)``.
            space: Their space.
        """

    def decode(self, points: Tensor, pairs: Tensor, space: Space) -> Tensor:
        """Return the logits of pairs of nodes, shape ``(P,)``.

        Args:
            points: All points, shape ``(N, d)``.
            pairs: Positions of both nodes of each pair, shape ``(2, P)``.
            space: Their space.
        """
        return self.pairs(points[pairs[0]], points[pairs[1]], space)

    def forward(self, x: Tensor, y: Tensor, space: Space) -> Tensor:
        """Return the logits of edges between ``x`` and ``y``, row by row."""
        return self.pairs(x, y, space)


class SquaredDistance(FermiDirac, PairDecoder):
    r"""The Fermi-Dirac decoder of squared distances: an edge is as likely as not where :math:`d^2 = r`.

    Args:
        r: Squared distance at which an edge is as likely as not.
        tau: Softness of that boundary, positive.
        learnable: Make ``r`` and ``tau`` parameters.
    """

    def pairs(self, x: Tensor, y: Tensor, space: Space) -> Tensor:
        """Return the logits of edges between ``x`` and ``y``, row by row."""
        return self.logits(space.dist2(x, y))

    @torch.no_grad()
    def rows(self, points: Tensor, nodes: Tensor, space: Space) -> Tensor:
        """Return the logits of some points with all of them."""
        return self.overwrite(distances_from(points, nodes, space).square_())

    def forward(self, x: Tensor, y: Tensor, space: Space) -> Tensor:  # type: ignore[override]
        """Return the logits of edges between ``x`` and ``y``, row by row."""
        return self.pairs(x, y, space)


class Distance(SquaredDistance):
    r"""The Fermi-Dirac decoder of plain distances, as in the paper: an edge is as likely as not where :math:`d = r`."""

    def pairs(self, x: Tensor, y: Tensor, space: Space) -> Tensor:
        """Return the logits of edges between ``x`` and ``y``, row by row."""
        return self.logits(space.dist(x, y))

    @torch.no_grad()
    def rows(self, points: Tensor, nodes: Tensor, space: Space) -> Tensor:
        """Return the logits of some points with all of them."""
        return self.overwrite(distances_from(points, nodes, space))


class InnerProduct(PairDecoder):
    r"""The inner product of tangent coordinates at the origin, time counted negative.

    .. math:: \operatorname{logit} P(u \sim v) = a \langle \log_o x_u, \log_o x_v \rangle + b, \qquad a > 0

    In a Euclidean space it is the decoder of graph autoencoders. With time dimensions it is indefinite: it can say that two
    nodes alike are *not* linked, which no inner product of a Euclidean space can.

    Args:
        space: The space of the points.
    """

    signs: Tensor

    def __init__(self, space: Space) -> None:
        super().__init__()
        self.register_buffer("signs", metric_signs(space), persistent=False)
        self.values = nn.Parameter(torch.zeros(2))  # logarithm of the scale, and the bias

    def form(self) -> Tensor:
        """Return the weight of each coordinate, shape ``(d,)``."""
        return self.signs * self.values[0].exp()

    def pairs(self, x: Tensor, y: Tensor, space: Space) -> Tensor:
        """Return the logits of edges between ``x`` and ``y``, row by row."""
        return (space.logmap0(x) * self.form().to(x.dtype) * space.logmap0(y)).sum(-1) + self.values[1]

    @torch.no_grad()
    def rows(self, points: Tensor, nodes: Tensor, space: Space) -> Tensor:
        """Return the logits of some points with all of them."""
        u = space.logmap0(points)
        return torch.addmm(self.values[1].to(u.dtype), u[nodes] * self.form().to(u.dtype), u.mT)


class BilinearForm(InnerProduct):
    r"""A learned symmetric form of tangent coordinates at the origin, which starts as the inner product.

    .. math:: \operatorname{logit} P(u \sim v) = \sum_i w_i (\log_o x_u)_i (\log_o x_v)_i + b

    A weight may change its sign: the signature of the form is learned.

    Args:
        space: The space of the points.
    """

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.weights = nn.Parameter(self.signs.clone())

    def form(self) -> Tensor:
        """Return the weight of each coordinate, shape ``(d,)``."""
        return self.weights * self.values[0].exp()


def metric_signs(space: Space) -> Tensor:
    """Return the signs of tangent coordinates at the origin: -1 for the times of a pseudo-hyperboloid, 1 elsewhere."""
    parts = []
    for part in space.parts:
        indefinite = part.kind == "Q" and part.time_dim < part.ambient_dim  # a sphere of times alone is Riemannian
        at = torch.arange(part.ambient_dim)
        parts.append(torch.where((at < part.time_dim) & torch.tensor(indefinite), -1.0, 1.0))
    return torch.cat(parts)
