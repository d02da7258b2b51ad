"""Changed graphs: where their nodes were in the graph that a model was trained on."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from qgcn.data import NodeNames

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Origin"]


@dataclass(frozen=True)
class Origin:
    """Where the nodes of a changed graph were in the graph that a model was trained on.

    Attributes:
        places: Position of each node there, -1 for a new one, shape ``(N,)``.
        num_nodes: Number of nodes there.
        newcomer: Name of the first new node, if there is one.
    """

    places: Tensor
    num_nodes: int
    newcomer: str | None

    @classmethod
    def of(cls, data: "Data", trained: "Data") -> "Origin":
        """Find the nodes of a graph in another one by their names."""
        names = NodeNames.of(data).ids
        places = NodeNames.of(trained).find(names)
        new = np.flatnonzero(places < 0)
        return cls(torch.from_numpy(places), int(trained.num_nodes or 0), str(names[new[0]]) if len(new) else None)

    @property
    def all_new(self) -> bool:
        """Whether no node was there in training."""
        return not bool((self.places >= 0).any())

    def rows(self, values: Tensor, what: str) -> Tensor:
        """Return the rows of all nodes, given those of the nodes in training, shape ``(N, n)``.

        Raises:
            ValueError: A node is new, and has no row.
        """
        if self.newcomer is not None:
            raise ValueError(f"the new node {self.newcomer!r} has no {what}")
        return values[self.places]

    def known(self, points: Tensor, model: str) -> Tensor:
        """Return the points of all nodes, given those of the nodes in training, by a model that learns coordinates alone.

        Raises:
            ValueError: A node is new.
        """
        if self.newcomer is not None:
            raise ValueError(f"{self.newcomer!r} was not there in training, and {model} places no new nodes")
        return points[self.places.to(points.device)]

    def features(self, given: Tensor | None, trained: Tensor | None) -> Tensor | None:
        """Return the features of all nodes: those given, or those from training.

        Args:
            given: Features of the changed graph, shape ``(N, F)``.
            trained: Features that the model was trained with.

        Raises:
            ValueError: The model was trained with another number of features, or a new node has none.
        """
        if given is not None and (trained is None or given.shape[1] != trained.shape[1]):
            expected = "without features" if trained is None else f"with {trained.shape[1]} features of each node"
            raise ValueError(f"the model was trained {expected}, but the graph given has {given.shape[1]}")
        if given is None and trained is not None:
            return self.rows(trained, "features, which the model was trained with: give the features of all nodes")
        return given
