"""Mini-batches: steps that see some targets and a sample of their neighbourhoods."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from qgcn.nn import NeighbourSampler
from qgcn.tasks.batches import WHOLE, Batch, FullBatch, Loader, Randomness, Share

if TYPE_CHECKING:
    from qgcn.tasks.config import Config
    from qgcn.tasks.predictor import Predictor
    from qgcn.tasks.task import Split, Task

__all__ = ["MiniBatches", "MiniBatching", "fanouts", "loader_of"]

FANOUT = 10
"""Neighbours drawn at each hop if not asked for."""
ROWS = 2**16
"""Nodes that are computed at once where all of them are asked for."""
_ORDER, _ITEMS, _GRAPH = 0, 1, 2  # keep what is drawn for an epoch and for a batch apart


def fanouts(config: "Config") -> list[int]:
    """Return the number of neighbours drawn at each hop, -1 for all.

    Raises:
        ValueError: There are more or fewer numbers than hops, or none is needed.
    """
    reach = config.capabilities.reach or 0
    if config.fanout is not None and not reach:
        raise ValueError(f"fanout has no effect on the model {config.model} with these options, which looks at no neighbours")
    given = [FANOUT] if config.fanout is None else [-1 if each == "all" else int(each) for each in config.fanout.split(",")]
    given = given * reach if len(given) == 1 else given
    if len(given) != reach:
        raise ValueError(f"fanout must be one number or {reach}, one for each aggregation of the model, got {config.fanout}")
    return given


class MiniBatching:
    """The part of a task that says how its steps are divided; by default there are no mini-batches."""

    shared: bool = False
    """Whether several processes, those of ``torch.distributed``, train the task together."""

    @property
    def side_by_side(self) -> bool:
        """Whether seeds that are trained together have a model and a loss each, instead of being one batched model."""
        return False

    @property
    def shares_rows(self) -> bool:
        """Whether processes share the work of a full batch, and each has the whole gradient."""
        return False

    @property
    def divides(self) -> bool:
        """Whether processes can divide a full batch among them, see :meth:`part_of`."""
        return False

    def part_of(self, batch: Batch, share: Share) -> Batch:
        """Return the part of a full batch that one of several processes takes; losses and gradients of all parts add up.

        By default the loss is a mean over the last axis of its targets and of what is drawn.
        """
        mine, weight = share.of(batch.targets[0].shape[-1])
        mine = mine.to(batch.targets[0].device)
        drawn = tuple(tuple(each[..., mine] for each in row) for row in batch.drawn)
        return replace(batch, targets=tuple(each[..., mine] for each in batch.targets), drawn=drawn, weight=weight)

    @property
    def items(self) -> int | None:
        """Number of things that an epoch goes through, such as training nodes; ``None`` if there are no mini-batches."""
        return None

    def of_items(self, items: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Return the arguments of the loss for some of those things, and draw what it takes.

        Nodes are numbered as in the graph.

        Args:
            items: Numbers of the things, shape ``(n,)``.
            generator: Source of randomness, on the device.

        Returns:
            Tensors whose last axis is that of the things.
        """
        raise NotImplementedError

    def localised(self, targets: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the nodes that arguments of a loss or prediction name, and the arguments with places among them instead.

        Args:
            targets: As :meth:`of_items` or :meth:`~qgcn.tasks.Task.targets` returned them, or parts of these.

        Returns:
            Different nodes, shape ``(n,)``, and the arguments.
        """
        raise NotImplementedError

    @classmethod
    def check_batches(cls, config: "Config") -> None:
        """Raise ``ValueError`` if there are no mini-batches with these settings, but they ask for some."""
        if config.batch_size is None:
            if config.fanout is not None:
                raise ValueError("fanout has no effect without batch_size, which trains on mini-batches")
            return
        if cls.items is MiniBatching.items:
            raise ValueError(f"{config.task} has no mini-batches: leave out batch_size")
        if config.capabilities.reach is None:
            raise ValueError(
                f"the model {config.model} with these options has no mini-batches: a node depends on more than edges drawn; "
                "leave out batch_size, or take a model such as qgcn"
            )
        fanouts(config)


def loader_of(task: "Task[Any]") -> Loader:
    """Return the loader that the settings of a problem ask for."""
    return FullBatch(task) if task.config.batch_size is None else MiniBatches(task)


class MiniBatches:
    """Loader of mini-batches: every step sees some targets and a sample of what the nodes in question see.

    Order, samples and draws of a batch are functions of seed, epoch and number of the batch. What is drawn of a node does not
    depend on the others, so that processes that share a batch see together what one would see.

    Predictions see all neighbours, in bounded memory: layer after layer where the encoder is a stack of convolutions, in blocks
    of targets with all that they see otherwise.

    Args:
        task: The problem.
    """

    def __init__(self, task: "Task[Any]") -> None:
        self.task = task
        self.size: int = task.config.batch_size
        self.fanout = fanouts(task.config)
        self.layered = task.capabilities.hops is not None
        self._sampler: NeighbourSampler | None = None

    def __len__(self) -> int:
        return -(-(self.task.items or 0) // self.size)

    @property
    def sampler(self) -> NeighbourSampler:
        """Sampler of the task's graph, made when first used."""
        if self._sampler is None:
            self._sampler = NeighbourSampler(self.task.graph)
        return self._sampler

    def batches(self, randomness: Randomness, first: int = 0, share: Share = WHOLE) -> Iterator[Batch]:
        """Yield the batches of an epoch."""
        order = torch.randperm(self.task.items or 0, generator=torch.Generator().manual_seed(randomness.key(_ORDER)))
        for number in range(first, len(self)):
            items = order[number * self.size : (number + 1) * self.size].to(self.task.device)
            generator = torch.Generator(self.task.device).manual_seed(randomness.key(_ITEMS, number))
            mine, weight = share.of(len(items))
            # all processes draw the same for the whole of a step, and take their part of it
            targets = tuple(each[..., mine.to(each.device)] for each in self.task.of_items(items, generator))
            yield self._seen(targets, self.fanout, randomness.key(_GRAPH, number), self.task.config.edge_dropout, weight)

    def scored(self, split: "Split", *, whole: bool = False) -> Batch:
        """Return the batch of a split: the whole graph, computed in blocks where that is possible."""
        return Batch(self.task.x, self.task.graph.in_blocks(ROWS), self.task.targets(split))

    def predictions(self, split: "Split", predict: Callable[[Batch], Tensor], *, whole: bool = False) -> Tensor:
        """Return the predictions of a split."""
        if self.layered:
            return predict(self.scored(split))
        targets = self.task.targets(split)
        parts = zip(*(each.split(self.size, dim=-1) for each in targets), strict=True)
        return torch.cat([predict(self._all_seen(part)) for part in parts])

    def embed(self, predictor: "Predictor") -> Tensor:
        """Return the points of all nodes."""
        if self.layered:
            return predictor.embed(self.task.x, self.task.graph.in_blocks(ROWS))
        found = []
        for nodes in torch.arange(self.task.num_nodes, device=self.task.device).split(self.size):
            batch = self._around(nodes, (), [-1] * len(self.fanout), 0)
            found.append(predictor.embed(batch.x, batch.graph)[: len(nodes)])
        return torch.cat(found)

    def _all_seen(self, targets: tuple[Tensor, ...]) -> Batch:
        return self._seen(targets, [-1] * len(self.fanout), 0)

    def _seen(self, targets: tuple[Tensor, ...], fanout: list[int], key: int, drop: float = 0.0, weight: float = 1.0) -> Batch:
        nodes, local = self.task.localised(targets)
        return self._around(nodes, local, fanout, key, drop, weight)

    def _around(
        self, nodes: Tensor, targets: tuple[Tensor, ...], fanout: list[int], key: int, drop: float = 0.0, weight: float = 1.0
    ) -> Batch:
        """Return the batch of some nodes and what is drawn around them."""
        sample = self.sampler.sample(nodes, fanout, key)
        graph = self.sampler.operand(sample, key, layered=self.layered, drop=drop)
        return Batch(graph.gather(self.task.x), graph, targets, weight=weight)
