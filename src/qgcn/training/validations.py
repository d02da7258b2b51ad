"""The state of training as a validation finds it."""

from dataclasses import dataclass

__all__ = ["DIVERGED", "Diverged", "Validation"]

DIVERGED = "training diverged: {} of seed {} at epoch {} is not finite; try a smaller lr than {:g}"


class Diverged(ValueError):  # noqa: N818
    """Training diverged: a loss, a prediction or a parameter is not finite."""


@dataclass(frozen=True)
class Validation:
    """The state of training after a validation; one entry for each seed.

    Attributes:
        epoch: Epochs done.
        loss: Training loss of the last of them.
        score: Score on validation.
        best: The best so far.
        active: Whether the seed was still in training; one that has stopped goes on in its batch, but nothing of it is kept.
    """

    epoch: int
    loss: list[float]
    score: list[float]
    best: list[float]
    active: list[bool]
