"""A run: its folder, its seeds, its results; started, interrupted, resumed."""

import hashlib
import json
import math
import shutil
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
import yaml

from qgcn.data import as_data, undirected
from qgcn.embedding import read_embedding, write_embedding
from qgcn.files import check_writable, create_folder, load_tensors, save_tensors, write_json, write_text
from qgcn.manifolds import parse_space
from qgcn.tasks import TASKS, Task
from qgcn.training.config import Config, read_config
from qgcn.training.log import MetricsLog
from qgcn.training.loop import Diverged, Progress, Trainer
from qgcn.training.machine import determinism, environment_of, fabric_of, freed_memory_kept, stop_signals

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Interrupted", "Listener", "Run", "Summary", "check_same", "config_of", "summarize"]

Summary = dict[str, tuple[float, float]]

BATCH_BYTES = 2**30
"""Memory that a batch of seeds may take; beyond it a batch is no faster than its seeds one by one."""
TENSORS_OF_A_LAYER = 60
"""Tensors of the size of a layer's output that a step keeps for its gradient, at most."""

_MAY_CHANGE = ("checkpoint_seconds",)
"""Settings that have no part in what is learned."""


class Interrupted(KeyboardInterrupt):
    """The run was asked to stop; its folder can be resumed.

    Args:
        epoch: Epochs that the seeds in training have done.
    """

    def __init__(self, epoch: int) -> None:
        super().__init__(f"interrupted at epoch {epoch}")
        self.epoch = epoch


class Listener(Protocol):
    """Hears how a run goes."""

    def group(self, seeds: list[int], epoch: int) -> None:
        """A group of seeds starts at an epoch."""

    def progress(self, progress: Progress) -> None:
        """A validation is done."""


@dataclass
class _Silent:
    def group(self, seeds: list[int], epoch: int) -> None: ...

    def progress(self, progress: Progress) -> None: ...


class Run:
    """One configuration, trained for all its seeds.

    =========================  ============================================================================
    ``config.yaml``            all settings, read back by ``resume``
    ``environment.json``       versions, machine, number of threads; those it was resumed with, if others
    ``metrics.jsonl``          one line for each validation of each seed
    ``checkpoints/``           the state of each group of seeds, safetensors
    ``weights/``               the best parameters of each seed, safetensors
    ``embeddings/``            the best embedding of each seed, with node ids, npz
    ``results.json``           the scores of each seed, mean and deviation; written last
    =========================  ============================================================================

    Args:
        config: The settings.
        folder: Where everything is written; ``None`` writes nothing.
        data: The graph, if it is at hand; read from ``config.data`` otherwise.

    Raises:
        ValueError: Settings and data do not fit.
        OSError: Data cannot be read, or the folder not written.
    """

    def __init__(self, config: Config, folder: str | Path | None = None, data: "Data | None" = None) -> None:
        self.config = config
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None:
            check_writable(self.folder)
        if data is None:
            data = as_data(config.data, split_seed=config.split_seed, features=config.features, labels=config.labels)
        self.data = data
        extra = None if config.start is None else read_embedding(Path(config.start), data)
        self.fingerprint = "" if self.folder is None else _fingerprint(undirected(data), extra)
        with torch.random.fork_rng(devices=[]):  # a task builds models to ask what they are
            self.task: Task = TASKS[config.task](data, extra=extra, **config.task_options())
            self._can_batch = self.task.can_batch()
        self.fabric = fabric_of(config)
        self.task.to(self.fabric.device, getattr(torch, config.precision))
        self.results: list[dict[str, Any]] = []
        self.trainers: dict[int, tuple[Trainer, int]] = {}

    @classmethod
    def start(cls, config: Config, folder: str | Path | None, data: "Data | None" = None) -> "Run":
        """Prepare a new run; its folder must not hold another one."""
        if folder is not None and (Path(folder) / "config.yaml").exists():
            raise FileExistsError(f"{folder} holds a run already; resume it (qgcn resume {folder}) or choose another folder")
        if folder is not None and Path(folder).is_dir() and any(Path(folder).iterdir()):
            raise FileExistsError(f"{folder} is not empty; choose another folder")
        return cls(config, folder, data)

    @classmethod
    def resume(cls, folder: str | Path, data: "Data | None" = None) -> "Run":
        """Prepare to go on with the run of a folder."""
        return cls(config_of(folder), folder, data)

    @property
    def finished(self) -> bool:
        """Whether the folder's results are there."""
        return self.folder is not None and (self.folder / "results.json").is_file()

    def groups(self) -> list[list[int]]:
        """Return the seeds, those that are trained together in one list: as many as fit into :data:`BATCH_BYTES`.

        It depends on nothing but config and graph, so that a run resumed on another machine finds its checkpoints.
        """
        config = self.config
        seeds = list(range(config.seed, config.seed + config.seeds))
        together = 1
        if config.batch_seeds and self._can_batch:
            widest = parse_space(config.hidden or config.space).ambient_dim
            coordinates = widest * (config.layers or 1)
            one = TENSORS_OF_A_LAYER * self.task.num_nodes * coordinates * getattr(torch, config.precision).itemsize
            together = max(1, BATCH_BYTES // one)
        return [seeds[first : first + together] for first in range(0, len(seeds), together)]

    def train(self, listener: Listener | None = None) -> Summary:
        """Train all seeds, or what is left of them, and write the folder; a run that is finished is left as it is.

        A signal to stop (Ctrl-C, SIGTERM) is obeyed after the current epoch, with the state saved.

        Returns:
            Mean and standard deviation of each test score.

        Raises:
            Interrupted: The run was asked to stop.
            Diverged: Training diverged. If that was before the first checkpoint, the folder is gone again.
            ValueError: A checkpoint does not belong to this config or this graph.
        """
        listener = listener or _Silent()
        groups = self.groups()
        if self.finished and all(self._checkpoint(seeds).is_file() for seeds in groups):
            return self._read_results(groups)
        self.results = []
        with stop_signals() as asked, determinism(self.config), freed_memory_kept():
            undo = self._prepare_folder()
            try:
                for seeds in groups:
                    self._train_group(seeds, listener, asked)
            except Diverged as error:
                if self.folder is None:
                    raise
                if any((self.folder / "checkpoints").glob("*.safetensors")):
                    raise Diverged(f"{error} (what was measured until then is in {self.folder})") from None
                undo()
                raise
        summary = summarize(self.results)
        if self.folder is not None:
            write_json(
                self.folder / "results.json",
                {
                    "task": self.config.task,
                    "metric": self.task.metric,
                    "protocol": self.config.protocol if self.config.task == "links" else None,
                    "summary": {name: {"mean": mean, "std": std} for name, (mean, std) in summary.items()},
                    "seeds": self.results,
                },
            )
        return summary

    def _train_group(self, seeds: list[int], listener: Listener, asked: Callable[[], bool]) -> None:
        trainer = self._trainer(seeds)
        log = None if self.folder is None else MetricsLog(self.folder / "metrics.jsonl", seeds, trainer.epoch)
        listener.group(seeds, trainer.epoch)
        saved = time.monotonic()

        def report(progress: Progress) -> None:
            if log is not None:
                log.write(progress)
            listener.progress(progress)

        def pause() -> bool:
            nonlocal saved
            if time.monotonic() - saved >= self.config.checkpoint_seconds:
                self._save(trainer)
                saved = time.monotonic()
            return asked()

        if not asked():
            trainer.run(report, until=pause)
        self._save(trainer)
        if asked() and not trainer.finished:
            raise Interrupted(trainer.epoch)
        self.results += trainer.results()
        for index, seed in enumerate(seeds):
            self.trainers[seed] = (trainer, index)
            self._write_seed(trainer, index, seed)

    def _trainer(self, seeds: list[int]) -> Trainer:
        """Build the trainer of a group, and bring it to where its checkpoint is."""
        trainer = Trainer(self.task, self.config, seeds, self.fabric)
        if self.folder is not None and self._checkpoint(seeds).exists():
            path = self._checkpoint(seeds)
            tensors, about = load_tensors(path)
            check_same(about.get("config"), self.config, path)
            if about.get("data") != self.fingerprint:
                raise ValueError(
                    f"{path} was trained on another graph than {self.config.data} is now: restore it, or start a new run"
                )
            try:
                trainer.restore(tensors, about)
            except ValueError as error:
                raise ValueError(f"{path} is damaged: {error}") from None
        return trainer

    def _checkpoint(self, seeds: list[int]) -> Path:
        return (self.folder or Path()) / "checkpoints" / f"{_label(seeds)}.safetensors"

    def _save(self, trainer: Trainer) -> None:
        if self.folder is not None:
            tensors, about = trainer.state()
            about |= {"config": self.config.model_dump(), "data": self.fingerprint}
            save_tensors(self._checkpoint(trainer.seeds), tensors, about)

    def _read_results(self, groups: list[list[int]]) -> Summary:
        for seeds in groups:
            trainer = self._trainer(seeds)
            self.trainers |= {seed: (trainer, index) for index, seed in enumerate(seeds)}
        path = (self.folder or Path()) / "results.json"
        try:
            self.results = json.loads(path.read_text(encoding="utf-8"))["seeds"]
            return summarize(self.results)
        except (ValueError, TypeError, KeyError):
            raise ValueError(f"{path} is damaged; delete it to have it written again") from None

    def embedding(self, seed: int) -> tuple[torch.Tensor, Any]:
        """Return the best embedding of a trained seed and its space."""
        trainer, index = self.trainers[seed]
        return trainer.embedding(index)

    # --- the folder ------------------------------------------------------------------------------------------------

    def _prepare_folder(self) -> Callable[[], None]:
        """Create the folder and write what is known before training; return what takes that back."""
        folder = self.folder
        if folder is None:
            return lambda: None
        fresh = not (folder / "config.yaml").exists()
        created = create_folder(folder)
        for name in ("checkpoints", "weights", "embeddings"):
            (folder / name).mkdir(exist_ok=True)
            for left in (folder / name).glob(f".*.{'[0-9a-f]' * 16}"):  # by a process that was killed while it wrote
                left.unlink(missing_ok=True)
        if fresh:
            text = yaml.safe_dump(self.config.model_dump(), sort_keys=False, allow_unicode=True)
            try:
                write_text(folder / "config.yaml", text, exclusive=True)
            except FileExistsError:  # another run has taken the folder since we looked
                raise FileExistsError(f"{folder} holds a run already; choose another folder") from None
        self._write_environment(folder / "environment.json")

        def undo() -> None:
            if not fresh:
                return
            for name in ("checkpoints", "weights", "embeddings"):
                shutil.rmtree(folder / name)
            for name in ("config.yaml", "environment.json", "metrics.jsonl"):
                (folder / name).unlink(missing_ok=True)
            for each in created:
                if not any(each.iterdir()):
                    each.rmdir()

        return undo

    def _write_environment(self, path: Path) -> None:
        """Say where the run takes place; where it was resumed, if elsewhere, is added."""
        now = environment_of(self.fabric)
        if path.exists():
            first = json.loads(path.read_text(encoding="utf-8"))
            later = first.pop("resumed", [])
            if now in (first, *later):
                return
            now = first | {"resumed": [*later, now]}
        write_json(path, now)

    def _write_seed(self, trainer: Trainer, index: int, seed: int) -> None:
        folder = self.folder
        if folder is None:
            return
        save_tensors(folder / "weights" / f"seed-{seed}.safetensors", trainer.weights(index), {"seed": seed})
        points, space = trainer.embedding(index)
        write_embedding(folder / "embeddings" / f"seed-{seed}.npz", points, space, self.data)


def summarize(results: list[dict[str, Any]]) -> Summary:
    """Return mean and standard deviation of each test score over seeds (0 for one seed)."""
    names = results[0]["test"] if results else {}
    columns = {name: [_number(result["test"][name]) for result in results] for name in names}
    return {name: (statistics.fmean(values), _deviation(values)) for name, values in columns.items()}


def _number(value: float | None) -> float:
    """Return a score as it was: JSON has no infinity, so that one is read back as ``null``."""
    return math.inf if value is None else value


def _deviation(values: list[float]) -> float:
    if len(values) == 1:
        return 0.0
    return statistics.stdev(values) if all(map(math.isfinite, values)) else math.nan


def _label(seeds: list[int]) -> str:
    return f"seed-{seeds[0]}" if len(seeds) == 1 else f"seeds-{seeds[0]}-{seeds[-1]}"


def config_of(folder: str | Path) -> Config:
    """Read the settings of the run in a folder.

    Raises:
        FileNotFoundError: There is no run.
        ValueError: Its settings cannot be understood.
    """
    path = Path(folder) / "config.yaml"
    if not path.is_file():
        raise FileNotFoundError(f"{folder} holds no run: there is no {path}")
    return Config.checked(read_config(path), str(path))


def check_same(saved: Any, config: Config, path: Path) -> None:
    """Raise if a checkpoint or run was written with other settings, and name the first that differs."""
    if not isinstance(saved, dict):
        raise ValueError(f"{path} does not say which settings it belongs to")
    for name, value in config.model_dump().items():
        before = saved.get(name, Config.model_fields[name].default)
        if before != value and name not in _MAY_CHANGE:
            raise ValueError(
                f"{path} was trained with {name} = {before!r}, but the config says {value!r}: "
                "restore the config, or start a new run in another folder"
            )


def _fingerprint(data: "Data", extra: torch.Tensor | None) -> str:
    """Return a hash of what is learned from: edges, weights, features, labels and who may see them."""
    digest = hashlib.sha256()
    names = ("edge_index", "edge_weight", "x", "y", "train_mask", "val_mask", "test_mask")
    for name, value in [*((name, data.get(name)) for name in names), ("extra", extra)]:
        if isinstance(value, torch.Tensor):
            array = np.ascontiguousarray((value.to_dense() if value.layout != torch.strided else value).cpu().numpy())
            digest.update(f"{name} {array.dtype} {array.shape} ".encode() + array.tobytes())
    return digest.hexdigest()
