"""Calibration: whether probabilities come true as often as they say."""

from typing import Final

import torch
from torch import Tensor

__all__ = ["calibration_error"]

BINS: Final = 15
"""Bins of confidence that the calibration error is measured in, as in the literature."""


@torch.no_grad()
def calibration_error(logits: Tensor, outcomes: Tensor, bins: int = BINS) -> float:
    r"""Return the expected calibration error: how far confidence is from accuracy, on average.

    .. math:: \mathrm{ECE} = \sum_b \frac{n_b}{n} \bigl|\mathrm{accuracy}_b - \mathrm{confidence}_b\bigr|

    where predictions are binned by the probability of the outcome that they take for the most likely.

    Args:
        logits: Shape ``(n, C)``.
        outcomes: Which came true, shape ``(n,)``.
        bins: Number of bins of equal width (default: 15).
    """
    confidence, guess = logits.double().softmax(1).max(1)
    gap = torch.eq(guess, outcomes).double() - confidence
    place = (confidence * bins).long().minimum(torch.tensor(bins - 1))
    total = torch.zeros(bins, dtype=torch.float64, device=gap.device).index_add_(0, place, gap)
    return float(total.abs().sum() / len(gap))
