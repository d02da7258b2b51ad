"""Hard non-edges: for each held-out edge, those that the training edges and the features make look most like edges."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from qgcn.data.pairs import Ints

__all__ = ["HardNegatives"]

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
Masks: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

BLOCK = 2**22
"""Pairs whose scores are held at a time, to bound memory."""
RESTART, STEPS = 0.15, 10
"""Probability that a random walk starts over, and the steps after which it ends."""
TIES = 31
"""Bits of the number that decides between equal scores."""


class HardNegatives:
    r"""Non-edges that share an end with an edge, those first that heuristics rank highest.

    Heuristics see training edges and features alone: resource allocation :math:`\sum_{w \in \mathcal N(u) \cap \mathcal N(v)}
    1/\deg w`, personalised PageRank from :math:`u`, and the cosine of the features, if there are any. A node's rank is its best
    one by any of them; nodes that a heuristic says nothing about, at score 0, come after all others. What is equal is decided
    by a number that depends on the pair and the seed.

    Every pair belongs to one of two halves, by the same number, and only those of one half are chosen from: so that validation
    and test have no non-edge in common.

    Laws: no pair is an edge, and none is in both halves; nothing but which pairs are left out depends on edges other than
    training edges; the same seed gives the same pairs. Memory is bounded by blocks of rows, not by pairs of nodes.

    Args:
        train: Training edges, each once, shape ``(2, T)``.
        edges: All edges of the graph, which are never chosen, shape ``(2, E)``.
        num_nodes: Number of nodes ``N``.
        x: Features, shape ``(N, F)``, or none.
        seed: Fixes the pairs.
    """

    def __init__(self, train: Ints, edges: Ints, num_nodes: int, x: Tensor | None = None, seed: int = 0) -> None:
        self.num_nodes, self.seed = num_nodes, seed
        self._known, self._edges = _matrix(train, num_nodes), _matrix(edges, num_nodes)
        degree = np.diff(self._known.indptr)
        self._walk = self._known.multiply((1 / np.maximum(degree, 1))[:, None]).tocsr()  # rows sum to 1, or to 0
        self._x = None if x is None else torch.nn.functional.normalize(x.to_dense().float().cpu(), dim=1).numpy()

    def of(self, positive: Ints, count: int, half: int) -> Ints:
        """Return non-edges of each edge, in the order of the edges, shape ``(2, P * count)``.

        The first half of those of an edge share its first end, the others its second; the end they share comes first.

        Args:
            positive: Edges, shape ``(2, P)``.
            count: Non-edges of each, at least 1.
            half: Half of all pairs to choose from, 0 or 1.

        Raises:
            ValueError: A node has too few pairs to choose from.
        """
        ends, place = np.unique(positive, return_inverse=True)
        place = place.reshape(2, -1)
        each = (count - count // 2, count // 2)
        chosen = np.empty((len(ends), each[0]), dtype=np.int64)
        rows = max(1, BLOCK // self.num_nodes)
        for first in range(0, len(ends), rows):
            chosen[first : first + rows] = self._best(ends[first : first + rows], each[0], half)
        others = [chosen[side, :number] for side, number in zip(place, each, strict=True)]
        kept = [np.repeat(end[:, None], number, axis=1) for end, number in zip(positive, each, strict=True)]
        return np.stack([np.concatenate(sides, axis=1).ravel() for sides in (kept, others)])

    def _best(self, nodes: Ints, count: int, half: int) -> Ints:
        """Return the nodes that rank highest beside some, shape ``(n, count)``."""
        ties = self._ties(nodes)
        allowed = (ties & 1) == half
        allowed[np.arange(len(nodes)), nodes] = False
        joined = self._edges[nodes]
        allowed[np.repeat(np.arange(len(nodes)), np.diff(joined.indptr)), joined.indices] = False
        fewest = int(allowed.sum(axis=1).min())
        if fewest < count:
            most = f"at most {2 * fewest} hard non-edges in this graph of {self.num_nodes} nodes"
            raise ValueError(f"a held-out edge can have {most}, and negatives asks for more")
        nominated = [_highest(scores, ties, allowed, count) for scores in self._heuristics(nodes)]
        # rank by rank, at each of them the nominee of every heuristic
        found = np.stack([each for each, _ in nominated], axis=2).reshape(len(nodes), -1)
        place = np.stack([place for _, place in nominated], axis=2).reshape(len(nodes), -1)
        found = np.take_along_axis(found, np.argsort(place, axis=1, kind="stable"), axis=1)
        first = np.argsort(_repeated(found), axis=1, kind="stable")[:, :count]
        return np.take_along_axis(found, first, axis=1)

    def _heuristics(self, nodes: Ints) -> Iterator[Floats]:
        """Yield scores of some nodes with all nodes, not negative, each of shape ``(n, N)``."""
        yield np.asarray((self._known[nodes] @ self._walk).toarray(), dtype=np.float32)
        here = np.zeros((len(nodes), self.num_nodes))
        here[np.arange(len(nodes)), nodes] = RESTART
        visited = here.copy()
        for _ in range(STEPS):
            here = (1 - RESTART) * (here @ self._walk)
            visited += here
        yield visited.astype(np.float32)
        if self._x is not None:
            yield np.maximum(self._x[nodes] @ self._x.T, 0)

    def _ties(self, nodes: Ints) -> Ints:
        """Return a number of ``TIES`` bits for each pair with all nodes, the same in both directions, shape ``(n, N)``."""
        every = np.arange(self.num_nodes)
        low, high = np.minimum(nodes[:, None], every), np.maximum(nodes[:, None], every)
        start = np.uint64(self.seed * 0x9E3779B97F4A7C15 % 2**64)
        mixed = (low * self.num_nodes + high).astype(np.uint64) + start
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the finaliser of SplitMix64
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        return (mixed >> np.uint64(64 - TIES)).astype(np.int64)


def _matrix(edges: Ints, num_nodes: int) -> Any:
    """Return the symmetric adjacency matrix of edges, ones in SciPy's CSR."""
    from scipy.sparse import csr_array

    both = np.concatenate((edges, edges[::-1]), axis=1)
    both = both[:, both[0] != both[1]]
    matrix = csr_array((np.ones(both.shape[1]), (both[0], both[1])), shape=(num_nodes, num_nodes))
    matrix.data[:] = 1  # repeated edges were added up
    return matrix


def _highest(scores: Floats, ties: Ints, allowed: Masks, count: int) -> tuple[Ints, Ints]:
    """Return the allowed nodes of highest score in each row, and their places; places of those at score 0 come after all."""
    # floats that are not negative are ordered as their bits are
    keys = np.where(allowed, scores.view(np.int32).astype(np.int64) << TIES | ties, -1)
    top = torch.from_numpy(keys).topk(count, dim=1)
    place = np.broadcast_to(np.arange(count), (len(keys), count))
    return top.indices.numpy(), np.where(top.values.numpy() >> TIES > 0, place, place + count)


def _repeated(rows: Ints) -> Masks:
    """Tell of each entry whether it is in its row before."""
    order = np.argsort(rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    again = np.zeros(rows.shape, dtype=bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    found = np.empty_like(again)
    np.put_along_axis(found, order, again, axis=1)
    return found
