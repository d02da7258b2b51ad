"""Powers of two, by which multiplying does not round."""

import math
from typing import Any, Final

import torch
from torch import Tensor
from torch.autograd import Function

from qgcn.numerics.functions import under_transform

__all__ = ["nearest_power_of_two"]


_EXPONENT_BITS: Final = {torch.float32: (torch.int32, -(1 << 23)), torch.float64: (torch.int64, -(1 << 52))}
"""Of each type: the integers of its width, and the mask of its sign and exponent."""


def nearest_power_of_two(x: Tensor) -> Tensor:
    """Return the power of two nearest to ``x`` by ratio, with the sign of ``x``: multiplying by it does not round."""
    function: Any = _NearestPowerOfTwo
    result: Tensor = function.apply(x) if under_transform() else function.forward(x)
    return result


class _NearestPowerOfTwo(Function):
    """The bits of a number without its fraction; vmap has no rule for looking at bits, but needs none of its own."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        integers, mask = _EXPONENT_BITS[x.dtype]
        return (math.sqrt(2) * x).view(integers).bitwise_and_(mask).view(x.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> None:
        return None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int], x: Tensor) -> tuple[Tensor, int]:
        return nearest_power_of_two(x), in_dims[0]
