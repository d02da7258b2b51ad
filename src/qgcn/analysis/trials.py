"""Trials: spaces trained for a while on one problem, the better ones for longer, within a time limit."""

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from qgcn.manifolds import Family, parse_space
from qgcn.progress import Progress, silent
from qgcn.tasks import Config, Rung, Task
from qgcn.training.loop import Diverged, Trainer, Validation
from qgcn.training.run import Run
from qgcn.training.threads import SMALL, few_threads

__all__ = ["SMALL_SECONDS", "SOLVED", "TRAININGS", "Trial", "Trials"]

SOLVED = 0.9995
"""A score that leaves nothing to be told apart: a trial that reaches it ends, and no further round is made."""
SMALL_SECONDS = 12.0
"""Time limit of all trials on a small graph, if none is given."""
TRAININGS = 3
"""The same on a larger one, in trainings in full."""
LOOKS = 8
"""Validations in a trial."""

_FIXED = ("epochs", "seeds", "eval_every", "patience")
"""Settings that trials decide themselves."""


@dataclass(frozen=True)
class Trial:
    """Result of a space in the trials.

    Attributes:
        space: Its name.
        score: Mean score over seeds in the last round that it took part in: mAP, or the task's score on validation.
        deviation: Its uncertainty, the standard deviation over seeds; of one seed, that of the spaces that had several.
        rounds: Number of rounds that it took part in.
        epochs: Epochs of the last of them; fewer than others had if it reached what was sought.
        seeds: Seeds of the last of them.
        first: Score of the first round, which all spaces took part in.
    """

    space: str
    score: float
    deviation: float
    rounds: int
    epochs: int
    seeds: int
    first: float

    @property
    def dim(self) -> int:
        """Number of free dimensions of the space."""
        return parse_space(self.space).dim


class Trials:
    """Trains spaces on a problem, counts the epochs, and begins nothing that would end too late.

    Args:
        problem: The problem; its settings are those of a training in full.
        natural: Kind of space that the measurements name: the best of that kind stays in the race.
        seconds: Time limit; ``None`` for :data:`SMALL_SECONDS` on a small graph, and as long as :data:`TRAININGS` trainings in
            full take on a larger one.
        progress: Progress callback.

    Attributes:
        cost: Epochs of all trials so far.
        late: Whether the last ranking left something out for want of time.
    """

    def __init__(
        self,
        problem: Task[Any],
        natural: Family,
        *,
        seconds: float | None = None,
        progress: Progress = silent,
    ) -> None:
        self.problem = problem
        self.natural = natural
        self.progress = progress
        self.cost = 0
        self.late = False
        config: Config = problem.config
        self._settings = {"task": config.task, "data": config.data, "model": config.model} | config.changed()
        self._settings["device"] = problem.device.type  # where its tensors are, whatever else this machine has
        self._epochs_in_full = config.epochs
        self._seconds = seconds
        self._spent = 0.0
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Time since the beginning."""
        return time.monotonic() - self._began

    @property
    def limit(self) -> float:
        """Time limit in seconds; if none was given, that of a larger graph depends on how long epochs were so far."""
        if self._seconds is not None:
            return self._seconds
        small = self.problem.num_nodes <= SMALL
        return SMALL_SECONDS if small else max(SMALL_SECONDS, TRAININGS * self._epochs_in_full * self._pace)

    @property
    def _pace(self) -> float:
        return self._spent / self.cost if self.cost else 0.0

    def fits(self, epochs: int, share: float = 1.0) -> bool:
        """Tell whether so many epochs would end within a share of the time, by how long epochs were so far."""
        return self.cost == 0 or self.seconds + epochs * self._pace <= share * self.limit

    def rank(
        self,
        names: Sequence[str],
        rungs: Sequence[Rung],
        *,
        stage: str = "trials",
        first: int | None = None,
        goal: float = SOLVED,
        one_is_enough: bool = False,
    ) -> list[Trial]:
        """Train spaces, then the better ones for longer (successive halving).

        A round after the first is made if there is time for all of it. A trial ends when it reaches the goal, and no round
        follows one in which a trial has reached it.

        Args:
            names: The spaces.
            rungs: The rounds.
            stage: Name of the work, for the progress.
            first: Number of spaces at the beginning of ``names`` that all the time may be spent on in the first round, and half
                of it on the others (default: all).
            goal: Score that is sought.
            one_is_enough: Return as soon as a space has reached it.

        Returns:
            The spaces that were tried: those that went furthest first, the better ones first among them. Nothing if time is
            over, but for the first trial of all, which is always made.
        """
        first = len(names) if first is None else first
        total = self.cost + sum(rung.places(len(names)) * rung.epochs * rung.seeds for rung in rungs)
        trials: dict[str, Trial] = {}
        alive = list(names)
        self.late = False
        for number, rung in enumerate(rungs, 1):
            if number > 1:
                alive = self._kept([name for name in alive if name in trials], trials, rung.places(len(trials)))
                if not self.fits(len(alive) * rung.epochs * rung.seeds):
                    self.late = True
                    break
            for place, name in enumerate(alive):
                if number == 1 and not self.fits(rung.epochs * rung.seeds, 1.0 if place < first else 0.5):
                    self.late = True
                    break
                self.progress(stage, self.cost, total, name)
                trials[name] = self._trial(name, number, rung, goal, trials.get(name))
                if one_is_enough and trials[name].score >= goal:
                    return _ranked(trials)
            if not trials or max(trial.score for trial in trials.values()) >= goal:
                break
        self.progress(stage, total, total)
        return _ranked(trials)

    def train_in_full(self, name: str, goal: float) -> float:
        """Train a space in full, with one seed, until it reaches a goal; return its best score."""
        config = Config.checked(self._settings | {"space": name, "seeds": 1})
        self.progress("training in full", 0, config.epochs, name)
        return self._train(config, goal)[0][0]

    def _trial(self, name: str, number: int, rung: Rung, goal: float, before: Trial | None) -> Trial:
        """Train a space in a round; the score of its first trial is kept."""
        usual = {key: value for key, value in self._settings.items() if key not in _FIXED}
        looks = {"eval_every": max(1, rung.epochs // LOOKS)}
        config = Config.checked(usual | {"space": name, "epochs": rung.epochs, "seeds": rung.seeds} | looks)
        scores, epochs = self._train(config, goal)
        first = scores[0] if before is None else before.first
        deviation = statistics.stdev(scores) if len(scores) > 1 else math.nan
        return Trial(name, statistics.fmean(scores), deviation, number, epochs, rung.seeds, first)

    def _train(self, config: Config, goal: float) -> tuple[list[float], int]:
        """Return the best validation score of each seed, 0 if training diverged, and the epochs that were needed."""
        began = time.monotonic()
        run = Run(config, task=self.problem.reconfigured(config))
        scores: list[float] = []
        epochs = 0
        for seeds in run.groups():
            with few_threads(len(seeds) * self.problem.num_nodes):
                found, done = _train_until(Trainer(run.task, seeds, run.fabric), goal)
            scores += found
            epochs = max(epochs, done)
            self.cost += done * len(seeds)
        self._spent += time.monotonic() - began
        return scores, epochs

    def _kept(self, alive: list[str], trials: dict[str, Trial], places: int) -> list[str]:
        """Return the best spaces; the best of the kind that the measurements name is among them."""
        order = sorted(alive, key=lambda name: -trials[name].score)
        kept, named = order[:places], [name for name in order if parse_space(name).family == self.natural]
        if named and places > 1 and named[0] not in kept:
            kept[-1] = named[0]
        return kept


def _train_until(trainer: Trainer, goal: float) -> tuple[list[float], int]:
    reached = False

    def look(found: Validation) -> None:
        nonlocal reached
        reached = min(found.best) >= goal

    try:
        trainer.run(look, until=lambda: reached)
    except Diverged:
        return [0.0] * len(trainer.seeds), trainer.epoch
    return trainer.best_score.tolist(), trainer.epoch


def _ranked(trials: dict[str, Trial]) -> list[Trial]:
    """Sort the trials, those that went furthest first; those of one seed get the usual deviation of those that had several."""
    known = [trial.deviation for trial in trials.values() if not math.isnan(trial.deviation)]
    usual = statistics.fmean(known) if known else 0.0
    filled = [replace(trial, deviation=usual) if math.isnan(trial.deviation) else trial for trial in trials.values()]
    return sorted(filled, key=lambda trial: (-trial.rounds, -trial.score))
