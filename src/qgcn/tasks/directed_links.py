"""Directed links: which node points at which."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import torch
from pydantic import Field
from torch import Tensor

from qgcn import metrics
from qgcn.answer import Answer
from qgcn.data import NegativeSampler, has_directed_splits, load_directed_split, one_way, split_directed
from qgcn.embedding import node_ids_of
from qgcn.manifolds import Space, parse_space
from qgcn.nn import ARROW_DECODERS, arrow_decoder, halves_of
from qgcn.tasks.arrow_predictor import ArrowPredictor
from qgcn.tasks.arrow_scores import (
    BY_DEGREE,
    direction_accuracy,
    three_way_accuracy,
    three_way_threshold,
    yardstick_scores,
)
from qgcn.tasks.config import Config
from qgcn.tasks.inputs import check_one_way, check_part, check_unchanged
from qgcn.tasks.insights import Column, Listing, Quality, auc_by_degree
from qgcn.tasks.link_batches import ArrowBatching
from qgcn.tasks.predictor import Predictor
from qgcn.tasks.ranges import NETWORK, Choice, Interval, Range
from qgcn.tasks.registry import register_task
from qgcn.tasks.task import Rung, Scores, Split, Task

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["DirectedLinkConfig", "DirectedLinks"]

PARTS = ("train", "val", "test", "val_negative", "test_negative")
MOST_LISTED = 100
"""Rows of a list in the report."""


class DirectedLinkConfig(Config):
    """Settings of directed links."""

    task: Literal["directed-links"] = "directed-links"
    fold: int = Field(0, ge=0, description="Number of the published split, of a data set that has some.")
    val: float = Field(0.05, gt=0, lt=1, description="Share of the edges kept for validation.")
    test: float = Field(0.15, gt=0, lt=1, description="Share of the edges kept for the test.")
    reverses: float = Field(
        0.25, ge=0, le=1, description="Share of the held-out negatives that are held-out edges turned round; the rest is drawn."
    )
    select: Literal["roc_auc", "mrr", "average_precision"] = Field(
        "roc_auc", description="Score that validation chooses by, the main one of the results."
    )
    decoder: Literal["joint", "source-target", "oriented", "interval", "triple"] = Field(
        "joint",
        description="Read an edge off a product of what nodes are as sources and targets, an inner product that is oriented, "
        "the interval of two points and their times, three Fermi-Dirac functions of these, or all by a small network.",
    )
    messages: Literal["both", "forward", "backward", "mix"] = Field(
        "both",
        description="Way of messages along edges, for a model that does not tell an edge from its reverse; mix computes it "
        "forward and backward, and learns how much of each.",
    )
    reverse_weight: float = Field(0.1, ge=0, description="Weight of edges turned round among the negatives in training.")

    of_model: ClassVar[tuple[str, ...]] = ("decoder", "messages", "reverse_weight")
    defaults: ClassVar[dict[str, Any]] = {
        "model": "propagation",
        "space": "E128",
        "along": "alternating",
        "feature_dropout": 0.7,
        "dropout": 0.3,
        "edge_dropout": 0.3,
        "weight_decay": 0.0005,
        "epochs": 400,
        "patience": 100,
    }


@register_task
class DirectedLinks(ArrowBatching, Task[DirectedLinkConfig]):
    """Learn some edges of a directed graph, and tell the others from ordered pairs that are none.

    Scores: ``roc_auc``, ``average_precision``, ``mrr``, ``hits@20`` and ``hits@100`` of held-out edges among held-out
    negatives; ``direction_accuracy``, the share of held-out edges without reverse that score higher in their own direction;
    ``three_way_accuracy``, whether an edge leads forth, back, or in both directions or none, by the threshold that is best on
    validation. Messages pass along training edges, without weights.
    """

    name: ClassVar[str] = "directed-links"
    metric = "roc_auc"
    everything: ClassVar[str] = "all edges"
    config_type: ClassVar[type[Config]] = DirectedLinkConfig
    eval_every: ClassVar[int] = 5
    directed: ClassVar[bool] = True
    scores_pairs: ClassVar[bool] = True
    rungs: ClassVar[tuple[Rung, ...]] = (Rung(1, 35, 1), Rung(1 / 3, 90, 1), Rung(1 / 6, 120, 2))

    search: ClassVar[tuple[Range, ...]] = (
        *(each for each in NETWORK if each.name not in ("lr", "layers")),
        Interval("lr", 0.001, 0.02, log=True),
        Choice("layers", (1, 2, 3)),
        Choice("along", ("alternating", "both", "phases")),
        Choice("decoder", tuple(ARROW_DECODERS)),
        Choice("reverse_weight", (0.0, 0.1, 1.0)),
    )

    purpose: ClassVar[str] = "Learn some edges of a directed graph, and tell which node points at which."
    example: ClassVar[str] = "qgcn train directed-links --data citations.csv --space Q65,64 --seeds 5"
    sweep_example: ClassVar[str] = "--data cora-ml --models propagation:Q65,64 gcn:E128"
    aim: ClassVar[str] = "so that points tell which way edges lead"
    titles: ClassVar[dict[str, str]] = {"roc_auc": "ROC AUC", "mrr": "MRR"}
    main_scores: tuple[str, ...] = ("roc_auc", "mrr", "hits@100", "direction_accuracy", "three_way_accuracy")

    @classmethod
    def check(cls, config: Config) -> None:
        """Raise if shares make no split, or a way of messages is asked for that the model decides."""
        super().check(config)
        if isinstance(config, DirectedLinkConfig):
            if config.val + config.test >= 1:
                raise ValueError(f"val and test must be shares with val + test < 1, got {config.val} and {config.test}")
            halves_of(parse_space(config.space))
            if config.messages != "both" and config.capabilities.directed:
                raise ValueError(f"messages has no effect on the model {config.model}, whose option along says the way")
            if config.messages == "mix" and config.batch_size is not None:
                raise ValueError("messages mix has no mini-batches, where no edges that leave a node are: leave out batch_size")

    @classmethod
    def metric_of(cls, config: Config) -> str:
        """Return the score that the settings select by."""
        return config.select if isinstance(config, DirectedLinkConfig) else cls.metric

    @classmethod
    def make_split(cls, data: "Data", config: DirectedLinkConfig) -> dict[str, Tensor]:
        """Split the edges, see :func:`qgcn.data.split_directed`, or take a published split of the data set."""
        edges, nodes = data.edge_index, int(data.num_nodes or 0)
        check_one_way(data, "qgcn train links takes both")
        published = load_directed_split(config.data, config.fold)
        if published is not None:
            check_unchanged(config, ("val", "test", "reverses"), "which has published splits: choose one by fold")
            split = torch.cat([published[part] for part in ("train", "val", "test")], dim=1).to(edges.device)
            if bool(one_way(split.flip(0), edges, nodes).any()):
                raise ValueError(f"the graph is not {config.data}: it lacks edges of the published split; give it another name")
            return published
        if config.fold:
            raise ValueError(f"{config.data} has no published splits: leave out fold, and give split_seed for another split")
        form = {"val": config.val, "test": config.test, "reverses": config.reverses, "seed": config.split_seed}
        return split_directed(edges, nodes, **form)  # type: ignore[arg-type]

    def prepare(self) -> None:
        """Check the split; lay out what is trained on and what is scored."""
        for part in PARTS:
            check_part(self.split, part, torch.int64, (2, None))
        self.metric = self.metric_of(self.config)
        self.main_scores = tuple(dict.fromkeys((self.metric, *type(self).main_scores)))
        held = torch.cat([self.split[part] for part in PARTS], dim=1)
        self.negatives = NegativeSampler(self.num_nodes, held).to(self.device)
        train = self.split["train"]
        single = one_way(train, train, self.num_nodes)  # whatever is held out: to spare it would tell which reverses are edges
        if self.config.batch_size is not None and not bool(single.any()):
            raise ValueError("no training edge leads one way, which mini-batches learn from: leave out batch_size")
        self.arrows, self.turned = train.to(self.device), train.flip(0)[:, single].to(self.device)
        self.turned_place = torch.where(single, single.cumsum(0) - 1, -1).to(self.device)
        self._scored = {part: self._asked(part) for part in ("val", "test")}

    def _asked(self, part: str) -> Tensor:
        """Return the pairs of a part, edges first, and after them the same in the other direction."""
        pairs = torch.cat((self.split[part], self.split[f"{part}_negative"]), dim=1)
        return torch.cat((pairs, pairs.flip(0)), dim=1).to(self.device)

    def _configure(self) -> None:
        """Give messages the arrows, or the way that the settings say, if the model does not tell directions."""
        told = self.config.capabilities.directed
        way = "forward" if told or self._mixed else self.config.messages
        self._inputs = self._inputs.oriented.turned(way)
        super()._configure()

    def refitted(self) -> Self:
        """Return the problem in which all edges are trained on."""
        nothing = torch.empty(2, 0, dtype=torch.long)
        edges = torch.cat([self.split[name] for name in ("train", "val", "test")], dim=1)
        return type(self)(self.source, self.config, split=dict.fromkeys(PARTS, nothing) | {"train": edges}, device=self.device)

    def known_edges(self) -> tuple[Tensor, Tensor | None]:
        """Return all edges; weights are not used."""
        return self.data.edge_index, None

    def message_edges(self) -> tuple[Tensor, Tensor | None]:
        """Return the training edges, from source to target."""
        return self.split["train"], None

    def build_predictor(self) -> ArrowPredictor:
        """Build an encoder and a decoder."""
        encoder, config = self.build_encoder(), self.config
        dropout = float(config.options.get("dropout", 0))  # a decoder that is a network drops as much as the encoder
        decoder = arrow_decoder(config.decoder, encoder.space, dropout=dropout)
        return ArrowPredictor(encoder, decoder, config.reverse_weight, self._mixed)

    @property
    def _mixed(self) -> bool:
        return self.config.messages == "mix"

    @property
    def is_static(self) -> bool:
        """Whether a step can be recorded: not if edges that are left are laid out the other way round."""
        return not self._mixed

    def targets(self, split: Split) -> tuple[Tensor, ...]:
        """Return training edges and those turned round; or the pairs of validation, before those of the test if asked for.

        The threshold of the test is found on validation, so that both are predicted together.
        """
        if split == "train":
            return self.arrows, self.turned
        return (self._scored["val"] if split == "val" else torch.cat((self._scored["val"], self._scored["test"]), dim=1),)

    def _sides(self, prediction: Tensor, split: Split) -> tuple[Tensor, Tensor]:
        """Return the logits of the pairs of a part, and of the same in the other direction, shapes ``(..., P)``."""
        start = self._scored["val"].shape[1] if split == "test" else 0
        size = self._scored[split].shape[1] // 2
        return prediction[..., start : start + size], prediction[..., start + size : start + 2 * size]

    def _ranked(self, prediction: Tensor, split: Split) -> tuple[Tensor, Tensor]:
        """Return the logits of the edges and of the negatives of a part."""
        count = self.split[split].shape[1]
        forth, _ = self._sides(prediction, split)
        return forth[..., :count], forth[..., count:]

    def selection(self, prediction: Tensor, space: Space) -> Tensor:
        """Return the score on validation that is selected by; axes before the last are batches."""
        methods = {"roc_auc": metrics.roc_auc, "mrr": metrics.mean_reciprocal_rank}
        return methods.get(self.metric, metrics.average_precision)(*self._ranked(prediction, "val")).double()

    def score(self, prediction: Tensor, split: Split, space: Space) -> Scores:
        """Return ranking scores, and the accuracies of direction."""
        if split == "train":
            raise ValueError("training edges have no fixed negatives to be scored against")
        ranked = self._ranked(prediction, split)
        found = {
            "roc_auc": metrics.roc_auc(*ranked),
            "average_precision": metrics.average_precision(*ranked),
            "mrr": metrics.mean_reciprocal_rank(*ranked),
        }
        found |= {f"hits@{k}": metrics.hits_at(*ranked, k=k) for k in (20, 100) if k <= ranked[1].shape[-1]}
        count = self.split[split].shape[1]
        single = self._classes(split)[:count] == 0
        if bool(single.any()):
            forth, back = (side[:count][single] for side in self._sides(prediction, split))
            found["direction_accuracy"] = direction_accuracy(forth, back)
        threshold = three_way_threshold(*self._shown(prediction, "val"))
        found["three_way_accuracy"] = three_way_accuracy(*self._shown(prediction, split), threshold)
        return {name: float(value) for name, value in found.items()}

    def _classes(self, split: Split) -> Tensor:
        """Tell of the pairs of a part whether an edge leads forth (0), back (1), or both or none (2), shape ``(P,)``."""
        pairs, edges = self._scored[split].cpu(), self.data.edge_index.cpu()
        pairs = pairs[:, : pairs.shape[1] // 2]
        forth, back = ~one_way(pairs.flip(0), edges, self.num_nodes), ~one_way(pairs, edges, self.num_nodes)
        return torch.where(forth == back, 2, torch.where(forth, 0, 1)).to(self.device)

    def _shown(self, prediction: Tensor, split: Split) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits forth and back, and the class, of pairs; every second edge that leads one way is shown backwards."""
        (forth, back), truth = self._sides(prediction, split), self._classes(split)
        turned = (torch.arange(len(truth), device=truth.device) % 2 == 1) & (truth < 2)
        return torch.where(turned, back, forth), torch.where(turned, forth, back), torch.where(turned, 1 - truth, truth)

    def outcomes(self, prediction: Tensor, split: Split) -> tuple[Tensor, Tensor]:
        """Return the logits of "no edge" and "edge" for the pairs of a split, and which it is."""
        logits = torch.cat(self._ranked(prediction, split))
        joined = torch.arange(len(logits), device=logits.device) < self.split[split].shape[1]
        return torch.stack((torch.zeros_like(logits), logits), dim=1), joined.long()

    def from_outcomes(self, logits: Tensor) -> Tensor:
        """Return the logits of edges."""
        return logits[:, 1] - logits[:, 0]

    def yardsticks(self) -> dict[str, Callable[[], Scores]]:
        """Return scores of training edges alone: degrees, paths that turn twice, and singular vectors."""
        return {name: partial(self._yardstick, name) for name in (BY_DEGREE, "paths", "truncated SVD")}

    def _yardstick(self, name: str) -> Scores:
        pairs = self.targets("test")[0].cpu().numpy()
        found = yardstick_scores(name, self.split["train"].numpy(), self.num_nodes, pairs)
        return self.score(torch.from_numpy(found).to(self.device), "test", parse_space(self.config.space))

    # --- words -------------------------------------------------------------------------------------------------------

    def scored_on(self) -> str:
        """Return the name of the split."""
        return f"published split {self.config.fold}" if has_directed_splits(self.config.data) else "held-out ordered pairs"

    def outcome(self, value: str) -> str:
        """Say what the main score means."""
        if self.metric == "roc_auc":
            return f"Shown a held-out edge and an ordered pair that is none, it prefers the edge {value} of the time."
        name = "a mean reciprocal rank of" if self.metric == "mrr" else "an average precision of"
        return f"Held-out edges, each ranked among all held-out pairs that are none, have {name} {value}."

    def remarks(self) -> list[str]:
        """Say how many pairs there are, and that weights are not used."""
        train, val, test, *others = (f"{self.split[part].shape[1]:,}" for part in PARTS)
        told = [f"{train} train, {val} val, {test} test edges; {others[0]} and {others[1]} ordered pairs that are none"]
        return told + ([] if getattr(self.data, "edge_weight", None) is None else ["weights of edges are not used"])

    def insights(self, predictor: Predictor) -> tuple[list[Column], list[Quality]]:
        """Return how many edges lead to and from nodes, their learned time, and how well test edges are told, by degree."""
        ends = [torch.bincount(end, minlength=self.num_nodes) for end in self.data.edge_index.cpu()]
        columns = [Column(name, each.double().numpy()) for name, each in zip(("edges out", "edges in"), ends, strict=True)]
        with torch.no_grad():
            batch = self.loader.scored("test", whole=True)
            logits = predictor("predict", batch.x, batch.graph, *batch.targets).cpu()
            if isinstance(predictor, ArrowPredictor):
                columns.insert(0, Column("time", predictor.times(self.embed(predictor)).cpu().numpy()))
        ranked = torch.cat(self._ranked(logits, "test"))
        pairs = self._scored["test"][:, : len(ranked)].cpu()
        groups = auc_by_degree(pairs, ranked, self.split["test"].shape[1], ends[0] + ends[1])
        about = "ROC AUC of test edges by the degree, in both directions, of their end with fewer edges: 0.5 is guessing."
        return columns, [Quality("Test edges told apart, by degree", about, groups)]

    def listings(self, predictor: Predictor) -> list[Listing]:
        """Return edges that the model would rather turn round."""
        edges = self.data.edge_index[:, one_way(self.data.edge_index, self.data.edge_index, self.num_nodes)]
        with torch.no_grad():
            points = self.embed(predictor)
            forth, back = (self._logits(predictor, points, pairs).cpu() for pairs in (edges, edges.flip(0)))
        gap = (back - forth).double()
        first = gap.argsort(descending=True)[:MOST_LISTED]
        first = first[gap[first] > 0]
        if not len(first):
            return []
        names = node_ids_of(self.data)[edges[:, first].cpu().numpy()]
        table = Answer({"source": names[0], "target": names[1], "log odds of the reverse": gap[first].numpy()})
        about = (
            "Edges that lead one way in the graph and, if anything, the other way by the model, the clearest first: how much "
            "larger the log odds of the reverse are. Most were trained on as they are."
        )
        return [Listing("reversed-edges", "Edges that may point the wrong way", about, table, nodes=("source", "target"))]

    def _logits(self, predictor: Predictor, points: Tensor, pairs: Tensor) -> Tensor:
        if not isinstance(predictor, ArrowPredictor):
            raise TypeError(f"expected a predictor of arrows, got {type(predictor).__name__}")
        return predictor.pair_logits(points, pairs.to(points.device))
