"""Masks drawn from keys in plain PyTorch: any type, any device."""

import math

import torch
from torch import Tensor

from qgcn.kernels.hashing import GOLDEN, STEP, scrambled, signed
from qgcn.kernels.part import Part

__all__ = ["masks"]


def masks(keys: list[int], out: Tensor, most: int, value: float, part: Part | None = None) -> Tensor:
    """Fill a tensor as :func:`qgcn.kernels.mask.cpu.masks` does; it need not be contiguous."""
    for mask, key in zip(out, keys, strict=True):
        if part is not None and part.scattered:
            mask.copy_(_of_rows(key, part.rows, mask.numel() // max(len(mask), 1), most).view(mask.shape))
            continue
        whole = mask.shape if part is None else (part.total, *mask.shape[1:])
        drawn = _decisions(key, math.prod(whole), most, mask.device).view(whole)
        mask.copy_(drawn if part is None else drawn.index_select(0, part.rows))
    return out if value == 1 else out.mul_(value)


def _of_rows(key: int, rows: Tensor, width: int, most: int) -> Tensor:
    """Draw booleans for rows, each a function of the key and of the row's number alone, shape ``(n, width)``."""
    base = scrambled(rows.long() * GOLDEN + key).unsqueeze(1)
    steps = torch.tensor([signed(word * STEP) for word in range((width + 3) // 4)], dtype=torch.int64, device=rows.device)
    return scrambled(base + steps).view(torch.int16)[:, :width] <= most


def _decisions(key: int, count: int, most: int, device: torch.device) -> Tensor:
    """Draw ``count`` booleans: whether 16 random bits are at most ``most``."""
    generator = torch.Generator(device).manual_seed(key)
    # four decisions from each 64 random bits: drawing them is what dropout spends its time on
    words = torch.empty((count + 3) // 4, dtype=torch.int64, device=device)
    bits = words.random_(-(2**63), None, generator=generator).view(torch.int16)[:count]
    return bits <= most
