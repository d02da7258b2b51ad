"""Ranges of settings that a search draws from: a task names its own, the same for every model."""

import math
from dataclasses import dataclass
from typing import Final

__all__ = ["NETWORK", "WIDTH", "Choice", "Interval", "Range", "Rung"]

WIDTH: Final = "width"
"""Name of a range that is no setting: the coordinates of hidden layers, in multiples of those of the space."""


@dataclass(frozen=True)
class Rung:
    """One round of trials: such a share of all spaces takes part, each for so many epochs with so many seeds."""

    share: float
    epochs: int
    seeds: int

    def places(self, spaces: int) -> int:
        """Return how many of so many spaces take part; two at least, so that there is something to compare."""
        return min(spaces, max(2, math.floor(self.share * spaces)))


@dataclass(frozen=True)
class Interval:
    """Numbers between two bounds.

    Attributes:
        name: Setting.
        low: Smallest value.
        high: Largest value.
        step: Distance of two values that can be drawn (default: any value can).
        log: Draw uniformly on a logarithmic scale.
    """

    name: str
    low: float
    high: float
    step: float | None = None
    log: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        """Both bounds."""
        return self.low, self.high


@dataclass(frozen=True)
class Choice:
    """A few values.

    Attributes:
        name: Setting, or :data:`WIDTH`.
        values: All values.
        needs: Capability of models without which the setting has no effect (default: none).
    """

    name: str
    values: tuple[str | float | bool, ...]
    needs: str = ""

    @property
    def ends(self) -> tuple[str | float | bool, ...]:
        """All values."""
        return self.values


Range = Interval | Choice

NETWORK: Final[tuple[Range, ...]] = (
    Interval("lr", 0.002, 0.05, log=True),
    Interval("dropout", 0.0, 0.8, step=0.1),
    Interval("feature_dropout", 0.0, 0.8, step=0.1),
    Interval("edge_dropout", 0.0, 0.8, step=0.1),
    Choice("weight_decay", (0.0, 0.0001, 0.0005, 0.001, 0.005)),
    Choice("layers", (2, 3)),
    Choice("activation", ("relu", "tanh", "elu", "identity")),
    Choice(WIDTH, (1, 2, 4)),
    Choice("row_normalize", (False, True)),
    Choice("beta", (-0.25, -1.0, -4.0, -16.0)),
    Choice("aggregation", ("sym", "mean")),
)
"""Ranges for networks that learn from features and a graph."""
