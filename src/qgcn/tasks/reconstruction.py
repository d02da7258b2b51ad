"""Graph reconstruction: an embedding in which a node's neighbours are its nearest points."""

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from qgcn import kernels, metrics
from qgcn.data import undirected
from qgcn.data.hops import Shape
from qgcn.kernels import Neighbourhoods
from qgcn.manifolds import Space
from qgcn.models import Encoder
from qgcn.tasks.base import Predictor, Scores, Split, Task

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["OBJECTIVES", "Reconstruction", "Reconstructor"]

OBJECTIVES = ("neighbours", "paper", "distortion")

SHALLOW_TEMPERATURE = 20.0
"""Where the temperature of shallow models starts: their points start close together, and at 1 all would weigh the same."""

LARGE, SOURCES = 20_000, 1000
"""Nodes of a graph beyond which distortion is measured from some of them, and from how many: all would take many minutes."""


class Reconstructor(Predictor):
    """An encoder whose points are compared all with all.

    Args:
        encoder: The network.
        neighbourhoods: The graph to be reconstructed.
        objective: One of :data:`OBJECTIVES`.
        balance: Let nodes count equally instead of edges.
        temperature: Where that of the objective ``neighbours`` starts.
        group: Processes that share the work, see :func:`qgcn.kernels.reconstruction_loss`.
    """

    def __init__(
        self,
        encoder: Encoder,
        neighbourhoods: Neighbourhoods,
        objective: str,
        balance: bool = True,
        temperature: float = 1.0,
        group: Any = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.objective = objective
        self.balance = balance
        self.group = group
        self._neighbourhoods = (neighbourhoods,)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(temperature))) if objective == "neighbours" else None

    def loss(self, x: Tensor, graph: Tensor, *drawn: Tensor) -> Tensor:
        """Return the objective; ``drawn`` holds pairs and their distances in the graph if the objective needs them."""
        points = self.embed(x, graph)
        if self.objective == "distortion":
            return kernels.distortion_loss(points, drawn[0], drawn[1].to(points.dtype), self.space)
        (neighbourhoods,) = self._neighbourhoods
        common = {"balance": self.balance, "group": self.group}
        if self.log_temperature is None:
            return kernels.reconstruction_loss(points, neighbourhoods, self.space, squared=False, denominator="paper", **common)
        temperature = self.log_temperature.exp()
        return kernels.reconstruction_loss(points, neighbourhoods, self.space, temperature=temperature, **common)

    def predict(self, x: Tensor, graph: Tensor, *queries: Tensor) -> Tensor:
        """Return the points."""
        return self.embed(x, graph)


class Reconstruction(Task):
    """Embed a graph so that it can be read off the distances.

    There is nothing held out: the score is of the graph that is embedded, as in the literature. Scores: ``map``, exact, a tie
    counting against the embedding; ``distortion`` and ``worst_distortion``, estimated on more than 20,000 nodes.

    Args:
        data: The graph; its features are used only if asked for.
        objective: ``neighbours``: each neighbour against all nodes that are none, a softmax over squared distances with a
            learned temperature; ``paper``: the paper's, which is unbounded below; ``distortion``: squared distances against
            those of the graph.
        balance: Let nodes count equally instead of edges.
        use_features: Start from the node features instead of one-hot ones.
        temperature: Where the temperature of the objective ``neighbours`` starts; 20 for shallow models and 1 for networks if
            not given.
        group: Processes that share the work of the step, see :func:`qgcn.kernels.reconstruction_loss`.
        options: As for :class:`Task`.
    """

    name: ClassVar[str] = "reconstruction"
    metric: ClassVar[str] = "map"
    batchable: ClassVar[bool] = False  # a batch of seeds would need as many matrices of distances

    def __init__(
        self,
        data: "Data",
        *,
        objective: str = "neighbours",
        balance: bool = True,
        use_features: bool = False,
        temperature: float | None = None,
        group: Any = None,
        **options: Any,
    ) -> None:
        if objective not in OBJECTIVES:
            raise ValueError(f"objective must be one of {', '.join(OBJECTIVES)}, got {objective!r}")
        self.objective = objective
        self.static = objective != "distortion"  # which checks its pairs at every step
        if use_features and options.get("model") == "shallow":
            raise ValueError("use_features needs a model that takes features, such as qgcn: shallow learns coordinates alone")
        self.balance = balance
        shallow = options.get("model") == "shallow"
        self.temperature = temperature or (SHALLOW_TEMPERATURE if shallow else 1.0)
        self.group = group
        data = undirected(data)
        self.neighbourhoods = Neighbourhoods.of(data.edge_index, int(data.num_nodes or 0))
        self.drawn: tuple[Tensor, ...] = ()
        if objective == "distortion":
            self.drawn = _graph_distances(data.edge_index, int(data.num_nodes or 0))
        if not use_features:
            data = data.clone()
            data.x = None
        super().__init__(data, **options)

    def message_edges(self, data: "Data") -> tuple[Tensor, Tensor | None]:
        """Return all edges."""
        return data.edge_index, getattr(data, "edge_weight", None)

    def build_predictor(self) -> Reconstructor:
        """Build an encoder and the objective."""
        return Reconstructor(self.encoder(), self.neighbourhoods, self.objective, self.balance, self.temperature, self.group)

    def draw(self, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Return the pairs of the distortion objective: all of them, nothing is drawn."""
        return self.drawn

    def selection(self, prediction: Tensor, space: Space) -> Tensor:
        """Return the mAP."""
        return metrics.mean_average_precision(prediction, self.neighbourhoods, space).double()

    def score(self, prediction: Tensor, split: Split, space: Space) -> Scores:
        """Return mAP and distortion."""
        few = SOURCES if self.num_nodes > LARGE else None
        stretch = metrics.distortion(prediction, self.neighbourhoods, space, scale=True, sources=few)
        return {
            "map": float(metrics.mean_average_precision(prediction, self.neighbourhoods, space)),
            "distortion": float(stretch.average),
            "worst_distortion": float(stretch.worst),
        }

    def to(self, device: torch.device, dtype: torch.dtype) -> None:
        """Move all tensors."""
        super().to(device, dtype)
        edges = torch.stack((self.neighbourhoods.source, self.neighbourhoods.target)).to(device)
        self.neighbourhoods = Neighbourhoods.of(edges, self.num_nodes)
        self.drawn = tuple(each.to(device) for each in self.drawn)


def _graph_distances(edge_index: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    """Return all pairs that a path joins, each once, shape ``(2, P)``, and the lengths of their shortest paths."""
    from torch_geometric.data import Data

    pairs, lengths = [], []
    for component in Shape.of(Data(edge_index=edge_index, num_nodes=num_nodes)).components:
        upper = np.triu_indices(component.size, 1)
        pairs.append(component.nodes[np.stack(upper)])
        lengths.append(component.hops()[upper].astype(np.float64))
    return torch.from_numpy(np.concatenate(pairs, axis=1)), torch.from_numpy(np.concatenate(lengths))
