"""Cheap predictors of classes: what features and known labels say about a node, beside what a network learned."""

from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

__all__ = ["ClassTerms"]

Array = np.ndarray[Any, Any]
DOUBT = 0.01
"""Share of a prediction's probability that is spread over all classes."""
STEPS, RESTART = 10, 0.1
"""Steps of the random walk of personalised PageRank, and its chance to start again before each."""


class ClassTerms:
    """Log-probabilities of the classes of all nodes by methods that take seconds; all learn from training labels alone.

    ================================================  ==================================================================
    ``logistic regression on features``               of each node by itself
    ``logistic regression on smoothed features``      after two steps to neighbours
    ``logistic regression on features by PageRank``   after ten steps that start again with a chance of 0.1
    ``belief propagation``                            the first, and what classes neighbours have; learns which classes meet
    ================================================  ==================================================================

    Args:
        x: Features, dense or SciPy sparse, shape ``(N, F)``.
        matrix: Adjacency matrix, SciPy CSR, shape ``(N, N)``.
        y: Classes, shape ``(N,)``.
        train: Nodes to learn from, shape ``(n,)``.
        val: Nodes to choose regularisation by, shape ``(m,)``.
        kind: Name of the features.
    """

    def __init__(self, x: Any, matrix: Any, y: Array, train: Array, val: Array, kind: str = "features") -> None:
        self._x, self._matrix, self._y, self._train, self._val = x, matrix, y, train, val
        self.names = self.names_for(kind)

    @staticmethod
    def names_for(kind: str) -> tuple[str, ...]:
        """Return the names of all terms."""
        regressions = (kind, f"smoothed {kind}", f"{kind} by PageRank")
        return (*(f"logistic regression on {each}" for each in regressions), "belief propagation")

    @cached_property
    def plain(self) -> Array:
        """Logits by a regression on features, shape ``(N, C)``; minus infinity for classes without training nodes."""
        return self._regression()

    @cached_property
    def smoothed(self) -> Array:
        """Logits by a regression on twice smoothed features, shape ``(N, C)``."""
        return self._regression(smoother=self._smoother)

    @cached_property
    def ranked(self) -> Array:
        """Logits by a regression on features smoothed by personalised PageRank, shape ``(N, C)``."""
        return self._regression(smoother=self._smoother, hops=STEPS, restart=RESTART)

    @cached_property
    def beliefs(self) -> Array:
        """Logits by belief propagation, shape ``(N, C)``."""
        from qgcn.yardsticks import propagate_beliefs

        own, guess = (doubtful(torch.from_numpy(logits)) for logits in (self.plain, self.ranked))
        return propagate_beliefs(self._matrix, own.numpy(), guess.exp().numpy(), self._y, self._train)

    def of_nodes(self) -> Tensor:
        """Return all terms of all nodes, float64, shape ``(N, C, K)``."""
        every = (self.plain, self.smoothed, self.ranked, self.beliefs)
        return torch.stack([doubtful(torch.from_numpy(logits)) for logits in every], dim=-1)

    @cached_property
    def _smoother(self) -> Any:
        from qgcn.yardsticks import normalized

        return normalized(self._matrix, loops=True)

    def _regression(self, **smoothing: Any) -> Array:
        from qgcn.yardsticks import logistic_regression

        found: Array = logistic_regression(self._x, self._y, self._train, self._val, **smoothing)
        return found


def doubtful(logits: Tensor) -> Tensor:
    """Return log-probabilities, float64, mixed with a little of all classes, so that none is impossible."""
    p = logits.double().softmax(-1)
    return ((1 - DOUBT) * p + DOUBT / p.shape[-1]).log()
