"""Running: the cells that are missing, in a useful order, by one process or several, until a time is over."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch

from qgcn.caches import user_cache
from qgcn.progress import Progress, silent
from qgcn.reproduction.cells import Cell
from qgcn.reproduction.measuring import measure
from qgcn.reproduction.store import Line, Store

__all__ = ["Done", "Limits", "Work", "estimate", "missing", "run"]

BLOCKS = (0, 1, 3, 5, 10)
"""Seeds from each of these on to the next are measured for all cells before later ones are."""
SCRATCH = "pretrained"
"""Folder, in the user's cache, of runs that others start from."""
Done = Callable[["Work", Line], None]


class Work(NamedTuple):
    """One seed of a cell, to be measured."""

    cell: Cell
    seed: int

    @property
    def name(self) -> str:
        """The cell in words."""
        setting = f"{self.cell.setting} (trial)" if self.cell.kind == "trial" else self.cell.setting
        return f"{self.cell.data}, {self.cell.method}, {setting}, seed {self.seed}"


@dataclass(frozen=True)
class Limits:
    """How much may be done at once.

    Attributes:
        jobs: Number of processes.
        seconds: Time after which nothing new is begun.
        device: Device to train on.
    """

    jobs: int = 1
    seconds: float = float("inf")
    device: str = "auto"


def missing(cells: Sequence[Cell], seeds: int, store: Store) -> list[Work]:
    """Return what is to be measured now, in order: first seeds first, then by rank.

    The trials of a grid come before the cell that they choose for; that one is not listed before all of them are there.
    """
    found: dict[tuple[str, int], tuple[tuple[int, int, int], Work]] = {}
    for index, cell in enumerate(cells):
        chosen = store.choice(cell)
        works = [Work(trial, 0) for trial in cell.trials] if chosen is None else _seeds_of(chosen, seeds)
        for work in works:
            if store.find(work.cell, work.seed) is None:
                key = (work.cell.hash, work.seed)  # of alike cells, one
                found.setdefault(key, ((_block(work.seed), cell.rank, index), work))
    return [work for _, work in sorted(found.values(), key=lambda each: each[0])]


def _seeds_of(cell: Cell, seeds: int) -> list[Work]:
    return [Work(cell, seed) for seed in range(1 if cell.kind in ("timing", "graph") else seeds)]


def _block(seed: int) -> int:
    return sum(first <= seed for first in BLOCKS)


def run(
    cells: Sequence[Cell],
    seeds: int,
    store: Store,
    limits: Limits,
    *,
    done: Done = lambda _work, _line: None,
    progress: Progress = silent,
) -> int:
    """Measure what is missing; return how many lines were written.

    Args:
        cells: The cells.
        seeds: Seeds of each.
        store: Where lines are found and written.
        limits: Processes, time and device.
        done: Called with each line that is written, and with ``failed`` where there is none: such a cell is left out, until the
            next run.
        progress: Progress callback.

    Raises:
        Locked: Another process writes to the same file.
        RuntimeError: A worker was killed. What was written before is kept.
    """
    until, written = time.monotonic() + limits.seconds, 0
    with ExitStack() as stack:
        writers = {table: stack.enter_context(store.writing(table)) for table in {cell.table for cell in cells}}
        total = len(missing(cells, seeds, store))
        pool = stack.enter_context(_workers(limits.jobs)) if limits.jobs > 1 else None
        for work, line in _measured(cells, seeds, store, limits, pool, until):
            if "failed" not in line:
                writers[work.cell.table](work.cell, work.seed, line)
                written += 1
            done(work, line)
            progress("measuring", written, max(total, written), work.name)
    return written


def _attempt(cell: Cell, seed: int, device: str, scratch: Path) -> Line:
    """Measure a seed of a cell; what a machine cannot do, such as for lack of memory, is told under ``failed``."""
    try:
        return measure(cell, seed, device, scratch)
    except (RuntimeError, MemoryError) as error:
        return {"failed": " ".join(f"{type(error).__name__}: {error}".split())[:300]}


def _measured(
    cells: Sequence[Cell],
    seeds: int,
    store: Store,
    limits: Limits,
    pool: ProcessPoolExecutor | None,
    until: float,
) -> Iterator[tuple[Work, Line]]:
    """Measure what is missing, and whatever that makes possible; lines must be written before the next one is asked for."""
    scratch = user_cache() / SCRATCH
    busy: dict[Future[Line], Work] = {}
    failed: set[tuple[str, int]] = set()
    while True:
        going = failed | {(work.cell.hash, work.seed) for work in busy.values()}
        left = [work for work in missing(cells, seeds, store) if (work.cell.hash, work.seed) not in going]
        left = left if time.monotonic() < until else []
        alone = next((work for work in left if work.cell.kind == "timing"), None)
        if pool is None or (alone is not None and not busy):  # nothing else may run while something is timed
            if not left:
                return
            work = left[0] if pool is None else alone or left[0]
            line = _attempt(work.cell, work.seed, limits.device, scratch)
            failed |= {(work.cell.hash, work.seed)} if "failed" in line else set()
            yield work, line
            continue
        for work in left[: limits.jobs - len(busy)] if alone is None else []:
            busy[pool.submit(_attempt, work.cell, work.seed, limits.device, scratch)] = work
        if not busy:
            return
        finished, _ = wait(busy, return_when=FIRST_COMPLETED)
        for future in finished:
            work = busy.pop(future)
            try:
                line = future.result()
            except BrokenProcessPool:
                raise RuntimeError(f"a worker was killed, perhaps for lack of memory, near {work.name}") from None
            failed |= {(work.cell.hash, work.seed)} if "failed" in line else set()
            yield work, line


@contextmanager
def _workers(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Lend processes; those that still work at the end are killed: nothing of a cell that is not done is kept."""
    threads = max(1, (os.cpu_count() or 1) // jobs)
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare, initargs=(threads,))
    try:
        yield pool
    finally:
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
            process.join()


def _prepare(threads: int) -> None:
    """Set up a worker: its share of the cores; the process that started it decides about signals, and when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(threads)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Wait until the process that started this one has ended, however it did, and end, too."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def estimate(cells: Sequence[Cell], seeds: int, store: Store) -> tuple[int, int, float]:
    """Estimate what is left to do: number of seeds of cells, those among them of unknown cost, and seconds of one process.

    The cost of a seed is the mean of those that were measured of the same table, graph, setting and task, by any method.
    """
    known: dict[tuple[str, ...], list[float]] = {}
    for line in store.every():
        known.setdefault(_kin(line), []).append(line["seconds"])
    left: dict[tuple[str, int], Cell] = {}
    for cell in cells:
        chosen = store.choice(cell)
        left |= {(cell.hash, seed): cell for seed in range(seeds) if chosen is None}
        works = [Work(trial, 0) for trial in cell.trials] if chosen is None else _seeds_of(chosen, seeds)
        left |= {(work.cell.hash, work.seed): work.cell for work in works if store.find(*work) is None}
    costs = [known.get(_kin({**vars(cell), "task": cell.task})) for cell in left.values()]
    told = [sum(each) / len(each) for each in costs if each is not None]
    return len(costs), len(costs) - len(told), sum(told)


def _kin(about: dict[str, object]) -> tuple[str, ...]:
    return tuple(str(about.get(name, "")) for name in ("table", "data", "setting", "kind", "task"))
