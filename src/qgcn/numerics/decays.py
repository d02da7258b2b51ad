"""What an exponential loses."""

from typing import Final

import torch
from torch import Tensor

__all__ = ["SINE_RADIUS", "decay_share"]

SINE_RADIUS: Final = 20.0
"""Where a logarithm takes the place of the inverse hyperbolic sine: there ``exp`` and its square are far from overflow, and the
sine is an exponential to the last digit of float64."""


def decay_share(x: Tensor) -> Tensor:
    r"""Return :math:`(1 - e^{-x}) / x` of numbers that are not negative, 1 at zero; there derivatives are zero."""
    positive = x > 0
    guarded = torch.where(positive, x, 1)
    return torch.where(positive, -torch.expm1(-guarded) / guarded, 1)
