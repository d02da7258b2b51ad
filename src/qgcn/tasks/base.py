"""What a task is: a loss, a prediction, and what "better" means."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from qgcn.data import degree_one_hot
from qgcn.manifolds import Space
from qgcn.models import Coordinates, Encoder, EuclideanNetwork, TangentNetwork, build
from qgcn.nn import DoubleProjection, Dropout, EdgeDropout, Field, adjacency, to_csr

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Predictor", "Scores", "Split", "Task", "check_features", "normalize_rows"]

Split = Literal["train", "val", "test"]
Scores = dict[str, float]

SPARSE_BELOW = 0.25
"""Share of entries that are not zero under which a matrix of features is multiplied faster as a sparse one."""


class Predictor(nn.Module, ABC):
    """A network with the decoder of a task.

    Every method is reached through :meth:`forward`, because ``torch.func.functional_call``, which trains many seeds at once,
    calls nothing else.
    """

    encoder: Encoder

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

    def advance(self, epoch: int, epochs: int) -> None:
        """Change what changes with time, before the step of an epoch; most models do not."""
        if isinstance(self.encoder, Coordinates):
            self.encoder.advance(epoch, epochs)

    def settled(self, epochs: int) -> int:
        """Return the epoch from which nothing changes with time any more."""
        return self.encoder.settled(epochs) if isinstance(self.encoder, Coordinates) else 0

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
        degree_features: Append a one-hot of ``min(degree, 5)``, of the edges that messages pass along: a degree that counted
            held-out edges would tell of them.
        one_hot: Append a one-hot of each node to its features, so that a node can be learned beyond what it shows.
        extra: Further features, shape ``(N, n)``, appended as they are: an embedding learned elsewhere.
        edge_dropout: Share of the edges that messages do not pass along in a training step; the same for all seeds.
        options: Of the model.
    """

    name: ClassVar[str]
    metric: ClassVar[str]
    """The score by which models are chosen on validation; larger is better."""
    batchable: ClassVar[bool] = True
    """Whether several seeds can be trained as one batch."""

    static: bool = False
    """Whether nothing is drawn for a training step."""

    keyed: bool
    """Whether the model's dropout is keyed; that of PyG's networks draws from PyTorch's global generator."""
    takes_matrix: bool
    """Whether the model takes a matrix of adjacency; others take edges, without weights."""
    takes_field: bool
    """Whether the model takes the field of some nodes in place of the graph."""

    def __init__(
        self,
        data: "Data",
        *,
        model: str = "qgcn",
        space: str | None = None,
        row_normalize: bool = False,
        degree_features: bool = False,
        one_hot: bool = False,
        edge_dropout: float = 0.0,
        extra: Tensor | None = None,
        **options: Any,
    ) -> None:
        if data.num_nodes is None or data.num_nodes < 2:
            raise ValueError(f"a graph needs at least 2 nodes, got {data.num_nodes}")
        self.num_nodes = int(data.num_nodes)
        self.model = model
        self.space_name = space
        self.options = options
        if not 0 <= edge_dropout < 1:
            raise ValueError(f"edge_dropout must be in [0, 1), got {edge_dropout}")
        x = getattr(data, "x", None)
        edges, weights = self.message_edges(data)
        if degree_features:
            columns = degree_one_hot(edges, self.num_nodes)
            x = columns if x is None else torch.cat((x, columns), dim=1)
        if x is not None:
            check_features(x)
            x = normalize_rows(x) if row_normalize else x
        if x is None or one_hot:
            identity = torch.sparse.spdiags(
                torch.ones(1, self.num_nodes), torch.zeros(1, dtype=torch.int64), (self.num_nodes,) * 2
            )
            x = identity if x is None else torch.cat((x.to_sparse(), identity), dim=1)
        if extra is not None:
            check_features(extra)
            x = torch.cat((x, extra), dim=1) if x.layout == torch.strided else torch.cat((x, extra.to_sparse()), dim=1)
        self.in_features = int(x.shape[1])
        encoder = self.build_predictor().encoder
        foreign = encoder if isinstance(encoder, EuclideanNetwork) else None
        self.keyed = foreign is None
        self.takes_matrix = foreign is None or foreign.takes_matrix
        self.takes_field = isinstance(encoder, TangentNetwork) and encoder.takes_field
        self.x = _layout(x, foreign is None or foreign.takes_sparse)
        # in float64, whatever the run's type: rounded once, after they are normalised
        weights = torch.ones(edges.shape[1], dtype=torch.float64) if weights is None else weights.double()
        self._edges, self._weights = edges, weights
        self.edge_dropout = edge_dropout
        Task.to(self, torch.device("cpu"), torch.float32)

    def thinned_graph(self, generator: torch.Generator) -> Tensor:
        """Return the graph for one training step, some of its edges left out."""
        if self.edge_dropout == 0:
            return self.graph
        if self.thinning is not None:
            return self.thinning.draw(generator)
        source, target = self.graph
        number = torch.minimum(source, target) * self.num_nodes + torch.maximum(source, target)
        found, pair = torch.unique(number, return_inverse=True)
        keep = torch.rand(found.numel(), device=source.device, generator=generator) >= self.edge_dropout
        return self.graph[:, keep[pair]]

    @abstractmethod
    def message_edges(self, data: "Data") -> tuple[Tensor, Tensor | None]:
        """Return the edges that messages may pass along, shape ``(2, E)``, and their weights; called once."""

    @abstractmethod
    def build_predictor(self) -> Predictor:
        """Build a network with its decoder, weights drawn from PyTorch's global generator."""

    def encoder(self, **changes: Any) -> Encoder:
        """Build the network alone."""
        return build(self.model, self.in_features, **({"space": self.space_name} | self.options | changes))

    def draw(self, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Draw what a training step needs beside the data; the same shapes every time."""
        return ()

    def queries(self, split: Split) -> tuple[Tensor, ...]:
        """Return the arguments of :meth:`Predictor.predict` for a split."""
        return ()

    def inputs(self, split: Split, graph: Tensor | None = None) -> tuple[Tensor, Tensor | Field]:
        """Return the features and the graph, or as much of them as a split needs.

        Args:
            split: What is trained on or scored.
            graph: Another graph than the task's; see :meth:`thinned_graph`.
        """
        return self.x, self.graph if graph is None else graph

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
        self.thinning: EdgeDropout | None = None
        if not self.takes_matrix:
            self.graph = self._edges.to(device)
            return
        graph, aggregation = (self._edges, self.num_nodes, self._weights), self.options.get("aggregation", "sym")
        self.graph = adjacency(*graph, aggregation=aggregation).to(device=device, dtype=dtype)
        if self.edge_dropout > 0:
            self.thinning = EdgeDropout(*graph, p=self.edge_dropout, aggregation=aggregation).to(device, dtype)

    def is_static(self) -> bool:
        """Tell whether every training step is the same computation on the same tensors: nothing is drawn, nothing dropped."""
        if not self.static or self.edge_dropout > 0:
            return False
        with torch.random.fork_rng(devices=[]):
            modules = list(self.build_predictor().modules())
        drops = any(isinstance(module, Dropout) and module.p > 0 for module in modules)
        # some spaces branch on what is in a tensor, and attention asks how many edges there are: both wait for the device
        waits = any(isinstance(module, Space) and not module.traceable for module in modules)
        return not (drops or waits or self.options.get("attention", False))

    def can_batch(self) -> bool:
        """Tell whether seeds can be trained as one batch: all randomness must be keyed, and vmap know every operation."""
        modules = list(self.build_predictor().modules())
        unkeyed = any(isinstance(module, DoubleProjection) and module.perturbation > 0 for module in modules)
        scripted = any(isinstance(module, Space) and not module.traceable for module in modules)  # they refuse vmap
        return self.batchable and self.keyed and not unkeyed and not scripted


def check_features(x: Tensor) -> None:
    """Raise if a feature is not finite, and name its node."""
    finite = torch.isfinite(x)
    if not bool(finite.all()):
        node, column = (~finite).nonzero()[0].tolist()
        raise ValueError(f"features must be finite, but feature {column} of node {node} is {x[node, column].item()}")


def _layout(x: Tensor, sparse: bool) -> Tensor:
    """Store features as the model multiplies them fastest: as CSR if most are zero."""
    if not sparse:
        return x if x.layout == torch.strided else x.to_dense()
    if x.layout == torch.strided and float((x != 0).float().mean()) >= SPARSE_BELOW:
        return x
    return to_csr(x)


def normalize_rows(x: Tensor) -> Tensor:
    """Divide each row by its sum of magnitudes; rows of zeros stay."""
    total = x.abs().sum(dim=1, keepdim=True)
    return x / torch.where(total > 0, total, 1)
