"""The neighbours of every node and the arguments of all-pairs functions, checked once."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import torch
from torch import Tensor

from qgcn.kernels.metric import Metric
from qgcn.numerics import FLOAT_TYPES

__all__ = [
    "CHUNK_ENTRIES",
    "WORD",
    "Chunk",
    "Neighbourhoods",
    "Words",
    "check_on_manifold",
    "check_pairs",
    "check_points",
    "graph_of",
    "rows_at_once",
]

CHUNK_ENTRIES: Final = 2**24
"""Distances computed at once: all pairs of 4,096 nodes, 64 MiB a tensor in float32."""

WORD: Final = 32
"""Columns in a word of :class:`Words`."""


@dataclass(frozen=True)
class Words:
    """A set of pairs of nodes as bits: of each row, the words of 32 columns that are not empty."""

    start: Tensor
    """Index of each row's first word, then their number; int32, shape ``(N + 1,)``."""
    word: Tensor
    """Which 32 columns each word is of, ascending for each row; int32, shape ``(W,)``."""
    bits: Tensor
    """Which of them are in the set; int32, shape ``(W,)``."""
    steps: int
    """Halvings that find a word in any row."""

    @classmethod
    def of(cls, row: Tensor, column: Tensor, num_nodes: int) -> "Words":
        """Pack distinct pairs."""
        width = -(-num_nodes // WORD)
        key, at = torch.unique(row * width + column // WORD, return_inverse=True)
        bits = torch.zeros_like(key).index_add_(0, at, torch.ones_like(column) << column % WORD)
        bits = torch.where(bits >= 2 ** (WORD - 1), bits - 2**WORD, bits)
        count = torch.bincount(key // width, minlength=num_nodes)
        start = torch.cat((count.new_zeros(1), count.cumsum(0)))
        return cls(start.int(), (key % width).int(), bits.int(), int(count.max()).bit_length())


@dataclass(frozen=True)
class Chunk:
    """Some consecutive nodes of a graph and the edges that leave them."""

    first: int
    """The first node."""
    rows: int
    """Number of nodes."""
    edges: slice
    """Their edges, as a slice of ``source`` and ``target``."""


@dataclass(frozen=True)
class Neighbourhoods:
    r"""The neighbours of every node: a graph checked and sorted once, for functions that are called with it many times.

    .. math:: \mathcal N(u) = \{v \ne u : (u, v) \text{ is an edge}\}

    Neighbourhoods are sets: loops are left out, an edge given twice counts once. Edges are directed as given.
    """

    source: Tensor
    """Node that each edge leaves, ascending, shape ``(E,)``."""
    target: Tensor
    """Node that each edge leads to, ascending for each source, shape ``(E,)``."""
    degree: Tensor
    """Number of neighbours of each node, shape ``(N,)``."""
    start: Tensor
    """Index of each node's first edge, then ``E``; shape ``(N + 1,)``, on the CPU, where slices are cut."""

    @classmethod
    def of(cls, edge_index: Tensor, num_nodes: int) -> "Neighbourhoods":
        """Check and sort the edges of a graph.

        Args:
            edge_index: Directed edges, shape ``(2, E)``, integers in ``[0, num_nodes)``.
            num_nodes: Number of nodes, ``N``.

        Raises:
            TypeError: ``edge_index`` is no tensor of integers.
            ValueError: It has another shape, names a node that is not there, or has no edge between two nodes.
        """
        check_pairs(edge_index, num_nodes, "edge_index")
        source, target = edge_index.long()
        apart = source != target
        key = torch.unique(source[apart] * num_nodes + target[apart])
        if key.numel() == 0:
            raise ValueError(f"edge_index must have at least one edge between two nodes, got {edge_index.shape[1]} loops")
        source, target = key // num_nodes, key % num_nodes
        degree = torch.bincount(source, minlength=num_nodes)
        start = torch.cat((degree.new_zeros(1), degree.cumsum(0))).cpu()
        return cls(source, target, degree, start)

    def to(self, device: torch.device) -> "Neighbourhoods":
        """Return the graph on a device, itself if it is there."""
        if self.source.device == device:
            return self
        return Neighbourhoods(self.source.to(device), self.target.to(device), self.degree.to(device), self.start)

    @property
    def num_nodes(self) -> int:
        """Number of nodes, ``N``."""
        return len(self.degree)

    @property
    def num_edges(self) -> int:
        """Number of directed edges between two nodes, ``E``."""
        return len(self.source)

    @cached_property
    def share(self) -> Tensor:
        """Edge weights that give every node with neighbours the same total, float64, shape ``(E,)``; adds up to 1."""
        return self.degree.double().reciprocal()[self.source] / (self.degree > 0).sum()

    @cached_property
    def symmetric(self) -> bool:
        """Whether every edge is there in both directions."""
        forth, back = (a * self.num_nodes + b for a, b in ((self.source, self.target), (self.target, self.source)))
        return torch.equal(forth, back.sort().values)

    @cached_property
    def itself(self) -> Words:
        """Each node paired with itself."""
        node = torch.arange(self.num_nodes, device=self.source.device)
        return Words.of(node, node, self.num_nodes)

    @cached_property
    def itself_and_neighbours(self) -> tuple[Words, Words]:
        """Each node paired with itself and its neighbours; and the same with both ends of a pair exchanged."""
        node = torch.arange(self.num_nodes, device=self.source.device)
        row, column = torch.cat((self.source, node)), torch.cat((self.target, node))
        words = Words.of(row, column, self.num_nodes)
        return words, words if self.symmetric else Words.of(column, row, self.num_nodes)

    @cached_property
    def turned(self) -> "Neighbourhoods":
        """The graph with every edge turned round: the neighbours of a node are those it is a neighbour of."""
        return Neighbourhoods.of(torch.stack((self.target, self.source)), self.num_nodes)

    @cached_property
    def joined(self) -> Tensor:
        """Nodes with neighbours, ascending."""
        return (self.degree > 0).nonzero().squeeze(1)

    def leaving(self, nodes: Tensor) -> "tuple[Tensor, Neighbourhoods]":
        """Return all nodes in an order in which some come first, and the edges that leave these, nodes being renamed to places.

        Args:
            nodes: Distinct nodes, shape ``(n,)``.
        """
        device = self.degree.device
        place = torch.full((self.num_nodes,), -1, device=device)
        place[nodes] = torch.arange(len(nodes), device=device)
        rest = (place < 0).nonzero().squeeze(1)
        place[rest] = torch.arange(len(nodes), self.num_nodes, device=device)
        degree = torch.zeros_like(self.degree)
        degree[: len(nodes)] = self.degree[nodes]
        start = torch.cat((degree.new_zeros(1), degree.cumsum(0)))
        source = torch.repeat_interleave(torch.arange(len(degree), device=device), degree)
        within = torch.arange(len(source), device=device) - start[source]
        target = self.target[self.start.to(device)[nodes[source]] + within]
        return torch.cat((nodes, rest)), Neighbourhoods(source, place[target], degree, start.cpu())

    @cached_property
    def compact(self) -> "tuple[Tensor, Neighbourhoods]":
        """All nodes, those with neighbours first, and the graph with nodes renamed to their places in this order."""
        return self.leaving(self.joined)

    def chunks(self, rows: int) -> Iterator[Chunk]:
        """Cut the graph into runs of ``rows`` nodes, the last one possibly shorter."""
        for first in range(0, self.num_nodes, rows):
            last = min(first + rows, self.num_nodes)
            yield Chunk(first, last - first, slice(int(self.start[first]), int(self.start[last])))


def graph_of(edge_index: Tensor | Neighbourhoods, x: Tensor) -> Neighbourhoods:
    """Return the neighbourhoods of a graph with one node for each of the points ``x``, on their device; raise if none fit."""
    if isinstance(edge_index, Tensor):
        return Neighbourhoods.of(edge_index.to(x.device), len(x))
    if not isinstance(edge_index, Neighbourhoods):
        raise TypeError(f"edge_index must be a torch.Tensor or Neighbourhoods, got {type(edge_index).__name__}")
    if edge_index.num_nodes != len(x):
        raise ValueError(f"x must have one point for each of the graph's {edge_index.num_nodes} nodes, got {len(x)}")
    if edge_index.source.device != x.device:
        raise TypeError(f"x is on {x.device} but the graph is on {edge_index.source.device}: expected one device")
    return edge_index


def rows_at_once(num_nodes: int, chunk: int | None = None) -> int:
    """Return how many rows of all pairwise distances to compute at once: ``chunk``, or what keeps memory bounded."""
    if chunk is None:
        return max(1, min(num_nodes, CHUNK_ENTRIES // num_nodes))
    if isinstance(chunk, bool) or not isinstance(chunk, int):
        raise TypeError(f"chunk must be an int or None, got {type(chunk).__name__}")
    if chunk < 1:
        raise ValueError(f"chunk must be at least 1, got {chunk}")
    return chunk


def check_points(x: Tensor, *, read: bool = True) -> None:
    """Raise unless ``x`` holds points, shape ``(N, d)``, all finite (if ``read``, which waits for the device)."""
    if not isinstance(x, Tensor):
        raise TypeError(f"x must be a torch.Tensor, got {type(x).__name__}")
    if x.dtype not in FLOAT_TYPES:
        raise TypeError(f"x must be float32 or float64, got {x.dtype}")
    if x.ndim != 2 or x.numel() == 0:
        raise ValueError(f"x must have shape (N, d) with N and d at least 1, got {tuple(x.shape)}")
    if read and (wrong := len(x) - int(x.detach().isfinite().all(-1).sum())):
        raise ValueError(f"x must be finite, got NaN or infinity in {wrong} of {len(x)} points")


def check_on_manifold(x: Tensor, manifold: Metric) -> None:
    """Raise unless the points lie on the manifold, up to rounding; waits for the device.

    Only a manifold of geoopt's protocol says what lies on it; rounding is that of the squares which cancel far out.
    """
    check = getattr(manifold, "check_point_on_manifold", None)
    if check is None:
        return
    on, reason = check(x.detach(), explain=True)
    if not on:
        raise ValueError(f"x must be points of {manifold}: {reason}")


def check_pairs(pairs: Tensor, num_nodes: int, name: str) -> None:
    """Raise unless ``pairs`` is a tensor of integers in ``[0, num_nodes)``, shape ``(2, E)``, ``E >= 1``."""
    if not isinstance(pairs, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(pairs).__name__}")
    if pairs.is_floating_point() or pairs.is_complex() or pairs.dtype == torch.bool:
        raise TypeError(f"{name} must hold integers, got {pairs.dtype}")
    if pairs.ndim != 2 or pairs.shape[0] != 2:
        raise ValueError(f"{name} must have shape (2, E), got {tuple(pairs.shape)}")
    if pairs.shape[1] == 0:
        raise ValueError(f"{name} must have at least one column, got none")
    lowest, highest = (int(bound) for bound in torch.aminmax(pairs))
    if lowest < 0 or highest >= num_nodes:
        raise ValueError(f"{name} must lie in [0, {num_nodes}), the number of points, got values from {lowest} to {highest}")
