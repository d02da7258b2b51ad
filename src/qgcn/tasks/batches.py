"""Batches: what one step of training sees, and the loaders that yield them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from qgcn.nn import Adjacency, SparseMatrix, mixed_key

if TYPE_CHECKING:
    from qgcn.tasks.task import Split, Task

__all__ = ["Batch", "FullBatch", "Loader", "Randomness"]

_DRAWS, _EDGES = -1, -2  # keep the streams of a task's draws apart from those of the layers, which count from 0


@dataclass(frozen=True)
class Batch:
    """Features, graph and targets of one step.

    Attributes:
        x: Features of the nodes, dense or sparse.
        graph: The graph, or as much of it as the step needs.
        targets: Further arguments of the predictor, the same for all seeds.
        drawn: Further arguments after those, for each seed its own.
    """

    x: Tensor | SparseMatrix
    graph: Adjacency
    targets: tuple[Tensor, ...] = ()
    drawn: tuple[tuple[Tensor, ...], ...] = ()


@dataclass(frozen=True)
class Randomness:
    """Source of everything that is drawn in an epoch: a function of seeds and epoch alone, so that a run can be resumed.

    Attributes:
        seeds: Seeds of the models in training.
        shared: Seed of what all of them share.
        epoch: Number of the epoch.
        device: Device of the generators.
    """

    seeds: Sequence[int]
    shared: int
    epoch: int
    device: torch.device

    def of_each_seed(self) -> Iterator[torch.Generator]:
        """Return a generator for each seed."""
        return (self._generator(seed, _DRAWS) for seed in self.seeds)

    def of_edges(self) -> torch.Generator:
        """Return the generator that edges are left out by, the same for all seeds."""
        return self._generator(self.shared, _EDGES)

    def _generator(self, seed: int, stream: int) -> torch.Generator:
        return torch.Generator(self.device).manual_seed(mixed_key(seed, self.epoch, stream))


class Loader(Protocol):
    """Yields the batches of an epoch."""

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""

    def batches(self, randomness: Randomness) -> Iterator[Batch]:
        """Yield the batches of an epoch of training."""

    def scored(self, split: "Split", *, whole: bool = False) -> Batch:
        """Return what the predictions of a split are computed from.

        Args:
            split: Part of the data to be scored.
            whole: Take the whole graph, even if less of it is needed.
        """


class FullBatch:
    """The loader of length one: every step sees the whole graph, or all that the nodes in question see of it.

    Args:
        task: The problem.
    """

    def __init__(self, task: "Task[Any]") -> None:
        self.task = task
        self._seen: dict[str, tuple[Tensor | SparseMatrix, Adjacency]] = {}

    def __len__(self) -> int:
        return 1

    def batches(self, randomness: Randomness) -> Iterator[Batch]:
        """Yield the one batch of an epoch."""
        task = self.task
        drawn = tuple(task.draw(generator) for generator in randomness.of_each_seed())
        graph = task.graph.thinned(task.config.edge_dropout, randomness.of_edges())
        yield Batch(*self.inputs("train", graph), task.targets("train"), drawn)

    def scored(self, split: "Split", *, whole: bool = False) -> Batch:
        """Return the batch of a split."""
        task = self.task
        inputs = (task.x, task.graph) if whole else self.inputs(split, task.graph)
        return Batch(*inputs, task.targets(split))

    def inputs(self, split: "Split", graph: Adjacency) -> tuple[Tensor | SparseMatrix, Adjacency]:
        """Return features and graph, or as much of them as the nodes of a split see.

        Args:
            split: Part of the data that is trained on or scored.
            graph: The task's graph, or one with edges left out.
        """
        task = self.task
        nodes, hops = task.nodes_needed(split), task.capabilities.hops
        if nodes is None or hops is None:
            return task.x, graph
        if split not in self._seen:
            seen = task.graph.seen_from(nodes, hops)
            self._seen[split] = seen.gather(task.x), seen
        x, seen = self._seen[split]
        return x, seen if graph is task.graph else seen.along(graph)
