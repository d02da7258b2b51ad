"""Random masks that are a function of a key: ``reference.py`` is plain PyTorch, ``cpu.py`` C++."""

from qgcn.kernels.mask.autograd import keyed_mask

__all__ = ["keyed_mask"]
