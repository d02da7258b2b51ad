"""The choice among the spaces that were tried: the simplest of what is as good as the best, or the fewest dimensions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from qgcn.analysis.explanation import explain, explain_fewest, explain_target, list_scores
from qgcn.analysis.fewest import FewestDimensions
from qgcn.analysis.measurements import Measurements
from qgcn.analysis.trials import Trial, Trials
from qgcn.manifolds import Family, parse_space
from qgcn.models import lives_in
from qgcn.tasks import Config, Rung, find_task

__all__ = ["Candidates", "Choice", "choose", "natural_family", "seek", "simplest"]

TOLERANCE, NAMED = 0.005, 0.01
"""A simpler space whose score is so close to the best one's is as good; the second figure is for the kind that the measurements
name beyond doubt, which is evidence, too."""
TREE, CYCLIC, BRANCHING = 0.02, 0.05, -0.1
"""Mean relative delta up to which a graph is a tree, and from which it is far from one; mean curvature of what branches."""
ROUNDS = 2
"""Rounds of trials that compare numbers of dimensions: the last one, with two seeds, is for spaces of equal dimensions."""


class Candidates:
    """The spaces that are compared: those of the task in which the model lives, and that the settings go with.

    Args:
        config: Settings of the trials; their space does not matter.
        given: Names of the spaces, if the user has chosen them.
    """

    def __init__(self, config: Config, given: Sequence[str] | None = None) -> None:
        if given is not None and not given:
            raise ValueError("spaces must name at least one space, got none")
        self.given = None if given is None else [str(parse_space(name)) for name in given]
        self._config, self._task = config, find_task(config.task)
        self._twins = not config.capabilities.learns_nodes  # to coordinates alone the maps make no difference

    def few(self, dim: int) -> list[str]:
        """Return some spaces of each kind."""
        return self._living(self._task.candidates(dim, few=True, twins=self._twins))

    def every(self, dim: int) -> list[str]:
        """Return all spaces, a few of each kind first; or those that were given."""
        if self.given is not None:
            return self.given
        few = self.few(dim)
        return few + [name for name in self._living(self._task.candidates(dim, twins=self._twins)) if name not in few]

    def _living(self, names: list[str]) -> list[str]:
        return [name for name in names if lives_in(self._config.model, name) and self._is_taken(name)]

    def _is_taken(self, name: str) -> bool:
        try:
            self._task.check(self._config.model_copy(update={"space": name}))
        except ValueError:
            return False
        return True


@dataclass(frozen=True)
class Choice:
    """What was chosen, and why; see :class:`qgcn.analysis.Suggestion`."""

    chosen: Trial
    ranking: list[Trial]
    sentence: str
    reasons: list[str]
    fewest: Trial
    others: list[Trial]
    reached: float | None = None


def choose(dim: int, candidates: Candidates, rungs: Sequence[Rung], trials: Trials, measured: Measurements) -> Choice:
    """Choose among the spaces of a number of dimensions; where all are as good, see which fewer dimensions do as well.

    Args:
        dim: Number of dimensions.
        candidates: The spaces.
        rungs: Rounds of the trials.
        trials: The trials.
        measured: What is known about the graph.
    """
    names = candidates.every(dim)
    ranking = trials.rank(names, rungs, first=len(names if candidates.given else candidates.few(dim)))
    chosen = fewest = simplest(ranking, measured)
    sentence, reasons = explain(chosen, ranking[0], measured, _title(trials))
    others: list[Trial] = []
    tied = len(ranking) > 1 and min(trial.score for trial in ranking) >= chosen.score - TOLERANCE
    if tied and candidates.given is None:
        search = _search(candidates, rungs, trials, chosen.score - TOLERANCE)
        least = search.below(dim)
        if least < dim:
            search.complete(least, candidates.every(least))
            fewest = _plainest(search.reaching(least), measured)
        sentence += " " + explain_fewest(chosen, fewest, len(ranking))
        reasons += [list_scores(search.rankings[near]) for near in (least, least - 1) if search.rankings.get(near)]
        others = search.trials_made()
    elif (space := parse_space(chosen.space)).family not in ("indefinite", "other") and not space.is_spacetime:
        sentence += " A Riemannian space is as good as any tried; an indefinite one is not needed."
    return Choice(chosen, ranking, sentence, reasons, fewest, others)


def seek(
    target: float,
    dim: int,
    candidates: Candidates,
    rungs: Sequence[Rung],
    trials: Trials,
    measured: Measurements,
    *,
    verify: bool = True,
) -> Choice:
    """Choose the space with the fewest dimensions that reaches a score.

    Args:
        target: The score.
        dim: The most dimensions.
        candidates: The spaces.
        rungs: Rounds of the trials.
        trials: The trials.
        measured: What is known about the graph.
        verify: Train the space in full until it reaches the score; if it does not, try one dimension more, if there is time.
    """
    search = _search(candidates, rungs, trials, target)
    reached = None
    for least in range(search.below(dim) if search.reaches(dim) else dim, dim + 1):
        good = search.reaching(least) if search.reaches(least) else []
        if not good and least < dim:
            continue
        chosen = _plainest(good, measured) if good else search.rankings[dim][0]
        reached = trials.train_in_full(chosen.space, target) if verify and good else None
        if reached is None or reached >= target or not trials.fits(rungs[0].epochs):
            break
    ranking = search.rankings.pop(chosen.dim)
    title = _title(trials)
    sentence, reasons = explain(chosen, chosen, measured, title)
    sentence += " " + explain_target(chosen, target, title, dim, reached)
    reasons += [list_scores(search.rankings[near]) for near in (chosen.dim - 1,) if search.rankings.get(near)]
    return Choice(chosen, ranking, sentence, reasons, chosen, search.trials_made(), reached)


def _search(candidates: Candidates, rungs: Sequence[Rung], trials: Trials, goal: float) -> FewestDimensions:
    """Return a search among a few spaces of each kind, the natural one first."""

    def promising(dim: int) -> list[str]:
        return sorted(candidates.few(dim), key=lambda name: parse_space(name).family != trials.natural)

    return FewestDimensions(trials, promising, rungs[:ROUNDS], goal)


def natural_family(measured: Measurements) -> Family:
    """Return the nearer Riemannian geometry: spherical if a graph is not tree-like and does not branch, else hyperbolic."""
    branches = measured.curvature is not None and measured.curvature.mean <= BRANCHING
    return "spherical" if measured.hyperbolicity.mean_relative >= CYCLIC and not branches else "hyperbolic"


def simplest(ranking: list[Trial], measured: Measurements) -> Trial:
    """Return the simplest space that is as good as the best of those that went furthest.

    Args:
        ranking: The trials, the best first.
        measured: What is known about the graph.
    """
    best, natural = ranking[0], natural_family(measured)
    # beyond doubt: nothing but a tree, or no tree at all
    plain = measured.hyperbolicity.mean_relative <= TREE or natural == "spherical"

    def is_good(trial: Trial) -> bool:
        named = plain and parse_space(trial.space).family == natural
        slack = max(NAMED if named else TOLERANCE, math.hypot(best.deviation, trial.deviation))
        return trial.rounds == best.rounds and trial.score >= best.score - slack

    return _plainest([trial for trial in ranking if trial is best or is_good(trial)], measured)


def _plainest(good: list[Trial], measured: Measurements) -> Trial:
    """Return the simplest of spaces that are all good enough: Riemannian, a product, indefinite; the natural one first.

    Of spacetimes flat ones are the simplest, then products.
    """
    order: dict[Family, int] = {natural_family(measured): 0, "product": 2, "indefinite": 3, "other": 3}

    def place(trial: Trial) -> tuple[int, float]:
        space = parse_space(trial.space)
        return 1 if space.kind == "M" else order.get(space.family, 1), -trial.score

    return min(good, key=place)


def _title(trials: Trials) -> str:
    problem = trials.problem
    return problem.titles.get(problem.metric, problem.metric)
