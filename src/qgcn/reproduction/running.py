"""Running: the cells that are missing, in a useful order, by one process or several, until a time is over."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import torch

from qgcn.caches import user_cache
from qgcn.progress import Progress, silent
from qgcn.reproduction.cells import Cell
from qgcn.reproduction.measuring import measure
from qgcn.reproduction.store import Line, Store

__all__ = ["Done", "Limits", "Work", "estimate", "missing", "run"]

SCRATCH = "pretrained"
"""Folder, in the user's cache, of runs that others start from."""
Done = Callable[["Work", Line], None]


class Work(NamedTuple):
    """Some seeds of a cell, to be measured at once: several if they can be trained as one batch."""

    cell: Cell
    seeds: tuple[int, ...]

    @property
    def name(self) -> str:
        """The cell in words."""
        setting = f"{self.cell.setting} (trial)" if self.cell.kind == "trial" else self.cell.setting
        seeds = f"seeds {self.seeds[0]} to {self.seeds[-1]}" if len(self.seeds) > 1 else f"seed {self.seeds[0]}"
        return f"{self.cell.data}, {self.cell.method}, {setting}, {seeds}"

    @property
    def keys(self) -> set[tuple[str, int]]:
        """Key of each seed: alike cells have the same."""
        return {(self.cell.hash, seed) for seed in self.seeds}


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


def missing(cells: Sequence[Cell], seeds: int, store: Store, going: Collection[tuple[str, int]] = ()) -> list[Work]:
    """Return what is to be measured now, in order: by rank, and first seeds first where they are trained one by one.

    The trials of a grid come before the cell that they choose for; that one is not listed before all of them are there.

    Args:
        cells: The cells.
        seeds: Seeds of each.
        store: Where lines are found.
        going: Keys of seeds that are being measured, or could not be.
    """
    found: list[tuple[tuple[int, int, int], Work]] = []
    taken = set(going)
    for index, cell in enumerate(cells):
        chosen = store.choice(cell)
        for each in cell.trials if chosen is None else [chosen]:
            count = seeds if each.kind == "train" else 1
            left = [seed for seed in range(count) if (each.hash, seed) not in taken and store.find(each, seed) is None]
            for group in _in_a_row(left) if each.batchable else [(seed,) for seed in left]:
                work = Work(each, group)
                taken |= work.keys  # of alike cells, one
                found.append(((cell.rank, len(group) == 1 and group[0], index), work))
    return [work for _, work in sorted(found, key=itemgetter(0))]


def _in_a_row(seeds: Sequence[int]) -> list[tuple[int, ...]]:
    """Split seeds where one is left out."""
    groups: list[tuple[int, ...]] = []
    for seed in seeds:
        if groups and groups[-1][-1] == seed - 1:
            groups[-1] = (*groups[-1], seed)
        else:
            groups.append((seed,))
    return groups


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
        total = sum(len(work.seeds) for work in missing(cells, seeds, store))
        pool = stack.enter_context(_workers(limits.jobs)) if limits.jobs > 1 else None
        for work, lines in _measured(cells, seeds, store, limits, pool, until):
            for seed, line in zip(work.seeds, lines, strict=True):
                if "failed" not in line:
                    writers[work.cell.table](work.cell, seed, line)
                    written += 1
                done(Work(work.cell, (seed,)), line)
            progress("measuring", written, max(total, written), work.name)
    return written


def _attempt(work: Work, device: str, scratch: Path) -> list[Line]:
    """Measure seeds of a cell; what a machine cannot do, such as for lack of memory, is told under ``failed``."""
    try:
        return measure(work.cell, work.seeds, device, scratch)
    except (RuntimeError, MemoryError) as error:
        return [{"failed": " ".join(f"{type(error).__name__}: {error}".split())[:300]}] * len(work.seeds)


def _measured(
    cells: Sequence[Cell],
    seeds: int,
    store: Store,
    limits: Limits,
    pool: ProcessPoolExecutor | None,
    until: float,
) -> Iterator[tuple[Work, list[Line]]]:
    """Measure what is missing, and whatever that makes possible; lines must be written before the next one is asked for."""
    scratch = user_cache() / SCRATCH
    busy: dict[Future[list[Line]], Work] = {}
    failed: set[tuple[str, int]] = set()
    while True:
        going = failed.union(*(work.keys for work in busy.values()))
        left = missing(cells, seeds, store, going) if time.monotonic() < until else []
        alone = next((work for work in left if work.cell.kind == "timing"), None)
        if pool is None or (alone is not None and not busy):  # nothing else may run while something is timed
            if not left:
                return
            work = left[0] if pool is None else alone or left[0]
            lines = _attempt(work, limits.device, scratch)
            failed |= work.keys if "failed" in lines[0] else set()
            yield work, lines
            continue
        for work in left[: limits.jobs - len(busy)] if alone is None else []:
            busy[pool.submit(_attempt, work, limits.device, scratch)] = work
        if not busy:
            return
        finished, _ = wait(busy, return_when=FIRST_COMPLETED)
        for future in finished:
            work = busy.pop(future)
            try:
                lines = future.result()
            except BrokenProcessPool:
                raise RuntimeError(f"a worker was killed, perhaps for lack of memory, near {work.name}") from None
            failed |= work.keys if "failed" in lines[0] else set()
            yield work, lines


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
        if store.choice(cell) is None:  # and the seeds of whatever is chosen
            left |= {(cell.hash, seed): cell for seed in range(seeds)}
    left |= {key: work.cell for work in missing(cells, seeds, store) for key in work.keys}
    costs = [known.get(_kin({**vars(cell), "task": cell.task})) for cell in left.values()]
    told = [sum(each) / len(each) for each in costs if each is not None]
    return len(costs), len(costs) - len(told), sum(told)


def _kin(about: dict[str, object]) -> tuple[str, ...]:
    return tuple(str(about.get(name, "")) for name in ("table", "data", "setting", "kind", "task"))
