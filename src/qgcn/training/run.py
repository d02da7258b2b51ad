"""A run: one configuration, trained for all its seeds; started, interrupted, resumed, and read back."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from qgcn.embedding import Embedding, node_ids_of
from qgcn.files import check_writable
from qgcn.locks import Locked
from qgcn.progress import Progress, silent
from qgcn.tasks import Config, Predictor, Task
from qgcn.tasks.task import Scores
from qgcn.training.answers import Answers
from qgcn.training.blends import yardstick_scores
from qgcn.training.blocks import training_of
from qgcn.training.costs import Consent, Declined
from qgcn.training.folder import RunFolder
from qgcn.training.groups import groups_of
from qgcn.training.joining import begin_together, join
from qgcn.training.loop import Diverged
from qgcn.training.machine import determinism, environment_of, fabric_of, freed_memory_kept, signals_raise, stop_signals
from qgcn.training.metrics_log import MetricsLog
from qgcn.training.origin import check_origin, fingerprint_of
from qgcn.training.parameters import build_predictor, check_weights
from qgcn.training.problem import build_problem
from qgcn.training.processes import Place, Processes
from qgcn.training.summary import Summary, summarize
from qgcn.training.supervision import Supervisor
from qgcn.training.threads import few_threads
from qgcn.training.training import Training

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from torch_geometric.data import Data

__all__ = ["Run", "load_run"]


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
        if task is not None and task.config != config:
            raise ValueError(f"the problem has other settings than the run: {task!r}")
        self.task: Task[Any] = task or build_problem(config, data, split)
        self.fingerprint = "" if self.folder is None else fingerprint_of(self.data, self.task.split)
        self.results: list[dict[str, Any]] = []
        self.yardsticks: dict[str, Scores] = {}
        """Test scores of cheap methods, by name, once the run is finished and if its settings ask for them."""
        self.remarks: list[str] = []
        """What whoever resumes the run should know, such as that a checkpoint was damaged."""
        self._log: MetricsLog | None = None
        self._fresh = self.folder is not None and not self.folder.holds_run
        self._numbered: RunFolder | None = None
        self._written_by_first: RunFolder | None = None  # of several processes
        self._embeddings: dict[int, Embedding] = {}
        self._weights: dict[int, dict[str, Tensor]] = {}
        self._predictors: dict[int, Predictor] = {}

    @classmethod
    def start(
        cls,
        config: Config,
        folder: str | Path | None,
        data: "Data | None" = None,
        *,
        task: Task[Any] | None = None,
        numbered: bool = False,
    ) -> "Run":
        """Prepare a new run; its folder must not hold another one.

        Args:
            config: The settings.
            folder: Where everything is written; ``None`` writes nothing.
            data: The graph, if it is at hand.
            task: The problem, if it is at hand.
            numbered: Append a number to the name of a folder that exists, also if it does so only when training begins.
        """
        if folder is None or Place.here().rank > 0:  # the first of several processes writes
            return cls(config, None, data, task=task)
        place = RunFolder(folder).next_free() if numbered else RunFolder(folder)
        if not numbered:
            place.check_free()
        check_writable(place.path)
        run = cls(config, place.path, data, task=task)
        run._fresh = True  # whatever has come to be there meanwhile
        run._numbered = RunFolder(folder) if numbered else None
        return run

    @cached_property
    def fabric(self) -> "Fabric":
        """The device, for training."""
        return fabric_of(self.config)

    @cached_property
    def processes(self) -> Processes:
        """The processes that train together, this one among them."""
        return Processes(self.fabric)

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
        folder = self.folder or self._written_by_first
        return folder is not None and folder.finished and all(map(folder.holds_seed, self.seeds))

    def check_finished(self) -> None:
        """Raise unless all seeds are trained."""
        if len(self.results) < len(self.seeds):
            how = "train it first" if self.folder is None else f"resume it: qgcn resume {self.folder}"
            raise ValueError(f"the run is not finished; {how}")

    def groups(self) -> list[list[int]]:
        """Return the seeds, those that are trained together in one list."""
        return groups_of(self.task, self.seeds)

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
            Diverged: Training diverged; the last good checkpoint is kept. If there is none, the folder is gone again.
            Locked: Another process is writing to the folder.
            ValueError: A checkpoint does not belong to this config or this graph, or is damaged, as is the one before it.
        """
        if self.finished and not self._fresh:
            if self.folder is None:
                return {}
            self.folder.tidy()
            return self._read_results()
        join(self.task, self.processes)
        with signals_raise(), self._opened() as undo, self.processes.heard():
            if self.finished:  # by another process, before this one had the folder to itself
                return self._read_results()
            self.results = []
            together = 1 if self.task.side_by_side else max(map(len, self.groups()))
            with determinism(self.config), freed_memory_kept(), few_threads(together * self.task.num_nodes):
                self._train_seeds(progress, consent, undo)
                if self.processes.rank > 0:
                    return {}
                self.yardsticks = yardstick_scores(self.task, progress) if self.config.yardsticks else {}
            summary = summarize(self.results)
            if self.folder is not None:
                self.folder.write_results(self._about_results(summary))
        return summary

    def _about_results(self, summary: Summary) -> dict[str, Any]:
        about = {"task": self.config.task, "metric": self.task.metric, **self.task.about_results()}
        scores = {name: {"mean": mean, "std": std} for name, (mean, std) in summary.items()}
        about |= ({"refit": True} if self.config.refit else {}) | {"summary": scores, "seeds": self.results}
        origin = {"config": self.config.model_dump(), "data": self.fingerprint}
        origin |= {} if self._log is None else {"log": self._log.check}
        return about | ({"yardsticks": self.yardsticks} if self.config.yardsticks else {}) | origin

    @contextmanager
    def _opened(self) -> Iterator[Callable[[], None]]:
        """Hold the folder for writing; lend a function that takes a new run back."""
        if self.folder is None:
            yield lambda: None
            return
        check_writable(self.folder.path)
        with ExitStack() as stack:
            fresh, undo, self._fresh = self._fresh, self._enter(stack), False

            def take_back() -> None:
                undo()
                self._fresh = fresh

            self.folder.add_environment(environment_of(self.fabric))
            yield take_back

    def _enter(self, stack: ExitStack) -> Callable[[], None]:
        """Open the folder; if another process was faster and a number may be appended, the next one."""
        while True:
            folder: RunFolder = self.folder  # type: ignore[assignment]
            try:
                return stack.enter_context(folder.opened(self.config, self.task.source, self.task.split, fresh=self._fresh))
            except (FileExistsError, Locked):
                if self._numbered is None or not self._fresh:
                    raise
                self.folder = self._numbered.next_free()

    def _train_seeds(self, progress: Progress, consent: Consent | None, undo: Callable[[], None]) -> None:
        with stop_signals() as signals:
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
                    raise Diverged(f"{error} (the last good checkpoint is in {self.folder})") from None
                undo()
                raise

    def _read_results(self) -> Summary:
        if self.folder is None or (found := self.folder.results()) is None:
            raise ValueError("the run is not finished: there are no results")
        path = self.folder.path / "results.json"
        check_origin(found, self.config, self.fingerprint, path)
        if [each["seed"] for each in found["seeds"]] != self.seeds:
            raise ValueError(f"{path} has the scores of other seeds than {self.seeds[0]} to {self.seeds[-1]}: start a new run")
        self.results, self.yardsticks = found["seeds"], found.get("yardsticks", {})
        return summarize(self.results)

    def _train_group(self, seeds: list[int], supervisor: Supervisor) -> None:
        trainer, later = self._trainer(seeds), self.seeds[-1] - seeds[-1]
        supervisor.train(trainer, self._log, later)
        first = trainer.processes.rank == 0
        with supervisor.breakable(trainer):
            results = trainer.results() if first else []
        if self.config.refit:
            trainer = self._trainer(seeds, keep=trainer.best_epoch.tolist())
            supervisor.train(trainer, None, later)
        if not first:
            return
        with supervisor.breakable(trainer):
            found = [trainer.embedding(index) for index in range(len(seeds))]
        self.results += results
        for index, (seed, (points, space)) in enumerate(zip(seeds, found, strict=True)):
            self._weights[seed] = trainer.weights(index)
            self._embeddings[seed] = Embedding(points, space, node_ids_of(self.data))
            if self.folder is not None:
                self.folder.save_seed(seed, self._weights[seed], self._embeddings[seed])
        with supervisor.breakable(trainer):
            pass  # a signal that came while files were written is obeyed before anything else begins

    def _trainer(self, seeds: list[int], keep: list[int] | None = None) -> Training:
        """Build the trainer of a group, of its last training on everything if epochs are given, as its checkpoint says."""
        task = self.task if keep is None else self.answering
        task.shared = not self.processes.alone
        trainer = training_of(task, seeds, self.fabric, keep, None if self.folder is None else self.folder.blocks)
        checkpoint = None if self.folder is None else self.folder.checkpoint(seeds, refit=keep is not None)
        saved = begin_together(
            trainer, checkpoint, lambda found: check_origin(found.about, self.config, self.fingerprint, found.path)
        )
        self.remarks += [] if saved is None or saved.remark is None else [saved.remark]
        if keep is None and self.folder is not None:
            self._log = self.folder.log(seeds, trainer.epoch, None if saved is None else str(saved.about.get("log")))
        return trainer

    def _save(self, trainer: Training) -> None:
        trainer.check_finite()
        if self.folder is None or self._log is None:
            return
        self._log.sync()
        tensors, about = trainer.state()
        about |= {"config": self.config.model_dump(), "data": self.fingerprint, "log": self._log.digest}
        self.folder.checkpoint(trainer.seeds, refit=trainer.keep is not None).save(tensors, about)

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
        check_weights(weights, self.task, f"the model of seed {seed}")
        predictor = build_predictor(self.task, seed, self.task.device)
        for name, parameter in predictor.named_parameters():
            parameter.data = weights[name].to(self.task.device)
        predictor.eval().requires_grad_(False)
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
            points = task.loader.embed(predictor).cpu()
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
    first = Place.here().rank == 0
    run = Run(config, folder if first else None, files.graph(), split=files.split())
    run._written_by_first = None if first else files
    if run.finished and first:
        run._read_results()
    return run
