"""Scores of several seeds in two numbers each."""

import math
import statistics
from typing import Any

__all__ = ["Summary", "summarize"]

Summary = dict[str, tuple[float, float]]
"""Mean and standard deviation of each score."""


def summarize(results: list[dict[str, Any]]) -> Summary:
    """Return mean and standard deviation of each test score over seeds (0 for one seed)."""
    names = results[0]["test"] if results else {}
    columns = {name: [float(result["test"][name]) for result in results] for name in names}
    return {name: (statistics.fmean(values), _deviation(values)) for name, values in columns.items()}


def _deviation(values: list[float]) -> float:
    if len(values) == 1:
        return 0.0
    return statistics.stdev(values) if all(map(math.isfinite, values)) else math.nan
