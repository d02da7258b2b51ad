"""Sums over drawn columns in plain PyTorch: any space, any type, any device."""

import math

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from qgcn.kernels.metric import Metric
from qgcn.kernels.pairs.neighbourhoods import CHUNK_ENTRIES, WORD
from qgcn.kernels.pairs.points import Energy

__all__ = ["log_sum"]


def log_sum(x: Tensor, y: Tensor, manifold: Metric, energy: Energy, left_out: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return the logarithm of each row's sum over the columns, shape ``(R,)``; minus infinity for a sum of nothing.

    Args:
        x: Points of the rows, shape ``(R, d)``.
        y: Points of the columns, shape ``(n, d)``.
        manifold: The space.
        energy: Energy of a pair.
        left_out: Bits of the pairs that are left out, see :class:`~qgcn.kernels.sampled.Negatives`.
        bias: Added to the exponent of each column, shape ``(n,)``.
    """

    def some(x: Tensor, bits: Tensor) -> Tensor:
        dist = manifold.pairwise_dist(x, y)
        cost = energy.tau * (dist.square() if energy.squared else dist)
        if bias is not None:
            cost = cost - bias
        out = mask_of(bits, len(y))
        empty = out.all(1, keepdim=True)  # a sum of nothing has no gradient: its terms stay, its result is replaced
        total = cost.neg().masked_fill(out & ~empty, -math.inf).logsumexp(-1)
        return torch.where(empty.squeeze(1), -math.inf, total)

    rows = max(1, CHUNK_ENTRIES // len(y))
    if len(x) <= rows:
        return some(x, left_out)
    parts = zip(x.split(rows), left_out.split(rows, dim=1), strict=True)
    found = [checkpoint(some, *part, use_reentrant=False, preserve_rng_state=False) for part in parts]
    return torch.cat(found)


def mask_of(left_out: Tensor, count: int) -> Tensor:
    """Return the bits as booleans, shape ``(R, n)``."""
    place = torch.arange(WORD, dtype=torch.int32, device=left_out.device).unsqueeze(1)
    bits = (left_out.unsqueeze(1) >> place) & 1  # (W, 32, R)
    return bits.flatten(0, 1)[:count].t().bool()
