"""Supervision of a training: its progress, its cost, signals to stop, and a state that is saved in time."""

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from qgcn.progress import Progress
from qgcn.training.costs import Consent, estimate_cost, measure_pace
from qgcn.training.machine import Stopped, StopSignals
from qgcn.training.metrics_log import MetricsLog
from qgcn.training.processes import LostProcess
from qgcn.training.training import Training
from qgcn.training.validations import Validation

__all__ = ["Interrupted", "Supervisor"]


ASK = 8
"""Steps of an epoch after which processes ask each other whether to stop; after the last one they always do."""


class Interrupted(KeyboardInterrupt):
    """The run was asked to stop; its folder can be resumed.

    Args:
        epoch: Epochs that the seeds in training have done.
    """

    def __init__(self, epoch: int) -> None:
        super().__init__(f"interrupted at epoch {epoch}")
        self.epoch = epoch


@dataclass
class Supervisor:
    """Takes trainers to their end, one after the other.

    Attributes:
        save: Writes the state of a trainer.
        checkpoint_seconds: Seconds between two of them.
        progress: Progress callback.
        signals: Signals to stop.
        consent: Called with the cost of all trainings, once it is known.
    """

    save: Callable[[Training], None]
    checkpoint_seconds: float
    progress: Progress
    signals: StopSignals
    consent: Consent | None = None

    def train(self, trainer: Training, log: MetricsLog | None, later: int = 0) -> None:
        """Train to the end.

        Args:
            trainer: The trainer.
            log: Where validations are written.
            later: Number of seeds whose training has not begun.

        Raises:
            Interrupted: A signal came; the state of the last epoch is saved.
            Declined: The cost was declined.
        """
        stage = _stage(trainer)
        self.progress(stage, trainer.epoch, trainer.epochs)
        saved, stopping = time.monotonic(), False

        def report(found: Validation) -> None:
            if log is not None:
                log.write(found)
            loss = statistics.fmean(
                [each for each, active in zip(found.loss, found.active, strict=True) if active] or found.loss
            )
            best = statistics.fmean(found.best)
            self.progress(stage, found.epoch, trainer.epochs, f"loss {loss:.4f}  best {trainer.task.metric} {best:.4f}")

        def pause() -> bool:
            nonlocal saved
            if trainer.keep is not None:  # without validations nothing else tells
                self.progress(stage, trainer.epoch, trainer.epochs)
            if time.monotonic() - saved >= self.checkpoint_seconds:
                self.save(trainer)
                saved = time.monotonic()
            # all stop together; asking at every step would take longer than a short one
            return asked() if alone or trainer.step % ASK == 0 else False

        def asked() -> bool:
            nonlocal stopping
            stopping = trainer.processes.agree(self.signals())
            return stopping

        alone = trainer.processes.alone
        trainer.breakable = self.signals.heard_at_once if alone else nullcontext
        try:
            with trainer.processes.heard():
                if alone and not asked():
                    self._tell_cost(trainer, report, pause, later)
                if not asked():
                    trainer.run(report, until=pause)
        except Stopped:
            pass  # within a step: the one before is saved
        except LostProcess:
            self.save(trainer)  # as after the last step that all have taken
            raise
        self.save(trainer)
        if (stopping or self.signals()) and not trainer.finished:
            raise Interrupted(trainer.epoch)

    @contextmanager
    def breakable(self, trainer: Training) -> Iterator[None]:
        """Break off a block after a training when a signal comes; its work must be done again when the run is resumed.

        Raises:
            Interrupted: A signal came.
        """
        try:
            with self.signals.heard_at_once():
                yield
        except Stopped:
            raise Interrupted(trainer.epoch) from None

    def _tell_cost(
        self, trainer: Training, report: Callable[[Validation], None], until: Callable[[], bool], later: int
    ) -> None:
        """Estimate the cost of what is left of all trainings, the first time that there is one."""
        if self.consent is None or trainer.finished:
            return
        consent, self.consent = self.consent, None
        pace = measure_pace(trainer, report, until)
        if pace is not None:
            with trainer.breakable():
                consent(estimate_cost(trainer, pace, later))


def _stage(trainer: Training) -> str:
    first, last = trainer.seeds[0], trainer.seeds[-1]
    seeds = f"seed {first}" if first == last else f"seeds {first}-{last}"
    return seeds if trainer.keep is None else f"refit of {seeds}"
