"""Graphs: generated here, so far."""

from qgcn.data.generators import ring_of_trees

__all__ = ["ring_of_trees"]
