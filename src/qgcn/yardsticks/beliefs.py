"""Belief propagation: what the classes of neighbours say about a node, whether like attracts like or not."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from qgcn.yardsticks.threads import one_thread

__all__ = ["propagate_beliefs"]

Floats = NDArray[Any]
Ints = NDArray[np.int64]


def propagate_beliefs(matrix: csr_array, own: Floats, guess: Floats, y: Ints, train: Ints, rounds: int = 3) -> Floats:
    r"""Return logits of all nodes, shape ``(N, C)``: each node's own, and what it hears from its neighbours.

    .. math:: z_i = \log p_i + \sum_{j \sim i} \log \sum_c R_{\cdot c}\, q_{jc}, \qquad q_j = \operatorname{softmax}(z_j)

    where :math:`q_j` is the class itself at training nodes, and :math:`R_{bc}` how much more often a class :math:`b` meets a
    class :math:`c` along edges than by chance, counted in the expected classes of all nodes.

    Laws: where classes meet by chance, or a node has no neighbours, its own logits remain; renaming classes renames the result.

    Args:
        matrix: Adjacency matrix, shape ``(N, N)``; every edge counts the same, loops do not.
        own: Log-probabilities of the classes of each node by itself, shape ``(N, C)``, finite.
        guess: Probabilities of the classes that :math:`R` is counted in, shape ``(N, C)``.
        y: Classes, shape ``(N,)``.
        train: Nodes whose class is known, shape ``(n,)``.
        rounds: How often beliefs are passed on.
    """
    edges = _pattern(matrix)
    known = np.zeros(own.shape)[train]
    known[np.arange(len(train)), y[train]] = 1
    ratio = _ratios(edges, _with_known(guess, train, known))
    beliefs, logits = _with_known(np.exp(own), train, known), own
    with one_thread():
        for _ in range(rounds):
            logits = own + edges @ np.log(beliefs @ ratio.T)
            logits -= logits.max(axis=1, keepdims=True)
            beliefs = np.exp(logits)
            beliefs = _with_known(beliefs / beliefs.sum(axis=1, keepdims=True), train, known)
    return logits


def _pattern(matrix: csr_array) -> csr_array:
    """Return a one for each edge but loops."""
    coo = matrix.tocoo()
    kept = coo.row != coo.col
    return csr_array((np.ones(int(kept.sum())), (coo.row[kept], coo.col[kept])), shape=matrix.shape)


def _with_known(probabilities: Floats, train: Ints, known: Floats) -> Floats:
    made = probabilities.astype(np.float64)
    made[train] = known
    return made


def _ratios(edges: csr_array, classes: Floats) -> Floats:
    """Return how much more often classes meet than by chance, shape ``(C, C)``; as many more meet by chance as classes."""
    count = classes.shape[1]
    share = (classes.sum(axis=0) + 1) / (len(classes) + count)
    met = classes.T @ (edges @ classes)
    met = (met + met.T) / 2 + count * np.outer(share, share)
    ratios: Floats = met * met.sum() / np.outer(met.sum(axis=1), met.sum(axis=0))
    return ratios
