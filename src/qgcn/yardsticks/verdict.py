"""Whether a model was worth it: its score beside those of the yardsticks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["Verdict", "judge"]

CHANCE = 0.005
"""Difference of scores that one seed alone does not make clear."""


@dataclass(frozen=True)
class Verdict:
    """A model beside the best yardstick.

    Attributes:
        outcome: Whether the model is ``better``, ``worse``, or there is ``no clear difference``.
        best: Name of the best yardstick.
        score: Mean score of the model.
        best_score: Score of the best yardstick.
        sentence: The verdict in words.
    """

    outcome: Literal["better", "worse", "no clear difference"]
    best: str
    score: float
    best_score: float
    sentence: str

    @property
    def margin(self) -> float:
        """Lead of the model over the best yardstick."""
        return self.score - self.best_score


def judge(
    model: str,
    score: float,
    deviation: float,
    seeds: int,
    yardsticks: Mapping[str, float],
    title: str = "",
    percent: bool = True,
) -> Verdict | None:
    """Compare a model with the best yardstick.

    A difference is clear if it is larger than twice the standard error of the mean over seeds, and than half a point for a
    single seed.

    Args:
        model: Name of the model in the sentence.
        score: Its mean score; larger is better.
        deviation: Standard deviation over seeds.
        seeds: Number of seeds.
        yardsticks: Score of each yardstick.
        title: Name of the score in the sentence.
        percent: Show scores in per cent.

    Returns:
        The verdict; ``None`` without yardsticks or a finite score.
    """
    known = {name: value for name, value in yardsticks.items() if math.isfinite(value)}
    if not known or not math.isfinite(score):
        return None
    best = max(known, key=lambda name: known[name])
    unsure = CHANCE if seeds == 1 else 2 * deviation / math.sqrt(seeds)
    margin = score - known[best]
    factor = 100 if percent else 1
    mine, other, points = (f"{factor * value:.1f}" for value in (score, known[best], abs(margin)))
    measured = f"{title} " if title else ""
    if math.isnan(unsure) or abs(margin) <= unsure or points == "0.0":
        few = "; more seeds may tell" if seeds == 1 and points != "0.0" else ""
        outcome: Literal["better", "worse", "no clear difference"] = "no clear difference"
        sentence = f"No clear difference: {model} has {measured}{mine}, {best} {other}{few}."
    elif margin > 0:
        outcome = "better"
        every = "every yardstick" if len(known) > 1 else "the yardstick"
        sentence = f"{model} beats {every} by {points} points of {title or 'its score'} ({mine}; next is {best} with {other})."
    else:
        outcome = "worse"
        sentence = f"{best[0].upper()}{best[1:]} does better: {measured}{other} against {mine}; {model} was not worth training."
    return Verdict(outcome, best, score, known[best], sentence)
