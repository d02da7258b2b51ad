"""Attention of all nodes to all others, by the signed squared distance of their points."""

from qgcn.kernels.attention.energy import ENERGIES, EnergyKind, all_energies, pair_energies
from qgcn.kernels.attention.operation import attend, attend_with_edges

__all__ = ["ENERGIES", "EnergyKind", "all_energies", "attend", "attend_with_edges", "pair_energies"]
