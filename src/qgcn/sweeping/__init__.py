"""Sweeps: one search of settings for every model and space, with the same ranges and the same budget, chosen on validation."""

from qgcn.sweeping.candidates import Candidate, parse_candidate
from qgcn.sweeping.sweep import Sweep

__all__ = ["Candidate", "Sweep", "parse_candidate"]
