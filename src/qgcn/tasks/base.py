"""What a task is: a loss, a prediction, and what "better" means."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from qgcn.manifolds import Space
from qgcn.models import EuclideanNetwork, TangentNetwork, build
from qgcn.nn import adjacency, to_csr

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Predictor", "Scores", "Split", "Task", "normalize_rows"]

Split = Literal["train", "val", "test"]
Scores = dict[str, float]

SPARSE_BELOW = 0.25
"""Share of entries that are not zero under which a matrix of features is multiplied faster as a sparse one."""


class Predictor(nn.Module, ABC):
    """A network with the decoder of a task.

    Every method is reached through :meth:`forward`, because ``torch.func.functional_call``, which trains many seeds at once,
    calls nothing else.
    """

    encoder: TangentNetwork | EuclideanNetwork

    def forward(self, method: str, *arguments: Any) -> Tensor:
        """Call a method by name."""
        result: Tensor = getattr(self, method)(*arguments)
        return result

    @abstractmethod
    def loss(self, x: Tensor, graph: Tensor, *drawn: Tensor) -> Tensor:
        """Return the training loss, shape ``()``, from features, graph and what the task has drawn for the step."""

    @abstractmethod
    def predict(self, x: Tensor, graph: Tensor, *queries: Tensor) -> Tensor:
        """Return what the task's score is computed from."""

    def embed(self, x: Tensor, graph: Tensor) -> Tensor:
        """Return the embedding, points of shape ``(N, d)``."""
        return self.encoder(x, graph)  # type: ignore[no-any-return]

    @property
    def space(self) -> Space:
        """The space of the embedding."""
        return self.encoder.space


class Task(ABC):
    """Data, split and score of a task; builds the models that solve it.

    Args:
        data: The graph.
        model: Name of the model, see :func:`qgcn.models.build`.
        space: Name of the space.
        row_normalize: Divide each node's features by their sum of magnitudes.
        options: Of the model.
    """

    name: ClassVar[str]
    metric: ClassVar[str]
    """The score by which models are chosen on validation; larger is better."""
    batchable: ClassVar[bool] = True
    """Whether several seeds can be trained as one batch."""

    def __init__(
        self, data: "Data", *, model: str = "qgcn", space: str | None = None, row_normalize: bool = False, **options: Any
    ) -> None:
        if data.num_nodes is None or data.num_nodes < 2:
            raise ValueError(f"a graph needs at least 2 nodes, got {data.num_nodes}")
        self.num_nodes = int(data.num_nodes)
        self.model = model
        self.space_name = space
        self.options = options
        x = getattr(data, "x", None)
        if x is None:
            identity = torch.arange(self.num_nodes, dtype=torch.int32)
            crow = torch.arange(self.num_nodes + 1, dtype=torch.int32)
            x = torch.sparse_csr_tensor(crow, identity, torch.ones(self.num_nodes), check_invariants=False)
        elif not bool(torch.isfinite(x).all()):
            node = int((~torch.isfinite(x)).any(dim=1).nonzero()[0])
            raise ValueError(f"features must be finite, but node {node} has {x[node][~torch.isfinite(x[node])][0].item()}")
        elif row_normalize:
            x = normalize_rows(x)
        self.in_features = int(x.shape[1])
        encoder = self.build_predictor().encoder
        self.takes_sparse = isinstance(encoder, TangentNetwork)
        if self.takes_sparse and x.layout == torch.strided and float((x != 0).float().mean()) < SPARSE_BELOW:
            x = to_csr(x)
        self.x = x if self.takes_sparse or x.layout == torch.strided else x.to_dense()
        self.graph = self._graph(self.message_edges(data))

    def _graph(self, edge_index: Tensor) -> Tensor:
        if not self.takes_sparse:
            return edge_index
        return adjacency(edge_index, self.num_nodes, aggregation=self.options.get("aggregation", "sym"))

    @abstractmethod
    def message_edges(self, data: "Data") -> Tensor:
        """Return the edges that messages may pass along, shape ``(2, E)``; called once."""

    @abstractmethod
    def build_predictor(self) -> Predictor:
        """Build a network with its decoder, weights drawn from PyTorch's global generator."""

    def encoder(self, **changes: Any) -> TangentNetwork | EuclideanNetwork:
        """Build the network alone."""
        return build(self.model, self.in_features, **({"space": self.space_name} | self.options | changes))

    def draw(self, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Draw what a training step needs beside the data; the same shapes every time."""
        return ()

    def queries(self, split: Split) -> tuple[Tensor, ...]:
        """Return the arguments of :meth:`Predictor.predict` for a split."""
        return ()

    @abstractmethod
    def score(self, prediction: Tensor, split: Split, space: Space) -> Scores:
        """Score one model's prediction on a split."""

    @abstractmethod
    def selection(self, prediction: Tensor, space: Space) -> Tensor:
        """Return the validation score by which one model is chosen, float64, shape ``()``, on the device.

        Args:
            prediction: Of one model.
            space: The space of its embedding; in a batch of models, of any of them.
        """

    def to(self, device: torch.device, dtype: torch.dtype) -> None:
        """Move all tensors to a device, and the features to a type."""
        self.x = self.x.to(device=device, dtype=dtype)
        self.graph = self.graph.to(device)
        if self.graph.is_floating_point():
            self.graph = self.graph.to(dtype)

    def can_batch(self) -> bool:
        """Tell whether seeds can be trained as one batch: all randomness of the model must be keyed."""
        foreign = [m for m in self.build_predictor().modules() if isinstance(m, nn.Dropout)]
        return self.batchable and self.takes_sparse and not foreign


def normalize_rows(x: Tensor) -> Tensor:
    """Divide each row by its sum of magnitudes; rows of zeros stay."""
    total = x.abs().sum(dim=1, keepdim=True)
    return x / torch.where(total > 0, total, 1)


