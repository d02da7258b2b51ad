"""The folder of a run: which file holds what, written by one process at a time and read by everything that asks about it."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from torch import Tensor

from qgcn.data.store import load_graph, save_graph
from qgcn.embedding import Embedding, load_embedding, write_embedding
from qgcn.files import (
    create_folder,
    load_tensors,
    number,
    read_sealed_json,
    remove_abandoned,
    save_tensors,
    write_atomically,
    write_bytes,
    write_sealed_json,
)
from qgcn.locks import FileLock, Locked, holder
from qgcn.seals import BLANK, Damaged, Unsealed, read_sealed, seal
from qgcn.tasks.config import Config, read_config
from qgcn.training.checkpoints import Checkpoint
from qgcn.training.metrics_log import Curve, MetricsLog, read_curves

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["RunFolder"]

_LOCK = ".lock"
_FOLDERS = ("checkpoints", "weights", "embeddings")
_BLOCKS = "blocks"
_FILES = ("config.yaml", "environment.json", "metrics.jsonl", "graph.npz", "split.safetensors", "results.json")
_OF_SEEDS = re.compile(r"((refit-)?seeds?-[\d-]+(\.previous)?\.(safetensors|npz)|seed-\d+-block-\d+-\d+\.safetensors)")
_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{16}")


class RunFolder:
    """The files of a run, each with a version and a checksum.

    =========================  ============================================================================
    ``config.yaml``            all settings
    ``graph.npz``              the graph, so that a run needs no other file
    ``split.safetensors``      what was drawn or read once beside it, such as the held-out links
    ``environment.json``       versions, machine, number of threads; those it was resumed with, if others
    ``metrics.jsonl``          one line for each validation of each seed
    ``checkpoints/``           the last state of each group of seeds, and the one before it, safetensors
    ``blocks/``                blocks of coordinates with their moments, where they are trained in blocks, safetensors
    ``weights/``               the best parameters of each seed, safetensors
    ``embeddings/``            the best embedding of each seed, with node ids, npz
    ``results.json``           the scores of each seed, mean and deviation, and of yardsticks; written last
    ``.lock``                  which process is writing; gone when it has ended
    =========================  ============================================================================

    Args:
        path: The folder.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def holds_run(self) -> bool:
        """Whether there is a run."""
        return (self.path / "config.yaml").exists()

    @property
    def blocks(self) -> Path:
        """Where blocks are written if coordinates are trained in blocks; the checkpoint says which belong together."""
        return self.path / _BLOCKS

    @property
    def finished(self) -> bool:
        """Whether the results are there."""
        return (self.path / "results.json").is_file()

    # --- begin -------------------------------------------------------------------------------------------------------

    def check_free(self) -> None:
        """Raise unless a new run can begin here: what one that was killed while it began has left is not in the way."""
        self._check_no_run()
        if (who := holder(self.path / _LOCK)) is not None:
            raise Locked(f"{self} is being written by {who}; choose another folder")
        if self.path.is_dir() and any(self.path.iterdir()):
            self._check_vacant(left_by_a_run=(self.path / _LOCK).is_file())

    def next_free(self) -> "RunFolder":
        """Return this folder if it does not exist, the first one of its name and a number that does not otherwise."""
        number, path = 1, self.path
        while path.exists():
            number += 1
            path = self.path.with_name(f"{self.path.name}-{number}")
        return RunFolder(path)

    @contextmanager
    def opened(self, config: Config, data: "Data", split: dict[str, Tensor], *, fresh: bool) -> Iterator[Callable[[], None]]:
        """Hold the folder for writing, for as long as the block lasts; nobody else writes to it meanwhile.

        What is known before training is written to a new one first. The function that is returned takes a new one back.

        Args:
            config: The settings.
            data: The graph.
            split: What was drawn or read once beside it.
            fresh: Whether a run is to begin here; one that is there is an error then.

        Raises:
            Locked: Another process holds it.
            FileExistsError: It is to hold a new run, and is not empty.
            OSError: It cannot be written.
        """
        created, lock = create_folder(self.path), FileLock(self.path / _LOCK)
        try:
            with lock.held():
                self._check_own_folders()
                remove_abandoned(self.path)
                if fresh:
                    self._check_no_run()
                    self._check_vacant(left_by_a_run=lock.inherited)
                    self._begin(config, data, split)
                for name in _FOLDERS:
                    (self.path / name).mkdir(exist_ok=True)
                    remove_abandoned(self.path / name)
                yield self._clear if fresh else lambda: None
        finally:
            for folder in created:
                with suppress(OSError):  # it holds a run now
                    folder.rmdir()

    def tidy(self) -> None:
        """Remove what a process has left that was killed when it had finished the run, if that can be done."""
        if (self.path / _LOCK).exists():
            with suppress(OSError), FileLock(self.path / _LOCK).held():
                remove_abandoned(self.path)

    def _begin(self, config: Config, data: "Data", split: dict[str, Tensor]) -> None:
        try:
            self._clear()
            write_atomically(self.path / "graph.npz", lambda temporary: save_graph(temporary, data))
            save_tensors(self.path / "split.safetensors", split, {})
            text = f"# {BLANK}\n{yaml.safe_dump(config.model_dump(), sort_keys=False, allow_unicode=True)}"
            write_bytes(self.path / "config.yaml", seal(text.encode()))  # last: a folder with settings holds all of a run
        except BaseException:
            self._clear()
            raise

    def _check_no_run(self) -> None:
        if self.holds_run:
            raise FileExistsError(f"{self} holds a run already; resume it (qgcn resume {self}) or choose another folder")

    def _check_vacant(self, left_by_a_run: bool) -> None:
        """Raise if there is anything that a run which was killed while it began, or was taken back, has not left."""
        for path in self.path.iterdir():
            if path.name != _LOCK and not (left_by_a_run and self._is_own(path)):
                raise FileExistsError(f"{self} is not empty; choose another folder")

    def _is_own(self, path: Path) -> bool:
        if path.name in (*_FOLDERS, _BLOCKS):
            return path.is_dir() and not path.is_symlink() and all(_OF_SEEDS.fullmatch(_plain(each)) for each in path.iterdir())
        return _plain(path) in _FILES

    def _check_own_folders(self) -> None:
        for name in (*_FOLDERS, _BLOCKS):
            if (self.path / name).is_symlink():
                raise OSError(f"{self.path / name} is a link to another place, where nothing is written: put a folder there")

    def _clear(self) -> None:
        """Remove all files of a run: the settings first, so that half a run is none."""
        for name in _FILES:
            (self.path / name).unlink(missing_ok=True)
        for name in (*_FOLDERS, _BLOCKS):
            shutil.rmtree(self.path / name, ignore_errors=True)

    # --- settings, graph, split --------------------------------------------------------------------------------------

    def config(self) -> Config:
        """Read the settings.

        Raises:
            FileNotFoundError: There is no run.
            Locked: It has only begun.
            ValueError: Its settings are damaged or were changed, or were written by another version.
        """
        path = self.path / "config.yaml"
        if not path.is_file():
            if (who := holder(self.path / _LOCK)) is not None:
                raise Locked(f"{self} is being written by {who}, which has only begun: there is no {path} yet")
            raise FileNotFoundError(f"{self} holds no run: there is no {path}")
        again = f"qgcn train TASK --config {path} --out NEW_FOLDER"
        try:
            read_sealed(path)
        except Unsealed as error:
            raise Unsealed(f"{error}; train it again: {again}") from None
        except Damaged as error:
            raise Damaged(f"{error} (it must not be edited); to train with other settings: {again}") from None
        return Config.checked(read_config(path), str(path))

    def graph(self) -> "Data":
        """Read the graph."""
        return load_graph(self.path / "graph.npz")

    def split(self) -> dict[str, Tensor]:
        """Read what was drawn or read once beside the graph."""
        return load_tensors(self.path / "split.safetensors")[0]

    # --- machine, course, results ------------------------------------------------------------------------------------

    def environment(self) -> dict[str, Any]:
        """Read where the run took place; nothing if it has not begun."""
        path = self.path / "environment.json"
        return read_sealed_json(path) if path.is_file() else {}

    def add_environment(self, now: dict[str, Any]) -> None:
        """Say where the run takes place; where it was resumed, if elsewhere, is added."""
        first = self.environment()
        later = first.pop("resumed", [])
        if now not in (first, *later):
            write_sealed_json(self.path / "environment.json", first | {"resumed": [*later, now]} if first else now)

    def log(self, seeds: list[int], epoch: int, digest: str | None = None) -> MetricsLog:
        """Open the log of a group of seeds at an epoch, with the checksum that its checkpoint has of it."""
        return MetricsLog(self.path / "metrics.jsonl", seeds, epoch, digest)

    def curves(self) -> list[Curve]:
        """Read how training went."""
        results = self.results()
        return read_curves(self.path / "metrics.jsonl", None if results is None else results.get("log"))

    def results(self) -> dict[str, Any] | None:
        """Read the results; nothing if the run is not finished."""
        path = self.path / "results.json"
        if not path.is_file():
            return None
        try:
            results = read_sealed_json(path)
        except Damaged as error:
            raise Damaged(f"{error}; delete it to have it written again by qgcn resume") from None
        try:
            seeds = [
                each | {split: _numbers(each[split]) for split in ("val", "test") if split in each} for each in results["seeds"]
            ]
            summary = {name: _numbers(each) for name, each in results["summary"].items()}
            more = {}
            if "yardsticks" in results:  # earlier versions had none
                more["yardsticks"] = {name: _numbers(each) for name, each in results["yardsticks"].items()}
                if not all(results["metric"] in each for each in more["yardsticks"].values()):
                    raise ValueError("scores of yardsticks are missing")
            if not all("test" in each and "seed" in each for each in seeds) or results["metric"] not in summary:
                raise ValueError("scores are missing")
            if not all({"mean", "std"} <= set(each) for each in summary.values()):
                raise ValueError("means or deviations are missing")
            if not all(type(each.get("best_epoch", 0)) is int for each in seeds):
                raise ValueError("best_epoch must be a number of epochs")
            for name in ("blend", "calibration"):
                seeds = [each | {name: _numbers(each[name])} if name in each else each for each in seeds]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Damaged(f"{path} is damaged ({error}); delete it to have it written again by qgcn resume") from None
        return results | {"seeds": seeds, "summary": summary} | more

    def write_results(self, results: dict[str, Any]) -> None:
        """Write the results."""
        write_sealed_json(self.path / "results.json", results)

    # --- tensors -----------------------------------------------------------------------------------------------------

    def checkpoint(self, seeds: list[int], refit: bool = False) -> Checkpoint:
        """Return the checkpoint of a group, or that of its last training on everything."""
        label = f"seed-{seeds[0]}" if len(seeds) == 1 else f"seeds-{seeds[0]}-{seeds[-1]}"
        return Checkpoint(self.path / "checkpoints" / f"{'refit-' if refit else ''}{label}.safetensors")

    def save_seed(self, seed: int, weights: dict[str, Tensor], embedding: Embedding) -> None:
        """Write the best parameters and the best embedding of a seed."""
        save_tensors(self.path / "weights" / f"seed-{seed}.safetensors", weights, {"seed": seed})
        write_embedding(self.path / "embeddings" / f"seed-{seed}.npz", embedding)

    def holds_seed(self, seed: int) -> bool:
        """Tell whether the parameters and the embedding of a seed are written."""
        names = (f"weights/seed-{seed}.safetensors", f"embeddings/seed-{seed}.npz")
        return all((self.path / name).is_file() for name in names)

    def embedding(self, seed: int) -> Embedding | None:
        """Read the embedding of a seed, if it is written."""
        path = self.path / "embeddings" / f"seed-{seed}.npz"
        return load_embedding(path) if path.is_file() else None

    def weights(self, seed: int) -> tuple[dict[str, Tensor] | None, int | None]:
        """Return the best parameters of a seed, from its own file or from a checkpoint; and the checkpoint's epoch."""
        path = self.path / "weights" / f"seed-{seed}.safetensors"
        if path.is_file():
            weights, about = load_tensors(path)
            if about.get("seed") != seed:
                raise Damaged(f"{path} holds the weights of another seed: {about.get('seed')}")
            return weights, None
        for checkpoint in Checkpoint.all_in(self.path / "checkpoints"):
            saved = checkpoint.load()
            if saved is not None and seed in saved.seeds:
                return saved.best(seed), saved.epoch
        return None, None


def _plain(path: Path) -> str:
    """Return the name of a file, also if it is still a temporary one."""
    found = _TEMPORARY.fullmatch(path.name)
    return path.name if found is None else found[1]


def _numbers(scores: dict[str, Any]) -> dict[str, float]:
    return {name: number(value) for name, value in scores.items()}
