"""Scores of arrows: whether there is one, which way it points, and cheap ways to tell."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

__all__ = ["BY_DEGREE", "direction_accuracy", "three_way_accuracy", "three_way_threshold", "yardstick_scores"]

Array = np.ndarray[Any, Any]
BY_DEGREE = "degrees"
"""Name of the yardstick of degrees."""
STEPS = 101
"""Thresholds that are tried."""
MOST = 2**24
"""Logits that quantiles are taken of, at most, as PyTorch takes no more; evenly spaced ones, if there are more."""
DIMENSIONS = 64
"""Singular vectors, at most."""
ITERATIONS = 20
"""Of the subspace that singular vectors are read from: on citation graphs, entries are then right to four decimals."""


def direction_accuracy(forth: Tensor, back: Tensor) -> Tensor:
    """Return the share of pairs that score higher in their own direction, ties counted half, float64, shape ``(...)``.

    Args:
        forth: Logits in the direction of the edge, shape ``(..., P)``.
        back: Logits in the other direction.
    """
    return ((forth > back).double() + (forth >= back).double()).mean(-1) / 2


def three_way(forth: Tensor, back: Tensor, threshold: Tensor | float) -> Tensor:
    """Tell of pairs whether an arrow leads forth (0), back (1), or in both directions or none (2), shape ``(P,)``.

    With probabilities of both directions, which count as independent, the likeliest of the three.

    Args:
        forth: Logits from the first node to the second, shape ``(P,)``.
        back: Logits from the second to the first.
        threshold: Logit that counts as even odds.
    """
    a, b = forth.double() - threshold, back.double() - threshold
    yes, no = logsigmoid(torch.stack((a, b))), logsigmoid(-torch.stack((a, b)))
    even = torch.logaddexp(yes[0] + yes[1], no[0] + no[1])
    return torch.stack((yes[0] + no[1], no[0] + yes[1], even), dim=-1).argmax(-1)


def three_way_accuracy(forth: Tensor, back: Tensor, truth: Tensor, threshold: Tensor | float) -> Tensor:
    """Return the mean share of each of the three classes that is told right, float64, shape ``()``: guessing gives a third.

    Args:
        forth: Logits from the first node to the second, shape ``(P,)``.
        back: Logits from the second to the first.
        truth: Class of each pair, integers in ``[0, 3)``, shape ``(P,)``; a class without pairs does not count.
        threshold: Logit that counts as even odds.
    """
    right = (three_way(forth, back, threshold) == truth).double()
    count = torch.bincount(truth, minlength=3)
    found = torch.zeros(3, dtype=torch.float64, device=right.device).index_add_(0, truth, right)
    shares = found / torch.where(count > 0, count, 1)
    return shares.sum() / (count > 0).sum()


def three_way_threshold(forth: Tensor, back: Tensor, truth: Tensor) -> float:
    """Return the threshold with the best accuracy, of quantiles of all logits; arguments as for :func:`three_way_accuracy`."""
    levels = torch.linspace(0, 1, STEPS, dtype=torch.float64, device=forth.device)
    logits = torch.cat((forth, back)).double()
    tried = torch.quantile(logits[:: -(-len(logits) // MOST)], levels)
    found = torch.stack([three_way_accuracy(forth, back, truth, each) for each in tried])
    return float(tried[found.argmax()])


def yardstick_scores(name: str, edges: Array, num_nodes: int, pairs: Array) -> Array:
    """Score ordered pairs by training edges alone, float64, shape ``(P,)``.

    Args:
        name: ``degrees``: edges out of the first node times edges into the second; ``paths``: ways from the first to the second
            that turn twice, to what others point at who point where it does; ``truncated SVD``: products of singular vectors.
        edges: Shape ``(2, E)``.
        num_nodes: Number of nodes.
        pairs: Shape ``(2, P)``.
    """
    from scipy.sparse import csr_array

    matrix = csr_array((np.ones(edges.shape[1]), (edges[0], edges[1])), shape=(num_nodes, num_nodes))
    i, j = pairs
    if name == BY_DEGREE:
        out, into = (np.asarray(matrix.sum(axis=axis)).ravel() for axis in (1, 0))
        return np.asarray((1 + out[i]) * (1 + into[j]))
    if name == "paths":
        rare = 1 / np.log(2 + np.asarray(matrix.sum(axis=0)).ravel())
        shared = (matrix.multiply(rare)) @ matrix.T
        return np.asarray(
            np.concatenate([_paths(shared, matrix, part) for part in np.array_split(pairs, 1 + len(i) // 4096, 1)])
        )
    count = min(DIMENSIONS, num_nodes // 4)  # of more, what they leave would be rounding alone
    return np.zeros(len(i)) if count < 1 or edges.shape[1] == 0 else _low_rank(matrix, count, pairs)


def _low_rank(matrix: Any, count: int, pairs: Array) -> Array:
    """Return the entries of the nearest matrix of a low rank, the same ones every time.

    Where no walk leads that goes along arrows and against them by turns, they are 0, not what rounding leaves.
    """
    from scipy.sparse import block_array
    from scipy.sparse.csgraph import connected_components
    from sklearn.utils.extmath import randomized_svd

    i, j = pairs
    # not by ARPACK, which draws what nobody can fix, or gives up, where singular values are equal: on trees, paths, rings
    left, values, right = randomized_svd(matrix, count, n_oversamples=count, n_iter=ITERATIONS, random_state=0)
    _, part = connected_components(block_array([[None, matrix], [matrix.T, None]]), directed=False)
    entries = np.einsum("pk,k,pk->p", left[i], values, right.T[j])
    return np.where(part[i] == part[matrix.shape[0] + j], entries, 0.0)


def _paths(shared: Any, matrix: Any, pairs: Array) -> Array:
    return np.asarray(shared.tocsr()[pairs[0]].multiply(matrix.tocsc()[:, pairs[1]].T.tocsr()).sum(axis=1)).ravel()
