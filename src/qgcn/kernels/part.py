"""Some rows of a larger tensor."""

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Part"]


@dataclass(frozen=True)
class Part:
    """Says which rows of a larger tensor a tensor holds.

    Attributes:
        rows: Their indices, int64, shape ``(n,)``.
        total: Number of rows of the larger one.
        scattered: Whether what is drawn for a row by a key is a function of key and row number alone, found in time that does
            not depend on ``total``: for a few rows of many. Otherwise it is the row's part of one long stream of numbers.
    """

    rows: Tensor
    total: int
    scattered: bool = False

    def to(self, device: torch.device | None) -> "Part":
        """Move the indices to a device."""
        return Part(self.rows.to(device), self.total, self.scattered)
