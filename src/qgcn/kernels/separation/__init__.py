"""How two points are separated, in one pass over the memory where C++ can be compiled.

The plain implementation is in :mod:`qgcn.geometry.chord`, which asks for this one by name and uses it wherever it fits.
"""

from torch import Tensor

from qgcn.kernels.separation import cpu
from qgcn.kernels.separation.operation import most_coordinates_traced

__all__ = ["most_coordinates_traced", "separate"]


def separate(x: Tensor, y: Tensor, size: Tensor, time_dim: int, whole: bool) -> tuple[Tensor, ...] | None:
    """Return the fields of a separation, or ``None`` where the compiled function does not take the arguments."""
    return cpu.separate(x, y, size, time_dim, whole=whole) if cpu.takes(x, size) else None
