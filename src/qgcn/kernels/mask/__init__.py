"""Random masks that are a function of a key: ``reference.py`` is plain PyTorch, ``cpu.py`` C++."""

from qgcn.kernels.mask.autograd import draw_masks, keyed_mask

__all__ = ["draw_masks", "keyed_mask"]
