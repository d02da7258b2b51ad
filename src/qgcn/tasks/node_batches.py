"""Training batches of nodes."""

import torch
from torch import Tensor

from qgcn.tasks.minibatches import MiniBatching

__all__ = ["NodeBatching"]


class NodeBatching(MiniBatching):
    """The part of a task on nodes that draws what a step learns from."""

    nodes: dict[str, Tensor]
    y: Tensor

    @property
    def items(self) -> int:
        """Number of training nodes."""
        return len(self.nodes["train"])

    def of_items(self, items: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Return some training nodes with their labels."""
        nodes = self.nodes["train"][items]
        return nodes, self.y[nodes]

    def localised(self, targets: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return nodes, and their places."""
        nodes, *labels = targets
        return nodes, (torch.arange(len(nodes), device=nodes.device), *labels)
