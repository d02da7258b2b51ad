"""The cost of a training, estimated from its first steps."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch

from qgcn.training.loop import Validation
from qgcn.training.machine import peak_memory
from qgcn.training.training import Training

__all__ = ["Consent", "Cost", "Declined", "Pace", "estimate_cost", "measure_pace"]

EPOCHS = 5
"""Epochs that are timed: one may be held up by something else on the machine, but not most of them."""
ENOUGH = 2.0
"""Seconds after which an estimate is made from the epochs there are."""
STEPS = 12
"""Steps that are timed instead where an epoch has more than these."""
LONG = 0.5
"""Seconds of a step and a validation that are not waited for, but estimated from a part of each."""


class Declined(ValueError):  # noqa: N818
    """The cost of a training was declined; nothing of a new run is left."""


@dataclass(frozen=True)
class Cost:
    """Estimated cost of a training.

    Attributes:
        seconds: Time until it ends.
        memory: Bytes that the process holds at most, or the GPU if it computes there; ``None`` if unknown.
        epochs: Maximum number of epochs.
        seeds: Number of seeds that are left.
        at_most: Whether it may end sooner.
    """

    seconds: float
    memory: int | None
    epochs: int
    seeds: int
    at_most: bool

    def __str__(self) -> str:
        """Say it in one line, such as "about 3 min 20 s for 400 epochs, 310 MB of memory"."""
        bound = "at most about" if self.at_most else "about"
        seeds = f" of {self.seeds} seeds" if self.seeds > 1 else ""
        memory = "" if self.memory is None else f", {_size(self.memory)} of memory"
        return f"{bound} {_duration(self.seconds)} for {self.epochs:,} epochs{seeds}{memory}"


Consent = Callable[[Cost], None]
"""Called with the cost of a training when it is known; raises :class:`Declined` to end it."""


@dataclass(frozen=True)
class Pace:
    """Measured seconds of an epoch without validation, and of a validation."""

    epoch: float
    validation: float

    def seconds(self, epochs: int, every: int) -> float:
        """Return the seconds of some epochs with a validation every few of them and after the last."""
        return epochs * self.epoch + -(-epochs // every) * self.validation


def measure_pace(trainer: Training, report: Callable[[Validation], None], until: Callable[[], bool]) -> Pace | None:
    """Time the next epochs, which are part of the training, and a validation; where a step takes long, a part of both.

    The first epochs do not count: what is computed for the first time may have to be compiled or laid out.

    Args:
        trainer: The trainer.
        report: Called after each validation.
        until: Asked after each epoch whether to stop.

    Returns:
        Nothing if training has ended or was asked to stop before there was an answer.
    """
    trainer.predictor.eval()
    with trainer.breakable():
        part = trainer.task.seconds_of_step(trainer.predictor)
    if part is not None and sum(part) > LONG:
        return Pace(*part)
    every, seconds, taken_in_all = trainer.eval_every, list[float](), 0
    included = every == 1 and trainer.parts == 1  # every epoch has a validation in it, and is timed with it
    began = time.perf_counter()
    while not trainer.finished:
        start = _clock(trainer.fabric.device)
        trainer.run(report, until=lambda: until() or True)
        taken = _clock(trainer.fabric.device) - start
        taken_in_all += 1
        if until():
            return None
        usual = included or trainer.keep or trainer.step or trainer.epoch % every  # the others have a validation in them
        if usual and taken_in_all > trainer.warm_epochs:
            seconds.append(taken * trainer.parts)
        if len(seconds) == (EPOCHS if trainer.parts == 1 else STEPS) or (seconds and time.perf_counter() - began > ENOUGH):
            break
    if trainer.finished or not seconds:
        return None
    return Pace(statistics.median(seconds), 0.0 if included or trainer.keep else _validation_seconds(trainer))


def estimate_cost(trainer: Training, pace: Pace, later: int = 0) -> Cost:
    """Estimate what is left of a run.

    Args:
        trainer: The trainer whose pace was measured.
        pace: Its pace.
        later: Number of seeds whose training has not begun.
    """
    config, task = trainer.config, trainer.task
    again = config.epochs * pace.epoch if config.refit else 0.0  # at most: validation chooses how many epochs
    seconds = pace.seconds(trainer.epochs - trainer.epoch, trainer.eval_every) + (again if trainer.keep is None else 0.0)
    seconds += later / len(trainer.seeds) * (pace.seconds(config.epochs, trainer.eval_every) + again)
    memory = peak_memory(trainer.fabric.device)
    if memory is not None and not trainer.optimiser.state:  # gradients and two moments of Adam are still to come
        memory += 3 * sum(parameter.nbytes for parameter in trainer.parameters.values())
    at_most = config.refit or (config.patience or config.epochs) < config.epochs or task.best_possible is not None
    return Cost(seconds, memory, config.epochs, len(trainer.seeds) + later, at_most)


def _validation_seconds(trainer: Training) -> float:
    """Time a validation, not the first."""
    trainer.validation_scores()
    start = _clock(trainer.fabric.device)
    trainer.validation_scores()
    return _clock(trainer.fabric.device) - start


def _clock(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def _duration(seconds: float) -> str:
    """Return a time in its two largest units."""
    whole = max(1, round(seconds))
    units = (("day", 86400), ("h", 3600), ("min", 60), ("s", 1))
    for (name, size), (smaller, part) in pairwise(units):
        if whole >= size:
            count, rest = divmod(whole, size)
            days = "s" if name == "day" and count > 1 else ""
            more = f" {rest // part} {smaller}" if rest >= part and count < 100 else ""
            return f"{count:,} {name}{days}{more}"
    return f"{whole} s"


def _size(count: int) -> str:
    return f"{count / 10**9:.1f} GB" if count >= 10**9 else f"{max(1, round(count / 10**6))} MB"
