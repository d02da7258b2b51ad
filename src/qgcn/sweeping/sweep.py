"""A sweep: the same number of trials for every candidate, in a folder that can be gone on with."""

import re
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from optuna.storages import BaseStorage
from optuna.trial import Trial

from qgcn.files import check_writable, remove_abandoned
from qgcn.locks import FileLock
from qgcn.progress import Progress, silent
from qgcn.sweeping.candidates import Candidate
from qgcn.sweeping.evaluation import Outcome
from qgcn.sweeping.results import Row, best_rows, rows_of, write_best, write_rows, write_table
from qgcn.sweeping.study import CandidateStudy, close_storage, open_storage, storage_errors
from qgcn.sweeping.workers import Workers, workers_for
from qgcn.tasks import find_task
from qgcn.training.machine import signals_raise
from qgcn.training.origin import fingerprint_of
from qgcn.training.problem import build_problem

__all__ = ["Sweep"]

LOOK_FOR_LOST = 30.0
"""Seconds between looks for trials of other machines that are gone, and between signs of life."""
_OF_MACHINE = ("device", "checkpoint_seconds", "yardsticks")
Given = tuple[int, Trial]
"""Place of a candidate, and its trial."""


class Sweep:
    """One search of settings for every candidate, chosen on validation.

    The folder holds ``journal.log`` (unless a database is used), ``trials.jsonl``, ``study.md``, ``best.yaml`` and the best
    settings of each candidate under ``best/``.

    Args:
        candidates: Models in spaces, of one task and graph.
        folder: Where everything is written.
        trials: Number of trials of each candidate.
        jobs: Number of processes.
        seed: Seed of what is drawn.
        prune: Give up trials that do worse than the median of those before.
        storage: URL of a database that several machines share (default: a journal in the folder).

    Raises:
        ValueError: Settings and data do not fit.
        OSError: Data cannot be read, or the folder not written.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        folder: str | Path,
        *,
        trials: int = 30,
        jobs: int = 1,
        seed: int = 0,
        prune: bool = True,
        storage: str | None = None,
    ) -> None:
        names = [each.name for each in candidates]
        if not names:
            raise ValueError("a sweep needs at least one model")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"{twice} is named twice")
        self.candidates, self.folder = list(candidates), Path(folder)
        self.trials, self.jobs, self.seed, self.prune, self.storage = trials, jobs, seed, prune, storage
        self.task = find_task(str(candidates[0].fixed["task"]))
        metric = self.task.metric_of(candidates[0].config({}))
        self.metric = self.task.titles.get(metric, metric)
        """Name of the score that settings are chosen by."""
        self.recovered = 0
        """Trials that dead processes had left, whose settings were tried again."""
        self._studies: list[CandidateStudy] = []

    def run(self, progress: Progress = silent) -> list[Row]:
        """Make the trials that are missing, and write the folder.

        Args:
            progress: Progress callback; one stage.

        Returns:
            All trials, those of one candidate after those of another.

        Raises:
            Locked: Another process is writing to the folder.
            ValueError: The folder holds a sweep with other settings, or the storage is damaged or has failed.
            OSError: The folder cannot be written, or holds something else.
            KeyboardInterrupt: It was asked to stop; trials that are done are kept.
        """
        check_writable(self.folder)
        origins = self._origins()
        self.folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            stack.enter_context(FileLock(self.folder / "lock").held())
            stack.enter_context(signals_raise())
            stack.enter_context(storage_errors())
            self._check_folder()
            storage = open_storage(self.folder, self.storage)
            stack.callback(close_storage, storage)
            self._open(storage, origins)
            try:
                self._search(progress)
            finally:
                rows = self.rows()
                self._write(rows)
        return rows

    def rows(self) -> list[Row]:
        """Return all finished trials."""
        with storage_errors():
            return [row for study in self._studies for row in rows_of(study)]

    def _origins(self) -> list[dict[str, Any]]:
        """Return what the trials of each candidate depend on; the graph is read, and does not stay."""
        config = self.candidates[0].config({})
        problem = build_problem(config, None, None)
        shared = {"graph": fingerprint_of(problem.data, problem.split), "seed of the search": self.seed, "prune": self.prune}
        found = []
        for candidate in self.candidates:
            kept = {name: value for name, value in candidate.config({}).model_dump().items() if name not in _OF_MACHINE}
            kept = {name: value for name, value in kept.items() if name not in candidate.ranges}
            drawn = {f"range of {name}": _plain(asdict(each)) for name, each in candidate.searched.items()}
            found.append(shared | kept | drawn)
        return found

    def _check_folder(self) -> None:
        """Raise if a link leads elsewhere, or if something is there that this sweep has not written."""
        if (self.folder / "best").is_symlink():
            raise OSError(f"{self.folder / 'best'} is a link to another place, where nothing is written: put a folder there")
        if (self.folder / "best").exists() and not (self.folder / "best").is_dir():
            raise NotADirectoryError(f"{self.folder / 'best'} is not a folder: move it away, or choose another --out")
        remove_abandoned(self.folder)
        if self.storage is None and not (self.folder / "journal.log").exists():
            for name in ("best", "best.yaml", "study.md", "trials.jsonl"):
                if (self.folder / name).exists():
                    raise FileExistsError(f"{self.folder} holds {name}, but no journal.log of a sweep: choose another --out")

    def _open(self, storage: BaseStorage, origins: list[dict[str, Any]]) -> None:
        alone = self.storage is None
        self._studies = [
            CandidateStudy(each, storage, origin, seed=self.seed, prune=self.prune, alone=alone)
            for each, origin in zip(self.candidates, origins, strict=True)
        ]
        self.recovered = sum(study.recover() for study in self._studies)

    def _search(self, progress: Progress) -> None:
        self._show(progress)
        if self._done() >= self.trials * len(self._studies):
            return
        workers = workers_for(self.jobs, shared=self.storage is not None)
        try:
            self._loop(workers, progress)
        finally:
            left = workers.busy()
            workers.close()
            for place, trial in left:
                self._studies[place].lose(trial, killed=False)

    def _loop(self, workers: "Workers[Given]", progress: Progress) -> None:
        looked = time.monotonic()

        def done(given: Given, outcome: Outcome | None) -> None:
            study = self._studies[given[0]]
            if outcome is None:
                self.recovered += 1
                study.lose(given[1])
                return
            study.end(given[1], outcome)
            write_rows(self.folder / "trials.jsonl", self.rows())
            self._show(progress)

        def report(given: Given, step: int, score: float) -> bool:
            return self._studies[given[0]].report(given[1], step, score)

        while True:
            while workers.free() and (given := self._begin()) is not None:
                place, trial = given
                workers.give(given, self.candidates[place].config(trial.params))
            if not workers.busy():
                return
            workers.listen(report, done)
            if self.storage is not None and time.monotonic() - looked > LOOK_FOR_LOST:
                looked = time.monotonic()
                for place, trial in workers.busy():
                    self._studies[place].sign(trial)
                self.recovered += sum(study.recover() for study in self._studies)

    def _begin(self) -> Given | None:
        """Begin a trial of the candidate that has fewest; ``None`` if all are done or under way."""
        order = sorted(range(len(self._studies)), key=lambda place: len(self._studies[place].trials()))
        for place in order:
            trial = self._studies[place].begin(self.trials)
            if trial is not None:
                return place, trial
        return None

    def _done(self) -> int:
        return sum(min(self.trials, len(study.finished())) for study in self._studies)

    def _show(self, progress: Progress) -> None:
        best = best_rows(self.rows())
        note = f"best {best[0].shown}, {best[0].model}:{best[0].space}" if best else ""
        progress("trials", self._done(), self.trials * len(self._studies), note)

    def _write(self, rows: list[Row]) -> None:
        write_rows(self.folder / "trials.jsonl", rows)
        fixed, metric = self.candidates[0].fixed, self.metric
        write_table(self.folder / "study.md", f"Sweep of {fixed['task']} on {fixed['data']}", metric, rows)
        homes = {(each.model, each.space): each for each in self.candidates}
        ranked = best_rows(rows)
        if ranked:
            write_best(self.folder / "best.yaml", homes[ranked[0].model, ranked[0].space], ranked[0], metric)
            (self.folder / "best").mkdir(exist_ok=True)
        for (model, space), candidate in homes.items():
            own = [row for row in ranked if (row.model, row.space) == (model, space)]
            if own:
                name = re.sub(r"[^\w,.-]+", "-", f"{model}-{space}")
                write_best(self.folder / "best" / f"{name}.yaml", candidate, own[0], metric)


def _plain(described: dict[str, Any]) -> dict[str, Any]:
    """Return a range as JSON gives it back."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in described.items()}
