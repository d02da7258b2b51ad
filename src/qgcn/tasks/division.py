"""How a problem is trained in blocks of nodes."""

from collections.abc import Callable
from dataclasses import dataclass

from qgcn.kernels import Neighbourhoods
from qgcn.tasks.predictor import Predictor

__all__ = ["Division"]


@dataclass(frozen=True)
class Division:
    """A problem whose model is a row of coordinates for each node, and what little all nodes share.

    Attributes:
        graph: The neighbours of every node, on the CPU.
        blocks: Number of blocks.
        drawn: Negatives drawn from each of two blocks in a step.
        balance: Nodes count equally instead of edges.
        in_memory: Whether all blocks are kept in memory; otherwise in files alone.
        build: Makes the model of so many nodes from PyTorch's global generator.
    """

    graph: Neighbourhoods
    blocks: int
    drawn: int
    balance: bool
    in_memory: bool
    build: Callable[[int], Predictor]
