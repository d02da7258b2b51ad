"""Node classification."""

from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from qgcn import metrics
from qgcn.manifolds import Space
from qgcn.models import Encoder, EuclideanNetwork
from qgcn.nn import Adjacency, SparseMatrix, TangentClassifier
from qgcn.tasks.base import Predictor, Scores, Split, Task

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["NodeClassification", "NodeClassifier"]


class NodeClassifier(Predictor):
    """An encoder and a classifier in its tangent space; without a head the encoder's outputs are the logits.

    Args:
        encoder: The network.
        head: The classifier.
        convolve: Let the classifier aggregate neighbours.
    """

    def __init__(self, encoder: Encoder, head: TangentClassifier | None = None, convolve: bool = True) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.convolve = convolve

    def loss(self, x: Tensor | SparseMatrix, graph: Adjacency, *drawn: Tensor) -> Tensor:
        """Return the cross-entropy of the nodes ``drawn[0]`` with labels ``drawn[1]``."""
        nodes, labels = drawn
        return nn.functional.cross_entropy(self.predict(x, graph, nodes), labels)

    def predict(self, x: Tensor | SparseMatrix, graph: Adjacency, *queries: Tensor) -> Tensor:
        """Return the logits of all nodes, or of ``queries[0]`` alone, shape ``(n, C)``; a restricted graph must be theirs."""
        logits = self.encoder.tangent(x, graph)
        if self.head is not None:
            logits = self.head.from_tangent(logits, graph if self.convolve else None, graph.nodes)
        return logits[queries[0]] if queries and graph.nodes is None else logits


class NodeClassification(Task):
    """Learn the classes of some nodes, and predict those of the others.

    Scores: ``accuracy``, ``f1_micro`` (equal to it when each node has one class) and ``f1_macro``.

    Args:
        data: The graph, with ``y`` and masks.
        head: ``convolution``: the last layer is the classifier, and aggregates neighbours as the others do;
            ``linear``: all layers are the encoder's, and the classifier looks at each node alone.
        options: As for :class:`Task`.
    """

    name: ClassVar[str] = "classification"
    metric: ClassVar[str] = "f1_micro"

    def __init__(self, data: "Data", *, head: str = "convolution", **options: Any) -> None:
        if getattr(data, "y", None) is None:
            raise ValueError(f"classification needs labels, but {getattr(data, 'name', 'the graph')} has none")
        if head not in ("convolution", "linear"):
            raise ValueError(f"head must be 'convolution' or 'linear', got {head!r}")
        self.head = head
        self.y: Tensor = data.y
        self.classes = int(data.y.max()) + 1
        masks = {name: getattr(data, f"{name}_mask", None) for name in ("train", "val", "test")}
        for name, mask in masks.items():
            if mask is None:
                raise ValueError(f"classification needs a split, but the graph has no {name}_mask; see qgcn.data.split_nodes")
        self.nodes: dict[str, Tensor] = {name: mask.nonzero().squeeze(1) for name, mask in masks.items() if mask is not None}
        for name, nodes in self.nodes.items():
            if nodes.numel() == 0:
                raise ValueError(f"classification needs {name} nodes, but the {name} mask is empty")
        self.train_labels = self.y[self.nodes["train"]]
        self._seen: dict[Split, tuple[Tensor | SparseMatrix, Adjacency]] = {}
        super().__init__(data, **options)

    def message_edges(self, data: "Data") -> tuple[Tensor, Tensor | None]:
        """Return all edges."""
        return data.edge_index, getattr(data, "edge_weight", None)

    def build_predictor(self) -> NodeClassifier:
        """Build an encoder and a classifier; PyG's networks classify with their last layer."""
        layers = self.options.get("layers", 2)
        probe = self.encoder()
        if isinstance(probe, EuclideanNetwork):
            hidden = self.options.get("hidden") or str(probe.space)
            return NodeClassifier(self.encoder(space=f"E{self.classes}", hidden=hidden))
        convolve = probe.convolve and self.head == "convolution"
        if convolve and layers < 2:
            raise ValueError(f"classification by convolution needs at least 2 layers, got {layers}")
        encoder = self.encoder(layers=layers - 1) if convolve else probe
        activation = self.options.get("activation", "relu") if convolve else "identity"
        head = TangentClassifier(encoder.space, self.classes, activation, self.options.get("dropout", 0.0))
        return NodeClassifier(encoder, head, convolve)

    def draw(self, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Return the training nodes and their labels: nothing is drawn."""
        return self.nodes["train"], self.train_labels

    def inputs(self, split: Split, graph: Adjacency | None = None) -> tuple[Tensor | SparseMatrix, Adjacency]:
        """Return what the nodes of a split see, if the model can do with that."""
        if not self.takes_field:
            return super().inputs(split, graph)
        if split not in self._seen:
            seen = self.graph.seen_from(self.nodes[split], self.options.get("layers", 2))
            self._seen[split] = seen.gather(self.x), seen
        x, seen = self._seen[split]
        return x, seen if graph is None or graph is self.graph else seen.along(graph)

    def queries(self, split: Split) -> tuple[Tensor, ...]:
        """Return the nodes of a split."""
        return (self.nodes[split],)

    def selection(self, prediction: Tensor, space: Space) -> Tensor:
        """Return the accuracy on validation."""
        right: Tensor = prediction.argmax(-1) == self.y[self.nodes["val"]]
        return right.double().mean()

    def score(self, prediction: Tensor, split: Split, space: Space) -> Scores:
        """Return accuracy and both F1 scores."""
        y = self.y[self.nodes[split]]
        return {
            "accuracy": float(metrics.accuracy(prediction, y)),
            "f1_micro": float(metrics.f1(prediction, y, average="micro")),
            "f1_macro": float(metrics.f1(prediction, y, average="macro")),
        }

    def to(self, device: torch.device, dtype: torch.dtype) -> None:
        """Move all tensors."""
        super().to(device, dtype)
        self.y, self.train_labels = self.y.to(device), self.train_labels.to(device)
        self.nodes = {name: nodes.to(device) for name, nodes in self.nodes.items()}
        self._seen = {}
