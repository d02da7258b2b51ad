"""Link scores from the neighbours of two nodes, without a model."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["adamic_adar", "common_neighbours", "preferential_attachment"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK = 2**22
"""Neighbours that are looked up at a time, to bound memory."""


def common_neighbours(graph: Any, pairs: Ints) -> Floats:
    """Return the number of neighbours that the two nodes of each pair share, shape ``(P,)``.

    Args:
        graph: Symmetric adjacency matrix without loops, SciPy CSR, shape ``(N, N)``.
        pairs: Nodes, shape ``(2, P)``.
    """
    return _shared(graph, pairs, np.ones(graph.shape[0]))


def adamic_adar(graph: Any, pairs: Ints) -> Floats:
    r"""Return the shared neighbours of each pair, the rare ones counting more, shape ``(P,)``.

    .. math:: s(u, v) = \sum_{w \in \mathcal N(u) \cap \mathcal N(v)} \frac{1}{\log \deg w}

    Args:
        graph: Symmetric adjacency matrix without loops, SciPy CSR, shape ``(N, N)``.
        pairs: Nodes, shape ``(2, P)``.
    """
    degree = _degrees(graph)
    return _shared(graph, pairs, 1 / np.log(np.maximum(degree, 2)))  # a neighbour of two nodes has degree 2 at least


def preferential_attachment(graph: Any, pairs: Ints) -> Floats:
    """Return the product of the two degrees of each pair, shape ``(P,)``.

    Args:
        graph: Symmetric adjacency matrix, SciPy CSR, shape ``(N, N)``.
        pairs: Nodes, shape ``(2, P)``.
    """
    degree = _degrees(graph).astype(np.float64)
    scores: Floats = degree[pairs[0]] * degree[pairs[1]]
    return scores


def _degrees(graph: csr_array) -> Ints:
    degrees: Ints = np.diff(graph.indptr).astype(np.int64)
    return degrees


def _shared(graph: csr_array, pairs: Ints, weight: Floats) -> Floats:
    """Add up the weights of the neighbours that both nodes of each pair have.

    The neighbours of the node with fewer of them are looked up among all edges, a block of pairs at a time.
    """
    nodes, degree = graph.shape[0], _degrees(graph)
    swap = degree[pairs[0]] > degree[pairs[1]]
    few, many = np.where(swap, pairs[1], pairs[0]), np.where(swap, pairs[0], pairs[1])
    keys = np.repeat(np.arange(nodes), degree) * nodes + graph.indices
    keys.sort()
    ends = np.cumsum(degree[few])
    scores = np.zeros(len(few))
    first = 0
    while first < len(few):
        done = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, done + BLOCK, side="right")))
        count = degree[few[first:last]]
        pair = np.repeat(np.arange(last - first), count)
        start = graph.indptr[few[first:last]] - np.cumsum(count) + count  # so that adding 0, 1, ... walks through each row
        neighbour = graph.indices[np.repeat(start, count) + np.arange(len(pair))].astype(np.int64)
        wanted = many[first:last][pair] * nodes + neighbour
        place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        found = keys[place] == wanted if len(keys) else np.zeros(0, dtype=bool)
        scores[first:last] = np.bincount(pair[found], weights=weight[neighbour[found]], minlength=last - first)
        first = last
    return scores
