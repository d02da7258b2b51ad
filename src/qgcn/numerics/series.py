"""Taylor series at the joint of a closed form, where its recurrence cancels."""

from typing import Final

import torch
from torch import Tensor

__all__ = ["ARC_SERIES_RADIUS", "COSH_SERIES_RADIUS", "horner"]


COSH_SERIES_RADIUS: Final = 4.0
ARC_SERIES_RADIUS: Final = 0.5
"""Distance from the joint within which second and higher derivatives of ``C`` and ``F`` are summed as series. Outside, the
recurrence loses a factor of about the inverse radius an order; inside, the series of ``C`` converges whatever the radius,
that of ``F`` gains three bits a term (its own radius of convergence is 4)."""


def horner(x: Tensor, coefficients: list[float]) -> Tensor:
    """Return the value of a polynomial, coefficients constant first."""
    total = torch.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = torch.addcmul(torch.full_like(x, coefficient), total, x)
    return total
