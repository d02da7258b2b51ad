"""Calling the models of seeds: one by itself, several as one batched model, or several side by side."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call

from qgcn.nn import Dropout
from qgcn.tasks import Batch, Predictor
from qgcn.training.recording import Lanes

__all__ = ["call_as_one", "call_one", "call_side_by_side", "drawing_from"]


def call_one(
    predictor: Predictor, method: str, batch: Batch, drops: dict[str, Tensor], parameters: dict[str, Tensor] | None
) -> Tensor:
    """Call a method of the model of a single seed.

    Args:
        predictor: The model.
        method: Name of the method.
        batch: Its arguments.
        drops: What every dropout draws from, or has drawn.
        parameters: Other parameters than its own.
    """
    inputs = (*_inputs(method, batch), *(batch.drawn[0] if batch.drawn else ()))
    for name, module in predictor.named_modules():
        if isinstance(module, Dropout):
            module.key, module.mask = drops.get(f"{name}.key"), drops.get(f"{name}.mask")
    if parameters is None:
        return predictor(*inputs)  # type: ignore[no-any-return]
    return functional_call(predictor, parameters, inputs)  # type: ignore[no-any-return]


def call_as_one(
    predictor: Predictor, method: str, batch: Batch, parameters: dict[str, Tensor], buffers: dict[str, Tensor]
) -> Tensor:
    """Call a method of several models that are one batched model, given what they have, stacked; results are stacked."""
    inputs = _inputs(method, batch)

    def one(parameters: dict[str, Tensor], buffers: dict[str, Tensor], *drawn: Tensor) -> Tensor:
        return functional_call(predictor, (parameters, buffers), (*inputs, *drawn))  # type: ignore[no-any-return]

    drawn = [torch.stack(column) for column in zip(*batch.drawn, strict=True)]
    result: Tensor = torch.vmap(one)(parameters, buffers, *drawn)
    return result


def call_side_by_side(
    predictors: Sequence[Predictor], lanes: Lanes, asked: Sequence[int], method: str, batch: Batch, own: dict[str, Tensor]
) -> Tensor:
    """Call a method of each model by itself; results are stacked, 0 for models that are not asked.

    Args:
        predictors: The models.
        lanes: Where they are computed.
        asked: Which of them are, at least one.
        method: Name of the method.
        batch: Its arguments.
        own: Parameters and what dropouts draw from, stacked; buffers are each model's own.
    """
    inputs = _inputs(method, batch)
    columns = {name: tensor.unbind() for name, tensor in own.items()}

    def one(index: int) -> Tensor:
        mine = {name: column[index] for name, column in columns.items()}
        arguments = (*inputs, *(batch.drawn[index] if batch.drawn else ()))
        return functional_call(predictors[index], mine, arguments)  # type: ignore[no-any-return]

    found = dict(zip(asked, lanes.map(one, asked, method), strict=True))
    nothing = torch.zeros_like(found[asked[0]])
    return torch.stack([found.get(index, nothing) for index in range(len(predictors))])


@contextmanager
def drawing_from(key: int, device: torch.device) -> Iterator[None]:
    """Let layers without keys of their own draw what a key says, whatever came before, and disturb no one else."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(key)
        yield


def _inputs(method: str, batch: Batch) -> tuple[Any, ...]:
    return (method, batch.x, batch.graph, *batch.targets)
