"""A network with a decoder of arrows, for directed links."""

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from qgcn.models import Encoder
from qgcn.nn import Adjacency, ArrowDecoder, SparseMatrix
from qgcn.tasks.link_predictor import LinkPredictor

__all__ = ["ArrowPredictor"]

SAMPLED = 256
"""Nodes that times are measured against, at most."""


class ArrowPredictor(LinkPredictor):
    """An encoder and a decoder of ordered pairs.

    Args:
        encoder: The network.
        decoder: Turns ordered pairs of points into logits.
        reverse_weight: Weight of reversed edges among the negatives.
        mixed: Let messages pass along the arrows, then against them, by the same network, and mix what comes of both in the
            tangent space, by two weights that are learned, each 1/2 at the start.
    """

    def __init__(self, encoder: Encoder, decoder: ArrowDecoder, reverse_weight: float, mixed: bool = False) -> None:
        super().__init__(encoder, decoder)
        self.reverse_weight = reverse_weight
        self.ways = nn.Parameter(torch.full((2,), 0.5)) if mixed else None

    def embed(self, x: Tensor | SparseMatrix, graph: Adjacency) -> Tensor:
        """Return the embedding, points of shape ``(N, d)``."""
        if self.ways is None:
            return super().embed(x, graph)
        along, against = (self.encoder.tangent(x, way) for way in (graph, graph.turned))
        return self.space.expmap0(self.space.fold0(self.ways[0] * along + self.ways[1] * against))

    def loss(self, x: Tensor | SparseMatrix, graph: Adjacency, *targets: Tensor) -> Tensor:
        """Return the cross-entropy of edges, of drawn pairs, and of edges the wrong way, which have a weight of their own.

        Args:
            x: Features.
            graph: The graph.
            targets: Edges, shape ``(2, E)``, edges turned round that are none, ``(2, R)``, and drawn pairs, ``(2, E)``.
        """
        edges, turned, drawn = targets
        logits = self.pair_logits(self.embed(x, graph), torch.cat(targets, dim=1))
        right, wrong, others = logits.split([edges.shape[1], turned.shape[1], drawn.shape[1]])
        total = softplus(-right).mean() + softplus(others).mean()
        if self.reverse_weight and turned.shape[1]:
            total = total + self.reverse_weight * softplus(wrong).mean()
        return total

    @torch.no_grad()
    def times(self, points: Tensor) -> Tensor:
        r"""Return times of nodes that rise along arrows as well as any can, shape ``(N,)``.

        .. math:: t_v = \frac1{2|S|}\sum_{u \in S} \bigl(\operatorname{logit} P(u \to v) - \operatorname{logit} P(v \to u)\bigr)

        Of all pairs, this is the potential whose differences are nearest to half the log odds of one direction over the other;
        :math:`S` are all nodes, or some of them, evenly spaced.

        Args:
            points: The embedding, shape ``(N, d)``.
        """
        count = len(points)
        every = torch.arange(count, device=points.device)
        some = torch.linspace(0, count - 1, min(count, SAMPLED), device=points.device).long()
        total = torch.zeros(count, dtype=torch.float64, device=points.device)
        for node in some:
            pairs = torch.stack((node.expand(count), every))
            total += self.pair_logits(points, pairs).double() - self.pair_logits(points, pairs.flip(0)).double()
        return total / (2 * len(some))
