"""A run: one configuration, trained for all its seeds; started, interrupted, resumed, and read back."""

import copy
import hashlib
import math
import statistics
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from qgcn.data import as_data
from qgcn.embedding import Embedding, node_ids_of
from qgcn.files import check_writable, load_tensors, save_tensors
from qgcn.progress import Progress, silent
from qgcn.tasks import Config, Predictor, Task, find_task
from qgcn.tasks.task import Scores
from qgcn.training.answers import Answers
from qgcn.training.blends import yardstick_scores
from qgcn.training.costs import Consent, Declined
from qgcn.training.folder import RunFolder
from qgcn.training.loop import Diverged, Trainer
from qgcn.training.machine import determinism, environment_of, fabric_of, freed_memory_kept, stop_signals
from qgcn.training.supervision import Interrupted, Supervisor
from qgcn.training.threads import few_threads

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Interrupted", "Run", "Summary", "check_same", "load_run", "summarize"]

Summary = dict[str, tuple[float, float]]

BATCH_BYTES = 2**30
"""Memory that a batch of seeds may take; beyond it a batch is no faster than its seeds one by one."""
TENSORS_OF_A_LAYER = 60
"""Tensors of the size of a layer's output that a step keeps for its gradient, at most."""

_MAY_CHANGE = ("checkpoint_seconds", "device", "yardsticks")
"""Settings that have no part in what is learned."""


class Run(Answers):
    """One configuration, trained for all its seeds, and asked what it learned.

    :class:`~qgcn.training.folder.RunFolder` says what is written where.

    Args:
        config: The settings.
        folder: Where everything is written; ``None`` writes nothing.
        data: The graph, if it is at hand: anything that :func:`qgcn.data.as_data` takes; read from ``config.data`` otherwise.
        task: The problem, if it is at hand: on the device of the config, with the same settings.
        split: The split of a run that is read back.

    Raises:
        ValueError: Settings and data do not fit.
        OSError: Data cannot be read, or the folder not written.
    """

    def __init__(
        self,
        config: Config,
        folder: str | Path | None = None,
        data: "Data | None" = None,
        *,
        task: Task[Any] | None = None,
        split: dict[str, Tensor] | None = None,
    ) -> None:
        self.config = config
        self.folder = None if folder is None else RunFolder(folder)
        if self.folder is not None and not self.folder.finished:
            check_writable(self.folder.path)
        self.fabric = fabric_of(config)
        if task is not None and task.config != config:
            raise ValueError(f"the problem has other settings than the run: {task!r}")
        self.task: Task[Any] = task or _problem(config, data, split, self.fabric.device)
        self.fingerprint = "" if self.folder is None else _fingerprint(self.data, self.task.split)
        self.results: list[dict[str, Any]] = []
        self.yardsticks: dict[str, Scores] = {}
        """Test scores of cheap methods, by name, once the run is finished and if its settings ask for them."""
        self._embeddings: dict[int, Embedding] = {}
        self._weights: dict[int, dict[str, Tensor]] = {}
        self._predictors: dict[int, Predictor] = {}

    @classmethod
    def start(
        cls, config: Config, folder: str | Path | None, data: "Data | None" = None, *, task: Task[Any] | None = None
    ) -> "Run":
        """Prepare a new run; its folder must not hold another one."""
        if folder is not None:
            RunFolder(folder).check_free()
        return cls(config, folder, data, task=task)

    @property
    def data(self) -> "Data":
        """The graph, as the task uses it."""
        return self.task.data

    @cached_property
    def answering(self) -> Task[Any]:
        """The problem that questions are about: the one with nothing held out if models are refitted."""
        return self.task.refitted() if self.config.refit else self.task

    @property
    def seeds(self) -> list[int]:
        """All seeds."""
        return list(range(self.config.seed, self.config.seed + self.config.seeds))

    @property
    def summary(self) -> Summary:
        """Mean and standard deviation of each test score over the seeds that are done."""
        return summarize(self.results)

    @property
    def network_summary(self) -> Summary:
        """The same of the network alone, where a model is more than that; nothing otherwise."""
        return summarize([each["network"] for each in self.results if "network" in each])

    @property
    def finished(self) -> bool:
        """Whether the folder has the results, and the model and embedding of every seed."""
        return self.folder is not None and self.folder.finished and all(map(self.folder.holds_seed, self.seeds))

    def check_finished(self) -> None:
        """Raise unless all seeds are trained."""
        if len(self.results) < len(self.seeds):
            how = "train it first" if self.folder is None else f"resume it: qgcn resume {self.folder}"
            raise ValueError(f"the run is not finished; {how}")

    def groups(self) -> list[list[int]]:
        """Return the seeds, those that are trained together in one list: as many as fit into :data:`BATCH_BYTES`.

        It depends on nothing but config and graph, so that a run resumed on another machine finds its checkpoints.
        """
        config, seeds, together = self.config, self.seeds, 1
        if config.batch_seeds and self.task.can_batch():
            coordinates = config.coordinates_kept()
            one = TENSORS_OF_A_LAYER * self.task.num_nodes * coordinates * getattr(torch, config.precision).itemsize
            together = max(1, BATCH_BYTES // one)
        return [seeds[first : first + together] for first in range(0, len(seeds), together)]

    # --- training ----------------------------------------------------------------------------------------------------

    def train(self, progress: Progress = silent, consent: Consent | None = None) -> Summary:
        """Train all seeds, or what is left of them, and write the folder; a run that is finished is left as it is.

        A signal to stop (Ctrl-C, SIGTERM) is obeyed at once, with the state of the last complete epoch saved.

        Args:
            progress: Progress callback; a stage for each group of seeds.
            consent: Called with the estimated cost of what is left after the first epochs; it may raise :class:`Declined`.

        Returns:
            Mean and standard deviation of each test score.

        Raises:
            Interrupted: The run was asked to stop.
            Declined: The cost was declined. The folder of a new run is gone again.
            Diverged: Training diverged. If that was before the first checkpoint, the folder is gone again.
            ValueError: A checkpoint does not belong to this config or this graph.
        """
        if self.finished:
            return self._read_results()
        self.results = []
        together = max(map(len, self.groups()))
        with determinism(self.config), freed_memory_kept(), few_threads(together * self.task.num_nodes):
            self._train_seeds(progress, consent)
            self.yardsticks = yardstick_scores(self.task, progress) if self.config.yardsticks else {}
        summary = summarize(self.results)
        if self.folder is not None:
            about = {"task": self.config.task, "metric": self.task.metric, **self.task.about_results()}
            about |= {"refit": True} if self.config.refit else {}
            scores = {name: {"mean": mean, "std": std} for name, (mean, std) in summary.items()}
            origin = {"config": self.config.model_dump(), "data": self.fingerprint}
            measured = {"yardsticks": self.yardsticks} if self.config.yardsticks else {}
            self.folder.write_results(about | {"summary": scores, "seeds": self.results} | measured | origin)
        return summary

    def _train_seeds(self, progress: Progress, consent: Consent | None) -> None:
        with stop_signals() as signals:
            undo = self._begin()
            supervisor = Supervisor(self._save, self.config.checkpoint_seconds, progress, signals, consent)
            try:
                for seeds in self.groups():
                    self._train_group(seeds, supervisor)
            except Declined:
                undo()
                raise
            except Diverged as error:
                if self.folder is None:
                    raise
                if any((self.folder.path / "checkpoints").glob("*.safetensors")):
                    raise Diverged(f"{error} (what was measured until then is in {self.folder})") from None
                undo()
                raise

    def _read_results(self) -> Summary:
        if self.folder is None or (found := self.folder.results()) is None:
            raise ValueError("the run is not finished: there are no results")
        path = self.folder.path / "results.json"
        check_same(found.get("config"), self.config, path)
        if found.get("data") != self.fingerprint:
            raise ValueError(f"{path} is of another graph than that of {self.folder}: start a new run")
        self.results, self.yardsticks = found["seeds"], found.get("yardsticks", {})
        return summarize(self.results)

    def _begin(self) -> Callable[[], None]:
        if self.folder is None:
            return lambda: None
        undo = self.folder.begin(self.config, self.task.source, self.task.split)
        self.folder.add_environment(environment_of(self.fabric))
        return undo

    def _train_group(self, seeds: list[int], supervisor: Supervisor) -> None:
        trainer, later = self._trainer(seeds), self.seeds[-1] - seeds[-1]
        log = None if self.folder is None else self.folder.log(seeds, trainer.epoch)
        supervisor.train(trainer, log, later)
        with supervisor.breakable(trainer):
            results = trainer.results()
        if self.config.refit:
            trainer = self._trainer(seeds, keep=trainer.best_epoch.tolist())
            supervisor.train(trainer, None, later)
        with supervisor.breakable(trainer):
            found = [trainer.embedding(index) for index in range(len(seeds))]
        self.results += results
        for index, (seed, (points, space)) in enumerate(zip(seeds, found, strict=True)):
            self._weights[seed] = trainer.weights(index)
            self._embeddings[seed] = Embedding(points, space, node_ids_of(self.data))
            if self.folder is not None:
                self.folder.save_seed(seed, self._weights[seed], self._embeddings[seed])

    def _trainer(self, seeds: list[int], keep: list[int] | None = None) -> Trainer:
        """Build the trainer of a group, of its last training on everything if epochs are given, as its checkpoint says."""
        trainer = Trainer(self.task if keep is None else self.answering, seeds, self.fabric, keep=keep)
        path = None if self.folder is None else self.folder.checkpoint(seeds, refit=keep is not None)
        if path is not None and path.exists():
            tensors, about = load_tensors(path)
            check_same(about.get("config"), self.config, path)
            if about.get("data") != self.fingerprint:
                raise ValueError(f"{path} was trained on another graph than that of {self.folder}: start a new run")
            try:
                trainer.restore(tensors, about)
            except ValueError as error:
                raise ValueError(f"{path} is damaged: {error}") from None
        return trainer

    def _save(self, trainer: Trainer) -> None:
        if self.folder is not None:
            tensors, about = trainer.state()
            about |= {"config": self.config.model_dump(), "data": self.fingerprint}
            save_tensors(self.folder.checkpoint(trainer.seeds, refit=trainer.keep is not None), tensors, about)

    # --- what was learned --------------------------------------------------------------------------------------------

    def weights(self, seed: int) -> tuple[dict[str, Tensor] | None, int | None]:
        """Return the best parameters of a seed so far, and the epoch of the checkpoint if it is not finished."""
        if seed in self._weights:
            return self._weights[seed], None
        return (None, None) if self.folder is None else self.folder.weights(seed)

    def predictor(self, seed: int) -> Predictor:
        """Return the model of a seed with its best parameters so far.

        Raises:
            ValueError: The seed has no parameters yet, or they are those of another model.
        """
        if seed in self._predictors:
            return self._predictors[seed]
        weights, _ = self.weights(seed)
        if weights is None:
            raise ValueError(f"seed {seed} has no weights")
        with torch.random.fork_rng(devices=[]):
            predictor = self.task.build_predictor()
        for name, parameter in predictor.named_parameters():
            if name not in weights or weights[name].shape != parameter.shape:
                shape = tuple(weights[name].shape) if name in weights else None
                raise ValueError(f"the weights of the run have {shape} for {name}, expected {tuple(parameter.shape)}")
            parameter.data = weights[name].to(self.fabric.device)
        predictor = predictor.to(self.fabric.device).eval().requires_grad_(False)
        if len(self.results) == len(self.seeds):  # it does not change any more
            self._predictors[seed] = predictor
        return predictor

    def blend_weights(self, seed: int) -> Tensor:
        """Return the weights of a seed's network and of the task's cheap predictors, fitted on validation."""
        found = next((each for each in self.results if each["seed"] == seed), {})
        weights = found.get("blend", {"network": 1.0})
        if tuple(weights) != ("network", *self.task.term_names):
            raise ValueError(f"the results of seed {seed} weigh other predictors than this version knows: train the run again")
        return torch.tensor(list(weights.values()), dtype=torch.float64)

    @torch.no_grad()
    def embedding(self, seed: int | None = None) -> Embedding:
        """Return the best embedding of a seed so far (default: of the first), with the curvature that was learned.

        Raises:
            ValueError: There is no such seed, or it has no embedding yet.
        """
        seed = self.config.seed if seed is None else seed
        self.check_seed(seed)
        found = self._embeddings.get(seed)
        if found is None and self.folder is not None:
            found = self.folder.embedding(seed)
        if found is None:
            predictor, (_, unfinished) = self.predictor(seed), self.weights(seed)
            task = self.answering if unfinished is None else self.task
            points = predictor.embed(task.x, task.graph).cpu()
            found = Embedding(points, predictor.space.cpu(), node_ids_of(self.data))
        return found

    def __repr__(self) -> str:
        where = "" if self.folder is None else f", {self.folder}"
        return f"Run({self.task!r}, {len(self.seeds)} seeds{where})"


def load_run(folder: str | Path, *, device: str | None = None) -> Run:
    """Read a run back from its folder, finished or not: settings, graph, split, models, embeddings, scores.

    Args:
        folder: What ``qgcn train`` or :meth:`Run.train` wrote.
        device: Another device than the run's own, to look at it elsewhere.

    Raises:
        OSError: The folder holds no run, or a file of it cannot be read.
        ValueError: A file of it cannot be understood.
    """
    files = RunFolder(folder)
    config = files.config()
    if device is not None:
        config = Config.checked(config.model_dump() | {"device": device})
    run = Run(config, folder, files.graph(), split=files.split())
    if run.finished:
        run.train()  # which reads the results
    return run


def _problem(config: Config, data: "Data | None", split: dict[str, Tensor] | None, device: torch.device) -> Task[Any]:
    if data is None:
        names = ("split_seed", "features", "labels", "source", "target", "weight")
        data = as_data(config.data, **{name: getattr(config, name) for name in names})
    elif split is None:  # not from a folder of ours
        data = as_data(_plain(data, find_task(config.task)), split_seed=config.split_seed)
    return find_task(config.task)(data, config, split=split, device=device)


def _plain(data: "Data", task: type[Task[Any]]) -> "Data":
    """Return a graph without targets that are no classes, unless the task needs them."""
    y = data.get("y")
    if task.needs_labels or y is None or (isinstance(y, Tensor) and y.ndim == 1 and not y.is_floating_point()):
        return data
    made = copy.copy(data)
    made.y = None
    return made


def summarize(results: list[dict[str, Any]]) -> Summary:
    """Return mean and standard deviation of each test score over seeds (0 for one seed)."""
    names = results[0]["test"] if results else {}
    columns = {name: [float(result["test"][name]) for result in results] for name in names}
    return {name: (statistics.fmean(values), _deviation(values)) for name, values in columns.items()}


def _deviation(values: list[float]) -> float:
    if len(values) == 1:
        return 0.0
    return statistics.stdev(values) if all(map(math.isfinite, values)) else math.nan


def check_same(saved: Any, config: Config, path: Path) -> None:
    """Raise if a checkpoint or run was written with other settings, and name the first that differs."""
    if not isinstance(saved, dict):
        raise ValueError(f"{path} does not say which settings it belongs to")
    for name, value in config.model_dump().items():
        before = saved.get(name, type(config).model_fields[name].default)
        if before != value and name not in _MAY_CHANGE:
            raise ValueError(
                f"{path} was trained with {name} = {before!r}, but the config says {value!r}: "
                "restore the config, or start a new run in another folder"
            )


def _fingerprint(data: "Data", split: dict[str, Tensor]) -> str:
    """Return a hash of what is learned from: edges, weights, features, labels and who may see them."""
    digest = hashlib.sha256()
    names = ("edge_index", "edge_weight", "x", "y", "train_mask", "val_mask", "test_mask")
    for name, value in [*((name, data.get(name)) for name in names), *sorted(split.items())]:
        if isinstance(value, Tensor):
            array = np.ascontiguousarray((value.to_dense() if value.layout != torch.strided else value).cpu().numpy())
            digest.update(f"{name} {array.dtype} {array.shape} ".encode() + array.tobytes())
    return digest.hexdigest()
