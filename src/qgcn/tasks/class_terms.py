"""Cheap predictors of classes: what features and known labels say about a node, beside what a network learned."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from qgcn.yardsticks import Regression

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
        like: Terms whose regularisation is taken over, if validation nodes are trained on, too.
    """

    def __init__(
        self,
        x: Any,
        matrix: Any,
        y: Array,
        train: Array,
        val: Array,
        kind: str = "features",
        like: "ClassTerms | None" = None,
    ) -> None:
        self._x, self._matrix, self._y, self._train, self._val, self._like = x, matrix, y, train, val, like
        self._fitted: dict[int, Regression] = {}
        self.names = self.names_for(kind)

    @staticmethod
    def names_for(kind: str) -> tuple[str, ...]:
        """Return the names of all terms."""
        regressions = (kind, f"smoothed {kind}", f"{kind} by PageRank")
        return (*(f"logistic regression on {each}" for each in regressions), "belief propagation")

    @cached_property
    def plain(self) -> Array:
        """Logits by a regression on features, shape ``(N, C)``; minus infinity for classes without training nodes."""
        return self.regression(0).logits

    @cached_property
    def smoothed(self) -> Array:
        """Logits by a regression on twice smoothed features, shape ``(N, C)``."""
        return self.regression(1).logits

    @cached_property
    def ranked(self) -> Array:
        """Logits by a regression on features smoothed by personalised PageRank, shape ``(N, C)``."""
        return self.regression(2).logits

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

    def regression(self, place: int) -> "Regression":
        """Return the regression at a place among the terms, fitted when it is first asked for."""
        if place not in self._fitted:
            self._fitted[place] = self._fit(place)
        return self._fitted[place]

    def _fit(self, place: int) -> "Regression":
        from qgcn.yardsticks import STRENGTHS, logistic_regression

        smoothing: dict[str, Any] = {} if place == 0 else {"smoother": self._smoother}
        smoothing |= {"hops": STEPS, "restart": RESTART} if place == 2 else {}
        strengths = STRENGTHS if self._like is None else (self._like.regression(place).strength,)
        return logistic_regression(self._x, self._y, self._train, self._val, strengths=strengths, **smoothing)


def doubtful(logits: Tensor) -> Tensor:
    """Return log-probabilities, float64, mixed with a little of all classes, so that none is impossible."""
    p = logits.double().softmax(-1)
    return ((1 - DOUBT) * p + DOUBT / p.shape[-1]).log()
