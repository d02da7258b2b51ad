"""Link prediction."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import softplus

from qgcn import metrics
from qgcn.data import LinkSplit, split_links
from qgcn.manifolds import Space
from qgcn.models import Encoder
from qgcn.nn import Adjacency, FermiDirac, SparseMatrix
from qgcn.tasks.config import Config
from qgcn.tasks.insights import Column, Quality, auc_by_degree
from qgcn.tasks.predictor import Predictor
from qgcn.tasks.registry import register_task
from qgcn.tasks.task import Rung, Scores, Split, Task

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["LinkConfig", "LinkPrediction", "LinkPredictor"]


class LinkConfig(Config):
    """Settings of link prediction."""

    task: Literal["links"] = "links"
    protocol: Literal["leak-free", "hgcn"] = Field("leak-free", description="Protocol of the split of edges.")
    val: float = Field(0.05, gt=0, lt=1, description="Share of the edges kept for validation.")
    test: float = Field(0.10, gt=0, lt=1, description="Share of the edges kept for the test.")

    defaults: ClassVar[dict[str, Any]] = {
        "aggregation": "mean",
        "feature_dropout": 0.5,
        "edge_dropout": 0.5,
        "weight_decay": 0.0005,
        "epochs": 400,
        "patience": 100,
    }


class LinkPredictor(Predictor):
    """An encoder and the Fermi-Dirac decoder of squared distances.

    Args:
        encoder: The network.
        decoder: Turns squared distances into logits.
    """

    def __init__(self, encoder: Encoder, decoder: FermiDirac) -> None:
        super().__init__(encoder)
        self.decoder = decoder

    def loss(self, x: Tensor | SparseMatrix, graph: Adjacency, *targets: Tensor) -> Tensor:
        """Return the cross-entropy of edges and of non-edges, one as heavy as the other."""
        points = self.embed(x, graph)
        edges, others = (self._logits(points, pairs) for pairs in targets)
        return softplus(-edges).mean() + softplus(others).mean()

    def predict(self, x: Tensor | SparseMatrix, graph: Adjacency, *targets: Tensor) -> Tensor:
        """Return the logits of pairs, shape ``(P,)``."""
        return self._logits(self.embed(x, graph), targets[0])

    def _logits(self, points: Tensor, pairs: Tensor) -> Tensor:
        sqdist = self.space.dist2(points[pairs[0]], points[pairs[1]])
        logits: Tensor = self.decoder(sqdist)
        return logits


@register_task
class LinkPrediction(Task[LinkConfig]):
    """Learn some edges of a graph, and tell the others from non-edges.

    Scores: ``roc_auc``, ``average_precision``, ``mrr`` and ``hits@10``, ``hits@50``, ``hits@100``. Messages pass along training
    edges, without weights.
    """

    name: ClassVar[str] = "links"
    metric: ClassVar[str] = "roc_auc"
    config_type: ClassVar[type[Config]] = LinkConfig
    eval_every: ClassVar[int] = 5
    rungs: ClassVar[tuple[Rung, ...]] = (Rung(1, 35, 1), Rung(1 / 3, 90, 1), Rung(1 / 6, 120, 2))

    purpose: ClassVar[str] = "Learn some edges of a graph, and tell the others from non-edges."
    example: ClassVar[str] = "qgcn train links --data friends.csv --space Q15,1 --seeds 5"
    aim: ClassVar[str] = "so that points of linked nodes are near each other"
    titles: ClassVar[dict[str, str]] = {"roc_auc": "ROC AUC", "mrr": "MRR"}

    @classmethod
    def make_split(cls, data: "Data", config: LinkConfig) -> dict[str, Tensor]:
        """Split the edges; see :func:`qgcn.data.split_links`."""
        shares = {"val": config.val, "test": config.test}
        nodes = int(data.num_nodes or 0)
        return split_links(data.edge_index, nodes, **shares, protocol=config.protocol, seed=config.split_seed).parts()

    def prepare(self) -> None:
        """Build the split from its parts."""
        self.links: LinkSplit = LinkSplit.of(self.split, self.num_nodes, self.config.protocol).to(self.device)

    def message_edges(self) -> tuple[Tensor, Tensor | None]:
        """Return the training edges in both directions; weights are not used."""
        return self.links.message.cpu(), None

    def build_predictor(self) -> LinkPredictor:
        """Build an encoder and a decoder."""
        return LinkPredictor(self.build_encoder(), FermiDirac())

    def draw(self, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Draw as many fresh non-edges as there are training edges."""
        return (self.links.negatives.sample(self.links.train.shape[1], generator),)

    def targets(self, split: Split) -> tuple[Tensor, ...]:
        """Return the training edges; or the edges of a split, then its non-edges."""
        if split == "train":
            return (self.links.train,)
        return (torch.cat((getattr(self.links, split), getattr(self.links, f"{split}_negative")), dim=1),)

    def selection(self, prediction: Tensor, space: Space) -> Tensor:
        """Return the area under the ROC curve on validation."""
        count = self.links.val.shape[1]
        return metrics.roc_auc(prediction[:count], prediction[count:]).double()

    def score(self, prediction: Tensor, split: Split, space: Space) -> Scores:
        """Return ranking scores."""
        if split == "train":
            raise ValueError("training edges have no fixed non-edges to be scored against")
        count = getattr(self.links, split).shape[1]
        positive, negative = prediction[:count], prediction[count:]
        scores = {
            "roc_auc": metrics.roc_auc(positive, negative),
            "average_precision": metrics.average_precision(positive, negative),
            "mrr": metrics.mean_reciprocal_rank(positive, negative),
        }
        scores |= {f"hits@{k}": metrics.hits_at(positive, negative, k) for k in (10, 50, 100) if k <= count}
        return {name: float(value) for name, value in scores.items()}

    # --- words -------------------------------------------------------------------------------------------------------

    def scored_on(self) -> str:
        """Return the name of the split."""
        return f"{self.links.protocol} split"

    def outcome(self, value: str) -> str:
        """Say what the area under the curve means."""
        leaks = self.links.protocol == "hgcn"
        split = "the hgcn split, which leaks test pairs into training" if leaks else "the leak-free split"
        return (
            f"Shown a held-out edge and a pair that is none, it prefers the edge {value} of the time, "
            f"where guessing gives 50 % ({split})."
        )

    def caution(self) -> str:
        """Warn of the split that leaks."""
        if self.links.protocol != "hgcn":
            return ""
        return "The hgcn split leaks test pairs into training negatives; it is there to compare with the papers."

    def remarks(self) -> list[str]:
        """Say that weights are not used."""
        return [] if getattr(self.data, "edge_weight", None) is None else ["weights of edges are not used"]

    def about_results(self) -> dict[str, Any]:
        """Return the protocol of the split."""
        return {"protocol": self.links.protocol}

    def insights(self, predictor: Predictor) -> tuple[list[Column], list[Quality]]:
        """Return how well test edges are told apart, by degree."""
        batch = self.loader.scored("test", whole=True)
        logits = predictor("predict", batch.x, batch.graph, *batch.targets)
        degree = torch.bincount(self.data.edge_index[0], minlength=self.num_nodes)
        groups = auc_by_degree(batch.targets[0].cpu(), logits.cpu(), self.links.test.shape[1], degree)
        about = "ROC AUC of test edges, by the degree of their end with fewer edges: 0.5 is guessing."
        return [], [Quality("Test edges told apart, by degree", about, groups)]
