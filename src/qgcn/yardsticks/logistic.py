"""Multinomial logistic regression on features of nodes, smoothed over a graph or not."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from qgcn.yardsticks.threads import one_thread

__all__ = ["STRENGTHS", "Regression", "logistic_regression"]

Floats = NDArray[Any]
Ints = NDArray[np.int64]

STRENGTHS = (0.1, 1.0, 10.0, 100.0)
"""Inverse strengths of the regularisation, scikit-learn's ``C``, of which validation chooses."""
MOST_STEPS, LEAST_STEPS = 80, 40
"""Maximum number of steps for each of them on small graphs and on large ones; each goes on where the one before ended."""
MULTIPLICATIONS = 10**9
"""Multiplications for each of them, about, beyond which a graph is large."""
SIGNS = 64
"""Random vectors that the norm of the features is estimated with."""


class Regression(NamedTuple):
    """A logistic regression on nodes."""

    logits: Floats
    """Logits of all nodes, shape ``(N, C)``; minus infinity for classes without training nodes."""
    strength: float
    """The value of :math:`c` that validation chose."""


def logistic_regression(
    x: Any,
    y: Ints,
    train: Ints,
    val: Ints,
    *,
    smoother: csr_array | None = None,
    hops: int = 2,
    restart: float = 0.0,
    strengths: Sequence[float] = STRENGTHS,
) -> Regression:
    r"""Fit a regression to the training nodes, with the regularisation that does best on validation.

    The features are :math:`P X`, where :math:`P = S^h`, or the first :math:`h` steps of personalised PageRank:
    :math:`P_0 = I`, :math:`P_{k+1} = (1 - r) S P_k + r I`. They are never computed: a step multiplies :math:`X W` by :math:`S`,
    so that sparse features stay sparse. They are scaled to a mean squared norm of 1 at the training nodes; dense columns are
    standardised.

    .. math:: \min_{W, b} \; \tfrac12 \lVert W \rVert^2 + c \sum_{i \in \text{train}} -\log p_{y_i}(P X W + b)_i

    Args:
        x: Features, dense or SciPy sparse, shape ``(N, F)``.
        y: Classes, shape ``(N,)``.
        train: Nodes to learn from, shape ``(n,)``.
        val: Nodes to choose :math:`c` by, shape ``(m,)``.
        smoother: Symmetric matrix :math:`S`, shape ``(N, N)``; none leaves the features as they are.
        hops: How often it is applied, :math:`h`.
        restart: Share :math:`r` of a node's own features that is added after each of them.
        strengths: Values of :math:`c` to choose from, ascending.
    """
    features = _Features(x, smoother, hops, restart)
    known, target = np.unique(y[train], return_inverse=True)
    weights = np.zeros((features.width + 1, len(known)))
    best, chosen, found = -1.0, strengths[0], np.zeros((x.shape[0], len(known)))
    with one_thread():
        features.scale(train)
        for strength in strengths:
            weights = _fitted(features, train, target, strength, weights)
            logits = features.times(weights[:-1]) + weights[-1]
            right = float((known[logits[val].argmax(axis=1)] == y[val]).mean())
            if right < best:
                break  # with less regularisation it would take longer and do worse
            if right > best:
                best, chosen, found = right, strength, logits
    every = np.full((x.shape[0], int(y.max()) + 1), -np.inf)
    every[:, known] = found
    return Regression(every, chosen)


class _Features:
    """The matrix ``c P X`` as a factor of products; columns of dense features are standardised."""

    def __init__(self, x: Any, smoother: csr_array | None, hops: int, restart: float = 0.0) -> None:
        self._smoother, self._hops, self._factor = smoother, 0 if smoother is None else hops, 1.0
        self._restart = restart
        if issparse(x):
            self._x = csr_array(x).astype(np.float32)
            self._transposed = csr_array(self._x.T)
        else:
            dense = np.asarray(x, dtype=np.float32)
            spread = dense.std(axis=0)
            dense = self._smooth((dense - dense.mean(axis=0)) / np.where(spread > 0, spread, 1))
            self._x, self._transposed, self._hops = dense, dense.T, 0
        self.nodes, self.width = self._x.shape

    def scale(self, nodes: Ints) -> None:
        """Choose ``c`` so that the mean squared norm of the nodes' rows is 1, as random signs estimate it."""
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(self.width, SIGNS))
        mean = float((self.times(signs)[nodes] ** 2).mean())
        self._factor = 1.0 if mean == 0 else 1 / float(np.sqrt(mean))

    def times(self, weights: Floats) -> Floats:
        product: Floats = self._smooth(self._x @ (self._factor * weights).astype(np.float32))
        return product.astype(np.float64)

    def transposed_times(self, values: Floats) -> Floats:
        product: Floats = self._transposed @ self._smooth((self._factor * values).astype(np.float32))
        return product.astype(np.float64)

    def steps(self, classes: int) -> int:
        """Return how many steps of the minimisation can be afforded."""
        smoothing = 0 if self._smoother is None else self._hops * self._smoother.nnz
        entries = self._x.nnz if issparse(self._x) else self._x.size
        return max(LEAST_STEPS, min(MOST_STEPS, MULTIPLICATIONS // int(2 * classes * (entries + smoothing) + 1)))

    def _smooth(self, values: Floats) -> Floats:
        start = values
        for _ in range(self._hops):
            values = self._smoother @ values
            if self._restart:
                values = (1 - self._restart) * values + self._restart * start
        return values


def _fitted(features: _Features, train: Ints, target: Ints, strength: float, start: Floats) -> Floats:
    """Minimise the loss from given weights, the last row of which are the intercepts."""
    from scipy.optimize import minimize

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(start.shape)
        logits = features.times(weights[:-1])[train] + weights[-1]
        logits -= logits.max(axis=1, keepdims=True)
        log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        rows = np.arange(len(train))
        value = 0.5 * float((weights[:-1] ** 2).sum()) / strength - float(log_p[rows, target].sum())
        error = np.exp(log_p)
        error[rows, target] -= 1
        whole = np.zeros((features.nodes, error.shape[1]))
        whole[train] = error
        gradient = np.vstack((features.transposed_times(whole) + weights[:-1] / strength, error.sum(axis=0)))
        return value / len(train), gradient.ravel() / len(train)

    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": features.steps(start.shape[1])})
    fitted: Floats = found.x.reshape(start.shape)
    return fitted
