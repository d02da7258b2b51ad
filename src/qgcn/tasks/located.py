"""Tasks whose models may learn coordinates alone: a point for each node of the graph they were trained on, and no other."""

from typing import ClassVar

from torch import Tensor

from qgcn.tasks.predictor import Predictor
from qgcn.tasks.task import ConfigT, Task

__all__ = ["Located"]


class Located(Task[ConfigT]):
    """A task on nodes that are known by their coordinates."""

    learns_nodes: ClassVar[bool] = True

    def embed(self, predictor: Predictor) -> Tensor:
        """Return the points of the nodes.

        Raises:
            ValueError: A node of a changed graph was not there in training, and the model learns coordinates alone.
        """
        points = super().embed(predictor)
        return self.origin.known(points, self.config.model) if self.origin and self.capabilities.learns_nodes else points

    def features_used(self) -> str:
        """Return which features the model sees, in words."""
        return "no" if self.capabilities.learns_nodes else super().features_used()
