"""Evaluation of a trial: some settings trained with several seeds, scored on validation and nowhere else."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from qgcn.data.load import is_known
from qgcn.tasks import Config, Task
from qgcn.training.loop import Diverged, Trainer, Validation
from qgcn.training.machine import determinism, freed_memory_kept
from qgcn.training.problem import build_problem
from qgcn.training.run import Run
from qgcn.training.threads import few_threads

__all__ = ["Ask", "Evaluator", "Outcome"]

LOOKS = 8
"""Reports of a group of seeds while it is trained."""
FIRST = 2
"""First of them: earlier, low learning rates look bad."""
SIZE = 1000
"""Distance of the steps of groups of different sizes: they are never compared."""

Ask = Callable[[int, float], bool]
"""Takes a step and the mean score so far; tells whether the trial is to be given up."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a trial.

    Attributes:
        state: ``complete``, ``pruned``, ``diverged`` or ``failed``.
        scores: Best validation score of each seed that was trained.
        seconds: Time it took.
        epochs: Most epochs of a seed.
        message: Why it failed.
    """

    state: str
    scores: list[float] = field(default_factory=list)
    seconds: float = 0.0
    epochs: int = 0
    message: str = ""


class Evaluator:
    """Trains trials; problems are built once for all trials that share them, without the answers of the test."""

    def __init__(self) -> None:
        self._problems: dict[str, Task[Any]] = {}

    def problem(self, config: Config) -> Task[Any]:
        """Return the blinded problem of some settings.

        Raises:
            OSError: Its data cannot be read: no fault of a trial.
            ValueError: Its data do not fit the settings.
        """
        key = repr({name: getattr(config, name) for name in config.of_problem()})
        if key not in self._problems:
            if not is_known(config.data) and not Path(config.data).exists():
                raise FileNotFoundError(f"{config.data} is gone; put it back, and the same command goes on")
            self._problems[key] = build_problem(config, None, None).blinded()
        return self._problems[key].reconfigured(config)

    def evaluate(self, config: Config, ask: Ask) -> Outcome:
        """Train all seeds of some settings; what goes wrong is part of the outcome.

        Args:
            config: The settings.
            ask: Asked a few times in the training of each group of seeds.

        Raises:
            OSError: Data cannot be read.
        """
        began = time.monotonic()
        scores: list[float] = []
        epochs, state, message = 0, "complete", ""
        try:
            run = Run(config, task=self.problem(config))
            groups = run.groups()
            for index, seeds in enumerate(groups):
                trainer = Trainer(run.task, seeds, run.fabric)
                with determinism(config), freed_memory_kept(), few_threads(len(seeds) * run.task.num_nodes):
                    pruned = _train(trainer, scores, SIZE * len(groups[0]) + index * LOOKS, ask)
                scores += trainer.best_score.tolist()
                epochs = max(epochs, trainer.epoch)
                if pruned:
                    state = "pruned"
                    break
        except Diverged as error:
            state, message = "diverged", str(error)
        except (ValueError, RuntimeError, MemoryError) as error:  # such as memory that a wide model needs
            state, message = "failed", f"{type(error).__name__}: {error}"
        seconds = time.monotonic() - began
        return Outcome(state, scores, seconds, epochs, " ".join(message.split())[:500])


def _train(trainer: Trainer, before: list[float], first: int, ask: Ask) -> bool:
    """Train a group of seeds; return whether the trial is to be given up.

    Args:
        trainer: Of the group.
        before: Scores of the seeds before it.
        first: Number of the step before the first one of the group.
        ask: See :class:`Evaluator`.
    """
    looked, pruned = FIRST - 1, False

    def look(found: Validation) -> None:
        nonlocal looked, pruned
        due = found.epoch * LOOKS // trainer.epochs
        if due > looked:
            looked = due
            scores = [*before, *found.best]
            pruned = ask(first + due, sum(scores) / len(scores))

    trainer.run(look, until=lambda: pruned)
    return pruned and not trainer.finished


def set_threads(count: int) -> None:
    """Limit the threads of this process."""
    torch.set_num_threads(count)
