"""Nodes dealt out into blocks, and edges sorted by the blocks of their ends."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

__all__ = ["BlockGraph", "Group"]

Group = tuple[int, ...]
"""Blocks that are on the device together."""


@dataclass(frozen=True)
class BlockGraph:
    """A graph whose nodes are dealt out into blocks at random.

    So the nodes of a block are a uniform sample of all nodes, and stand for them as negatives.

    Attributes:
        order: Nodes, block after block, int64, shape ``(N,)``.
        size: Nodes of each block but the last, which has the rest.
        degree: Number of neighbours, in that order, int32, shape ``(N,)``.
        ends: Edges by the places of their ends within the blocks, those from block ``i`` to block ``j`` after one another, by
            ``i`` and then by ``j``; int32, shape ``(2, E)``.
        starts: Index of the first edge of each pair of blocks, then ``E``; shape ``(blocks ** 2 + 1,)``.
    """

    order: Tensor
    size: int
    degree: Tensor
    ends: Tensor
    starts: list[int]

    @classmethod
    def of(cls, source: Tensor, target: Tensor, num_nodes: int, blocks: int, seed: int) -> "BlockGraph":
        """Deal out nodes and sort edges.

        Args:
            source: Node that each edge leaves, shape ``(E,)``; edges stay on its device.
            target: Node that it leads to; no edge twice, no loop.
            num_nodes: Number of nodes, ``N``.
            blocks: Number of blocks, at most ``N``; fewer are made if that many would not all have nodes.
            seed: Of the draw.

        Raises:
            ValueError: There are more blocks than nodes, or more nodes in a block than 32 bits count.
        """
        if not 1 <= blocks <= num_nodes:
            raise ValueError(f"blocks must be in [1, {num_nodes}], the number of nodes, got {blocks}")
        device = source.device
        order = torch.randperm(num_nodes, generator=torch.Generator().manual_seed(seed)).to(device)
        size = -(-num_nodes // blocks)
        blocks = -(-num_nodes // size)
        place = torch.empty(num_nodes, dtype=torch.int32, device=device)
        place[order] = torch.arange(num_nodes, dtype=torch.int32, device=device)
        degree = torch.bincount(source, minlength=num_nodes).int()[order]
        at = [place[each] for each in (source, target)]
        pair = at[0] // size * blocks + at[1] // size
        starts = [0, *torch.bincount(pair, minlength=blocks**2).cumsum(0).tolist()]
        by_pair = _sorting(pair, blocks**2)
        ends = torch.stack([(each % size)[by_pair] for each in at])
        return cls(order.cpu(), size, degree, ends, starts)

    @property
    def num_nodes(self) -> int:
        """Number of nodes, ``N``."""
        return len(self.order)

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.num_nodes // self.size)

    @property
    def joined(self) -> int:
        """Number of nodes with neighbours."""
        return int((self.degree > 0).sum())

    @property
    def num_edges(self) -> int:
        """Number of edges, ``E``."""
        return int(self.ends.shape[1])

    def places(self, block: int) -> slice:
        """Return where the nodes of a block stand in :attr:`order`."""
        return slice(block * self.size, min((block + 1) * self.size, self.num_nodes))

    def nodes(self, block: int) -> int:
        """Return the number of nodes of a block."""
        places = self.places(block)
        return int(places.stop - places.start)

    def edges(self, source: int, target: int) -> Tensor:
        """Return the edges from one block to another, int32, shape ``(2, E_ij)``."""
        first = source * self.blocks + target
        return self.ends[:, self.starts[first] : self.starts[first + 1]]

    def tour(self, groups: int, generator: torch.Generator) -> list[tuple[Group, Group]]:
        """Put blocks into groups at random, and return every pair of groups once.

        All but a few pairs have a group in common with the one before: one stays while the others pass, to and fro.

        Args:
            groups: Number of groups, or as many as there are blocks if these are fewer.
            generator: Source of the draw.
        """
        names = torch.randperm(self.blocks, generator=generator)
        made = [tuple(each.tolist()) for each in names.tensor_split(min(groups, self.blocks))]
        found = []
        for first in range(len(made)):
            others = range(first, len(made))
            found += [(made[first], made[each]) for each in (others if first % 2 == 0 else reversed(others))]
        return found


def _sorting(keys: Tensor, most: int) -> Tensor:
    """Return what sorts whole numbers below ``most``; equal ones keep their order."""
    if keys.is_cuda:
        return torch.sort(keys, stable=True).indices
    narrow = keys.numpy().astype(np.uint16) if most <= 2**16 else keys.numpy()  # 16 bits are sorted by counting
    return torch.from_numpy(np.argsort(narrow, kind="stable"))
