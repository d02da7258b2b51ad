"""Node classification."""

import copy
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import torch
from pydantic import Field
from torch import Tensor, nn

from qgcn import metrics
from qgcn.blending import Prior
from qgcn.data import read_node_split, split_classes, split_nodes
from qgcn.embedding import node_ids_of, read_embedding
from qgcn.manifolds import Space, parse_space
from qgcn.models import Encoder
from qgcn.nn import Adjacency, SparseMatrix, TangentClassifier
from qgcn.tasks.class_terms import ClassTerms
from qgcn.tasks.config import Config, check_shares, path_field
from qgcn.tasks.features import as_scipy
from qgcn.tasks.inputs import check_part
from qgcn.tasks.insights import Column, Quality, by_class, by_degree, class_names, split_column
from qgcn.tasks.minibatches import loader_of
from qgcn.tasks.node_batches import NodeBatching
from qgcn.tasks.predictor import Predictor
from qgcn.tasks.ranges import NETWORK, Choice, Range
from qgcn.tasks.registry import register_task
from qgcn.tasks.task import Scores, Split, Task

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["ClassificationConfig", "NodeClassification", "NodeClassifier"]

SPECTRAL = 64
"""Dimensions of the spectral features that yardsticks take where nodes have none; a tenth of the nodes if they are few."""
MASKS = ("train_mask", "val_mask", "test_mask")
SHARE = 0.15
"""Share of the labelled nodes for validation, and for the test, if only the other one is given."""


class ClassificationConfig(Config):
    """Settings of node classification."""

    task: Literal["classification"] = "classification"
    val: float | None = Field(
        None, gt=0, lt=1, description="Share of the labelled nodes kept for validation; the graph's own split if not given."
    )
    test: float | None = Field(
        None, gt=0, lt=1, description="Share of the labelled nodes kept for the test; the graph's own split if not given."
    )
    per_class: int | None = Field(
        None, ge=1, description="Training nodes drawn of each class; 500 others are for validation, 1,000 for the test."
    )
    split: str | None = path_field("File that says which nodes are held out: CSV, TSV or Parquet of id and part.")
    start: str | None = path_field("Folder of a finished run whose embedding joins the features.")
    head: Literal["convolution", "linear"] = Field(
        "convolution",
        description="Classifier: the last layer, which aggregates neighbours, or a linear one after all layers.",
    )
    ties: Literal["likelihood", "first"] = Field(
        "likelihood", description="Which of the epochs of equal accuracy on validation is kept: the most likely, or the first."
    )
    blend: bool = Field(True, description="Weigh the network with regressions and belief propagation, by validation.")

    defaults: ClassVar[dict[str, Any]] = {"dropout": 0.5, "weight_decay": 0.0005, "epochs": 500, "patience": 100}


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
            logits = self.head.from_tangent(logits, graph if self.convolve else None, graph.ends)
        return logits[targets[0]] if targets and graph.nodes is None else logits


@register_task
class NodeClassification(NodeBatching, Task[ClassificationConfig]):
    """Learn the classes of some nodes, and predict those of the others.

    Scores: ``accuracy``, ``f1_micro`` (equal to it when each node has one class) and ``f1_macro``. The graph needs ``y`` and
    masks.
    """

    name: ClassVar[str] = "classification"
    metric = "f1_micro"
    everything: ClassVar[str] = "all labelled nodes"
    config_type: ClassVar[type[Config]] = ClassificationConfig
    needs_labels: ClassVar[bool] = True
    predicts_classes: ClassVar[bool] = True

    search: ClassVar[tuple[Range, ...]] = (*NETWORK, Choice("head", ("convolution", "linear"), needs="stacked"))

    purpose: ClassVar[str] = "Learn the classes of some nodes, and predict those of the others."
    example: ClassVar[str] = "qgcn train classification --data cora --space Q15,1 --dropout 0.5 --seeds 10"
    aim: ClassVar[str] = "so that the class of a node can be read off its point"
    titles: ClassVar[dict[str, str]] = {"f1_micro": "F1 (micro)", "f1_macro": "F1 (macro)"}
    curve_title: ClassVar[str] = "accuracy"
    main_scores = ("f1_micro", "f1_macro")
    chosen: ClassTerms | None = None
    """Cheap predictors whose regularisation is taken over; there are some if validation nodes are trained on."""

    @classmethod
    def check(cls, config: Config) -> None:
        """Raise if no layer is left for the encoder, or shares make no split."""
        super().check(config)
        check_shares(config)
        named = [name for name in ("val", "test", "split") if getattr(config, name, None) is not None]
        if getattr(config, "per_class", None) is not None and named:
            raise ValueError(f"{named[0]} has no effect beside per_class, which says what is held out: leave out one of them")
        layers = config.options.get("layers", 2)
        if _convolves(config) and layers < 2:
            raise ValueError(f"classification by convolution needs at least 2 layers, got {layers}")

    @classmethod
    def make_split(cls, data: "Data", config: ClassificationConfig) -> dict[str, Tensor]:
        """Return the embedding of another run, if the settings name one, and masks, if they are not to be the graph's own."""
        made = {} if config.start is None else {"start": read_embedding(Path(config.start), data)}
        if config.split is not None:
            masks = read_node_split(Path(config.split), node_ids_of(data), _labels_of(data))
        elif config.per_class is not None:
            masks = split_classes(_labels_of(data), per_class=config.per_class, seed=config.split_seed)
        elif config.val is not None or config.test is not None:
            val, test = (SHARE if share is None else share for share in (config.val, config.test))
            masks = split_nodes(_labels_of(data), train=1 - val - test, val=val, seed=config.split_seed)
        else:
            return made
        return made | dict(zip(MASKS, masks, strict=True))

    def refitted(self) -> Self:
        """Return the problem in which all labelled nodes are trained on."""
        data = copy.copy(self.source)
        data.train_mask = data.y >= 0
        drawn = {"train_mask": data.train_mask} if "train_mask" in self.split else {}
        made = type(self)(data, self.config, split=self.split | drawn, device=self.device)
        made.chosen = self.cheap if self.config.blend else None
        return made

    def blinded(self) -> Self:
        """Return the problem with the labels of training and validation nodes alone; test nodes are nodes without a label."""
        made = copy.copy(self)
        known = torch.zeros(self.num_nodes, dtype=torch.bool, device=self.device)
        known[torch.cat((self.nodes["train"], self.nodes["val"]))] = True
        made.y = self.y.where(known, -1)
        made.nodes = self.nodes | {"test": self.nodes["test"][:0]}
        made.data, made.source = copy.copy(self.data), copy.copy(self.source)
        made.data.y = made.source.y = made.y.cpu()
        made.__dict__.pop("cheap", None)
        made.loader = loader_of(made)
        return made

    def prepare(self) -> None:
        """Check labels and masks."""
        _labels_of(self.data)
        data = self.data = self._with_masks()
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

    def _with_masks(self) -> "Data":
        """Return the graph with the masks of the split, if it has any."""
        if MASKS[0] not in self.split:
            return self.data
        for name in MASKS:
            check_part(self.split, name, torch.bool, (self.num_nodes,))
        made = copy.copy(self.data)
        for name in MASKS:
            made[name] = self.split[name]
        return made

    def extra_features(self) -> Tensor | None:
        """Return the embedding of another run, if the settings name one."""
        if "start" in self.split:
            check_part(self.split, "start", torch.float32, (self.num_nodes, None))
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

    @property
    def is_static(self) -> bool:
        """Whether a step can be recorded: it always can."""
        return True

    def nodes_needed(self, split: Split) -> Tensor:
        """Return the nodes of a split."""
        return self.nodes[split]

    def selection(self, prediction: Tensor, space: Space) -> Tensor:
        """Return the accuracy on validation."""
        right: Tensor = prediction.argmax(-1) == self.y[self.nodes["val"]]
        return right.double().mean()

    def tie_breaker(self, prediction: Tensor) -> Tensor:
        """Return the log-likelihood of the labels on validation, if it is to decide."""
        if self.config.ties == "first":
            return super().tie_breaker(prediction)
        return -nn.functional.cross_entropy(prediction.double(), self.y[self.nodes["val"]])

    def score(self, prediction: Tensor, split: Split, space: Space) -> Scores:
        """Return accuracy and both F1 scores."""
        y = self.y[self.nodes[split]]
        return {
            "accuracy": float(metrics.accuracy(prediction, y)),
            "f1_micro": float(metrics.f1(prediction, y, average="micro")),
            "f1_macro": float(metrics.f1(prediction, y, average="macro")),
        }

    def class_logits(self, predictor: Predictor) -> Tensor:
        """Return the logits of the classes of all nodes."""
        logits: Tensor = predictor("predict", self.x, self.graph)
        return logits

    def outcomes(self, prediction: Tensor, split: Split) -> tuple[Tensor, Tensor]:
        """Return the logits and labels of the nodes of a split."""
        return prediction, self.y[self.nodes[split]]

    @property
    def term_names(self) -> tuple[str, ...]:
        """Names of the cheap predictors."""
        return ClassTerms.names_for(self._kind) if self.config.blend else ()

    @property
    def prior(self) -> Prior:
        """Terms may vary little: log-probabilities of a regression that learned from a few labels do."""
        return Prior(least=0.01) if self.config.blend else Prior()

    def terms(self, split: Split) -> Tensor | None:
        """Return the log-probabilities of the nodes of a split by cheap predictors."""
        terms = self.class_terms()
        return None if terms is None else terms[self.nodes[split]]

    def class_terms(self) -> Tensor | None:
        """Return the log-probabilities of all nodes by cheap predictors, shape ``(N, C, K)``."""
        if not self.config.blend:
            return None
        if len(self.nodes["train"]) == 0:  # of a changed graph: nothing to learn from
            return torch.zeros(self.num_nodes, self.classes, len(self.term_names), dtype=torch.float64, device=self.device)
        return self.cheap.of_nodes().to(self.device)

    @cached_property
    def cheap(self) -> ClassTerms:
        """Cheap predictors of the classes."""
        from qgcn.yardsticks import adjacency, spectral_features

        edges, weights = self._inputs.edges, self._inputs.weights
        matrix = adjacency(edges.cpu().numpy(), self.num_nodes, None if weights is None else weights.cpu().numpy())
        count = max(2, min(SPECTRAL, self.num_nodes // 10))
        x = as_scipy(self._inputs.x) if self._has_features() else spectral_features(matrix, count)
        train, val = (self.nodes[split].cpu().numpy() for split in ("train", "val"))
        return ClassTerms(x, matrix, self.y.cpu().numpy(), train, val, self._kind, like=self.chosen)

    def changed(self, data: "Data") -> Self:
        """Return the problem of a changed graph; known nodes keep their labels and their part of the split."""
        made = super().changed(data)
        made.__dict__.pop("cheap", None)
        if made.origin is None:
            return made
        places = made.origin.places.to(self.device)
        made.y = torch.where(places >= 0, self.y[places], -1)
        made.nodes = {}
        for name, nodes in self.nodes.items():
            part = torch.zeros(self.num_nodes, dtype=torch.bool, device=self.device)
            part[nodes] = True
            made.nodes[name] = ((places >= 0) & part[places]).nonzero().squeeze(1)
        return made

    def yardsticks(self) -> dict[str, Callable[[], Scores]]:
        """Return the most common class, and logistic regressions on features: the nodes' own, and smoothed twice."""
        plain, smoothed, *_ = ClassTerms.names_for(self._kind)
        return {
            "majority class": self._majority,
            plain: lambda: self._tested(self.cheap.plain),
            smoothed: lambda: self._tested(self.cheap.smoothed),
        }

    @property
    def _kind(self) -> str:
        """Name of the features that cheap predictors see."""
        return "features" if self._has_features() else "spectral features"

    def _has_features(self) -> bool:
        return self.node_features() is not None or self.extra_features() is not None or self.config.degree_features

    def _majority(self) -> Scores:
        known = torch.cat((self.nodes["train"], self.nodes["val"]))  # training nodes alone may be as many of each class
        counts = self.y[known].bincount(minlength=self.classes)
        return self.score(counts.double().expand(len(self.nodes["test"]), -1), "test", parse_space(self.config.space))

    def _tested(self, logits: Any) -> Scores:
        chosen = torch.from_numpy(logits).to(self.device)[self.nodes["test"]]
        return self.score(chosen, "test", parse_space(self.config.space))

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

    def remarks(self) -> list[str]:
        """Say where the split comes from, if it is not the graph's own."""
        if MASKS[0] not in self.split:
            return super().remarks()
        config, parts = self.config, {name: len(nodes) for name, nodes in self.nodes.items()}
        sizes = ", ".join(f"{number} {name}" for name, number in parts.items())
        drawn = "drawn by val and test" if config.per_class is None else f"drawn with {config.per_class} training nodes a class"
        origin = drawn if config.split is None else f"read from {config.split}"
        usual = split_nodes(self.y.cpu(), seed=config.split_seed)  # what a graph that has no split of its own is given
        own = [getattr(self.source, name, mask) for name, mask in zip(MASKS, usual, strict=True)]
        is_public = not all(torch.equal(*pair) for pair in zip(own, usual, strict=True))
        return [*super().remarks(), f"split {origin}: {sizes} nodes" + "; the graph's own split is not used" * is_public]

    def insights(self, predictor: Predictor) -> tuple[list[Column], list[Quality]]:
        """Return predicted classes, and how many test nodes are right, by class and by degree."""
        guess = predictor("predict", self.x, self.graph).argmax(-1).cpu()
        data = self.data
        right = (guess == data.y).double()
        tested = torch.where(data.test_mask, right, torch.nan)
        names = class_names(data)
        columns = [
            Column.of_categories("predicted class", guess.numpy(), names),
            Column.of_categories("right or wrong", torch.where(data.y >= 0, 1 - right.long(), -1).numpy(), ["right", "wrong"]),
            split_column(data),
        ]
        alone = " by the network alone" if self.term_names else ""  # the score is that of the blend
        about = f"Share of the test nodes whose class is predicted right{alone}."
        degree = torch.bincount(data.edge_index[0], minlength=self.num_nodes)
        return columns, [
            Quality("Test nodes right, by class", about, by_class(tested, data.y, names)),
            Quality("Test nodes right, by degree", about, by_degree(tested, degree)),
        ]


def _labels_of(data: "Data") -> Tensor:
    """Return the labels; raise if there are none."""
    y: Tensor | None = getattr(data, "y", None)
    if y is None:
        raise ValueError(f"classification needs labels, but {getattr(data, 'name', 'the graph')} has none")
    return y


def _convolves(config: Config) -> bool:
    """Tell whether the classifier is the last convolution of the network."""
    return config.capabilities.stacked and getattr(config, "head", "") == "convolution"
