"""The numerical limits of each floating-point type."""

import math
from dataclasses import dataclass
from typing import Final

import torch

__all__ = ["FLOAT_TYPES", "Limits", "limits"]


@dataclass(frozen=True)
class Limits:
    """The numerical limits of one floating-point type; every threshold that depends on the type is a field of it."""

    antipode: float
    """Squared chord to the antipode's cone, in units of ``|beta|``, below which two points count as disconnected.
    ``eps ** 1.5``: the direction of the logarithm has lost all but ``eps ** (1/4)`` of its accuracy there, and the
    second power of its inverse, which gradients contain, can still be represented."""

    cancelled: float
    """Relative size of the difference of two positive numbers against their sum under which it is zero: the rounding error
    of two sums of squares."""

    norm: float
    """Norm below which a vector has no direction: its square is the smallest normal number, and the gradient of
    ``x / |x|``, of size ``1 / norm``, can still be represented."""

    series: int
    """Terms of the Taylor series at the joint, so that the remainder within the radii below is under ``eps``."""

    null: float
    """Relative size of ``<v, v>`` against ``|v|^2`` under which a vector counts as null: the rounding error of a
    sum of up to about a hundred squares."""


def _limits_of(dtype: torch.dtype, series: int) -> Limits:
    info = torch.finfo(dtype)
    return Limits(
        antipode=info.eps**1.5,
        cancelled=8 * info.eps,
        norm=math.sqrt(info.tiny),
        series=series,
        null=64 * info.eps,
    )


_LIMITS: Final = {torch.float32: _limits_of(torch.float32, 9), torch.float64: _limits_of(torch.float64, 20)}

FLOAT_TYPES: Final = tuple(_LIMITS)
"""The types the geometry is defined for; half precision cannot hold a point of the manifold."""


def limits(dtype: torch.dtype) -> Limits:
    """Return the limits of ``dtype``; ``TypeError`` for a type the geometry is not defined for."""
    try:
        return _LIMITS[dtype]
    except KeyError:
        raise TypeError(f"expected a float32 or float64 tensor, got {dtype}") from None
