"""The state of models in training: parameters, the best ones so far and the moments of Adam, as tensors by name."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = [
    "check_state",
    "check_tensors",
    "check_values",
    "finite_models",
    "progress_of",
    "restore_tensors",
    "stepped",
    "still_training",
    "tensors_of",
]

_STEP = "step"
_MOMENTS = ("exp_avg", "exp_avg_sq")


def tensors_of(parameters: dict[str, Tensor], best: dict[str, Tensor], optimiser: torch.optim.Adam) -> dict[str, Tensor]:
    """Return all tensors of a state: ``parameter/NAME``, ``best/NAME``, and ``adam/MOMENT/NAME`` once a step was taken."""
    tensors = {f"parameter/{name}": tensor for name, tensor in parameters.items()}
    tensors |= {f"best/{name}": tensor for name, tensor in best.items()}
    for name in stepped(parameters, optimiser):
        state = optimiser.state[parameters[name]]
        tensors |= {f"adam/{key}/{name}": state[key] for key in (_STEP, *_MOMENTS)}
    return tensors


def stepped(parameters: dict[str, Tensor], optimiser: torch.optim.Adam) -> list[str]:
    """Return the names of the parameters that Adam has moments of: those that a gradient reached."""
    return [name for name, parameter in parameters.items() if optimiser.state.get(parameter)]


def progress_of(about: dict[str, Any], seeds: list[int], epochs: int, steps: int = 1) -> tuple[int, int, float, list[str]]:
    """Return epochs done, steps of the next one, seconds taken and the parameters with moments, as a checkpoint says.

    Args:
        about: What it says.
        seeds: Seeds that it must be of.
        epochs: Maximum number of epochs.
        steps: Number of steps of an epoch.

    Raises:
        ValueError: It is of other seeds, or not possible.
    """
    if about.get("seeds") != seeds:
        raise ValueError(f"the checkpoint is of seeds {about.get('seeds')}, expected {seeds}")
    epoch, seconds, moved = (about.get(name) for name in ("epoch", "seconds", "stepped"))
    step = about.get("step", 0)
    if type(step) is not int or not 0 <= step < steps or (step and epoch == epochs):
        raise ValueError(f"the step of the checkpoint must lie in [0, {steps}), and before the last epoch, got {step!r}")
    if type(epoch) is not int or not 0 <= epoch <= epochs:
        raise ValueError(f"the epoch of the checkpoint must lie in [0, {epochs}], got {epoch!r}")
    if not isinstance(seconds, float) or not 0 <= seconds < math.inf:
        raise ValueError(f"the seconds of the checkpoint must be a time, got {seconds!r}")
    if not isinstance(moved, list) or not all(isinstance(name, str) for name in moved) or bool(moved) != (epoch + step > 0):
        raise ValueError(f"the checkpoint does not have the moments of Adam that belong to epoch {epoch}")
    return epoch, step, seconds, moved


def check_state(
    tensors: dict[str, Tensor],
    parameters: dict[str, Tensor],
    best: dict[str, Tensor],
    moved: list[str],
    more: dict[str, Tensor],
) -> None:
    """Raise unless a state is one of these parameters.

    Args:
        tensors: The state, as :func:`tensors_of` returned it, with others.
        parameters: The parameters.
        best: The best of them.
        moved: Names of those that the state must have moments of, see :func:`stepped`.
        more: What the others must be like.

    Raises:
        ValueError: A tensor is missing, unknown, of another shape or type; or a moment is none that Adam can have.
    """
    if unknown := [name for name in moved if name not in parameters]:
        raise ValueError(f"the checkpoint has moments of {unknown[0]}, which is not a parameter of this model")
    expected = {f"parameter/{name}": tensor for name, tensor in parameters.items()}
    expected |= {f"best/{name}": tensor for name, tensor in best.items()}
    expected |= {f"adam/{_STEP}/{name}": torch.empty((), dtype=torch.float32) for name in moved}
    expected |= {f"adam/{key}/{name}": parameters[name] for key in _MOMENTS for name in moved}
    check_tensors(tensors, expected | more, "the checkpoint")
    for name in moved:
        if bool((tensors[f"adam/exp_avg_sq/{name}"] < 0).any()) or not bool(tensors[f"adam/{_STEP}/{name}"] >= 1):
            raise ValueError(f"the checkpoint has moments of {name} that Adam cannot have")


def still_training(best_epoch: Tensor, stopped: Tensor, epoch: int, keep: Sequence[int] | None) -> Tensor:
    """Tell which seeds are still in training; one that is not goes on in its batch, but nothing of it is kept.

    Args:
        best_epoch: Epoch of the best parameters of each seed.
        stopped: Whether it has stopped.
        epoch: Epochs done.
        keep: Epoch whose parameters are kept, of each seed, if it is given in advance.
    """
    return ~stopped if keep is None else best_epoch >= epoch


def check_values(tensors: dict[str, Tensor], epoch: int, keep: Sequence[int] | None) -> None:
    """Raise unless the numbers of a state, which :func:`check_state` has passed, are possible.

    Raises:
        ValueError: Something of a seed in training is not finite, or its best epoch or score is not possible.
    """
    best_epoch, score, count = tensors["best_epoch"], tensors["best_score"], len(tensors["stopped"])
    if keep is None:
        usual = torch.where(best_epoch > 0, score.isfinite(), score == -torch.inf)
        possible = (best_epoch >= 0) & (best_epoch <= epoch) & usual
    else:
        possible = best_epoch == torch.tensor(keep)
    if not bool(possible.all()):
        raise ValueError(f"the best epochs or scores of the checkpoint are not possible at epoch {epoch}")
    going = still_training(best_epoch, tensors["stopped"], epoch, keep)
    current = {name: tensor for name, tensor in tensors.items() if name.startswith(("parameter/", "adam/")) or name == "loss"}
    best = {name: tensor for name, tensor in tensors.items() if name.startswith("best/")}
    if not bool((finite_models(current, count) | ~going).all() & finite_models(best, count).all()):
        raise ValueError("the checkpoint holds numbers that are not finite")


@torch.no_grad()
def restore_tensors(
    tensors: dict[str, Tensor],
    parameters: dict[str, Tensor],
    best: dict[str, Tensor],
    optimiser: torch.optim.Adam,
    moved: list[str],
) -> None:
    """Go back to a state, in place, after :func:`check_state` has found nothing wrong with it."""
    for name, parameter in parameters.items():
        parameter.copy_(tensors[f"parameter/{name}"])
        best[name].copy_(tensors[f"best/{name}"])
    optimiser.state.clear()
    for name in moved:
        device = parameters[name].device
        saved = {key: tensors[f"adam/{key}/{name}"] for key in (_STEP, *_MOMENTS)}
        optimiser.state[parameters[name]] = {key: tensor.to(device, copy=True) for key, tensor in saved.items()}


def check_tensors(tensors: dict[str, Tensor], expected: dict[str, Tensor], what: str) -> None:
    """Raise unless tensors have the names, shapes and types of others.

    Args:
        tensors: What was read.
        expected: What it must be like.
        what: How an error calls it.

    Raises:
        ValueError: They have not; one line names the first difference.
    """
    if missing := [name for name in expected if name not in tensors]:
        raise ValueError(f"{what} has no {missing[0]}")
    if unknown := [name for name in tensors if name not in expected]:
        raise ValueError(f"{what} has {unknown[0]}, which this model does not have")
    for name, like in expected.items():
        found = tensors[name]
        if (found.shape, found.dtype, found.layout) != (like.shape, like.dtype, torch.strided):
            raise ValueError(f"{what} has {_form(found)} for {name}, expected {_form(like)}")


def _form(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} in {tuple(tensor.shape)}"


def finite_models(tensors: dict[str, Tensor], count: int) -> Tensor:
    """Tell of which models all parameters and moments are finite, shape ``(count,)``.

    Args:
        tensors: A state, see :func:`tensors_of`, or weights.
        count: Number of models that its tensors are stacked of; 1 for one that is not stacked.
    """
    fine = [
        tensor.detach().isfinite().reshape(count, tensor.numel() // count).all(1)
        for name, tensor in tensors.items()
        if not name.startswith(f"adam/{_STEP}/")
    ]
    return torch.stack(fine).all(0)
