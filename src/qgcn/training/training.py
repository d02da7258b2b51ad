"""A training, as a run drives it: all on the device, or in blocks."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from qgcn.manifolds import Space
from qgcn.tasks import Config, Predictor, Task
from qgcn.training.processes import Processes
from qgcn.training.validations import Validation

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = ["Training"]


class Training(Protocol):
    """Trains the seeds of a group; see :class:`~qgcn.training.loop.Trainer`."""

    task: Task[Any]
    config: Config
    seeds: list[int]
    fabric: "Fabric"
    epochs: int
    epoch: int
    processes: Processes
    seconds: float
    predictor: Predictor
    parameters: dict[str, Tensor]
    optimiser: torch.optim.Adam
    breakable: Callable[[], AbstractContextManager[None]]

    @property
    def keep(self) -> Sequence[int] | None:
        """Epoch whose parameters are kept, of each seed, if it is given in advance."""

    @property
    def step(self) -> int:
        """Steps of the epoch that are done."""

    @property
    def parts(self) -> int:
        """Number of steps of an epoch, after each of which training can be asked to stop."""

    @property
    def eval_every(self) -> int:
        """Epochs between validations."""

    @property
    def warm_epochs(self) -> int:
        """Parts at the beginning that take longer than those after them."""

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""

    def run(self, report: Callable[[Validation], None] | None = None, until: Callable[[], bool] | None = None) -> None:
        """Train to the end, or until asked to stop."""

    def check_finite(self) -> None:
        """Raise if a parameter is not finite."""

    def validation_scores(self) -> Tensor:
        """Return the validation score of each seed, and what decides between equal ones, shape ``(2, seeds)``."""

    def results(self) -> list[dict[str, Any]]:
        """Return the scores of each seed's best model."""

    @property
    def best_epoch(self) -> Tensor:
        """Epoch of each seed's best model, shape ``(seeds,)``."""

    def weights(self, index: int) -> dict[str, Tensor]:
        """Return the best parameters of a seed."""

    def embedding(self, index: int) -> tuple[Tensor, Space]:
        """Return the best embedding of a seed."""

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return everything that :meth:`restore` needs."""

    def restore(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Go back to a state."""
