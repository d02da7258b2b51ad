"""What an exponential loses."""

import torch
from torch import Tensor

__all__ = ["decay_share"]


def decay_share(x: Tensor) -> Tensor:
    r"""Return :math:`(1 - e^{-x}) / x` of numbers that are not negative, 1 at zero; there derivatives are zero."""
    positive = x > 0
    guarded = torch.where(positive, x, 1)
    return torch.where(positive, -torch.expm1(-guarded) / guarded, 1)
