"""Batches: what one step of training sees, and the loaders that yield them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from qgcn.nn import Adjacency, SparseMatrix, mixed_key

if TYPE_CHECKING:
    from qgcn.tasks.predictor import Predictor
    from qgcn.tasks.task import Split, Task

__all__ = ["WHOLE", "Batch", "Draws", "FullBatch", "Loader", "Randomness", "Share"]

_DRAWS, _EDGES, _BATCHES = -1, -2, -3  # keep the streams of a task's draws apart from those of the layers, which count from 0


@dataclass(frozen=True)
class Batch:
    """Features, graph and targets of one step.

    Attributes:
        x: Features of the nodes, dense or sparse.
        graph: The graph, or as much of it as the step needs.
        targets: Further arguments of the predictor, the same for all seeds.
        drawn: Further arguments after those, for each seed its own.
        weight: Share of the step's loss that is of this batch: less than 1 where several processes take a step together.
    """

    x: Tensor | SparseMatrix
    graph: Adjacency
    targets: tuple[Tensor, ...] = ()
    drawn: tuple[tuple[Tensor, ...], ...] = ()
    weight: float = 1.0


@dataclass(frozen=True)
class Share:
    """The part of a batch that one of several processes takes.

    Attributes:
        rank: Number of the process.
        count: Number of processes.
    """

    rank: int = 0
    count: int = 1

    def of(self, size: int) -> tuple[Tensor, float]:
        """Return which of so many things belong to the part, and how large a share they are.

        Where there are fewer things than processes, some of these take one that counts nothing.
        """
        mine = torch.arange(self.rank, max(size, self.rank), self.count)
        return (mine, len(mine) / size) if len(mine) else (mine.new_zeros(1), 0.0)


WHOLE = Share()
"""All of a batch: there is one process."""


@dataclass(frozen=True)
class Draws:
    """What is drawn for one step.

    Attributes:
        kept: Which edges are kept, see :meth:`~qgcn.nn.Adjacency.decide`.
        drawn: What a task draws, for each seed its own.
    """

    kept: Tensor | None
    drawn: tuple[tuple[Tensor, ...], ...]

    def tensors(self) -> list[Tensor]:
        """Return all tensors."""
        return [*([] if self.kept is None else [self.kept]), *(each for row in self.drawn for each in row)]

    def clone(self) -> "Draws":
        """Copy all tensors."""
        kept = None if self.kept is None else self.kept.clone()
        return Draws(kept, tuple(tuple(each.clone() for each in row) for row in self.drawn))

    def fill(self, other: "Draws") -> None:
        """Overwrite all tensors with those of another draw."""
        for mine, theirs in zip(self.tensors(), other.tensors(), strict=True):
            mine.copy_(theirs)


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

    def key(self, *parts: int) -> int:
        """Return a key for what is drawn of a mini-batch, for a seed that is alone."""
        return mixed_key(self.seeds[0], self.epoch, _BATCHES, *parts)

    def _generator(self, seed: int, stream: int) -> torch.Generator:
        return torch.Generator(self.device).manual_seed(mixed_key(seed, self.epoch, stream))


class Loader(Protocol):
    """Yields the batches of an epoch."""

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""

    def batches(self, randomness: Randomness, first: int = 0, share: Share = WHOLE) -> Iterator[Batch]:
        """Yield the batches of an epoch of training.

        Args:
            randomness: What they are drawn by.
            first: Number of the first batch that is wanted.
            share: Part of each batch that is wanted.
        """

    def scored(self, split: "Split", *, whole: bool = False) -> Batch:
        """Return what the predictions of a split are computed from.

        Args:
            split: Part of the data to be scored.
            whole: Take the whole graph, even if less of it is needed.
        """

    def predictions(self, split: "Split", predict: Callable[[Batch], Tensor], *, whole: bool = False) -> Tensor:
        """Return the predictions of a split, computed from as many batches as it takes.

        Args:
            split: Part of the data to be scored.
            predict: Returns the predictions of a batch.
            whole: As for :meth:`scored`.
        """

    def embed(self, predictor: "Predictor") -> Tensor:
        """Return the points of all nodes, shape ``(N, d)``."""


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

    def batches(self, randomness: Randomness, first: int = 0, share: Share = WHOLE) -> Iterator[Batch]:
        """Yield the one batch of an epoch.

        Raises:
            ValueError: A part of it is wanted, and the task divides none.
        """
        if share.count > 1 and not self.task.divides:
            raise ValueError("a full batch has no parts: several processes train on mini-batches, give a batch_size")
        if first == 0:
            whole = self.batch(self.draws(randomness))
            yield whole if share.count == 1 else self.task.part_of(whole, share)

    def draws(self, randomness: Randomness) -> Draws:
        """Draw what an epoch needs; the same shapes every time."""
        task = self.task
        drawn = tuple(task.draw(generator) for generator in randomness.of_each_seed())
        return Draws(task.graph.decide(task.config.edge_dropout, randomness.of_edges()), drawn)

    def batch(self, draws: Draws) -> Batch:
        """Return the batch of an epoch from what was drawn."""
        task = self.task
        return Batch(*self.inputs("train", task.graph.keeping(draws.kept)), task.targets("train"), draws.drawn)

    def scored(self, split: "Split", *, whole: bool = False) -> Batch:
        """Return the batch of a split."""
        task = self.task
        inputs = (task.x, task.graph) if whole else self.inputs(split, task.graph)
        return Batch(*inputs, task.targets(split))

    def predictions(self, split: "Split", predict: Callable[[Batch], Tensor], *, whole: bool = False) -> Tensor:
        """Return the predictions of a split, computed at once."""
        return predict(self.scored(split, whole=whole))

    def embed(self, predictor: "Predictor") -> Tensor:
        """Return the points of all nodes, computed at once."""
        return predictor.embed(self.task.x, self.task.graph)

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
