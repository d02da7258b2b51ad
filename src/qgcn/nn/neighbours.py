"""Neighbours that two nodes share, found for many pairs at once."""

import torch
from torch import Tensor

__all__ = ["SharedNeighbours"]


class SharedNeighbours:
    """The neighbours that both nodes of a pair have.

    The neighbours of the end with fewer of them are looked up among the edges of the other: the work is that of the smaller
    neighbourhoods, and no pair of nodes is ever written down.

    Args:
        edges: Both directions of the edges, shape ``(2, E)``; an edge given twice counts once, self-loops do not count.
        num_nodes: Number of nodes, ``N``.

    Example:
        >>> square = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]])
        >>> SharedNeighbours(square, 4).of_pairs(torch.tensor([[0, 0], [2, 1]]))
        (tensor([0, 0]), tensor([1, 3]))
    """

    def __init__(self, edges: Tensor, num_nodes: int) -> None:
        source, target = edges[:, edges[0] != edges[1]]
        self._edges = torch.unique(source * num_nodes + target)  # sorted by source, then by target
        self._count = num_nodes
        degree = torch.bincount(self._edges // num_nodes, minlength=num_nodes)
        self._first = torch.cat((degree.new_zeros(1), degree.cumsum(0)))
        self._degree = degree

    def to(self, device: torch.device) -> "SharedNeighbours":
        """Return the same on a device."""
        if self._edges.device == device:
            return self
        made = object.__new__(SharedNeighbours)
        made._count = self._count
        made._edges, made._first, made._degree = (each.to(device) for each in (self._edges, self._first, self._degree))
        return made

    @torch.no_grad()
    def of_pairs(self, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """Return places of pairs and the nodes that are neighbours of both ends, shape ``(M,)`` each, pair by pair.

        Args:
            pairs: Positions of both nodes, shape ``(2, P)``.
        """
        fewer = self._degree[pairs[0]] <= self._degree[pairs[1]]
        few, many = torch.where(fewer, pairs[0], pairs[1]), torch.where(fewer, pairs[1], pairs[0])
        count = self._degree[few]
        place = torch.repeat_interleave(count)
        start = self._first[few] - (count.cumsum(0) - count)
        at = torch.arange(len(place), device=pairs.device) + start[place]
        node = self._edges[at] % self._count
        wanted = many[place] * self._count + node
        found = torch.searchsorted(self._edges, wanted)
        held = (
            self._edges[found.remainder(max(len(self._edges), 1))] == wanted
        )  # past the end is the first edge, not the wanted
        return place[held], node[held]
