"""Link prediction."""

from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from qgcn import metrics
from qgcn.data import LinkSplit, split_links
from qgcn.manifolds import Space
from qgcn.models import Encoder
from qgcn.nn import Adjacency, FermiDirac, SparseMatrix
from qgcn.tasks.base import Predictor, Scores, Split, Task

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["LinkPrediction", "LinkPredictor"]


class LinkPredictor(Predictor):
    """An encoder and the Fermi-Dirac decoder of squared distances.

    Args:
        encoder: The network.
        decoder: Turns squared distances into logits.
    """

    def __init__(self, encoder: Encoder, decoder: FermiDirac) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def loss(self, x: Tensor | SparseMatrix, graph: Adjacency, *drawn: Tensor) -> Tensor:
        """Return the cross-entropy of the edges ``drawn[0]`` and the non-edges ``drawn[1]``, one as heavy as the other."""
        points = self.embed(x, graph)
        edges, others = (self._logits(points, pairs) for pairs in drawn)
        return softplus(-edges).mean() + softplus(others).mean()

    def predict(self, x: Tensor | SparseMatrix, graph: Adjacency, *queries: Tensor) -> Tensor:
        """Return the logits of pairs, shape ``(P,)``."""
        return self._logits(self.embed(x, graph), queries[0])

    def _logits(self, points: Tensor, pairs: Tensor) -> Tensor:
        sqdist = self.space.dist2(points[pairs[0]], points[pairs[1]])
        logits: Tensor = self.decoder(sqdist)
        return logits


class LinkPrediction(Task):
    """Learn some edges of a graph, and tell the others from pairs that are none.

    Scores: ``roc_auc``, ``average_precision``, ``mrr`` and ``hits@10``, ``hits@50``, ``hits@100``.

    Args:
        data: The graph.
        protocol: ``leak-free``, or ``hgcn`` for the split of the hyperbolic literature; see :func:`qgcn.data.split_links`.
        split_seed: Fixes the split.
        val: Share of validation edges.
        test: Share of test edges.
        options: As for :class:`Task`.
    """

    name: ClassVar[str] = "links"
    metric: ClassVar[str] = "roc_auc"

    def __init__(
        self,
        data: "Data",
        *,
        protocol: str = "leak-free",
        split_seed: int = 0,
        val: float = 0.05,
        test: float = 0.10,
        **options: Any,
    ) -> None:
        self.links: LinkSplit = split_links(
            data.edge_index, int(data.num_nodes or 0), val=val, test=test, protocol=protocol, seed=split_seed
        )
        super().__init__(data, **options)

    def message_edges(self, data: "Data") -> tuple[Tensor, Tensor | None]:
        """Return the training edges in both directions; weights are not used."""
        return self.links.message, None

    def build_predictor(self) -> LinkPredictor:
        """Build an encoder and a decoder."""
        return LinkPredictor(self.encoder(), FermiDirac())

    def draw(self, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Return the training edges and as many fresh non-edges."""
        return self.links.train, self.links.negatives.sample(self.links.train.shape[1], generator)

    def queries(self, split: Split) -> tuple[Tensor, ...]:
        """Return the edges of a split, then its non-edges."""
        return (torch.cat(self._pairs(split), dim=1),)

    def _pairs(self, split: Split) -> tuple[Tensor, Tensor]:
        if split == "train":
            raise ValueError("training edges have no fixed non-edges to be scored against")
        positive, negative = getattr(self.links, split), getattr(self.links, f"{split}_negative")
        return positive, negative

    def selection(self, prediction: Tensor, space: Space) -> Tensor:
        """Return the area under the ROC curve on validation."""
        count = self.links.val.shape[1]
        return metrics.roc_auc(prediction[:count], prediction[count:]).double()

    def score(self, prediction: Tensor, split: Split, space: Space) -> Scores:
        """Return ranking scores."""
        count = self._pairs(split)[0].shape[1]
        positive, negative = prediction[:count], prediction[count:]
        scores = {
            "roc_auc": metrics.roc_auc(positive, negative),
            "average_precision": metrics.average_precision(positive, negative),
            "mrr": metrics.mean_reciprocal_rank(positive, negative),
        }
        scores |= {f"hits@{k}": metrics.hits_at(positive, negative, k) for k in (10, 50, 100) if k <= count}
        return {name: float(value) for name, value in scores.items()}

    def to(self, device: torch.device, dtype: torch.dtype) -> None:
        """Move all tensors."""
        super().to(device, dtype)
        self.links = self.links.to(device)
