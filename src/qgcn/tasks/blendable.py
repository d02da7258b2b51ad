"""The part of a task that weighs a network with cheap predictors: outcomes, and what others say of them."""

from typing import TYPE_CHECKING, Literal

from torch import Tensor

from qgcn.blending import Prior

if TYPE_CHECKING:
    from qgcn.tasks.link_terms import LinkTerms

__all__ = ["Blendable", "Split"]

Split = Literal["train", "val", "test"]


class Blendable:
    """Outcomes that a task predicts, and cheap predictors of the same; by default there are none."""

    def outcomes(self, prediction: Tensor, split: Split) -> tuple[Tensor, Tensor] | None:
        """Return logits of possible outcomes and which came true, for calibration; ``None`` if there are no probabilities.

        Args:
            prediction: Of one model, of a split.
            split: The split.

        Returns:
            Shapes ``(n, C)`` and ``(n,)``.
        """
        return None

    @property
    def base_rate(self) -> float:
        """Share of the pairs among the outcomes that are joined, for tasks that score pairs: what probabilities start from."""
        return 0.5

    def from_outcomes(self, logits: Tensor) -> Tensor:
        """Return the prediction that logits of outcomes, shape ``(n, C)``, stand for; the inverse of :meth:`outcomes`."""
        return logits

    @property
    def term_names(self) -> tuple[str, ...]:
        """Names of the cheap predictors that a trained network is weighed with, see :meth:`terms`."""
        return ()

    @property
    def prior(self) -> Prior:
        """Assumption about the weights of the network and of the cheap predictors."""
        return Prior()

    def terms(self, split: Split) -> Tensor | None:
        """Return logits of the same outcomes by cheap predictors, shape ``(n, C, K)``; ``None`` if there are no such ones."""
        return None

    def class_terms(self) -> Tensor | None:
        """Return the terms of the classes of all nodes, shape ``(N, C, K)``; for tasks that predict classes."""
        return None

    def pair_terms(self) -> "LinkTerms | None":
        """Return the terms of pairs of nodes; for tasks that score pairs."""
        return None
