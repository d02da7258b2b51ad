"""Node classification."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from qgcn import metrics
from qgcn.embedding import read_embedding
from qgcn.manifolds import Space
from qgcn.models import Encoder
from qgcn.nn import Adjacency, SparseMatrix, TangentClassifier
from qgcn.tasks.config import Config, path_field
from qgcn.tasks.insights import Column, Quality, by_class, by_degree, class_names
from qgcn.tasks.predictor import Predictor
from qgcn.tasks.registry import register_task
from qgcn.tasks.task import Scores, Split, Task

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["ClassificationConfig", "NodeClassification", "NodeClassifier"]


class ClassificationConfig(Config):
    """Settings of node classification."""

    task: Literal["classification"] = "classification"
    start: str | None = path_field("Folder of a finished run whose embedding joins the features.")
    head: Literal["convolution", "linear"] = Field(
        "convolution",
        description="Classifier: the last layer, which aggregates neighbours, or a linear one after all layers.",
    )


class NodeClassifier(Predictor):
    """An encoder and a classifier in its tangent space; without a head the encoder's outputs are the logits.

    Args:
        encoder: The network.
        head: The classifier.
        convolve: Let the classifier aggregate neighbours.
    """

    def __init__(self, encoder: Encoder, head: TangentClassifier | None = None, convolve: bool = True) -> None:
        super().__init__(encoder)
        self.head = head
        self.convolve = convolve

    def loss(self, x: Tensor | SparseMatrix, graph: Adjacency, *targets: Tensor) -> Tensor:
        """Return the cross-entropy of the nodes ``targets[0]`` with labels ``targets[1]``."""
        nodes, labels = targets
        return nn.functional.cross_entropy(self.predict(x, graph, nodes), labels)

    def predict(self, x: Tensor | SparseMatrix, graph: Adjacency, *targets: Tensor) -> Tensor:
        """Return the logits of all nodes, or of ``targets[0]`` alone, shape ``(n, C)``; a restricted graph must be theirs."""
        logits = self.encoder.tangent(x, graph)
        if self.head is not None:
            logits = self.head.from_tangent(logits, graph if self.convolve else None, graph.nodes)
        return logits[targets[0]] if targets and graph.nodes is None else logits


@register_task
class NodeClassification(Task[ClassificationConfig]):
    """Learn the classes of some nodes, and predict those of the others.

    Scores: ``accuracy``, ``f1_micro`` (equal to it when each node has one class) and ``f1_macro``. The graph needs ``y`` and
    masks.
    """

    name: ClassVar[str] = "classification"
    metric: ClassVar[str] = "f1_micro"
    config_type: ClassVar[type[Config]] = ClassificationConfig
    needs_labels: ClassVar[bool] = True

    purpose: ClassVar[str] = "Learn the classes of some nodes, and predict those of the others."
    example: ClassVar[str] = "qgcn train classification --data cora --space Q15,1 --dropout 0.5 --seeds 10"
    aim: ClassVar[str] = "so that the class of a node can be read off its point"
    titles: ClassVar[dict[str, str]] = {"f1_micro": "F1 (micro)", "f1_macro": "F1 (macro)"}
    curve_title: ClassVar[str] = "accuracy"

    @classmethod
    def check(cls, config: Config) -> None:
        """Raise if no layer is left for the encoder."""
        super().check(config)
        layers = config.options.get("layers", 2)
        if _convolves(config) and layers < 2:
            raise ValueError(f"classification by convolution needs at least 2 layers, got {layers}")

    @classmethod
    def make_split(cls, data: "Data", config: ClassificationConfig) -> dict[str, Tensor]:
        """Return the embedding of another run, if the settings name one; the split is the graph's own masks."""
        return {} if config.start is None else {"start": read_embedding(Path(config.start), data)}

    def prepare(self) -> None:
        """Check labels and masks."""
        data = self.data
        if getattr(data, "y", None) is None:
            raise ValueError(f"classification needs labels, but {getattr(data, 'name', 'the graph')} has none")
        masks = {name: getattr(data, f"{name}_mask", None) for name in ("train", "val", "test")}
        for name, mask in masks.items():
            if mask is None:
                raise ValueError(f"classification needs a split, but the graph has no {name}_mask; see qgcn.data.split_nodes")
        self.nodes: dict[str, Tensor] = {
            name: mask.nonzero().squeeze(1).to(self.device) for name, mask in masks.items() if mask is not None
        }
        for name, nodes in self.nodes.items():
            if nodes.numel() == 0:
                raise ValueError(f"classification needs {name} nodes, but the {name} mask is empty")
        self.y: Tensor = data.y.to(self.device)
        self.classes = int(data.y.max()) + 1

    def message_edges(self) -> tuple[Tensor, Tensor | None]:
        """Return all edges."""
        return self.data.edge_index, getattr(self.data, "edge_weight", None)

    def extra_features(self) -> Tensor | None:
        """Return the embedding of another run, if the settings name one."""
        return self.split.get("start")

    def build_predictor(self) -> NodeClassifier:
        """Build an encoder and a classifier; PyG's networks classify with their last layer."""
        config = self.config
        if self.capabilities.classifies:
            return NodeClassifier(self.build_encoder(f"E{self.classes}", hidden=config.options.get("hidden") or config.space))
        options, convolve = config.options, _convolves(config)
        encoder = self.build_encoder(**{"layers": options["layers"] - 1} if convolve else {})
        activation = options["activation"] if convolve else "identity"
        head = TangentClassifier(encoder.space, self.classes, activation, options.get("dropout", 0.0))
        return NodeClassifier(encoder, head, convolve)

    def targets(self, split: Split) -> tuple[Tensor, ...]:
        """Return the nodes of a split; with their labels, for training."""
        nodes = self.nodes[split]
        return (nodes, self.y[nodes]) if split == "train" else (nodes,)

    def nodes_needed(self, split: Split) -> Tensor:
        """Return the nodes of a split."""
        return self.nodes[split]

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

    # --- words -------------------------------------------------------------------------------------------------------

    def scored_on(self) -> str:
        """Return what the scores are of."""
        return "test nodes"

    def outcome(self, value: str) -> str:
        """Say what the accuracy is beside the most common class."""
        tested = self.y[self.nodes["test"]]
        share = float(tested.bincount().max() / len(tested))
        common = f"where always naming the most common class gives {100 * share:.1f} %"
        return f"It names the class of {value} of the test nodes correctly, {common}."

    def insights(self, predictor: Predictor) -> tuple[list[Column], list[Quality]]:
        """Return predicted classes, and how many test nodes are right, by class and by degree."""
        guess = predictor("predict", self.x, self.graph).argmax(-1).cpu()
        data = self.data
        right = (guess == data.y).double()
        tested = torch.where(data.test_mask, right, torch.nan)
        names = class_names(data)
        part = torch.full_like(data.y, -1)
        for k, mask in enumerate((data.train_mask, data.val_mask, data.test_mask)):
            part[mask] = k
        columns = [
            Column.of_categories("predicted class", guess.numpy(), names),
            Column.of_categories("right or wrong", torch.where(data.y >= 0, 1 - right.long(), -1).numpy(), ["right", "wrong"]),
            Column.of_categories("split", part.numpy(), ["training", "validation", "test"]),
        ]
        about = "Share of the test nodes whose class is predicted right."
        degree = torch.bincount(data.edge_index[0], minlength=self.num_nodes)
        return columns, [
            Quality("Test nodes right, by class", about, by_class(tested, data.y, names)),
            Quality("Test nodes right, by degree", about, by_degree(tested, degree)),
        ]


def _convolves(config: Config) -> bool:
    """Tell whether the classifier is the last convolution of the network."""
    return config.capabilities.stacked and getattr(config, "head", "") == "convolution"
