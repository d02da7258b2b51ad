"""Parameters in training: the model they belong to, their roles, and the optimiser and gradients that follow."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from qgcn.manifolds import Space
from qgcn.tasks import Config, Predictor, Task
from qgcn.training.state import check_tensors, finite_models

__all__ = [
    "Role",
    "build_optimiser",
    "build_predictor",
    "check_weights",
    "clip_gradients",
    "parameter_roles",
    "schedule_rates",
    "share_parameters",
]

Role = Literal["curvature", "weight", "other"]
"""``curvature``: owned by a space. ``weight``: a layer's ``weight`` or ``bias``, which decays. ``other``: everything else."""


def parameter_roles(model: nn.Module) -> dict[str, Role]:
    """Return the role of each parameter of a model, by its full name."""
    roles: dict[str, Role] = {}
    for path, module in model.named_modules():
        for name, _ in module.named_parameters(recurse=False):
            role: Role = "other"
            if isinstance(module, Space):
                role = "curvature"
            elif name in ("weight", "bias"):
                role = "weight"
            roles[f"{path}.{name}" if path else name] = role
    return roles


def build_predictor(task: Task[Any], seed: int, device: torch.device) -> Predictor:
    """Build the model of a seed, on a device, in the precision that the settings ask for; no other randomness is disturbed."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        predictor = task.build_predictor()
    predictor, dtype = predictor.to(device), getattr(torch, task.config.precision)
    roles = parameter_roles(predictor)
    for name, parameter in predictor.named_parameters():
        if roles[name] != "curvature":  # they stay in float64: their small steps would be lost in rounding
            parameter.data = parameter.data.to(dtype)
    return predictor


def share_parameters(predictors: Sequence[Predictor], stacked: dict[str, Tensor]) -> None:
    """Let models have their parameters in those that are stacked of all of them: what changes one changes the other."""
    for index, predictor in enumerate(predictors):
        for name, parameter in predictor.named_parameters():
            parameter.data = stacked[name].detach()[index]


def check_weights(weights: dict[str, Tensor], task: Task[Any], what: str) -> None:
    """Raise unless weights are those of the model of a task, without building it: it must not be larger than they are.

    Args:
        weights: What was read.
        task: The problem.
        what: How an error calls them.

    Raises:
        ValueError: They have other names, shapes or types, or are not finite.
    """
    try:
        with torch.device("meta"):
            model = build_predictor(task, 0, torch.device("meta"))
    except RuntimeError:  # an encoder of your own that looks at its numbers
        model = build_predictor(task, 0, task.device)
    expected = dict(model.named_parameters())
    check_tensors(weights, {name: tensor.detach() for name, tensor in expected.items()}, what)
    if not bool(finite_models(weights, 1).all()):
        raise ValueError(f"{what} has weights that are not finite")


def build_optimiser(
    parameters: dict[str, Tensor], roles: dict[str, Role], config: Config, *, recorded: bool = False
) -> torch.optim.Adam:
    """Build Adam: learning rate and weight decay depend on the role.

    Args:
        parameters: Parameters by name.
        roles: Their roles.
        config: The settings.
        recorded: Keep learning rates on the device, so that a step can be recorded there.
    """
    groups: dict[tuple[float, float], list[Tensor]] = {}
    for name, parameter in parameters.items():
        role = roles[name]
        key = (config.curvature_lr if role == "curvature" else config.lr, config.weight_decay if role == "weight" else 0.0)
        groups.setdefault(key, []).append(parameter)

    # what a schedule starts from is said here: a state that is restored does not hold it
    options = [
        {
            "params": group,
            "lr": torch.tensor(lr, device=group[0].device) if recorded else lr,
            "initial_lr": lr,
            "weight_decay": decay,
        }
        for (lr, decay), group in groups.items()
    ]
    return torch.optim.Adam(options, betas=(0.9, config.adam_decay), fused=True, capturable=recorded)


def schedule_rates(optimiser: torch.optim.Adam, config: Config, epoch: int) -> None:
    """Set the learning rates of an epoch; those that are kept on the device are overwritten there."""
    if config.schedule == "cosine":
        factor = (1 + math.cos(math.pi * epoch / config.epochs)) / 2
        for group in optimiser.param_groups:
            rate = group["initial_lr"] * factor
            group["lr"] = group["lr"].fill_(rate) if isinstance(group["lr"], Tensor) else rate


def clip_gradients(parameters: Iterable[Tensor], most: float, models: int | None = None) -> None:
    """Scale the gradient of each model down to a norm.

    Args:
        parameters: Parameters with gradients.
        most: The norm.
        models: Number of models that the parameters are stacked of; ``None`` for one that is not stacked.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    squares = [gradient.double().square().reshape(models or 1, -1).sum(1) for gradient in gradients]
    norm = torch.stack(squares).sum(0).sqrt()
    scale = torch.where(norm > most, most / norm, 1)
    for gradient in gradients:
        shape = () if models is None else (models, *[1] * (gradient.ndim - 1))
        gradient.mul_(scale.reshape(shape).to(gradient.dtype))
