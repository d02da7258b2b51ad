"""The state of models in training: parameters, the best ones so far and the moments of Adam, as tensors by name."""

import torch
from torch import Tensor

__all__ = ["restore_tensors", "tensors_of"]


def tensors_of(parameters: dict[str, Tensor], best: dict[str, Tensor], optimiser: torch.optim.Adam) -> dict[str, Tensor]:
    """Return all tensors of a state: ``parameter/NAME``, ``best/NAME``, and ``adam/MOMENT/NAME`` once a step was taken."""
    tensors = {f"parameter/{name}": tensor for name, tensor in parameters.items()}
    tensors |= {f"best/{name}": tensor for name, tensor in best.items()}
    for name, parameter in parameters.items():
        for key, value in optimiser.state.get(parameter, {}).items():
            tensors[f"adam/{key}/{name}"] = value
    return tensors


@torch.no_grad()
def restore_tensors(
    tensors: dict[str, Tensor], parameters: dict[str, Tensor], best: dict[str, Tensor], optimiser: torch.optim.Adam
) -> None:
    """Go back to a state, in place.

    Raises:
        ValueError: It belongs to another model.
    """
    saved: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        kind, _, name = key.rpartition("/")
        if kind:
            saved.setdefault(name, {})[kind] = tensor
    if unknown := sorted(saved.keys() - parameters.keys()):
        raise ValueError(f"the checkpoint has {unknown[0]}, which is not a parameter of this model")
    for name, parameter in parameters.items():
        of_parameter = saved.get(name, {})
        for kind, target in (("parameter", parameter), ("best", best[name])):
            value = of_parameter.pop(kind, None)
            if value is None or value.shape != target.shape or value.dtype != target.dtype:
                shape = None if value is None else tuple(value.shape)
                raise ValueError(f"the checkpoint has {shape} for {name}, expected {tuple(target.shape)}")
            target.copy_(value)
        if of_parameter:  # the moments of Adam
            optimiser.state[parameter] = {
                key.removeprefix("adam/"): value.to(parameter.device, copy=True) for key, value in of_parameter.items()
            }
