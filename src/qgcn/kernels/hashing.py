"""Random bits as a function of integers: no state, no order, the same on every device."""

from typing import Final

import torch
from torch import Tensor

__all__ = ["GOLDEN", "STEP", "keyed_uniform", "scrambled", "shifted", "signed"]

GOLDEN: Final = -0x61C8864680B583EB
"""An odd number that spreads neighbouring integers apart."""
STEP: Final = -0x2E54F5A0D0D6A2D3
"""Another one."""
_SHIFTS: Final = (30, 27, 31)  # of SplitMix64, as the factors
_FACTORS: Final = (-0x40A7B892E31B1A47, -0x6B2FB644ECCEEE15, 1)
_BITS: Final = 31


def signed(number: int) -> int:
    """Return an integer as its lowest 64 bits are read, with a sign."""
    return (number + 2**63) % 2**64 - 2**63


def shifted(x: Tensor, count: int) -> Tensor:
    """Shift 64-bit integers to the right, zeros coming in: PyTorch's own shift repeats the sign."""
    return (x >> count) & ((1 << (64 - count)) - 1)


def scrambled(x: Tensor) -> Tensor:
    """Mix the bits of 64-bit integers as SplitMix64 does."""
    for shift, factor in zip(_SHIFTS, _FACTORS, strict=True):
        x = (x ^ shifted(x, shift)) * factor
    return x


def keyed_uniform(key: int, first: Tensor, second: Tensor) -> Tensor:
    """Return a number in ``[0, 1)`` for each pair of integers, a function of the key and the pair alone; float64.

    Args:
        key: Key, an integer of 63 bits.
        first: Integers, int64, any shape.
        second: Integers, int64, of the same shape.
    """
    mixed = scrambled(scrambled(first * GOLDEN + key) + second * STEP)
    return (mixed & ((1 << _BITS) - 1)).to(torch.float64) / (1 << _BITS)
