"""Graph reconstruction: an embedding in which a node's neighbours are its nearest points."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from qgcn import kernels, metrics
from qgcn.data.hops import Shape
from qgcn.kernels import Neighbourhoods
from qgcn.manifolds import Euclidean, Space, parse_space
from qgcn.models import Coordinates, Encoder
from qgcn.nn import Adjacency, SparseMatrix
from qgcn.tasks import sampling
from qgcn.tasks.batches import Batch, Share
from qgcn.tasks.config import Config
from qgcn.tasks.division import Division
from qgcn.tasks.placement import place_nodes
from qgcn.tasks.predictor import Predictor
from qgcn.tasks.ranges import Choice, Interval, Range
from qgcn.tasks.registry import register_task
from qgcn.tasks.task import Rung, Scores, Split, Task

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["OBJECTIVES", "Reconstruction", "ReconstructionConfig", "Reconstructor"]

Objective = Literal["neighbours", "paper", "distortion"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
"""``neighbours``: each neighbour against all nodes that are none, a softmax over squared distances with a learned temperature;
``paper``: the paper's, which is unbounded below; ``distortion``: squared distances against those of the graph."""

NODES_TEMPERATURE = 20.0
"""Initial temperature of models that learn coordinates: their points start close together; at 1 all would weigh the same."""

LARGE, SOURCES = 20_000, 1000
"""Nodes of a graph beyond which distortion is measured from some of them, and from how many: all would take many minutes."""


LONG = 8_000
"""Nodes of a graph beyond which a step may take seconds, so that its cost is estimated from a part of it."""


RECORDED = 2**17
"""Nodes of a graph up to which steps on a GPU are recorded: a longer one must be able to hear a signal."""


class ReconstructionConfig(Config):
    """Settings of graph reconstruction."""

    task: Literal["reconstruction"] = "reconstruction"
    objective: Objective = Field("neighbours", description="Training objective.")
    balance: bool = Field(True, description="Weight nodes equally instead of edges.")
    use_features: bool = Field(False, description="Use node features instead of one-hot ones.")
    temperature: float | None = Field(
        None, gt=0, description="Initial temperature; 20 for coordinates and 1 for networks if not given."
    )
    negatives: str = Field(
        "auto",
        description="Negatives of a step: exact, for all pairs, or how many nodes are drawn; auto draws beyond 131,072 nodes.",
    )

    blocks: int = Field(
        1, ge=1, le=sampling.BLOCKS, description="Blocks of nodes of which two are on the device at a time; 1 keeps all there."
    )
    store: Literal["memory", "disk"] = Field("memory", description="Where the other blocks are kept meanwhile.")

    of_model: ClassVar[tuple[str, ...]] = ("negatives", "blocks", "store")
    defaults: ClassVar[dict[str, Any]] = {
        "model": "shallow",
        "layers": 1,
        "epochs": 2000,
        "lr": 0.03,
        "adam_decay": 0.99,
        "schedule": "cosine",
    }


class Reconstructor(Predictor):
    """An encoder whose points are compared all with all.

    Args:
        encoder: The network.
        neighbourhoods: The graph to be reconstructed.
        objective: One of :data:`OBJECTIVES`.
        balance: Let nodes count equally instead of edges.
        temperature: Where that of the objective ``neighbours`` starts.
        shared: Whether processes of ``torch.distributed`` share the work, see :func:`qgcn.kernels.reconstruction_loss`.

    The loss takes the nodes that are drawn as negatives after its targets, and the first and last of the rows that are this
    process's; all pairs take part if there are none.
    """

    def __init__(
        self,
        encoder: Encoder,
        neighbourhoods: Neighbourhoods,
        objective: str,
        balance: bool = True,
        temperature: float = 1.0,
        shared: bool = False,
    ) -> None:
        super().__init__(encoder)
        self.objective = objective
        self.balance = balance
        self.shared = shared
        self._neighbourhoods = (neighbourhoods,)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(temperature))) if objective == "neighbours" else None

    def loss(self, x: Tensor | SparseMatrix, graph: Adjacency, *targets: Tensor) -> Tensor:
        """Return the objective; ``targets`` holds pairs and their distances in the graph, or negatives, if it needs them."""
        points = self.embed(x, graph)
        if self.objective == "distortion":
            return kernels.distortion_loss(points, targets[0], targets[1].to(points.dtype), self.space)
        neighbourhoods = self._neighbourhoods[0].to(points.device)  # a divided graph is on the CPU
        common: dict[str, Any] = {"balance": self.balance, "group": torch.distributed.group.WORLD if self.shared else None}
        if self.log_temperature is None:
            return kernels.reconstruction_loss(points, neighbourhoods, self.space, squared=False, denominator="paper", **common)
        temperature = self.log_temperature.exp()
        if targets:
            given = points, neighbourhoods, self.space, targets[0]
            rows = range(*targets[1].tolist()) if targets[1:] else None
            return kernels.sampled_reconstruction_loss(*given, temperature=temperature, balance=self.balance, rows=rows)
        return kernels.reconstruction_loss(points, neighbourhoods, self.space, temperature=temperature, **common)

    def predict(self, x: Tensor | SparseMatrix, graph: Adjacency, *targets: Tensor) -> Tensor:
        """Return the points."""
        return self.embed(x, graph)


@register_task
class Reconstruction(Task[ReconstructionConfig]):
    """Embed a graph so that it can be read off the distances.

    There is nothing held out: the score is of the graph that is embedded, as in the literature. Scores: ``map``, exact, a tie
    counting against the embedding; ``distortion`` and ``worst_distortion``, estimated on more than 20,000 nodes.
    """

    name: ClassVar[str] = "reconstruction"
    metric = "map"
    best_possible: ClassVar[float | None] = 1.0
    config_type: ClassVar[type[Config]] = ReconstructionConfig
    eval_every: ClassVar[int] = 50
    batchable: ClassVar[bool] = False  # its passes over all pairs know one model; see side_by_side
    held_out: ClassVar[bool] = False
    learns_nodes: ClassVar[bool] = True
    rungs: ClassVar[tuple[Rung, ...]] = (Rung(1, 200, 1), Rung(1 / 3, 600, 1), Rung(1 / 6, 800, 2))
    trial_nodes: ClassVar[int | None] = 5000  # its cost grows with the square of the number of nodes

    search: ClassVar[tuple[Range, ...]] = (
        Interval("lr", 0.003, 0.3, log=True),
        Choice("adam_decay", (0.9, 0.99, 0.999)),
        Choice("schedule", ("constant", "cosine")),
        Choice("beta", (-0.25, -1.0, -4.0, -16.0)),
        Choice("layers", (1, 2)),
        Choice("aggregation", ("sym", "mean")),
    )

    purpose: ClassVar[str] = "Embed a graph so that neighbours are nearest points."
    example: ClassVar[str] = "qgcn train reconstruction --data ring-of-trees --space Q7,3 --epochs 500"
    sweep_example: ClassVar[str] = "--data ring-of-trees --models shallow:Q7,3 shallow:H9"
    aim: ClassVar[str] = "so that the neighbours of a node are its nearest points"
    titles: ClassVar[dict[str, str]] = {"map": "mAP", "map_margin": "mAP margin (95 %)"}
    plain_scores: ClassVar[frozenset[str]] = frozenset({"distortion", "worst_distortion"})

    @classmethod
    def check(cls, config: Config) -> None:
        """Raise if features are asked for that the model cannot read."""
        super().check(config)
        if getattr(config, "use_features", False) and config.capabilities.learns_nodes:
            raise ValueError(f"use_features needs a model that takes features, such as qgcn: {config.model} takes none")
        sampling.check(config)

    def prepare(self) -> None:
        """Sort the neighbours of every node; measure the distances that the objective asks for."""
        edges = self.data.edge_index
        if (blocks := self.config.blocks) > (most := max(1, self.num_nodes // sampling.LEAST)):
            needed = f"each needs {sampling.LEAST} of the {self.num_nodes} nodes"
            raise ValueError(f"blocks must be at most {most}, as {needed}, got {blocks}")
        device = self.device if blocks == 1 else "cpu"  # where all of a divided graph stays
        self.neighbourhoods = Neighbourhoods.of(edges.to(device), self.num_nodes)
        self._distances: tuple[Tensor, ...] = ()
        if self.config.objective == "distortion":
            self._distances = tuple(each.to(self.device) for each in _graph_distances(edges, self.num_nodes))

    def changed(self, data: "Data") -> Self:
        """Return the problem of a changed graph, with its own neighbourhoods."""
        made = super().changed(data)
        made.neighbourhoods = Neighbourhoods.of(made.data.edge_index.to(self.device), made.num_nodes)
        return made

    def embed(self, predictor: Predictor) -> Tensor:
        """Return the points; new nodes of a changed graph are placed among those that were learned."""
        origin = self.origin
        if origin is None or not self.capabilities.learns_nodes:
            return super().embed(predictor)
        places = origin.places.to(self.device)
        scale = getattr(predictor, "log_temperature", None)
        temperature = 1.0 if scale is None else float(scale.exp())
        return place_nodes(super().embed(predictor)[places], places < 0, self.neighbourhoods, predictor.space, temperature)

    def node_features(self) -> Tensor | None:
        """Return the features, if asked for."""
        return super().node_features() if self.config.use_features else None

    def build_predictor(self) -> Reconstructor:
        """Build an encoder and the objective."""
        return self._reconstructor(self.build_encoder())

    def _reconstructor(self, encoder: Encoder) -> Reconstructor:
        config = self.config
        usual = NODES_TEMPERATURE if self.capabilities.learns_nodes else 1.0
        temperature = config.temperature or usual
        return Reconstructor(encoder, self.neighbourhoods, config.objective, config.balance, temperature, self.shared)

    @property
    def division(self) -> Division | None:  # type: ignore[override]
        """How coordinates are trained in blocks, if asked for."""
        config = self.config
        if config.blocks == 1 or self.drawn is None:
            return None

        def build(nodes: int) -> Reconstructor:
            return self._reconstructor(config.model_entry.build(nodes, config.space, config.options))

        in_memory = config.store == "memory"
        return Division(self.neighbourhoods, config.blocks, self.drawn, config.balance, in_memory, build)

    @property
    def drawn(self) -> int | None:
        """Number of nodes drawn as negatives of a step; ``None`` if all pairs take part."""
        if self.config.objective != "neighbours":
            return None
        return sampling.drawn_of(self.config.negatives, self.num_nodes, self.config.blocks)

    @property
    def side_by_side(self) -> bool:
        """Whether seeds are trained side by side: passes over the pairs of a small graph are too short to keep a GPU busy.

        Not with the distortion objective, which keeps all pairs of each in memory, nor where negatives are drawn.
        """
        fits = self.num_nodes < LONG and self.drawn is None and self.config.objective != "distortion"
        return fits and self.config.blocks == 1 and self.capabilities.keyed

    @property
    def shares_rows(self) -> bool:
        """Whether processes share the rows of all pairs: not if negatives are drawn, see :mod:`qgcn.kernels.sampled`."""
        return self.drawn is None

    @property
    def divides(self) -> bool:
        """Whether processes take parts of the rows: if negatives are drawn, and nodes are not in blocks."""
        return self.drawn is not None and self.config.blocks == 1

    def part_of(self, batch: Batch, share: Share) -> Batch:
        """Return the batch with the rows that a process takes."""
        bounds = torch.tensor([self.num_nodes * k // share.count for k in (share.rank, share.rank + 1)])  # read on the CPU
        return replace(batch, drawn=tuple((*row, bounds) for row in batch.drawn))

    def draw(self, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Draw the negatives of a step, if they are drawn."""
        return () if self.drawn is None else (sampling.draw(self.num_nodes, self.drawn, generator),)

    def targets(self, split: Split) -> tuple[Tensor, ...]:
        """Return the pairs of the distortion objective, all of them."""
        return self._distances if split == "train" else ()

    @torch.no_grad()
    def seconds_of_step(self, predictor: Predictor) -> tuple[float, float] | None:
        """Estimate the seconds of a step and of a validation from a few rows of their passes over all pairs."""
        if self.num_nodes < LONG or self.config.objective == "distortion" or self.drawn is not None:
            return None
        points = predictor.embed(self.x, self.graph)
        squared = self.config.objective == "neighbours"
        return kernels.pass_seconds(points, self.neighbourhoods, predictor.space, squared=squared)

    @property
    def is_static(self) -> bool:
        """Whether a step can be recorded: the distortion objective checks its pairs at every step, and a long one is cut."""
        short = self.num_nodes <= RECORDED
        return short and self.config.objective != "distortion"

    def selection(self, prediction: Tensor, space: Space) -> Tensor:
        """Return the mAP; of some nodes where negatives are drawn."""
        return sampling.selection(prediction, self.neighbourhoods, space, drawn=self.drawn)

    def score(self, prediction: Tensor, split: Split, space: Space) -> Scores:
        """Return mAP and distortion; on a large graph the mAP of some nodes with its margin, and no distortion."""
        found = sampling.precision(prediction, self.neighbourhoods, space)
        if self.num_nodes > sampling.EXACT:
            return found
        few, graph = SOURCES if self.num_nodes > LARGE else None, self.neighbourhoods.to(prediction.device)
        stretch = metrics.distortion(prediction, graph, space, scale=True, sources=few)
        return found | {"distortion": float(stretch.average), "worst_distortion": float(stretch.worst)}

    def yardsticks(self) -> dict[str, Callable[[], Scores]]:
        """Return random points in the same space, and a spectral embedding in as many dimensions; none on a large graph."""
        if self.num_nodes > LARGE:  # each would take as long as many training steps
            return {}
        return {"random points": self._random, "spectral embedding": self._spectral}

    def _random(self) -> Scores:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.config.seed)
            start = Coordinates(self.num_nodes, self.config.space).to(self.device)
        with torch.no_grad():
            return self._precision(start(self.x, self.graph), start.space)

    def _spectral(self) -> Scores:
        from qgcn.yardsticks import adjacency, laplacian_eigenmap

        graph = adjacency(self.data.edge_index.cpu().numpy(), self.num_nodes)
        points = torch.from_numpy(laplacian_eigenmap(graph, parse_space(self.config.space).dim)).to(self.device)
        return self._precision(points, Euclidean(points.shape[1]))

    def _precision(self, points: Tensor, space: Space) -> Scores:
        return {"map": float(metrics.mean_average_precision(points, self.neighbourhoods.to(points.device), space))}

    # --- words -------------------------------------------------------------------------------------------------------

    def scored_on(self) -> str:
        """Return what the scores are of."""
        some = f", {sampling.JUDGES:,} of its nodes against all others" if self.num_nodes > sampling.EXACT else ""
        return f"the graph that was embedded{some}"

    def outcome(self, value: str) -> str:
        """Say what the mAP means."""
        return (
            f"The mean average precision is {value}: 100 % means that every neighbour is nearer than every other node. "
            "Nothing is held out; the score is of the graph that was embedded."
        )

    def remarks(self) -> list[str]:
        """Say what weights are good for, and where there are no yardsticks."""
        weighted = getattr(self.data, "edge_weight", None) is not None and self.capabilities.graph == "matrix"
        weights = "weights of edges are used by convolutions alone: objective and score ask whether nodes are joined"
        missing = [f"no yardsticks: the graph has more than {LARGE:,} nodes"] if self.num_nodes > LARGE else []
        drawn = sampling.remarks(self.drawn, self.num_nodes, self.config.blocks)
        drawn += ["no distortion: the graph is too large"] if self.num_nodes > sampling.EXACT else []
        return ([weights] if weighted else super().remarks()) + (missing if self.config.yardsticks else []) + drawn

    def features_used(self) -> str:
        """Return which features the model sees, and how to use those of the data."""
        unused = getattr(self.data, "x", None) is not None and not self.config.use_features
        if self.capabilities.learns_nodes:
            return "no (for those of the data: --model qgcn --use-features)" if unused else "no"
        return "one-hot (those of the data are not used without --use-features)" if unused else super().features_used()


def _graph_distances(edge_index: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    """Return all pairs that a path joins, each once, shape ``(2, P)``, and the lengths of their shortest paths."""
    from torch_geometric.data import Data

    pairs, lengths = [], []
    for component in Shape.of(Data(edge_index=edge_index, num_nodes=num_nodes)).components:
        upper = np.triu_indices(component.size, 1)
        pairs.append(component.nodes[np.stack(upper)])
        lengths.append(component.hops()[upper].astype(np.float64))
    return torch.from_numpy(np.concatenate(pairs, axis=1)), torch.from_numpy(np.concatenate(lengths))
