"""A network with the decoder of a task."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from qgcn.manifolds import Space
from qgcn.models import Encoder
from qgcn.nn import Adjacency, SparseMatrix

if TYPE_CHECKING:
    from qgcn.tasks.batches import Batch

__all__ = ["PairPredictor", "Predictor"]


class Predictor(nn.Module, ABC):
    """A network with the decoder of a task.

    Every method is reached through :meth:`forward`, because ``torch.func.functional_call``, which trains many seeds at once,
    calls nothing else.

    Args:
        encoder: The network.
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, method: str, *arguments: Any) -> Tensor:
        """Call a method by name."""
        result: Tensor = getattr(self, method)(*arguments)
        return result

    @abstractmethod
    def loss(self, x: Tensor | SparseMatrix, graph: Adjacency, *targets: Tensor) -> Tensor:
        """Return the training loss, shape ``()``, from a batch's features, graph and targets."""

    @abstractmethod
    def predict(self, x: Tensor | SparseMatrix, graph: Adjacency, *targets: Tensor) -> Tensor:
        """Return what the task's score is computed from."""

    def predict_batch(self, batch: "Batch") -> Tensor:
        """Return the predictions of a batch."""
        return self("predict", batch.x, batch.graph, *batch.targets)  # type: ignore[no-any-return]

    def embed(self, x: Tensor | SparseMatrix, graph: Adjacency) -> Tensor:
        """Return the embedding, points of shape ``(N, d)``."""
        points: Tensor = self.encoder(x, graph)
        return points

    @property
    def space(self) -> Space:
        """The space of the embedding."""
        return self.encoder.space


class PairPredictor(Predictor):
    """A network whose decoder tells how probable a link between two nodes is."""

    @abstractmethod
    def pair_logits(self, points: Tensor, pairs: Tensor) -> Tensor:
        """Return the logits of pairs, shape ``(P,)``.

        Args:
            points: The embedding, shape ``(N, d)``.
            pairs: Positions of both nodes of each pair, shape ``(2, P)``.
        """

    @abstractmethod
    def row_logits(self, points: Tensor, nodes: Tensor) -> Tensor:
        """Return the logits of some nodes with all nodes, shape ``(n, N)``, as fast as possible; the caller may overwrite them.

        Args:
            points: The embedding, shape ``(N, d)``.
            nodes: Positions of the nodes, shape ``(n,)``.
        """
