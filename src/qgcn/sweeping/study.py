"""The study of one candidate: which settings are tried next, and what became of those that were tried.

Trials are kept by Optuna. The first ones are drawn by name, so that all candidates begin with the same values of the settings
they share; the others come from its TPE sampler. What is drawn depends on the seed and on the trials before, not on the
process: a search that was interrupted goes on as if nothing had happened.
"""

import os
import platform
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import optuna
from optuna.distributions import BaseDistribution
from optuna.exceptions import OptunaError, UpdateFinishedTrialError
from optuna.samplers import BaseSampler, TPESampler
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from qgcn import __version__
from qgcn.seals import Damaged
from qgcn.sweeping.candidates import Candidate, draw
from qgcn.sweeping.evaluation import Outcome
from qgcn.sweeping.journal import Journal

__all__ = ["CandidateStudy", "PairedSampler", "close_storage", "open_storage", "rank_of", "storage_errors"]

STARTUP: Final = 10
"""Trials at the beginning whose settings are drawn by name."""
COMPARED: Final = 5
"""Complete trials that a trial needs beside it to be given up."""
ATTEMPTS: Final = 3
"""Processes that may die with a trial before it is left alone."""
SILENCE: Final = 600.0
"""Seconds after which a trial of another machine that has said nothing is taken for lost."""
_NOT_COUNTED: Final = ("lost", "surplus")


def open_storage(folder: Path, url: str | None) -> BaseStorage:
    """Open the storage of trials: a journal in the folder, which must be locked by the caller, or a database.

    Args:
        folder: The folder.
        url: Of a database, as SQLAlchemy takes it (default: the journal).

    Raises:
        ValueError: The database cannot be opened, or the journal is damaged.
        OSError: The journal cannot be read.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if url is None:
        journal = Journal(folder / "journal.log")
        try:
            return JournalStorage(journal)
        except Exception as error:  # whatever Optuna meets in lines that it has not written
            raise Damaged(f"{journal.path} is damaged: {_first_line(error)}") from None
    try:
        given = make_url(url)
        if given.get_backend_name() == "sqlite" and given.database in (None, "", ":memory:"):
            raise ValueError(f"{url} is in memory only: name a file, such as sqlite:///sweep.db")
        return RDBStorage(url)
    except Exception as error:  # SQLAlchemy has errors of many kinds
        raise ValueError(f"the storage cannot be opened: {_first_line(error)}") from None


def close_storage(storage: BaseStorage) -> None:
    """Close the connections to a database; whoever asks it again opens others."""
    if isinstance(storage, RDBStorage):
        storage.remove_session()
        storage.engine.dispose()


@contextmanager
def storage_errors() -> Iterator[None]:
    """Turn errors of a database, such as a connection that is lost, into one line."""
    try:
        yield
    except (OptunaError, SQLAlchemyError) as error:
        raise ValueError(f"the storage has failed, trials that were done are kept: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def rank_of(study: Study, number: int) -> int:
    """Return the place of a trial among those that count."""
    trials = study.get_trials(deepcopy=False)
    return sum(each.number < number and each.user_attrs.get("outcome") not in _NOT_COUNTED for each in trials)


class PairedSampler(BaseSampler):
    """Draw the first trials by name, the same for every candidate, and the others by TPE.

    Args:
        seed: Seed of all draws.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return nothing: settings are drawn one by one."""
        return {}

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Draw a setting."""
        key = f"{self.seed} {rank_of(study, trial.number)}"
        if rank_of(study, trial.number) < STARTUP:
            return draw({param_name: param_distribution}, param_name, key)
        tpe = TPESampler(seed=zlib.crc32(f"{key} {param_name}".encode()), n_startup_trials=1)
        return tpe.sample_independent(study, trial, param_name, param_distribution)


class CandidateStudy:
    """The trials of one candidate.

    Args:
        candidate: The candidate.
        storage: Where trials are kept.
        origin: Everything that trials depend on beside what is drawn: a study that began with something else is refused.
        seed: Seed of what is drawn.
        prune: Give up trials that do worse than the median of those before.
        alone: Whether no other process uses the storage, so that every trial that is running there was left by a dead one.

    Raises:
        ValueError: The storage holds a study of the same name with another origin.
    """

    def __init__(
        self, candidate: Candidate, storage: BaseStorage, origin: dict[str, Any], *, seed: int, prune: bool, alone: bool
    ) -> None:
        self.candidate, self.alone = candidate, alone
        self._owner, self._begun = f"{platform.node()} {os.getpid()}", set[int]()
        pruner = optuna.pruners.MedianPruner(COMPARED, 0) if prune else optuna.pruners.NopPruner()
        name = f"{candidate.fixed['task']} {candidate.fixed['data']} {candidate.name}"
        self._study = optuna.create_study(
            storage=storage,
            sampler=PairedSampler(seed),
            pruner=pruner,
            study_name=name,
            direction="maximize",
            load_if_exists=True,
        )
        self._check(origin)

    def _check(self, origin: dict[str, Any]) -> None:
        saved = self._study.user_attrs.get("origin")
        if saved is None:
            self._study.set_user_attr("origin", origin)
            return
        if not isinstance(saved, dict):
            raise Damaged(f"the sweep of {self.candidate.name} is damaged, it does not say what it began with")
        for name in sorted(saved.keys() | origin.keys()):
            before, now = saved.get(name), origin.get(name)
            if before != now:
                told = f"{name} = {before!r}, but now it is {now!r}" if name != "graph" else "another graph or split"
                raise ValueError(f"the sweep of {self.candidate.name} began with {told}: use another --out or --storage")
        for each in self._study.get_trials(deepcopy=False):
            if (wrong := _wrong(each, self.candidate.ranges)) is not None:
                about = f"trial {each.number} of {self.candidate.name} is damaged: its {wrong}"
                raise Damaged(f"{about}; use another --out or --storage")

    def trials(self) -> list[FrozenTrial]:
        """Return the trials that were begun and count."""
        every = self._study.get_trials(deepcopy=False)
        return [
            each for each in every if each.state != TrialState.WAITING and each.user_attrs.get("outcome") not in _NOT_COUNTED
        ]

    def finished(self) -> list[FrozenTrial]:
        """Return the trials that have come to an end."""
        return [each for each in self.trials() if each.state.is_finished()]

    def begin(self, limit: int) -> Trial | None:
        """Begin the next trial; ``None`` if so many are done or under way."""
        if len(self.trials()) >= limit:
            return None
        trial = self._study.ask(self.candidate.ranges)
        if rank_of(self._study, trial.number) >= limit:  # another process was faster
            self._drop(trial, "surplus")
            return None
        self._begun.add(trial._trial_id)
        trial.set_user_attr("owner", self._owner)
        self.sign(trial)
        return trial

    def sign(self, trial: Trial) -> None:
        """Write that a trial is still under way, if somebody else may want to know."""
        if not self.alone:
            with suppress(UpdateFinishedTrialError):
                trial.set_user_attr("alive", time.time())

    def report(self, trial: Trial, step: int, score: float) -> bool:
        """Keep an intermediate score; return whether the trial is to be given up, as one that others took for lost is."""
        self.sign(trial)
        try:
            trial.report(score, step)
            return trial.should_prune()
        except UpdateFinishedTrialError:
            return True

    def end(self, trial: Trial, outcome: Outcome) -> None:
        """Keep the outcome of a trial, unless others took it for lost and have begun it again."""
        with suppress(UpdateFinishedTrialError):
            self._end(trial, outcome)

    def _end(self, trial: Trial, outcome: Outcome) -> None:
        about: Sequence[tuple[str, Any]] = (
            ("scores", outcome.scores),
            ("seconds", outcome.seconds),
            ("epochs", outcome.epochs),
            ("message", outcome.message),
            ("version", __version__),
            ("outcome", outcome.state),
        )
        for name, value in about:
            trial.set_user_attr(name, value)
        if outcome.state == "complete":
            self._study.tell(trial, sum(outcome.scores) / len(outcome.scores))
        else:  # the sampler learns from bad settings too, but not from failures
            self._study.tell(trial, state=TrialState.FAIL if outcome.state == "failed" else TrialState.PRUNED)

    def lose(self, trial: Trial | FrozenTrial, *, killed: bool = True) -> None:
        """Give the settings of a trial whose process is gone to the next one; after some attempts it counts as failed.

        Args:
            trial: The trial.
            killed: Count it as an attempt; a search that was interrupted is none.
        """
        attempts = trial.user_attrs.get("attempts", 0) + int(killed)
        if attempts >= ATTEMPTS:
            self._drop(trial, "failed", f"its process was killed {attempts} times")
            return
        if self._drop(trial, "lost"):
            self._study.enqueue_trial(trial.params, user_attrs={"attempts": attempts})

    def _drop(self, trial: Trial | FrozenTrial, outcome: str, message: str = "") -> bool:
        """End a trial; return whether it was not ended by another process before."""
        storage, number = self._study._storage, trial._trial_id
        try:
            storage.set_trial_user_attr(number, "outcome", outcome)
            storage.set_trial_user_attr(number, "message", message)
            return storage.set_trial_state_values(number, TrialState.FAIL)
        except UpdateFinishedTrialError:
            return False

    def recover(self) -> int:
        """Give the settings of trials whose processes are gone to others; return how many there were."""
        running = [each for each in self._study.get_trials(deepcopy=False) if each.state == TrialState.RUNNING]
        lost = [each for each in running if self._is_lost(each)]
        for each in lost:
            self.lose(each)
        return len(lost)

    def _is_lost(self, trial: FrozenTrial) -> bool:
        if trial._trial_id in self._begun:
            return False
        if self.alone:
            return True
        host, _, pid = str(trial.user_attrs.get("owner", "")).rpartition(" ")
        if host == platform.node() and pid.isdecimal() and not _lives(int(pid)):
            return True
        began = trial.datetime_start.timestamp() if trial.datetime_start is not None else 0.0
        return time.time() - float(trial.user_attrs.get("alive", began)) > SILENCE


_ABOUT: Final[dict[str, tuple[type, ...]]] = {
    "alive": (int, float),
    "attempts": (int,),
    "epochs": (int,),
    "message": (str,),
    "outcome": (str,),
    "owner": (str,),
    "scores": (list,),
    "seconds": (int, float),
    "version": (str,),
}
"""Types of what a trial says of itself."""


def _wrong(trial: FrozenTrial, ranges: Iterable[str]) -> str | None:
    """Return what cannot be right of a trial: a journal or a database may hold what others wrote there.

    Args:
        trial: The trial.
        ranges: Names of the settings that are searched.
    """
    about = trial.user_attrs
    for name, kinds in _ABOUT.items():
        if name in about and (not isinstance(about[name], kinds) or isinstance(about[name], bool)):
            return f"{name} is {about[name]!r:.50}"
    if unknown := sorted(trial.params.keys() - set(ranges)):
        return f"setting {unknown[0]!r:.50} is none that is searched"
    scores = [*about.get("scores", []), *trial.intermediate_values.values(), *(trial.values or [])]
    if any(isinstance(score, bool) or not isinstance(score, (int, float)) for score in scores):
        return f"scores are {scores!r:.50}"
    if trial.state == TrialState.COMPLETE and len(trial.values or []) != 1:
        return "score is missing"
    return None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it is somebody else's
        return True
    return True
