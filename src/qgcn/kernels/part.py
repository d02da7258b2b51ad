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
    """

    rows: Tensor
    total: int

    def to(self, device: torch.device | None) -> "Part":
        """Move the indices to a device."""
        return Part(self.rows.to(device), self.total)
