"""A network with a decoder of pairs, for link prediction."""

import torch
from torch import Tensor
from torch.nn.functional import softplus

from qgcn.models import Encoder
from qgcn.nn import Adjacency, PairDecoder, SparseMatrix
from qgcn.tasks.predictor import PairPredictor

__all__ = ["LinkPredictor"]


class LinkPredictor(PairPredictor):
    """An encoder and a decoder of pairs.

    Args:
        encoder: The network.
        decoder: Turns pairs of points into logits.
    """

    def __init__(self, encoder: Encoder, decoder: PairDecoder) -> None:
        super().__init__(encoder)
        self.decoder = decoder

    def loss(self, x: Tensor | SparseMatrix, graph: Adjacency, *targets: Tensor) -> Tensor:
        """Return the cross-entropy of edges and of non-edges, one as heavy as the other."""
        logits = self.pair_logits(self.embed(x, graph), torch.cat(targets, dim=1))
        edges, others = logits.tensor_split((targets[0].shape[1],))
        return softplus(-edges).mean() + softplus(others).mean()

    def predict(self, x: Tensor | SparseMatrix, graph: Adjacency, *targets: Tensor) -> Tensor:
        """Return the logits of pairs, shape ``(P,)``."""
        return self.pair_logits(self.embed(x, graph), targets[0])

    def pair_logits(self, points: Tensor, pairs: Tensor) -> Tensor:
        """Return the logits of pairs from their points."""
        return self.decoder.decode(points, pairs, self.space)

    @torch.no_grad()
    def row_logits(self, points: Tensor, nodes: Tensor) -> Tensor:
        """Return the logits of some nodes with all nodes."""
        return self.decoder.rows(points, nodes, self.space)
