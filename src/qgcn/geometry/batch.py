"""Maps that broadcast under ``torch.vmap``: evaluated once, on the stacked tensors."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

__all__ = ["stacked", "under_vmap"]

_VMAP = torch._C._functorch.TransformType.Vmap


def under_vmap() -> bool:
    """Tell whether the innermost transform of ``torch.func`` at work is ``vmap``."""
    if torch.compiler.is_compiling():
        return False
    innermost: Any = torch._C._functorch.peek_interpreter_stack()
    return innermost is not None and innermost.key() == _VMAP


def stacked(function: Callable[..., Tensor], *arguments: Any) -> Tensor:
    """Evaluate a map that broadcasts on the tensors that ``vmap`` has stacked, the batch as their first axis.

    ``vmap`` interprets every operation, and a function with a gradient of its own several times over, which costs a small
    graph more than the arithmetic. Here it sees the map as one operation.

    Args:
        function: Takes the arguments, and broadcasts over every axis but the last.
        arguments: Tensors and anything else.
    """
    if not any(isinstance(each, Tensor) and torch._C._functorch.is_batchedtensor(each) for each in arguments):
        return function(*arguments)
    result: Tensor = _Stacked.apply(function, *arguments)  # type: ignore[no-untyped-call]
    return result


class _Stacked(Function):
    @staticmethod
    def forward(function: Callable[..., Tensor], *arguments: Any) -> Tensor:
        return function(*arguments)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep nothing: ``vmap`` comes to its rule alone, and what that computes is recorded."""

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], function: Callable[..., Tensor], *arguments: Any
    ) -> tuple[Tensor, int]:
        batched = [place is not None for place in in_dims[1:]]
        axes = max(each.ndim - many for each, many in zip(arguments, batched, strict=True) if isinstance(each, Tensor))
        aligned = []
        for each, place in zip(arguments, in_dims[1:], strict=True):
            if place is None:
                aligned.append(each)
                continue
            first = each.movedim(place, 0)
            aligned.append(first.reshape(info.batch_size, *[1] * (axes + 1 - first.ndim), *first.shape[1:]))
        return function(*aligned), 0
