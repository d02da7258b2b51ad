"""The objective of reconstruction over drawn negatives, for graphs too large for all pairs.

``reference.py`` is plain PyTorch, ``cpu.py`` C++, ``gpu.py`` Triton; ``operation.py`` chooses.
"""

from qgcn.kernels.sampled.negatives import Negatives
from qgcn.kernels.sampled.objective import Part, part_loss, sampled_reconstruction_loss
from qgcn.kernels.sampled.ordered import ordered_loss

__all__ = ["Negatives", "Part", "ordered_loss", "part_loss", "sampled_reconstruction_loss"]
