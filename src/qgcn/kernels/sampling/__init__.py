"""Samples of neighbours that are a function of a key: ``reference.py`` is plain PyTorch, ``cpu.py`` C++."""

from qgcn.kernels.sampling.operation import Drawn, draw_neighbours, number_nodes

__all__ = ["Drawn", "draw_neighbours", "number_nodes"]
