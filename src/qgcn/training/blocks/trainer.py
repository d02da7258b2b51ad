"""The training of coordinates in blocks, as a run drives it."""

import copy
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from qgcn.embedding import is_finite
from qgcn.manifolds import Space
from qgcn.nn import mixed_key
from qgcn.tasks import Config, Predictor, Task
from qgcn.tasks.division import Division
from qgcn.training import state as states
from qgcn.training.blends import final_scores
from qgcn.training.blocks.engine import BLOCK, BlockEngine, cosine
from qgcn.training.blocks.partition import BlockGraph
from qgcn.training.blocks.store import BlockStore
from qgcn.training.processes import Processes
from qgcn.training.validations import DIVERGED, Diverged, Validation

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = ["BlockTrainer"]

_PARTITION = -6
IN_GROUP = 8
"""Blocks of a group: the more there are, the fewer negatives of an edge are those of its own block whatever the epoch."""


class BlockTrainer:
    """Trains one seed in blocks; see :class:`~qgcn.training.blocks.engine.BlockEngine`.

    The state is a function of the config and the number of steps done: a run that is killed within an epoch, or between the
    blocks of it, goes on as if it had never been.

    Args:
        task: The problem, which has a division.
        division: How it is cut into blocks.
        seeds: The seed.
        fabric: The device.
        folder: Where files of blocks are written; ``None`` writes nothing.

    Raises:
        ValueError: Several processes train together, or there is no place for the blocks.
    """

    def __init__(self, task: Task[Any], division: Division, seeds: list[int], fabric: "Fabric", folder: Path | None) -> None:
        (self.seed,) = seeds
        if task.shared:
            raise ValueError("blocks are trained by one process: leave out blocks, or train with one device")
        self.task, self.seeds, self.fabric, self._division = task, seeds, fabric, division
        self.keep: list[int] | None = None
        self.config: Config = task.config
        self.epochs = self.config.epochs
        self.processes = Processes(fabric)
        self.breakable: Callable[[], AbstractContextManager[None]] = nullcontext
        self.epoch, self.step, self.seconds = 0, 0, 0.0
        self._best_score, self._best_epoch, self.stopped = -math.inf, 0, False
        whole, partition = division.graph, mixed_key(self.seed, _PARTITION)
        blocks = min(whole.num_nodes, division.blocks * IN_GROUP)
        graph = BlockGraph.of(whole.source, whole.target, whole.num_nodes, blocks, partition)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self.predictor: Predictor = division.build(1).to(fabric.device)
        dtype = getattr(torch, self.config.precision)
        for name, parameter in self.predictor.named_parameters():
            if not name.startswith("encoder.space."):
                parameter.data = parameter.data.to(dtype)
        self.store = BlockStore(folder, f"seed-{self.seed}", in_memory=division.in_memory)
        made = graph, self.config, self.seed, fabric.device, self.store, self.predictor
        self.engine = BlockEngine(*made, division.build, groups=division.blocks, balance=division.balance)
        self._begun = False
        self.optimiser, self.parameters = self.engine.optimiser, self.engine.parameters
        self._best_names: list[str] = []
        self._best_blocks: list[dict[str, Tensor]] = []
        self._best_shared = self._shared()
        self._loss, self._tour = 0.0, self.engine.tour(0)
        self.predictor.encoder.advance(0, self.epochs)

    @property
    def parts(self) -> int:
        """Number of steps of an epoch, after each of which training can be asked to stop."""
        return len(self._tour)

    @property
    def eval_every(self) -> int:
        """Epochs between validations."""
        return self.config.eval_every or self.task.eval_every

    @property
    def warm_epochs(self) -> int:
        """Steps at the beginning that take longer than those after them."""
        return 1

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.epoch >= self.epochs or self.stopped

    # --- steps -------------------------------------------------------------------------------------------------------

    def run(self, report: Callable[[Validation], None] | None = None, until: Callable[[], bool] | None = None) -> None:
        """Train to the end, or until asked to stop.

        Args:
            report: Called after each validation.
            until: Asked after the step of each pair of blocks whether to stop.

        Raises:
            Diverged: The loss or a parameter is not finite.
        """
        self._begin()
        while not self.finished:
            began = time.perf_counter()
            rate = cosine(self.epoch, self.epochs) if self.config.schedule == "cosine" else 1.0
            self.predictor.train()
            loss = self.engine.step(self.epoch, self._tour[self.step], self._division.drawn, rate)
            self._loss += float(loss)
            self.step += 1
            found = self._end_epoch() if self.step == self.parts else None
            self.seconds += time.perf_counter() - began
            if found is not None and report is not None:
                report(found)
            if until is not None and until():
                break

    def _begin(self) -> None:
        """Draw where all blocks start, unless a state was restored."""
        if not self._begun:
            self._begun = True
            self.engine.start()

    def _end_epoch(self) -> Validation | None:
        """Begin the next epoch; validate if this was the one for it."""
        loss, self._loss = self._loss, 0.0
        self.epoch, self.step = self.epoch + 1, 0
        found = None
        if not math.isfinite(loss):
            raise self._diverged("the loss")
        if self.epoch % self.eval_every == 0 or self.epoch == self.epochs:
            found = self._validate(loss)
        if self.epoch < self.epochs:
            self._tour = self.engine.tour(self.epoch)
            self.predictor.encoder.advance(self.epoch, self.epochs)
        return found

    def _diverged(self, what: str) -> Diverged:
        return Diverged(DIVERGED.format(what, self.seed, self.epoch, self.config.lr))

    def check_finite(self) -> None:
        """Raise if a parameter, or a moment of Adam, on the device is not finite; others were on it when they changed last.

        Raises:
            Diverged: One is not.
        """
        here = self.engine.moving()
        if not all(bool(each.isfinite().all()) for each in here):
            raise self._diverged("a parameter")

    # --- validation --------------------------------------------------------------------------------------------------

    def _validate(self, loss: float) -> Validation:
        score = float(self.validation_scores()[0, 0])
        if not math.isfinite(score):
            raise self._diverged("a prediction")
        settled = self.predictor.encoder.settled(self.epochs)
        early = self._best_epoch <= settled < self.epoch
        if score > self._best_score or early:
            self._best_score, self._best_epoch = score, self.epoch
            self._keep()
        if self.task.best_possible is not None and self.epoch > settled:
            self.stopped = self._best_score >= self.task.best_possible
        if self.config.patience is not None:
            self.stopped = self.stopped or self.epoch - max(self._best_epoch, settled) >= self.config.patience
        return Validation(self.epoch, [loss], [score], [self._best_score], [True])

    def _keep(self) -> None:
        """Keep the current parameters as the best."""
        self.engine.settle()
        self._best_names = self.store.written()
        everything = range(self.engine.graph.blocks)
        self._best_blocks = [] if self._best_names else [{BLOCK: self.store.get(block)[BLOCK]} for block in everything]
        self._best_shared = self._shared()

    @property
    def best_epoch(self) -> Tensor:
        """Epoch of the best model, shape ``(1,)``."""
        return torch.tensor([self._best_epoch])

    def _read_best(self, block: int) -> dict[str, Tensor]:
        return self.store.read(self._best_names[block]) if self._best_names else self._best_blocks[block]

    def _shared(self) -> dict[str, Tensor]:
        """Return copies of the parameters that all blocks share."""
        own = self.predictor.named_parameters()
        return {name: each.detach().cpu().clone() for name, each in own if name != f"encoder.{BLOCK}"}

    @torch.no_grad()
    def validation_scores(self) -> Tensor:
        """Return the validation score, shape ``(2, 1)``; the second row decides between equal ones. NaN if it is none."""
        self._begin()
        self.predictor.eval()
        self.check_finite()
        self.engine.settle()
        points = self.engine.embedding(self.store.get)
        scores = torch.full((2, 1), torch.nan, dtype=torch.float64)
        if bool(points.isfinite().all()):
            scores[0, 0] = self.task.selection(points.to(self.fabric.device), self.predictor.encoder.space)
            scores[1, 0] = 0
        return scores

    # --- what is kept ------------------------------------------------------------------------------------------------

    def results(self) -> list[dict[str, Any]]:
        """Return the scores of the best model; :class:`Diverged` if it predicts none."""
        points, space = self.embedding(0)
        scores = final_scores(self.task, {"test": points.to(self.fabric.device)}, space.to(self.fabric.device))
        return [{"seed": self.seed, "best_epoch": self._best_epoch, **scores}]

    @torch.no_grad()
    def embedding(self, index: int) -> tuple[Tensor, Space]:
        """Return the best embedding, points of shape ``(N, d)``, and the space they live in.

        Raises:
            Diverged: It is not finite.
        """
        best = copy.deepcopy(self.predictor).eval()
        best.load_state_dict(self._best_shared, strict=False)
        current, self.engine.encoder = self.engine.encoder, best.encoder
        try:
            points = self.engine.embedding(self._read_best)
        finally:
            self.engine.encoder = current
        space = best.encoder.space.cpu().requires_grad_(False)
        if not is_finite(points, space):
            raise self._diverged("the embedding")
        return points, space

    def weights(self, index: int) -> dict[str, Tensor]:
        """Return the best parameters, as those of a model that was not cut into blocks."""
        rows = self.engine.embedding(self._read_best, points=False)
        own = {f"encoder.{BLOCK}": rows, **self._best_shared}
        return {name: own[name] for name, _ in self.predictor.named_parameters()}

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return everything that :meth:`restore` needs beside the files of the store, which are written first."""
        self._begin()
        self.engine.settle()
        names = self.store.state(*self._best_names)
        tensors = {f"shared/{name}": tensor for name, tensor in self._shared().items()}
        tensors |= {f"best-shared/{name}": tensor for name, tensor in self._best_shared.items()}
        moved = states.stepped(self.parameters, self.optimiser)
        tensors |= {
            f"adam/{key}/{name}": tensor.detach().cpu()
            for name in moved
            for key, tensor in self.optimiser.state[self.parameters[name]].items()
        }
        about: dict[str, Any] = {"epoch": self.epoch, "part": self.step, "seeds": self.seeds, "seconds": self.seconds}
        about |= {"blocks": names, "best": self._best_names, "stepped": moved, "stopped": self.stopped}
        about |= {"best_epoch": self._best_epoch}
        numbers = {"best_score": self._best_score, "loss": self._loss}
        tensors |= {name: torch.tensor(number, dtype=torch.float64) for name, number in numbers.items()}
        return tensors, about

    @torch.no_grad()
    def restore(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Go back to a state.

        Raises:
            ValueError: It is of another model or seed, or one that training cannot be in.
        """
        moved, part = about.get("stepped"), about.get("part")
        given = about | {"stepped": ["any"] if about.get("epoch") else []}  # a step on no edges moves nothing
        epoch, _, seconds, _ = states.progress_of(given, self.seeds, self.epochs)
        if not isinstance(moved, list) or not all(isinstance(name, str) and name in self.parameters for name in moved):
            raise ValueError("the checkpoint has moments of parameters that this model does not have")
        if type(part) is not int or not 0 <= part < self.parts or (epoch == self.epochs and part):
            raise ValueError(f"the part of the checkpoint must lie in [0, {self.parts}), got {part!r}")
        best_epoch, names, best = (about.get(name) for name in ("best_epoch", "blocks", "best"))
        if type(best_epoch) is not int or not 0 <= best_epoch <= epoch:
            raise ValueError(f"the best epoch of the checkpoint must lie in [0, {epoch}], got {best_epoch!r}")
        if not isinstance(names, list) or not isinstance(best, list) or bool(best) != (best_epoch > 0):
            raise ValueError("the checkpoint does not name the files of its blocks")
        shared, one = self._shared(), torch.zeros((), dtype=torch.float64)
        expected = {f"{kind}/{name}": each for kind in ("shared", "best-shared") for name, each in shared.items()}
        expected |= {"best_score": one, "loss": one}
        for name in moved:
            like = self.parameters[name].detach()
            expected |= {f"adam/{key}/{name}": like for key in ("exp_avg", "exp_avg_sq")}
            expected[f"adam/step/{name}"] = torch.zeros((), dtype=torch.float32)
        states.check_tensors(tensors, expected, "the checkpoint")
        if not all(bool(each.isfinite().all()) for name, each in tensors.items() if name != "best_score"):
            raise ValueError("the checkpoint holds numbers that are not finite")
        like_blocks = self.engine.like()
        self.engine.forget()
        self._begun = True
        self.store.restore(names, like_blocks, best)
        own = dict(self.predictor.named_parameters())
        for name in shared:
            own[name].copy_(tensors[f"shared/{name}"])
        self._best_shared = {name: tensors[f"best-shared/{name}"] for name in shared}
        self.optimiser.state.clear()
        for name in moved:
            device = self.parameters[name].device
            kept = {key: tensors[f"adam/{key}/{name}"].to(device, copy=True) for key in ("step", "exp_avg", "exp_avg_sq")}
            self.optimiser.state[self.parameters[name]] = kept
        self.epoch, self.seconds, self.step = epoch, seconds, part
        self._best_epoch, self._best_score = best_epoch, float(tensors["best_score"])
        self._best_names, self._best_blocks, self.stopped = best, [], bool(about.get("stopped"))
        self._loss, self._tour = float(tensors["loss"]), self.engine.tour(min(self.epoch, self.epochs - 1))
