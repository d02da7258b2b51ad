"""A network with a decoder of arrows, for directed links."""

import torch
from torch import Tensor
from torch.nn.functional import softplus

from qgcn.models import Encoder
from qgcn.nn import Adjacency, ArrowDecoder, SparseMatrix
from qgcn.tasks.link_predictor import LinkPredictor

__all__ = ["ArrowPredictor"]


class ArrowPredictor(LinkPredictor):
    """An encoder and a decoder of ordered pairs.

    Args:
        encoder: The network.
        decoder: Turns ordered pairs of points into logits.
        reverse_weight: Weight of reversed edges among the negatives.
    """

    def __init__(self, encoder: Encoder, decoder: ArrowDecoder, reverse_weight: float) -> None:
        super().__init__(encoder, decoder)
        self.reverse_weight = reverse_weight

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

    def times(self, points: Tensor) -> Tensor | None:
        """Return what the decoder takes for the times of points, shape ``(N,)``, which rise along edges; ``None`` without."""
        decoder, found = self.decoder, None
        if isinstance(decoder, ArrowDecoder):
            found = decoder.times(self.space.logmap0(points))
        return found
