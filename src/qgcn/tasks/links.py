"""Link prediction."""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import torch
from pydantic import Field
from torch import Tensor

from qgcn import metrics
from qgcn.blending import Prior
from qgcn.data import LinkSplit, read_link_split
from qgcn.data.splits import link_parts
from qgcn.embedding import node_ids_of
from qgcn.manifolds import Space, parse_space
from qgcn.nn import PAIR_DECODERS, NeighbourNetwork, SharedNeighbours, pair_decoder
from qgcn.tasks.config import Config, check_shares, path_field
from qgcn.tasks.insights import Column, Quality, auc_by_degree
from qgcn.tasks.link_batches import LinkBatching, NegativeSampling
from qgcn.tasks.link_predictor import LinkPredictor
from qgcn.tasks.link_terms import Choice, LinkTerms
from qgcn.tasks.minibatches import loader_of
from qgcn.tasks.predictor import Predictor
from qgcn.tasks.ranges import NETWORK, Interval, Range
from qgcn.tasks.ranges import Choice as Values
from qgcn.tasks.registry import register_task
from qgcn.tasks.task import Rung, Scores, Split, Task

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["LinkConfig", "LinkPrediction"]

SPECTRAL = (2, 4, 8, 16, 32, 64)
"""Dimensions of spectral yardsticks, of which validation chooses."""
SPLITS = {
    "leak-free": "the leak-free split",
    "hgcn": "the hgcn split, which leaks test pairs into training",
    "hard": "the leak-free split with hard non-edges",
}
"""What a split is called in a sentence."""


class LinkConfig(Config):
    """Settings of link prediction."""

    task: Literal["links"] = "links"
    protocol: Literal["leak-free", "hgcn", "hard"] = Field(
        "leak-free", description="Protocol of the split of edges; hard gives each held-out edge non-edges that look like edges."
    )
    val: float = Field(0.05, gt=0, lt=1, description="Share of the edges kept for validation.")
    test: float = Field(0.10, gt=0, lt=1, description="Share of the edges kept for the test.")
    split: str | None = path_field("File that says which edges are held out: CSV, TSV or Parquet of source, target and part.")
    negatives: int = Field(100, ge=1, le=10000, description="Non-edges of each held-out edge, with the protocol hard.")
    select: Literal["roc_auc", "average_precision", "mrr", "hits@10", "hits@50", "hits@100"] = Field(
        "roc_auc", description="Score that validation chooses by, the main one of the results."
    )
    decoder: Literal["squared-distance", "distance", "product", "bilinear", "network", "neighbours"] = Field(
        "squared-distance",
        description="Read an edge off the squared distance of two points, their distance, the inner product of their tangent "
        "coordinates (time counts negative), a learned form of these, a small network of both, or one that sees shared "
        "neighbours too.",
    )
    learn_boundary: bool = Field(
        False,
        description="Learn at which distance, squared or not, an edge is as likely as not, and how softly, from 2 and 1 on.",
    )
    negative_sampling: NegativeSampling = Field(
        "uniform", description="Draw training non-edges from all pairs, from ends of the batch's edges, or by degree."
    )
    blend: bool = Field(True, description="Weigh the network with structural scores, such as shared neighbours, by validation.")

    of_model: ClassVar[tuple[str, ...]] = ("decoder", "learn_boundary", "negative_sampling")
    defaults: ClassVar[dict[str, Any]] = {
        "aggregation": "mean",
        "feature_dropout": 0.5,
        "edge_dropout": 0.5,
        "weight_decay": 0.0005,
        "epochs": 400,
        "patience": 100,
    }


@register_task
class LinkPrediction(LinkBatching, Task[LinkConfig]):
    """Learn some edges of a graph, and tell the others from non-edges.

    Scores: ``roc_auc``, ``average_precision``, ``mrr`` and ``hits@10``, ``hits@50``, ``hits@100``: of all held-out edges among
    all held-out non-edges; with the protocol hard, of each edge among its own, on average. Messages pass along training edges,
    without weights.
    """

    name: ClassVar[str] = "links"
    metric = "roc_auc"
    everything: ClassVar[str] = "all edges"
    config_type: ClassVar[type[Config]] = LinkConfig
    eval_every: ClassVar[int] = 5
    scores_pairs: ClassVar[bool] = True
    rungs: ClassVar[tuple[Rung, ...]] = (Rung(1, 35, 1), Rung(1 / 3, 90, 1), Rung(1 / 6, 120, 2))

    search: ClassVar[tuple[Range, ...]] = (
        *(each for each in NETWORK if each.name not in ("lr", "layers")),
        Interval("lr", 0.001, 0.02, log=True),  # wide networks with a decoder of their own diverge above
        Values("layers", (1, 2, 3)),
        Values("one_hot", (False, True)),
        Values("decoder", PAIR_DECODERS),
    )

    purpose: ClassVar[str] = "Learn some edges of a graph, and tell the others from non-edges."
    example: ClassVar[str] = "qgcn train links --data friends.csv --space Q15,1 --seeds 5"
    aim: ClassVar[str] = "so that linked nodes can be told by their points"
    titles: ClassVar[dict[str, str]] = {"roc_auc": "ROC AUC", "mrr": "MRR"}
    main_scores: tuple[str, ...] = ("roc_auc", "average_precision", "mrr")

    @classmethod
    def check(cls, config: Config) -> None:
        """Raise if shares make no split, or a file makes it already, or hard non-edges are counted where there are none."""
        super().check(config)
        check_shares(config)
        usual = type(config).model_fields["negatives"].default
        if isinstance(config, LinkConfig) and config.protocol != "hard" and config.negatives != usual:
            raise ValueError(f"negatives has no effect with the protocol {config.protocol}; it is for protocol hard")
        if isinstance(config, LinkConfig) and config.learn_boundary and "distance" not in config.decoder:
            raise ValueError(f"learn_boundary has no effect with the decoder {config.decoder}, which has no boundary")
        if isinstance(config, LinkConfig) and config.batch_size is not None and config.decoder == "neighbours":
            raise ValueError("the decoder neighbours has no mini-batches: leave out batch_size, or take another decoder")

    @classmethod
    def metric_of(cls, config: Config) -> str:
        """Return the score that the settings select by."""
        return config.select if isinstance(config, LinkConfig) else cls.metric

    @classmethod
    def make_split(cls, data: "Data", config: LinkConfig) -> dict[str, Tensor]:
        """Split the edges, see :func:`qgcn.data.split_links`, or as a file says, see :func:`qgcn.data.read_link_split`."""
        form: dict[str, Any] = {"protocol": config.protocol, "seed": config.split_seed}
        form |= {"negatives": config.negatives, "x": getattr(data, "x", None)}
        if config.split is not None:
            return read_link_split(Path(config.split), data.edge_index, node_ids_of(data), **form).parts()
        return link_parts(data.edge_index, int(data.num_nodes or 0), shares=(config.val, config.test), **form)

    def refitted(self) -> Self:
        """Return the problem in which all edges are trained on, and no other pair is kept from being a non-edge."""
        held = {name: torch.empty(2, 0, dtype=torch.long) for name in ("val", "test", "val_negative", "test_negative")}
        edges = torch.cat([self.split[name] for name in ("train", "val", "test")], dim=1)
        made = type(self)(self.source, self.config, split=self.split | held | {"train": edges}, device=self.device)
        return self._pass_choice(made)

    def blinded(self) -> Self:
        """Return the problem without test edges and test non-edges; neither is drawn as a training non-edge, as before."""
        nothing = torch.empty(2, 0, dtype=torch.long)
        made = copy.copy(self)
        made.split = self.split | {"test": nothing, "test_negative": nothing}
        made.links = replace(self.links, test=nothing.to(self.device), test_negative=nothing.to(self.device))
        made.data, made.source = copy.copy(self.data), copy.copy(self.data)
        known = torch.cat([self.split[name] for name in ("train", "val")], dim=1)
        made.data.edge_index = made.source.edge_index = torch.cat((known, known.flip(0)), dim=1)
        made.data.edge_weight = made.source.edge_weight = None  # of all edges, and not used
        made.__dict__.pop("link_terms", None)
        made.loader = loader_of(made)
        return made

    def prepare(self) -> None:
        """Build the split from its parts."""
        self.links: LinkSplit = LinkSplit.of(self.split, self.num_nodes, self.config.protocol).to(self.device)
        self.metric = self.metric_of(self.config)
        self.main_scores = tuple(dict.fromkeys((self.metric, *type(self).main_scores)))
        for part in ("val", "test"):
            self._check_part(part)

    def _check_part(self, part: str) -> None:
        """Raise unless there are enough non-edges for the main score, and as many for each edge as the settings say."""
        edges, others = (self.split[name].shape[1] for name in (part, f"{part}_negative"))
        if self.config.protocol == "hard":
            if others != edges * self.config.negatives:
                wanted = f"{self.config.negatives} non-edges for each of {edges} edges"
                raise ValueError(f"{part}_negative must hold {wanted}, got {others}")
            others = min(others, self.config.negatives)
        least = int(self.metric.partition("@")[2] or 0)
        if 0 < others < least:
            kind = {"val": "validation", "test": "test"}[part]
            raise ValueError(f"{self.metric} needs at least {least} non-edges, got {others} for {kind}: select another score")

    def known_edges(self) -> tuple[Tensor, Tensor | None]:
        """Return all edges; weights are not used."""
        return self.data.edge_index, None

    def message_edges(self) -> tuple[Tensor, Tensor | None]:
        """Return the training edges in both directions."""
        return self.links.message.cpu(), None

    def build_predictor(self) -> LinkPredictor:
        """Build an encoder and a decoder."""
        encoder, config = self.build_encoder(), self.config
        known = self._neighbours if config.decoder == "neighbours" else None
        dropout = float(config.options.get("dropout", 0))  # a decoder that is a network drops as much as the encoder
        form: dict[str, Any] = {"learnable": config.learn_boundary, "dropout": dropout, "neighbours": known}
        return LinkPredictor(encoder, pair_decoder(config.decoder, encoder.space, **form))

    @property
    def _neighbours(self) -> SharedNeighbours:
        """Neighbours along the edges that messages pass along."""
        return SharedNeighbours(self._inputs.edges.to(self.device), self.num_nodes)

    def adapted(self, predictor: Predictor) -> Predictor:
        """Return a model with the neighbours of this graph, if it sees any."""
        if not isinstance(predictor, LinkPredictor) or not isinstance(predictor.decoder, NeighbourNetwork):
            return predictor
        decoder = copy.deepcopy(predictor.decoder)
        decoder.neighbours = self._neighbours
        return LinkPredictor(predictor.encoder, decoder).train(predictor.training)

    @property
    def is_static(self) -> bool:
        """Whether a step can be recorded: how many neighbours are shared differs from step to step."""
        return bool(self.config.decoder != "neighbours")

    def can_batch(self) -> bool:
        """Tell whether seeds can be trained as one batch: their non-edges share different numbers of neighbours."""
        return super().can_batch() and self.config.decoder != "neighbours"

    def targets(self, split: Split) -> tuple[Tensor, ...]:
        """Return the training edges; or the edges of a split, then its non-edges."""
        if split == "train":
            return (self.links.train,)
        return (torch.cat((getattr(self.links, split), getattr(self.links, f"{split}_negative")), dim=1),)

    def selection(self, prediction: Tensor, space: Space) -> Tensor:
        """Return the score on validation that is selected by; axes before the last are batches."""
        return self._measures(prediction, "val")[self.metric]().double()

    def score(self, prediction: Tensor, split: Split, space: Space) -> Scores:
        """Return ranking scores."""
        if split == "train":
            raise ValueError("training edges have no fixed non-edges to be scored against")
        return {name: float(measure()) for name, measure in self._measures(prediction, split).items()}

    def _measures(self, prediction: Tensor, split: Split) -> dict[str, Callable[[], Tensor]]:
        """Return what computes each score of predictions, shape ``(..., P)``; hard non-edges are those of one edge each."""
        count, hard = getattr(self.links, split).shape[1], self.links.protocol == "hard"
        positive, negative = prediction[..., :count], prediction[..., count:]
        if hard:
            positive, negative = positive.unsqueeze(-1), negative.unflatten(-1, (count, -1))
        methods: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
            "roc_auc": metrics.roc_auc,
            "average_precision": metrics.average_precision,
            "mrr": metrics.mean_reciprocal_rank,
        }
        methods |= {f"hits@{k}": partial(metrics.hits_at, k=k) for k in (10, 50, 100) if k <= negative.shape[-1]}

        def measured(method: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
            found = method(positive, negative)
            return found.mean(-1) if hard else found

        return {name: partial(measured, method) for name, method in methods.items()}

    def outcomes(self, prediction: Tensor, split: Split) -> tuple[Tensor, Tensor]:
        """Return the logits of "no edge" and "edge" for the pairs of a split, and which it is."""
        joined = torch.arange(len(prediction), device=prediction.device) < getattr(self.links, split).shape[1]
        return torch.stack((torch.zeros_like(prediction), prediction), dim=1), joined.long()

    def from_outcomes(self, logits: Tensor) -> Tensor:
        """Return the logits of edges."""
        return logits[:, 1] - logits[:, 0]

    @cached_property
    def link_terms(self) -> LinkTerms:
        """Structural scores, of the edges that messages pass along; validation chooses the spectral embedding."""
        return LinkTerms(self._inputs.edges, self.num_nodes, self._choose)

    def _pass_choice(self, made: Self) -> Self:
        """Give another problem structural scores of its own, with the spectral embedding that was chosen for this one."""
        made.__dict__["link_terms"] = LinkTerms(made._inputs.edges, made.num_nodes, lambda *_: self.link_terms.choice)
        return made

    @property
    def term_names(self) -> tuple[str, ...]:
        """Names of the structural scores."""
        return LinkTerms.NAMES if self.config.blend else ()

    @property
    def prior(self) -> Prior:
        """Weights that are about right for many graphs: a few validation edges should not overturn them."""
        return Prior(LinkTerms.PRIOR, strength=3.0) if self.config.blend else Prior()

    def terms(self, split: Split) -> Tensor | None:
        """Return the structural scores of the pairs of a split."""
        if not self.config.blend:
            return None
        edge = self.link_terms.of_pairs(self.targets(split)[0]).unsqueeze(1)
        return torch.cat((torch.zeros_like(edge), edge), dim=1)

    def pair_terms(self) -> LinkTerms | None:
        """Return the structural scores, if the network is weighed with them."""
        return self.link_terms if self.config.blend else None

    def changed(self, data: "Data") -> Self:
        """Return the problem of a changed graph, with structural scores of its own."""
        return self._pass_choice(super().changed(data))

    def yardsticks(self) -> dict[str, Callable[[], Scores]]:
        """Return neighbourhood and spectral scores, all of training edges alone."""
        from qgcn.yardsticks import adamic_adar, common_neighbours, preferential_attachment

        graph = self.link_terms.graph
        (pairs,) = (each.cpu().numpy() for each in self.targets("test"))
        simple = {
            "common neighbours": common_neighbours,
            "Adamic-Adar": adamic_adar,
            "preferential attachment": preferential_attachment,
        }
        found: dict[str, Callable[[], Scores]] = {
            name: partial(self._neighbourly, method, graph, pairs) for name, method in simple.items()
        }
        found["spectral embedding"] = lambda: self._scored(self._spectral(*self.link_terms.spectrum))
        found["truncated SVD"] = lambda: self._scored(self._spectral(*self.link_terms.singular))
        return found

    def _spectral(self, values: Any, vectors: Any) -> Any:
        """Score the test pairs by eigenvectors; validation chooses how many, and the power of their eigenvalues."""
        return self._by_eigenvectors("test", values, vectors, self._choose(values, vectors))

    def _choose(self, values: Any, vectors: Any) -> Choice:
        """Return the number of eigenvectors and the power of their eigenvalues that do best on validation."""
        choices, space = [(count, power) for count in SPECTRAL for power in (1, 2)], parse_space(self.config.space)

        def score(choice: Choice) -> float:
            found = torch.from_numpy(self._by_eigenvectors("val", values, vectors, choice))
            return float(self.selection(found, space))

        return max(choices, key=score)

    def _by_eigenvectors(self, split: Split, values: Any, vectors: Any, choice: Choice) -> Any:
        from qgcn.yardsticks import pair_scores

        count, power = choice
        return pair_scores(values[:count], vectors[:, :count], self.targets(split)[0].cpu().numpy(), power)

    def _neighbourly(self, method: Callable[[Any, Any], Any], graph: Any, pairs: Any) -> Scores:
        return self._scored(method(graph, pairs))

    def _scored(self, scores: Any) -> Scores:
        return self.score(torch.from_numpy(scores), "test", parse_space(self.config.space))

    # --- words -------------------------------------------------------------------------------------------------------

    def scored_on(self) -> str:
        """Return the name of the split."""
        return f"{self.links.protocol} split"

    def outcome(self, value: str) -> str:
        """Say what the main score means."""
        split, hard = SPLITS[self.links.protocol], self.links.protocol == "hard"
        others = f"{self.config.negatives} hard non-edges of its own" if hard else "all held-out non-edges"
        kind, _, rank = self.metric.partition("@")
        if kind == "roc_auc":
            pair = "one of its hard non-edges" if hard else "a pair that is none"
            told = f"Shown a held-out edge and {pair}, it prefers the edge {value} of the time, where guessing gives 50 %"
        elif kind == "hits":
            told = f"Each ranked among {others}, {value} of the held-out edges come before the non-edge in place {rank}"
        else:
            name = "a mean reciprocal rank of" if kind == "mrr" else "an average precision of"
            told = f"Held-out edges, each ranked among {others}, have {name} {value}"
        return f"{told} ({split})."

    def caution(self) -> str:
        """Warn of the split that leaks."""
        if self.links.protocol != "hgcn":
            return ""
        return "The hgcn split leaks test pairs into training negatives; it is there to compare with the papers."

    def remarks(self) -> list[str]:
        """Say that weights are not used, and where the split comes from, if from a file."""
        told = [] if getattr(self.data, "edge_weight", None) is None else ["weights of edges are not used"]
        if self.config.split is not None:
            train, val, test, *others = (pairs.shape[1] for pairs in self.links.parts().values())
            sizes = f"{train} train, {val} val, {test} test edges; {others[0]} and {others[1]} non-edges"
            told.append(f"split read from {self.config.split}: {sizes}")
        return told

    def about_results(self) -> dict[str, Any]:
        """Return the protocol of the split."""
        return {"protocol": self.links.protocol}

    def insights(self, predictor: Predictor) -> tuple[list[Column], list[Quality]]:
        """Return how well test edges are told apart, by degree."""
        batch = self.loader.scored("test", whole=True)
        logits = predictor("predict", batch.x, batch.graph, *batch.targets)
        degree = torch.bincount(self.data.edge_index[0], minlength=self.num_nodes)
        groups = auc_by_degree(batch.targets[0].cpu(), logits.cpu(), self.links.test.shape[1], degree)
        alone = " by the network alone" if self.term_names else ""  # the score is that of the blend
        about = f"ROC AUC of test edges{alone}, by the degree of their end with fewer edges: 0.5 is guessing."
        return [], [Quality("Test edges told apart, by degree", about, groups)]
