"""The value of beta: negative, and bounded where it is learned."""

import math
from typing import Final

import torch
from torch import Tensor

__all__ = ["MAX_LOG_BETA", "bounded_negative", "free_parameter", "positive_or_nan"]


MAX_LOG_BETA: Final = math.log(1e6)
"""A learnable ``|beta|`` stays within ``[1e-6, 1e6]``, wherever an optimiser takes its parameter."""


def positive_or_nan(value: Tensor) -> Tensor:
    """Return ``value`` where it is positive and NaN elsewhere, so that a wrong sign is loud without a host sync."""
    return torch.where(value > 0, value, torch.nan)


def bounded_negative(free: Tensor) -> Tensor:
    r"""Map a free number to a negative one: :math:`-\exp(L \tanh(x / L))`, ``L = MAX_LOG_BETA``; ``0`` gives ``-1``."""
    return -torch.exp(MAX_LOG_BETA * torch.tanh(free / MAX_LOG_BETA))


def free_parameter(negative: float) -> float:
    """Invert :func:`bounded_negative`; ``ValueError`` outside the range a learnable beta can take."""
    ratio = math.log(-negative) / MAX_LOG_BETA
    if not -1 < ratio < 1:
        bound = math.exp(MAX_LOG_BETA)
        raise ValueError(f"a learnable beta must lie in ({-bound:g}, {-1 / bound:g}), got {negative:g}")
    return MAX_LOG_BETA * math.atanh(ratio)
