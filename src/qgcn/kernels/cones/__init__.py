"""The objective of entailment over pairs and drawn ends, with its gradient, in one pass where C++ can be compiled.

The plain implementation is that of the task, by the margins of :mod:`qgcn.nn.cones`.
"""

from qgcn.kernels.cones.cpu import KINDS
from qgcn.kernels.cones.operation import Rows, among, entailed

__all__ = ["KINDS", "Rows", "among", "entailed"]
