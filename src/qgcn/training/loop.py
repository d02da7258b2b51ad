"""The training loop: one seed, or several together."""

import copy
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.func import stack_module_state

from qgcn.embedding import is_finite
from qgcn.manifolds import Space
from qgcn.nn import dropout_keys, mixed_key
from qgcn.tasks import WHOLE, Batch, Config, FullBatch, Predictor, Randomness, Task
from qgcn.tasks.task import Split
from qgcn.training import state as states
from qgcn.training.blends import final_scores
from qgcn.training.calls import call_as_one, call_one, call_side_by_side, drawing_from
from qgcn.training.parameters import (
    build_optimiser,
    build_predictor,
    clip_gradients,
    parameter_roles,
    schedule_rates,
    share_parameters,
)
from qgcn.training.processes import Processes
from qgcn.training.recording import WARM_STEPS, Backlog, Lanes, RecordedTraining
from qgcn.training.validations import DIVERGED, Diverged, Validation

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = ["Diverged", "Trainer", "Validation"]


_KEPT = ("best_score", "best_tie", "best_epoch", "stopped")
"""What is known of each seed's best model, and whether it has stopped."""


class Trainer:
    """Trains the seeds of a group together.

    The state is a function of the config and the number of steps done: all randomness is keyed by seed, epoch and batch. So a
    state that was saved goes on as if it had never been interrupted, and a group ends where its seeds would have ended alone.
    Several processes take the steps together, each with a share of every batch.

    Args:
        task: The problem, on the device.
        seeds: The group; more than one seed needs :meth:`Task.can_batch`.
        fabric: The device.
        keep: Epoch whose parameters are kept, of each seed; there is no validation then. The best on validation if not given.
    """

    def __init__(self, task: Task[Any], seeds: Sequence[int], fabric: "Fabric", *, keep: Sequence[int] | None = None) -> None:
        self.task = task
        self.config: Config = task.config
        self.seeds = list(seeds)
        self.fabric, self.keep = fabric, keep
        self.epochs = self.config.epochs if keep is None else max(keep)
        """Epoch at which training ends, if nothing stops it before."""
        self.epoch = 0
        self.step = 0
        """Steps of the epoch that are done."""
        self.parts = len(task.loader)  # steps of an epoch, after each of which training can be asked to stop
        self.processes = Processes(fabric)
        self._whole = task.shares_rows or self.processes.alone  # each process has the whole gradient
        self.breakable: Callable[[], AbstractContextManager[None]] = nullcontext
        """Context of work that may be broken off by an error: what has been learned stays as it was before."""
        self.predictors = [build_predictor(task, seed, fabric.device) for seed in self.seeds]
        self.predictor, self.batched = self.predictors[0], len(self.seeds) > 1
        parallel, apart = task.capabilities.graph == "none", self.batched and task.side_by_side
        self._lanes = Lanes(fabric.device, len(seeds), parallel=parallel) if apart else None
        self._own_seeds = self.seeds if self.batched else self.seeds[0]
        self._roles = parameter_roles(self.predictor)
        if self.batched:
            parameters, buffers = stack_module_state(self.predictors)
        else:
            parameters, buffers = dict(self.predictor.named_parameters()), dict(self.predictor.named_buffers())
        if self._lanes is not None:
            share_parameters(self.predictors, parameters)
        self.parameters, self.buffers = parameters, buffers
        self.best_parameters = {name: tensor.detach().clone() for name, tensor in parameters.items()}
        device = fabric.device
        self.best_score = torch.full((len(self.seeds),), -torch.inf, dtype=torch.float64, device=device)
        self.best_tie = torch.full_like(self.best_score, -torch.inf)
        self.best_epoch = torch.tensor(keep or [0] * len(self.seeds), device=device)
        self.stopped = torch.zeros(len(self.seeds), dtype=torch.bool, device=device)
        self._going = list(range(len(self.seeds)))  # that have not stopped; known here, so that no step waits for the device
        self._loss: Tensor | None = None  # of an epoch that is not validated yet
        self._partial: Tensor | None = None  # sum of the losses of an epoch that is not done yet
        self._batches: Iterator[Batch] | None = None
        self._foreign = not (able := task.capabilities).keyed
        self._static = fabric.device.type == "cuda" and isinstance(task.loader, FullBatch) and able.keyed
        self._static = self._static and able.recordable and task.is_static and self._whole
        self._recorded: RecordedTraining | None = None
        self._backlog = Backlog(device)
        self.optimiser = build_optimiser(self.parameters, self._roles, self.config, recorded=self._static)
        self.seconds = 0.0

    @property
    def eval_every(self) -> int:
        """Epochs between validations."""
        return self.config.eval_every or self.task.eval_every

    @property
    def warm_epochs(self) -> int:
        """Epochs at the beginning that take longer than those after them."""
        return WARM_STEPS + 2 if self._static else 1

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return (self.epoch >= self.epochs or not self._going) and self._loss is None

    # --- one step --------------------------------------------------------------------------------------------------

    def run(self, report: Callable[[Validation], None] | None = None, until: Callable[[], bool] | None = None) -> None:
        """Train to the end, or until asked to stop.

        Args:
            report: Called after each validation.
            until: Asked after each step whether to stop.

        Raises:
            Diverged: The loss, the predictions or the parameters of a seed are not finite.
        """
        began = time.perf_counter()
        while not self.finished:
            if self._loss is None:
                self._advance()
                self._backlog.add()
            progress = None if self._loss is None else self._look(self._loss)
            self._loss = None
            now = time.perf_counter()
            self.seconds += now - began
            began = now
            if progress is not None and report is not None:
                report(progress)
            if until is not None and until():
                break
        if self.finished:
            self._recorded = None  # and the memory it holds

    def _advance(self) -> None:
        """Take a step; after the last one of an epoch, the losses are those of its steps on average."""
        loader = self.task.loader
        self._set_mode(training=True)
        batches, self._batches = self._batches or self._begin_epoch(), None  # gone if the step is broken off
        if self._static and isinstance(loader, FullBatch):
            shown = self.predictor if self._lanes is None else self.predictors[self._going[0]]  # one that takes the first step
            made = loader, shown, self._own_seeds, self._step, self.fabric.device
            self._recorded = self._recorded or RecordedTraining(*made)
            losses = self._recorded.step(loader.draws(self._randomness), self.epoch)
        else:
            losses = self._step(next(batches))
        self.step += 1
        if len(loader) > 1:  # in float64, as it is saved
            losses = losses.double() if self._partial is None else self._partial + losses
        if self.step < len(loader):
            self._partial, self._batches = losses, batches
            return
        self._loss = losses if len(loader) == 1 else losses / len(loader)
        self.epoch, self.step, self._partial = self.epoch + 1, 0, None

    def _begin_epoch(self) -> Iterator[Batch]:
        """Prepare for an epoch, or for what is left of it; return its batches."""
        schedule_rates(self.optimiser, self.config, self.epoch)
        if not self.batched or self._lanes is not None:
            for predictor in self.predictors:
                predictor.encoder.advance(self.epoch, self.config.epochs)
        share = WHOLE if self._whole else self.processes.share
        return self.task.loader.batches(self._randomness, self.step, share)

    @property
    def _randomness(self) -> Randomness:
        return Randomness(self.seeds, self.config.split_seed, self.epoch, self.fabric.device)

    @property
    def _number(self) -> int:
        """Steps done in all epochs."""
        return self.epoch * len(self.task.loader) + self.step

    def _step(self, batch: Batch) -> Tensor:
        self.optimiser.zero_grad()
        # what several processes do together, and a recording, is not to be left half done
        with self.breakable() if self.processes.alone and not self._static else nullcontext():
            with drawing_from(mixed_key(self.seeds[0], self._number), self.fabric.device) if self._foreign else nullcontext():
                losses = self._call("loss", batch)
            if batch.weight != 1:
                losses = losses * batch.weight
            with torch.autograd.set_multithreading_enabled(False):  # signals are heard in this thread alone
                self.fabric.backward(losses.sum())
        losses = losses.detach()  # whoever keeps it should not keep the graph of the step
        if not self._whole:
            self.processes.add_in_place(losses, *(each.grad for each in self.parameters.values() if each.grad is not None))
        if self.config.clip is not None:
            clip_gradients(self.parameters.values(), self.config.clip, len(self.seeds) if self.batched else None)
        self.optimiser.step()
        return losses

    def _call(self, method: str, batch: Batch, parameters: dict[str, Tensor] | None = None) -> Tensor:
        """Call a method of every seed's predictor; results are stacked for a batch of seeds.

        Args:
            method: Name of the method.
            batch: Its arguments.
            parameters: Other parameters than the current ones.
        """
        drops = self._dropout_buffers()
        if not self.batched:
            return call_one(self.predictor, method, batch, drops, parameters)
        own = self.parameters if parameters is None else parameters
        if self._lanes is None:
            return call_as_one(self.predictor, method, batch, own, self.buffers | drops)
        asked = self._going if method == "loss" else range(len(self.seeds))
        return call_side_by_side(self.predictors, self._lanes, asked, method, batch, own | drops)

    def _set_mode(self, *, training: bool) -> None:
        for predictor in self.predictors[: 1 if self._lanes is None else None]:  # those that are called
            predictor.train(training)

    def _dropout_buffers(self) -> dict[str, Tensor]:
        """Return what every dropout draws from in this epoch, or has drawn; nothing outside training."""
        if not self.predictor.training:
            return {}
        if self._recorded is not None and self._recorded.masks is not None:
            return self._recorded.masks.buffers
        return dropout_keys(self.predictor, self._own_seeds, self._number)

    # --- what is kept ----------------------------------------------------------------------------------------------

    def _look(self, loss: Tensor) -> Validation | None:
        """Validate, or keep the parameters of seeds, if this is the epoch for it."""
        if self.keep is not None:
            if self.epoch in self.keep:
                self.check_finite()
                self._keep(self.best_epoch == self.epoch)
            return None
        due = self.epoch % self.eval_every == 0 or self.epoch == self.epochs
        return self._validate(loss) if due else None

    @torch.no_grad()
    def _keep(self, chosen: Tensor) -> None:
        """Keep the current parameters of some seeds, a mask of shape ``(seeds,)``."""
        for name, parameter in self.parameters.items():
            choose = chosen.reshape(-1, *[1] * (parameter.ndim - 1)) if self.batched else chosen.squeeze()
            self.best_parameters[name] = torch.where(choose, parameter.detach(), self.best_parameters[name])

    def check_finite(self) -> None:
        """Raise if a parameter, or a moment of Adam, of a seed that is still in training is not finite.

        Raises:
            Diverged: One is not.
        """
        fine = self._finite() | ~states.still_training(self.best_epoch, self.stopped, self.epoch, self.keep)
        if not bool(fine.all()):
            raise self._diverged("a parameter", int(fine.int().argmin()), self.epoch)

    def _finite(self) -> Tensor:
        """Tell of which seeds parameters and moments are finite, shape ``(seeds,)``."""
        pending = {} if self._loss is None else {"loss": self._loss}
        return states.finite_models(states.tensors_of(self.parameters, {}, self.optimiser) | pending, len(self.seeds))

    def _diverged(self, what: str, index: int, epoch: int) -> Diverged:
        return Diverged(DIVERGED.format(what, self.seeds[index], epoch, self.config.lr))

    @torch.no_grad()
    def _validate(self, loss: Tensor) -> Validation:
        """Score all seeds on validation, keep the parameters of those that got better, stop those that do not."""
        score, tie = self.processes.of_first(self.validation_scores())  # what is best, and when to stop, is the same for all
        active = ~self.stopped
        settled = self.predictor.encoder.settled(self.config.epochs)
        # what was found while a model was still held back is not the model that was asked for
        early = (self.best_epoch <= settled) & (self.epoch > settled)
        better = (score > self.best_score) | ((score == self.best_score) & (tie > self.best_tie))
        better = (better | early) & active
        self.best_score = torch.where(better, score, self.best_score)
        self.best_tie = torch.where(better, tie, self.best_tie)
        self.best_epoch = torch.where(better, self.epoch, self.best_epoch)
        self._keep(better)
        if self.task.best_possible is not None and self.epoch > settled:
            self.stopped = self.stopped | (self.best_score >= self.task.best_possible)
        if self.config.patience is not None:
            since = torch.maximum(self.best_epoch, torch.full_like(self.best_epoch, settled))
            self.stopped = self.stopped | (self.epoch - since >= self.config.patience)
        seen = (active.double(), self.stopped.double(), self._finite().double())
        rows = (loss.double().reshape(-1), score, self.best_score, *seen)
        losses, scores, best, going, stopped, fine = torch.stack(rows).tolist()
        self._set_going(stopped)
        for index in [index for index, goes in enumerate(going) if goes]:
            if not (math.isfinite(losses[index]) and math.isfinite(scores[index]) and fine[index]):
                what = "the loss" if not math.isfinite(losses[index]) else "a parameter" if not fine[index] else "a prediction"
                raise self._diverged(what, index, self.epoch)
        return Validation(self.epoch, losses, scores, best, [bool(goes) for goes in going])

    def _set_going(self, stopped: list[float]) -> None:
        going = [index for index, done in enumerate(stopped) if not done]
        if self._lanes is not None and going != self._going:
            self._recorded = None  # what was recorded computes the loss of others
        self._going = going

    @torch.no_grad()
    def validation_scores(self) -> Tensor:
        """Return the validation score of each seed, and what decides between equal ones, shape ``(2, seeds)``.

        NaN where predictions are not finite.
        """
        self._set_mode(training=False)
        with self.breakable() if self.processes.alone else nullcontext():
            prediction = self.task.loader.predictions("val", partial(self._call, "predict"))
            each = prediction if self.batched else prediction.unsqueeze(0)
            finite = torch.isfinite(each).flatten(1).all(1).tolist()
            scores = torch.full((2, len(each)), torch.nan, dtype=torch.float64, device=each.device)
            for index, fine in enumerate(finite):
                if fine:
                    scores[0, index] = self.task.selection(each[index], self.predictors[index].space)
                    scores[1, index] = self.task.tie_breaker(each[index])
            return scores

    @torch.no_grad()
    def results(self) -> list[dict[str, Any]]:
        """Return the scores of each seed's best model, on validation and test; :class:`Diverged` if it predicts none."""
        self._set_mode(training=False)
        splits: tuple[Split, ...] = ("val", "test") if self.task.held_out else ("test",)
        found = []
        for index, seed in enumerate(self.seeds):
            with self.best_predictor(index) as predictor:
                # one by one, as whoever asks the model later will: in a batch, last digits differ
                loader = self.task.loader
                predictions = {split: loader.predictions(split, predictor.predict_batch, whole=True) for split in splits}
                if not all(bool(each.isfinite().all()) for each in predictions.values()):
                    raise self._diverged("a prediction", index, int(self.best_epoch[index]))
                scores = final_scores(self.task, predictions, predictor.space)
            found.append({"seed": seed, "best_epoch": int(self.best_epoch[index]), **scores})
        return found

    def weights(self, index: int) -> dict[str, Tensor]:
        """Return the best parameters of a seed."""
        return {name: tensor[index] if self.batched else tensor for name, tensor in self.best_parameters.items()}

    @contextmanager
    def best_predictor(self, index: int) -> Iterator[Predictor]:
        """Lend the model of a seed with its best parameters, for as long as the block lasts."""
        predictor = self.predictors[index]
        training = predictor.training
        current = {name: parameter.detach().clone() for name, parameter in predictor.named_parameters()}
        predictor.eval().load_state_dict(self.weights(index), strict=False)
        try:
            yield predictor
        finally:
            predictor.train(training).load_state_dict(current, strict=False)

    @torch.no_grad()
    def embedding(self, index: int) -> tuple[Tensor, Space]:
        """Return the best embedding of a seed, points of shape ``(N, d)``, and the space they live in, both on the CPU.

        Raises:
            Diverged: It is not finite, though all parameters are.
        """
        with self.best_predictor(index) as predictor:
            points = self.task.loader.embed(predictor)
            if not is_finite(points, predictor.space):
                raise self._diverged("the embedding", index, int(self.best_epoch[index]))
            return points.cpu(), copy.deepcopy(predictor.space).requires_grad_(False).cpu()

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return everything that :meth:`restore` needs."""
        tensors = states.tensors_of(self.parameters, self.best_parameters, self.optimiser)
        tensors |= {name: getattr(self, name) for name in _KEPT}
        if (pending := self._loss if self._partial is None else self._partial) is not None:
            tensors["loss"] = pending.double()
        moved = states.stepped(self.parameters, self.optimiser)
        about = {"epoch": self.epoch, "seeds": self.seeds, "seconds": self.seconds, "stepped": moved}
        return tensors, about | ({"step": self.step} if self.step else {})

    @torch.no_grad()
    def restore(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Go back to a state.

        Raises:
            ValueError: It is of another model or other seeds, or one that training cannot be in; nothing is changed then.
        """
        epoch, step, seconds, moved = states.progress_of(about, self.seeds, self.epochs, len(self.task.loader))
        chosen = {name: getattr(self, name) for name in _KEPT}
        pending = {"loss": self.best_score.reshape(-1 if self.batched else ())} if "loss" in tensors else {}
        states.check_state(tensors, self.parameters, self.best_parameters, moved, chosen | pending)
        states.check_values(tensors, epoch, self.keep)
        self._recorded = None  # it knows the tensors that were there
        states.restore_tensors(tensors, self.parameters, self.best_parameters, self.optimiser, moved)
        for name in chosen:
            setattr(self, name, tensors[name].to(self.fabric.device))
        self._going = (~self.stopped).nonzero().flatten().tolist()
        loss = tensors["loss"].to(self.fabric.device) if pending else None
        self._loss, self._partial = (None, loss) if step else (loss, None)
        self.epoch, self.step, self.seconds, self._batches = epoch, step, seconds, None
