"""The fewest dimensions in which a space reaches a score."""

from collections.abc import Callable, Sequence

from qgcn.analysis.trials import Trial, Trials
from qgcn.tasks import Rung

__all__ = ["FewestDimensions"]

STAGE = "fewer dimensions"


class FewestDimensions:
    """Search for the fewest dimensions in which a space reaches a score.

    What fits into some dimensions is taken to fit into more of them, so that bisection finds the fewest. A space that does not
    reach the score in short trials may do so in a longer training: the answer is an upper bound.

    Args:
        trials: The trials, with their time limit.
        spaces: Returns the spaces of a number of dimensions, the most promising first; one that reaches the score is enough.
        rungs: The rounds of trials.
        goal: The score.

    Attributes:
        rankings: The trials that were made, by the number of dimensions, the best first.
    """

    def __init__(self, trials: Trials, spaces: Callable[[int], list[str]], rungs: Sequence[Rung], goal: float) -> None:
        self.trials = trials
        self.spaces = spaces
        self.rungs = rungs
        self.goal = goal
        self.rankings: dict[int, list[Trial]] = {}

    def reaches(self, dim: int) -> bool:
        """Tell whether a space of so many dimensions reaches the score in trials."""
        if dim not in self.rankings:
            found = self.trials.rank(self.spaces(dim), self.rungs, stage=STAGE, goal=self.goal, one_is_enough=True)
            self.rankings[dim] = sorted(found, key=lambda trial: -trial.score)
        return bool(self.reaching(dim))

    def reaching(self, dim: int) -> list[Trial]:
        """Return the spaces of so many dimensions that have reached the score."""
        return [trial for trial in self.rankings[dim] if trial.score >= self.goal]

    def below(self, dim: int) -> int:
        """Return the fewest dimensions that are found to reach the score, given that ``dim`` do."""
        least, most = 1, dim
        while most - least > 1:
            middle = (least + most) // 2
            if self.reaches(middle):
                most = middle
            elif self.trials.late:  # nothing is known about it
                break
            else:
                least = middle
        return most

    def complete(self, dim: int, names: Sequence[str]) -> None:
        """Try further spaces of a number of dimensions in the first round, as far as there is time."""
        known = {trial.space for trial in self.rankings[dim]}
        rest = [name for name in names if name not in known]
        more = self.trials.rank(rest, self.rungs[:1], stage=STAGE, goal=self.goal)
        self.rankings[dim] = sorted([*self.rankings[dim], *more], key=lambda trial: -trial.score)

    def trials_made(self) -> list[Trial]:
        """Return all trials, the fewest dimensions first."""
        return [trial for dim in sorted(self.rankings) for trial in self.rankings[dim]]
