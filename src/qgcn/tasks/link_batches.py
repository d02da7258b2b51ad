"""Training batches of edges, and the pairs that they are learned against."""

from typing import Any, Literal

import torch
from torch import Tensor

from qgcn.data import LinkSplit, NegativeSampler
from qgcn.kernels.sampling import number_nodes
from qgcn.tasks.minibatches import MiniBatching

__all__ = ["ArrowBatching", "LinkBatching", "NegativeSampling"]

NegativeSampling = Literal["uniform", "in-batch", "degree"]
"""How training non-edges are drawn: any pair; ends of the edges of the batch; an end of an edge, and a node by its degree."""


class PairBatching(MiniBatching):
    """The part of a task on pairs of nodes that makes batches of them."""

    def localised(self, targets: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the ends of pairs, and the pairs by their places."""
        pairs = torch.cat(targets, dim=1)
        place, nodes = number_nodes(pairs.new_empty(0), pairs.flatten())
        return nodes, place.view(2, -1).split([each.shape[1] for each in targets], dim=1)


class ArrowBatching(PairBatching):
    """The part of a task on directed links that draws what a step learns from."""

    negatives: NegativeSampler
    arrows: Tensor
    """Training edges, shape ``(2, E)``."""
    turned: Tensor
    """Those that lead one way, turned round, in the same order, shape ``(2, R)``."""
    turned_place: Tensor
    """Place among :attr:`turned` of each training edge, -1 if its reverse is one, shape ``(E,)``."""

    @property
    def items(self) -> int:
        """Number of training edges."""
        return int(self.arrows.shape[1])

    def draw(self, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Draw as many pairs that are no edges as there are training edges; neither they nor their reverses are held out."""
        return (self.negatives.sample(self.items, generator),)

    def of_items(self, items: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Return some training edges, the same turned round, and as many fresh pairs that are no edges.

        In place of an edge whose reverse is one, another is turned round: on average each of those that lead one way counts
        the same, as in a full batch.
        """
        drawn = self.negatives.sample(len(items), generator)
        others = torch.randint(self.turned.shape[1], items.shape, generator=generator, device=items.device)
        own = self.turned_place[items]
        return self.arrows[:, items], self.turned[:, torch.where(own >= 0, own, others)], drawn


class LinkBatching(PairBatching):
    """The part of a task on links that draws what a step learns from.

    Pairs that are edges, or held out, are never drawn: where ``in-batch`` or ``degree`` find one, ``uniform`` takes its place.
    """

    links: LinkSplit
    config: Any

    @property
    def items(self) -> int:
        """Number of training edges."""
        return int(self.links.train.shape[1])

    def draw(self, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Draw as many fresh non-edges as there are training edges."""
        return (self._drawn(self.links.train, generator),)

    def of_items(self, items: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Return some training edges, and as many fresh non-edges."""
        edges = self.links.train[:, items]
        return edges, self._drawn(edges, generator)

    def _drawn(self, edges: Tensor, generator: torch.Generator) -> Tensor:
        """Draw a non-edge for each of some edges, shape ``(2, n)``."""
        sampler, count = self.links.negatives, edges.shape[1]
        others = sampler.sample(count, generator)
        if self.config.negative_sampling == "uniform":
            return others
        side = torch.randint(2, (count,), generator=generator, device=edges.device)
        one = torch.where(side == 0, edges[0], edges[1])
        if self.config.negative_sampling == "in-batch":
            other = torch.where(side == 0, edges[1], edges[0])
            other = other[torch.randperm(count, generator=generator, device=edges.device)]
        else:  # an end of an edge has a chance that grows with its degree
            ends = self.links.train.flatten()
            other = ends[torch.randint(len(ends), (count,), generator=generator, device=edges.device)]
        drawn = torch.stack((one, other))
        return torch.where(sampler.forbids(drawn), others, drawn)
