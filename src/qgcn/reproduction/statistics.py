"""Statistics over seeds: mean and deviation, and the difference of two methods seed by seed."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Difference", "mean_and_deviation", "paired"]

LEVEL = 0.95
"""Confidence level of intervals."""


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and the standard deviation of a sample; no deviation of one value."""
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None


@dataclass(frozen=True)
class Difference:
    """The difference of two methods over the seeds that both were measured with.

    Attributes:
        mean: Mean difference.
        low, high: Confidence interval of it, by Student's distribution; infinite with one seed.
        seeds: Number of seeds.
    """

    mean: float
    low: float
    high: float
    seeds: int

    def shown(self, digits: int = 2) -> str:
        """Return it as text, with the interval in brackets if there is one."""
        mean = f"{self.mean:+.{digits}f}"
        if not math.isfinite(self.low):
            return f"{mean} (one seed)"
        return f"{mean} [{self.low:+.{digits}f}, {self.high:+.{digits}f}]"


def paired(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Difference | None:
    """Return the difference of two methods, seed by seed; ``None`` if they share no seed.

    Args:
        ours: Scores by seed.
        theirs: Those that are taken away.
    """
    common = sorted(set(ours) & set(theirs))
    if not common:
        return None
    values = [ours[seed] - theirs[seed] for seed in common]
    mean, deviation = mean_and_deviation(values)
    if deviation is None:
        return Difference(mean, -math.inf, math.inf, 1)
    from scipy.stats import t

    half = float(t.ppf((1 + LEVEL) / 2, len(values) - 1)) * deviation / math.sqrt(len(values))
    return Difference(mean, mean - half, mean + half, len(values))
