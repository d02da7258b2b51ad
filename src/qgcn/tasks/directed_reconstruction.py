"""Reconstruction of directed pairs: events of a spacetime, in which a node's targets are the nearest to its future."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import softplus

from qgcn import kernels, metrics
from qgcn.kernels import Neighbourhoods
from qgcn.manifolds import Euclidean, Space, parse_space, spacetimes_of_dimension
from qgcn.models import Coordinates, Encoder
from qgcn.nn import Adjacency, LightCone, SparseMatrix
from qgcn.tasks import sampling
from qgcn.tasks.config import Config
from qgcn.tasks.inputs import check_one_way
from qgcn.tasks.insights import Column, Quality
from qgcn.tasks.located import Located
from qgcn.tasks.predictor import PairPredictor, Predictor
from qgcn.tasks.ranges import Choice, Interval, Range
from qgcn.tasks.registry import register_task
from qgcn.tasks.task import Rung, Scores, Split

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["DirectedReconstruction", "DirectedReconstructionConfig", "DirectedReconstructor"]

TEMPERATURE = 20.0
"""Sharpness of the objective: coordinates start close together; at 1 all would weigh the same."""
PROBED = 4096
"""Edges, and pairs that are none, that logits are fitted to in a step, at most."""
LARGE = 20_000
"""Nodes of a graph beyond which there are no yardsticks: each would take as long as many training steps."""


class DirectedReconstructionConfig(Config):
    """Settings of the reconstruction of directed pairs."""

    task: Literal["directed-reconstruction"] = "directed-reconstruction"
    ends: Literal["both", "targets"] = Field(
        "both", description="Tell the targets of each node from other nodes, or its sources as well."
    )
    balance: bool = Field(True, description="Weight nodes equally instead of edges.")
    temperature: float = Field(TEMPERATURE, gt=0, description="Sharpness of the objective; it is not learned.")
    negatives: str = Field(
        "auto",
        description="Negatives of a step: exact, for all pairs, or how many nodes are drawn; auto draws beyond 131,072 nodes.",
    )

    of_model: ClassVar[tuple[str, ...]] = ("ends", "balance", "temperature", "negatives")
    defaults: ClassVar[dict[str, Any]] = {
        "model": "shallow",
        "space": "M10",
        "epochs": 2000,
        "lr": 0.1,
        "adam_decay": 0.95,
        "schedule": "cosine",
    }


class DirectedReconstructor(PairPredictor):
    """An encoder whose points are events, compared all with all by their light cones.

    Args:
        encoder: The network, into a static spacetime.
        graph: The graph to be reconstructed.
        config: The settings of the objective.

    The loss takes edges, drawn pairs, and which of these count as no edges; then the nodes that are drawn as negatives and
    their weights, for targets and for sources. All pairs take part if there are none. Logits are fitted to the margins of light
    beside it; this moves neither points nor curvatures.
    """

    def __init__(self, encoder: Encoder, graph: Neighbourhoods, config: DirectedReconstructionConfig) -> None:
        super().__init__(encoder)
        self.cone = LightCone()
        self.temperature, self.balance, self.both = config.temperature, config.balance, config.ends == "both"
        self._graph = (graph,)

    def loss(self, x: Tensor | SparseMatrix, graph: Adjacency, *targets: Tensor) -> Tensor:
        """Return the objective, the mean over both ends if both are asked for."""
        edges, others, counted, *drawn = targets
        points, neighbours = self.embed(x, graph), self._graph[0]
        times, places = self.space.times_and_places(points)
        ways = [(times, neighbours), *([(-times, neighbours.turned)] if self.both else [])]
        sums = zip(drawn[::2], drawn[1::2], strict=True) if drawn else [(None, None)] * len(ways)
        temperature, balance = self.temperature, self.balance
        costs = [
            kernels.ordered_loss(
                places, time, way, self._spatial, columns, weights=weights, temperature=temperature, balance=balance
            )
            for (time, way), (columns, weights) in zip(ways, sums, strict=True)
        ]
        joined, apart = (self.cone.logits(self._margin(points, pairs).detach()) for pairs in (edges, others))
        return torch.stack(costs).mean() + softplus(-joined).mean() + (softplus(apart) * counted).mean()

    def predict(self, x: Tensor | SparseMatrix, graph: Adjacency, *targets: Tensor) -> Tensor:
        """Return the points."""
        return self.embed(x, graph)

    def pair_logits(self, points: Tensor, pairs: Tensor) -> Tensor:
        """Return the logits of "the first points at the second"."""
        return self.cone.logits(self._margin(points, pairs))

    def _margin(self, points: Tensor, pairs: Tensor) -> Tensor:
        source, target = (points.index_select(0, end) for end in pairs)
        return self.cone.margin(source, target, self.space)

    @torch.no_grad()
    def row_logits(self, points: Tensor, nodes: Tensor) -> Tensor:
        """Return the logits of some nodes as sources of all nodes."""
        times, places = self.space.times_and_places(points)
        margin = self._spatial.pairwise_dist(places[nodes], places) - (times - times[nodes].unsqueeze(1))
        return self.cone.logits(margin)

    @property
    def _spatial(self) -> Space:
        spatial = self.space.spatial
        assert spatial is not None  # noqa: S101  # the settings were checked
        return spatial


@register_task
class DirectedReconstruction(Located[DirectedReconstructionConfig]):
    """Embed a directed graph so that it can be read off light cones.

    There is nothing held out: the score is of the graph that is embedded. Scores: ``map``, the mean over nodes with targets of
    the average precision of these among all other nodes, in the order of the margins of light; ``map_in``, the same of the
    sources of nodes. A tie counts against the embedding. A model is chosen by the mean of both, or by the first alone. On more
    than 131,072 nodes both are those of 10,000 nodes drawn.
    """

    name: ClassVar[str] = "directed-reconstruction"
    metric = "map"
    best_possible: ClassVar[float | None] = 1.0
    config_type: ClassVar[type[Config]] = DirectedReconstructionConfig
    eval_every: ClassVar[int] = 50
    batchable: ClassVar[bool] = False  # a batch of seeds would need as many matrices of distances
    directed: ClassVar[bool] = True
    held_out: ClassVar[bool] = False
    scores_pairs: ClassVar[bool] = True
    rungs: ClassVar[tuple[Rung, ...]] = (Rung(1, 200, 1), Rung(1 / 3, 600, 1), Rung(1 / 6, 800, 2))
    trial_nodes: ClassVar[int | None] = 5000  # its cost grows with the square of the number of nodes

    search: ClassVar[tuple[Range, ...]] = (
        Interval("lr", 0.003, 0.3, log=True),
        Choice("adam_decay", (0.9, 0.95, 0.99)),
        Choice("schedule", ("constant", "cosine")),
        Choice("beta", (-0.25, -1.0, -4.0, -16.0)),
    )

    purpose: ClassVar[str] = "Embed a directed graph so that it can be read off light cones."
    example: ClassVar[str] = "qgcn train directed-reconstruction --data is-a.csv --space M10"
    sweep_example: ClassVar[str] = "--data is-a.csv --models shallow:M10 shallow:M1xH9"
    aim: ClassVar[str] = "so that the targets of a node lie in its future"
    titles: ClassVar[dict[str, str]] = {
        "map": "mAP",
        "map_in": "mAP of sources",
        "map_margin": "mAP margin (95 %)",
        "map_in_margin": "mAP of sources, margin (95 %)",
    }

    @classmethod
    def candidates(cls, dim: int, *, few: bool = False, twins: bool = False) -> list[str]:
        """Return the spacetimes; :meth:`check` leaves those over that are time beside a space."""
        return spacetimes_of_dimension(dim)

    @classmethod
    def check(cls, config: Config) -> None:
        """Raise if the space is not time beside another."""
        super().check(config)
        if (space := parse_space(config.space)).spatial is None:
            raise ValueError(f"{cls.name} needs time beside a space, such as M10, M1xH9 or M1xS9, got {space}")
        sampling.check(config)

    def prepare(self) -> None:
        """Sort the targets and the sources of every node."""
        check_one_way(self.data, "qgcn train reconstruction takes both")
        self._sort()

    def _sort(self) -> None:
        self.neighbourhoods = Neighbourhoods.of(self.data.edge_index.to(self.device), self.num_nodes)
        self._keys = self.neighbourhoods.source * self.num_nodes + self.neighbourhoods.target  # ascending

    def changed(self, data: "Data") -> Self:
        """Return the problem of a changed graph, with its own neighbourhoods."""
        made = super().changed(data)
        made._sort()
        return made

    def build_predictor(self) -> DirectedReconstructor:
        """Build an encoder and the objective."""
        return DirectedReconstructor(self.build_encoder(), self.neighbourhoods, self.config)

    @property
    def drawn(self) -> int | None:
        """Number of nodes drawn as negatives of a step; ``None`` if all pairs take part."""
        return sampling.drawn_of(self.config.negatives, self.num_nodes)

    def draw(self, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Draw edges and pairs that are none, for the logits; and the negatives of a step, if they are drawn."""
        graph, device = self.neighbourhoods, self.device
        count = min(PROBED, graph.num_edges)
        which = torch.randint(graph.num_edges, (count,), generator=generator, device=device)
        others = torch.randint(self.num_nodes, (2, count), generator=generator, device=device)
        keys = others[0] * self.num_nodes + others[1]
        place = torch.searchsorted(self._keys[:-1], keys)  # of the last one, if all are smaller
        counted = (self._keys[place] != keys) & (others[0] != others[1])
        ways = [] if self.drawn is None else [graph, *([graph.turned] if self.config.ends == "both" else [])]
        columns = [each for way in ways for each in sampling.draw_by_kind(way, self.drawn or 0, generator)]
        return torch.stack((graph.source[which], graph.target[which])), others, counted, *columns

    def selection(self, prediction: Tensor, space: Space) -> Tensor:
        """Return the mAP of targets, or its mean with that of sources; of some nodes where negatives are drawn."""
        ways = self._ways(prediction, space)
        chosen = ways.values() if self.config.ends == "both" else [ways["map"]]
        return torch.stack([sampling.selection(*given, drawn=self.drawn) for given in chosen]).mean()

    def score(self, prediction: Tensor, split: Split, space: Space) -> Scores:
        """Return the mAP of targets and of sources; on a large graph those of some nodes, with their margins."""
        found: Scores = {}
        for name, given in self._ways(prediction, space).items():
            found |= sampling.precision(*given, name=name)
        return found

    def _ways(self, points: Tensor, space: Space) -> dict[str, tuple[Tensor, Neighbourhoods, Space, Tensor]]:
        """Return places, graph, their space and how much nearer a node counts, for each score."""
        (times, places), spatial, graph = space.times_and_places(points), space.spatial, self.neighbourhoods
        assert spatial is not None  # noqa: S101  # the settings were checked
        return {"map": (places, graph, spatial, times), "map_in": (places, graph.turned, spatial, -times)}

    def yardsticks(self) -> dict[str, Callable[[], Scores]]:
        """Return random points in the same space, and how many sources, or targets, a node has; none on a large graph."""
        if self.num_nodes > LARGE:
            return {}
        return {"random points": self._random, "number of edges": self._degrees}

    def _random(self) -> Scores:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.config.seed)
            start = Coordinates(self.num_nodes, self.config.space).to(self.device)
        with torch.no_grad():
            return self.score(start(self.x, self.graph), "test", start.space)

    def _degrees(self) -> Scores:
        forth, nowhere = self.neighbourhoods, torch.zeros(self.num_nodes, 1, device=self.device)
        graphs = {"map": (forth, forth.turned.degree), "map_in": (forth.turned, forth.degree)}
        return {
            name: float(metrics.mean_average_precision(nowhere, graph, Euclidean(1), lead=degree.to(nowhere)))
            for name, (graph, degree) in graphs.items()
        }

    # --- words -------------------------------------------------------------------------------------------------------

    def scored_on(self) -> str:
        """Return what the scores are of."""
        some = f", {sampling.JUDGES:,} of its nodes against all others" if self.num_nodes > sampling.EXACT else ""
        return f"the graph that was embedded{some}"

    def outcome(self, value: str) -> str:
        """Say what the mAP means."""
        return (
            f"The mean average precision is {value}: 100 % means that all nodes that a node points at are nearer to its future "
            "than every other node. Nothing is held out; the score is of the graph that was embedded."
        )

    def remarks(self) -> list[str]:
        """Say that weights are not used, where there are no yardsticks, and what is drawn."""
        missing = [f"no yardsticks: the graph has more than {LARGE:,} nodes"] if self.num_nodes > LARGE else []
        return super().remarks() + (missing if self.config.yardsticks else []) + sampling.remarks(self.drawn, self.num_nodes)

    def insights(self, predictor: Predictor) -> tuple[list[Column], list[Quality]]:
        """Return the time of nodes, and how many edges lead from and to them."""
        with torch.no_grad():
            time = predictor.space.time_of(self.embed(predictor))
        graph = self.neighbourhoods
        values = {"time": time, "edges out": graph.degree, "edges in": graph.turned.degree}
        return [Column(name, each.double().cpu().numpy()) for name, each in values.items()], []
