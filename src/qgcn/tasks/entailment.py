"""Entailment: which node of a hierarchy is an ancestor of which."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import softplus

from qgcn import metrics
from qgcn.data import depths, find_cycle, load_entailment, one_way, split_hierarchy, transitive_closure
from qgcn.embedding import node_ids_of
from qgcn.kernels.cones import among, entailed
from qgcn.manifolds import Space, parse_space, spacetimes_of_dimension
from qgcn.models import Encoder
from qgcn.nn import Adjacency, Cone, SparseMatrix, cone
from qgcn.tasks.config import Config
from qgcn.tasks.decisions import best_f1, decided
from qgcn.tasks.inputs import check_part, check_unchanged
from qgcn.tasks.insights import Column, Group, Quality
from qgcn.tasks.located import Located
from qgcn.tasks.predictor import PairPredictor, Predictor
from qgcn.tasks.ranges import Choice, Interval, Range
from qgcn.tasks.registry import register_task
from qgcn.tasks.task import Rung, Scores, Split

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from qgcn.yardsticks import Verdict

__all__ = ["Entailment", "EntailmentConfig", "EntailmentPredictor"]

PATHS = "paths of training pairs"
"""Name of the yardstick that goes along training pairs."""
SHARPNESS = 4.0
"""Where the steepness of the objective starts; it is learned."""
PARTS = ("train", "val", "test", "val_negative", "test_negative")


class EntailmentConfig(Config):
    """Settings of entailment."""

    task: Literal["entailment"] = "entailment"
    edges: Literal["parent-child", "child-parent"] = Field(
        "parent-child", description="What an edge leads from and to: the first column of a file is its parent or its child."
    )
    share: float = Field(0.0, ge=0, lt=1, description="Share of the implied pairs, beside all edges, that are trained on.")
    val: float = Field(0.05, gt=0, lt=1, description="Share of the implied pairs kept for validation.")
    test: float = Field(0.05, gt=0, lt=1, description="Share of the implied pairs kept for the test.")
    compose: bool = Field(False, description="Train on all pairs that training pairs imply, too: edges after edges.")
    spare: Literal["implied", "trained"] = Field(
        "implied",
        description="Pairs that are never drawn as negatives: all that training pairs imply, or training pairs alone.",
    )
    cone: Literal["light", "order", "hyperbolic", "shadow"] = Field(
        "light",
        description="Read a pair off the light cone of a spacetime (M10, AdS10, dS10, M1xH9, ...), the order of coordinates "
        "(E10), the angle of a hyperbolic cone (H10), or the shadow of a ball (H10).",
    )
    objective: Literal["logistic", "hinge"] = Field("logistic", description="Training objective.")
    gap: float = Field(1.0, gt=0, description="Margin that the objective hinge asks for.")
    negatives: int = Field(5, ge=1, le=1000, description="Negatives of each training pair and step for each of its ends.")
    negative_weight: float = Field(0.03, gt=0, description="Weight of all negatives beside that of all training pairs.")

    defaults: ClassVar[dict[str, Any]] = {
        "model": "shallow",
        "space": "M10",
        "epochs": 2000,
        "lr": 0.1,
        "adam_decay": 0.9,
        "spread": 0.03,
        "schedule": "cosine",
    }


class EntailmentPredictor(PairPredictor):
    """An encoder whose points have cones.

    Args:
        encoder: The network.
        cone: Tells whether a point lies in the cone of another.
        config: The settings of the objective.
    """

    def __init__(self, encoder: Encoder, cone: Cone, config: EntailmentConfig) -> None:
        super().__init__(encoder)
        self.cone = cone
        self.log_sharpness = nn.Parameter(torch.tensor(math.log(SHARPNESS))) if config.objective == "logistic" else None
        self.gap, self.weight = config.gap, config.negative_weight

    def loss(self, x: Tensor | SparseMatrix, graph: Adjacency, *targets: Tensor) -> Tensor:
        """Return the objective of training pairs, shape ``(2, E)``, and of drawn ends, ``(2, K, E)``, of which some count.

        A pair that is implied is as deep in a cone as its steps together, so that each step should be clearly inside: negatives
        weigh less than pairs. The logits are fitted to the margins beside it, and do not move the points.
        """
        pairs, ends, counts = targets
        points = self.embed(x, graph)
        if self.log_sharpness is not None:
            learned = self.log_sharpness.exp(), self.cone.log_steepness.exp(), self.cone.threshold
            rows = self.cone.rows(points, self.space)
            if rows is not None and rows.fits(*learned):
                return entailed(rows, (pairs, ends, counts), learned, self.weight)
        points = self.cone.as_seen(points, self.space)  # once for each point, not for each pair
        above, below = (points.index_select(0, end) for end in pairs)
        others, sources = (points.index_select(0, end.flatten()).unflatten(0, end.shape) for end in ends)
        turned = below.unsqueeze(0), above.unsqueeze(0)
        false = [(above.expand_as(others), others), (sources, below.expand_as(sources)), turned]
        right = self.cone.seen_margin(above, below, self.space)
        wrong = torch.cat([self.cone.seen_margin(a, b, self.space) for a, b in false])
        counted = torch.cat((counts.flatten(0, 1), torch.ones_like(counts[0, :1])))  # what is drawn may be implied
        if self.log_sharpness is None:
            inside, outside = (right + self.gap).relu(), (self.gap - wrong).relu()
        else:
            sharpness = self.log_sharpness.exp()
            inside, outside = softplus(sharpness * right), softplus(-sharpness * wrong)
        fit = softplus(-self.cone.logits(right.detach())).mean() + (softplus(self.cone.logits(wrong.detach())) * counted).mean()
        return inside.mean() + self.weight * (outside * counted).mean() + fit

    def predict(self, x: Tensor | SparseMatrix, graph: Adjacency, *targets: Tensor) -> Tensor:
        """Return the logits of pairs, shape ``(P,)``."""
        return self.pair_logits(self.embed(x, graph), targets[0])

    def pair_logits(self, points: Tensor, pairs: Tensor) -> Tensor:
        """Return the logits of "the first is an ancestor of the second"."""
        above, below = (points.index_select(0, end) for end in pairs)
        logits: Tensor = self.cone(above, below, self.space)
        return logits

    @torch.no_grad()
    def row_logits(self, points: Tensor, nodes: Tensor) -> Tensor:
        """Return the logits of some nodes as ancestors of all nodes."""
        rows = [self.cone(points[node].expand_as(points), points, self.space) for node in nodes]
        return torch.stack(rows) if rows else points.new_empty(0, len(points))


@register_task
class Entailment(Located[EntailmentConfig]):
    """Learn the edges of a hierarchy, and tell which pairs they imply: the closure of the order.

    Scores: ``f1``, ``precision`` and ``recall`` by the threshold that has the best F1 on validation, ``roc_auc`` and
    ``average_precision``. Held-out pairs are implied ones; each has ten negatives.
    """

    name: ClassVar[str] = "entailment"
    metric = "f1"
    everything: ClassVar[str] = "all pairs of the hierarchy"
    config_type: ClassVar[type[Config]] = EntailmentConfig
    eval_every: ClassVar[int] = 50
    batchable: ClassVar[bool] = False  # a batch of seeds would need as many draws of negatives in memory
    directed: ClassVar[bool] = True
    scores_pairs: ClassVar[bool] = True
    rungs: ClassVar[tuple[Rung, ...]] = (Rung(1, 200, 1), Rung(1 / 3, 600, 1), Rung(1 / 6, 800, 2))

    search: ClassVar[tuple[Range, ...]] = (
        Interval("lr", 0.01, 0.5, log=True),
        Choice("adam_decay", (0.5, 0.9, 0.99)),
        Choice("negatives", (2, 5, 10)),
        Interval("negative_weight", 0.003, 3.0, log=True),
        Choice("beta", (-0.25, -1.0, -4.0, -16.0)),
    )

    purpose: ClassVar[str] = "Learn the edges of a hierarchy, and tell which node is an ancestor of which."
    example: ClassVar[str] = "qgcn train entailment --data is-a.csv --edges child-parent --space M10"
    sweep_example: ClassVar[str] = "--data is-a.csv --edges child-parent --models shallow:M10 shallow:M1xH9"
    aim: ClassVar[str] = "so that descendants lie in the cones of their ancestors"
    pair_order: ClassVar[str] = "The first node of each is the ancestor."
    titles: ClassVar[dict[str, str]] = {"f1": "F1", "roc_auc": "ROC AUC"}
    main_scores: tuple[str, ...] = ("f1", "precision", "recall")

    @classmethod
    def candidates(cls, dim: int, *, few: bool = False, twins: bool = False) -> list[str]:
        """Return spacetimes, and what the other cones live in."""
        return [*spacetimes_of_dimension(dim), f"E{dim}", f"H{dim}"]

    @classmethod
    def check(cls, config: Config) -> None:
        """Raise if the cone is not defined in the space, or shares are more than there is."""
        super().check(config)
        if isinstance(config, EntailmentConfig):
            if config.share + config.val + config.test > 1:
                raise ValueError(f"share, val and test are more than there is: {config.share}, {config.val} and {config.test}")
            cone(config.cone, parse_space(config.space))

    @classmethod
    def oriented(cls, data: "Data", config: EntailmentConfig) -> Tensor:
        """Return the edges of a graph from parent to child.

        Raises:
            ValueError: The graph is undirected, or has a cycle.
        """
        edges: Tensor = data.edge_index if config.edges == "parent-child" else data.edge_index.flip(0)
        if edges.shape[1] and not data.directed:
            raise ValueError(
                "the graph is undirected, each edge being there in both directions: expected edges from parents to children"
            )
        if cycle := find_cycle(edges, int(data.num_nodes or 0)):
            names = [str(node_ids_of(data)[node]) for node in (*cycle[:4], cycle[0])]
            path = " -> ".join(names[:-1] + ["..."] * (len(cycle) > 4) + names[-1:])
            raise ValueError(f"the graph has a cycle, {path}: expected a hierarchy, in which no node is its own ancestor")
        return edges

    @classmethod
    def make_split(cls, data: "Data", config: EntailmentConfig) -> dict[str, Tensor]:
        """Hold out implied pairs, see :func:`qgcn.data.split_hierarchy`, or take the published split of the data set."""
        edges, nodes = cls.oriented(data, config), int(data.num_nodes or 0)
        published = load_entailment(config.data, config.share)
        if published is not None:
            check_unchanged(config, ("edges", "val", "test"), "which has a published split: only share can be chosen")
            known = published["train"].to(edges.device)
            if int(known.max()) >= nodes or bool(one_way(edges.flip(0), known, nodes).any()):
                raise ValueError(f"the graph is not {config.data}: its edges are not those of the published split; rename it")
            return published
        form = {"share": config.share, "val": config.val, "test": config.test, "seed": config.split_seed}
        return split_hierarchy(edges, nodes, **form)  # type: ignore[arg-type]

    def prepare(self) -> None:
        """Check the split; find what training pairs imply, which no negative may be."""
        for part in PARTS:
            check_part(self.split, part, torch.int64, (2, None))
        closure = transitive_closure(self.split["train"], self.num_nodes)
        self.pairs = (closure if self.config.compose else self.split["train"]).to(self.device)
        self._implied = (closure[0] * self.num_nodes + closure[1]).to(self.device)
        spared = closure.to(self.device) if self.config.spare == "implied" else self.pairs
        self._spared = self._by_first(spared), self._by_first(spared.flip(0))  # descendants and ancestors of each node
        self._scored = {
            part: torch.cat((self.split[part], self.split[f"{part}_negative"]), dim=1).to(self.device)
            for part in ("val", "test")
        }

    def _by_first(self, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """Return where the second nodes of each first node begin, shape ``(N + 1,)``, and these, sorted for each."""
        keys = (pairs[0] * self.num_nodes + pairs[1]).sort().values
        nodes = torch.arange(self.num_nodes + 1, device=self.device)
        return torch.searchsorted(keys, nodes * self.num_nodes), keys % self.num_nodes

    @property
    def divides(self) -> bool:
        """See :meth:`~qgcn.tasks.Task.divides`: each process takes some of the training pairs, with what is drawn for them."""
        return True

    def refitted(self) -> Self:
        """Return the problem in which held-out pairs are trained on, too."""
        nothing = torch.empty(2, 0, dtype=torch.long)
        pairs = torch.cat([self.split[name] for name in ("train", "val", "test")], dim=1)
        split = dict.fromkeys(PARTS, nothing) | {"train": pairs}
        return type(self)(self.source, self.config, split=split, device=self.device)

    def known_edges(self) -> tuple[Tensor, Tensor | None]:
        """Return the edges of the graph, from parent to child; messages pass along them where the graph was changed."""
        return self.oriented(self.data, self.config), None

    def known_pairs(self) -> Tensor:
        """Return all pairs that the graph implies, its edges among them, whatever part of them was held out."""
        return transitive_closure(self.known_edges()[0], self.num_nodes)

    def message_edges(self) -> tuple[Tensor, Tensor | None]:
        """Return the training pairs."""
        return self.split["train"], None

    def build_predictor(self) -> EntailmentPredictor:
        """Build an encoder and a cone."""
        encoder = self.build_encoder()
        return EntailmentPredictor(encoder, cone(self.config.cone, encoder.space), self.config)

    def draw(self, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Draw other descendants and other ancestors for each training pair; mark those that count as negatives."""
        count, pairs = self.config.negatives, self.pairs
        ends = torch.randint(self.num_nodes, (2, count, pairs.shape[1]), generator=generator, device=self.device)
        loops = ends == pairs.unsqueeze(1)
        spared = [among(*known, end, drawn) for known, end, drawn in zip(self._spared, pairs, ends, strict=True)]
        return ends, torch.stack(spared).logical_or_(loops).logical_not_()

    def targets(self, split: Split) -> tuple[Tensor, ...]:
        """Return the training pairs; or the pairs of validation, before those of the test if these are asked for.

        The threshold of the test is found on validation, so that both are predicted together.
        """
        if split == "train":
            return (self.pairs,)
        return (self._scored["val"] if split == "val" else torch.cat((self._scored["val"], self._scored["test"]), dim=1),)

    def _sides(self, prediction: Tensor, split: Split) -> tuple[Tensor, Tensor]:
        """Return the logits of the positives and of the negatives of a split."""
        if split == "test":
            prediction = prediction[self._scored["val"].shape[1] :]
        count = self.split[split].shape[1]
        return prediction[:count], prediction[count:]

    def selection(self, prediction: Tensor, space: Space) -> Tensor:
        """Return the best F1 on validation."""
        return best_f1(*self._sides(prediction, "val"))[0]

    def score(self, prediction: Tensor, split: Split, space: Space) -> Scores:
        """Return F1 by the threshold of validation, and ranking scores."""
        if split == "train":
            raise ValueError("training pairs have no fixed negatives to be scored against")
        known = prediction[: self._scored["val"].shape[1]]
        threshold = best_f1(*self._sides(known, "val"))[1]
        positive, negative = self._sides(prediction, split)
        found = decided(positive, negative, threshold)
        found |= {
            "roc_auc": metrics.roc_auc(positive, negative),
            "average_precision": metrics.average_precision(positive, negative),
        }
        return {name: float(value) for name, value in found.items()}

    def outcomes(self, prediction: Tensor, split: Split) -> tuple[Tensor, Tensor]:
        """Return the logits of "not implied" and "implied" for the pairs of a split, and which it is."""
        logits = torch.cat(self._sides(prediction, split))
        implied = torch.arange(len(logits), device=logits.device) < self.split[split].shape[1]
        return torch.stack((torch.zeros_like(logits), logits), dim=1), implied.long()

    @property
    def base_rate(self) -> float:
        """Share of implied pairs among the held-out ones."""
        implied, others = (self.split[part].shape[1] for part in ("val", "val_negative"))
        return implied / (implied + others)

    def from_outcomes(self, logits: Tensor) -> Tensor:
        """Return the logits of implied pairs."""
        return logits[:, 1] - logits[:, 0]

    def yardsticks(self) -> dict[str, Callable[[], Scores]]:
        """Return what follows from training pairs by going along them, and how many descendants a node has."""
        return {PATHS: self._reached, "number of descendants": self._descendants}

    def _reached(self) -> Scores:
        (pairs,) = self.targets("test")
        return self._scores_of(torch.isin(pairs[0] * self.num_nodes + pairs[1], self._implied).double())

    def _descendants(self) -> Scores:
        (pairs,) = self.targets("test")
        size = torch.bincount(self._implied // self.num_nodes, minlength=self.num_nodes).double().log1p()
        return self._scores_of(size[pairs[0]] - size[pairs[1]])

    def _scores_of(self, scores: Tensor) -> Scores:
        return self.score(scores, "test", parse_space(self.config.space))

    # --- words -------------------------------------------------------------------------------------------------------

    def scored_on(self) -> str:
        """Return what the scores are of."""
        return "implied pairs, ten negatives each"

    def outcome(self, value: str) -> str:
        """Say what the F1 means."""
        return (
            f"The F1 of held-out pairs is {value}: how well it tells ancestors from other nodes, where each pair that the "
            "hierarchy implies stands beside ten that it does not, by the threshold that was best on validation."
        )

    def remarks(self) -> list[str]:
        """Say how many pairs there are, and that weights are not used."""
        count = {name: f"{self.split[name].shape[1]:,}" for name in PARTS}
        sizes = f"{count['train']} train, {count['val']} val, {count['test']} test pairs"
        told = [f"{sizes}; {count['val_negative']} and {count['test_negative']} negatives"]
        return told + ([] if getattr(self.data, "edge_weight", None) is None else ["weights of edges are not used"])

    def verdict(self, score: tuple[float, float], yardsticks: Mapping[str, Scores]) -> "Verdict | None":
        """Compare with yardsticks other than paths, which know every implied pair without learning; see :meth:`caution`."""
        return super().verdict(score, {name: scores for name, scores in yardsticks.items() if name != PATHS})

    def caution(self) -> str:
        """Say what the score is of."""
        return (
            "Held-out pairs follow from training pairs: going along these finds all of them. "
            "The score tells how well points hold the order, not how well unknown pairs are guessed."
        )

    def about_results(self) -> dict[str, Any]:
        """Return the share of implied pairs that was trained on."""
        return {"share": self.config.share, "composed": self.config.compose}

    def insights(self, predictor: Predictor) -> tuple[list[Column], list[Quality]]:
        """Return the depth and the time of nodes, and the recall of test pairs by how many levels they span."""
        depth = depths(self.oriented(self.source, self.config), self.num_nodes)
        columns = [Column("depth", depth.double().numpy())]
        with torch.no_grad():
            if predictor.space.is_spacetime:
                time = predictor.space.time_of(self.embed(predictor))
                columns.append(Column("time", time.double().cpu().numpy()))
            batch = self.loader.scored("test", whole=True)
            logits = predictor("predict", batch.x, batch.graph, *batch.targets)
        threshold = best_f1(*self._sides(logits, "val"))[1]
        found = (self._sides(logits, "test")[0] >= threshold).double().cpu()
        span = depth[self.split["test"][1]] - depth[self.split["test"][0]]
        groups = [
            Group(str(levels), int((span == levels).sum()), float(found[span == levels].mean()))
            for levels in span.unique().tolist()
        ]
        about = "Share of test pairs that are found, by how many levels the descendant is deeper."
        return columns, [Quality("Implied pairs found, by levels", about, groups)]
