"""Workers: trials evaluated in this process, or in several that may be killed without harm to the others."""

import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Protocol, TypeVar

from qgcn.sweeping.evaluation import Evaluator, Outcome, set_threads
from qgcn.tasks import Config

__all__ = ["Here", "Processes", "Workers", "workers_for"]

T = TypeVar("T")
TICK = 1.0
"""Seconds that are waited for news from a process."""
PATIENCE = 5.0
"""Seconds after which a process that was asked to end is killed."""
Report = Callable[[T, int, float], bool]
Done = Callable[[T, Outcome | None], None]


class Workers(Protocol[T]):
    """Evaluate trials.

    ``report`` is called with trial, step and score, and returns whether the trial is to be given up. ``done`` is called with
    trial and outcome; ``None`` if its process was killed.
    """

    def free(self) -> int:
        """Return the number of trials that can be given now."""

    def give(self, trial: T, config: Config) -> None:
        """Begin a trial."""

    def listen(self, report: Report[T], done: Done[T]) -> None:
        """Wait for news, for a moment at most."""

    def busy(self) -> list[T]:
        """Return the trials that are not done."""

    def close(self) -> None:
        """End all processes."""


def workers_for(jobs: int, *, shared: bool = False) -> "Workers[Any]":
    """Return this process for one job, and as many processes as there are jobs for more.

    Args:
        jobs: Number of jobs.
        shared: Whether other machines watch: this process must be free to tell them that a long trial is still under way.
    """
    return Here() if jobs == 1 and not shared else Processes(jobs)


class Here(Generic[T]):
    """Evaluates one trial at a time in this process."""

    def __init__(self) -> None:
        self._evaluator = Evaluator()
        self._given: tuple[T, Config] | None = None

    def free(self) -> int:
        """Return 1 if nothing is given."""
        return int(self._given is None)

    def give(self, trial: T, config: Config) -> None:
        """Take a trial; :meth:`listen` evaluates it."""
        self._given = trial, config

    def listen(self, report: Report[T], done: Done[T]) -> None:
        """Evaluate the trial that was given."""
        if self._given is not None:
            trial, config = self._given
            outcome = self._evaluator.evaluate(config, lambda step, score: report(trial, step, score))
            self._given = None
            done(trial, outcome)

    def busy(self) -> list[T]:
        """Return the trial that was given."""
        return [] if self._given is None else [self._given[0]]

    def close(self) -> None:
        """Do nothing."""


@dataclass
class _Worker(Generic[T]):
    process: Any
    pipe: Connection
    trial: T | None = None


class Processes(Generic[T]):
    """Evaluates trials in processes of their own; one that dies is replaced.

    Args:
        jobs: Number of processes.
    """

    def __init__(self, jobs: int) -> None:
        self._context = get_context("spawn")
        self._threads = max(1, (os.cpu_count() or 1) // jobs)
        self._workers: list[_Worker[T]] = []
        try:
            for _ in range(jobs):
                self._workers.append(self._start())
        except BaseException:
            self.close()
            raise

    def _start(self) -> _Worker[T]:
        pipe, theirs = self._context.Pipe()
        process = self._context.Process(target=serve, args=(theirs, self._threads), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, pipe)

    @property
    def pids(self) -> list[int]:
        """Numbers of the processes."""
        return [worker.process.pid for worker in self._workers]

    def free(self) -> int:
        """Return the number of idle processes."""
        return sum(worker.trial is None for worker in self._workers)

    def give(self, trial: T, config: Config) -> None:
        """Send a trial to an idle process; one that has died meanwhile is replaced."""
        place = next(index for index, worker in enumerate(self._workers) if worker.trial is None)
        try:
            self._workers[place].pipe.send(config)
        except OSError:
            self._replace(place)
            self._workers[place].pipe.send(config)
        self._workers[place].trial = trial

    def listen(self, report: Report[T], done: Done[T]) -> None:
        """Answer what processes say."""
        heard = wait([worker.pipe for worker in self._workers if worker.trial is not None], TICK)
        for place, worker in enumerate(self._workers):
            if worker.pipe not in heard or worker.trial is None:
                continue
            try:
                message = worker.pipe.recv()
                if isinstance(message, tuple):
                    worker.pipe.send(report(worker.trial, *message))
                    continue
            except (EOFError, ConnectionError):
                message = None
                self._replace(place)
            if isinstance(message, Exception):
                raise message
            trial, worker.trial = worker.trial, None
            done(trial, message)

    def _replace(self, place: int) -> None:
        old = self._workers[place]
        old.pipe.close()
        old.process.kill()
        old.process.join()
        self._workers[place] = self._start()

    def busy(self) -> list[T]:
        """Return the trials that are being evaluated."""
        return [worker.trial for worker in self._workers if worker.trial is not None]

    def close(self) -> None:
        """End all processes: nothing of a trial that is not done is kept."""
        for worker in self._workers:
            worker.pipe.close()
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(PATIENCE)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()


def serve(pipe: Connection, threads: int) -> None:
    """Evaluate the trials that come through a pipe, until its other end is closed.

    Args:
        pipe: Settings come in; steps with scores and outcomes go out.
        threads: Number of threads of this process.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that gives trials decides
    set_threads(threads)
    evaluator = Evaluator()

    def ask(step: int, score: float) -> bool:
        with _while_heard():
            pipe.send((step, score))
            return bool(pipe.recv())

    with _while_heard():
        while True:
            config = pipe.recv()
            try:
                found: Outcome | Exception = evaluator.evaluate(config, ask)
            except Exception as error:  # such as a file that is gone: the process that gives trials tells it
                found = _sendable(error)
            pipe.send(found)


@contextmanager
def _while_heard() -> Iterator[None]:
    """End this process when the other end of its pipe is closed."""
    try:
        yield
    except (EOFError, ConnectionError):
        raise SystemExit(0) from None


def _sendable(error: Exception) -> Exception:
    """Return an error as it survives the way to another process, with its traceback as a note."""
    where = "".join(traceback.format_exception(error))
    plain: Exception = OSError(str(error)) if isinstance(error, OSError) else RuntimeError(f"{type(error).__name__}: {error}")
    plain.add_note(where)
    return plain
