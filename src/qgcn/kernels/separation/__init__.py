"""How two points are separated, in one pass over the memory where C++ can be compiled.

The plain implementation is :func:`qgcn.geometry.chord.separation`, which calls this one where it fits: whoever imports
:mod:`qgcn.kernels` gets it.
"""

from torch import Tensor

from qgcn.geometry import chord
from qgcn.kernels.separation import cpu

__all__ = ["separate"]


def separate(x: Tensor, y: Tensor, size: Tensor, time_dim: int, whole: bool) -> tuple[Tensor, ...] | None:
    """Return the fields of a separation, or ``None`` where the compiled function does not take the arguments."""
    return cpu.separate(x, y, size, time_dim, whole=whole) if cpu.takes(x, size) else None


chord.fuse(separate)
