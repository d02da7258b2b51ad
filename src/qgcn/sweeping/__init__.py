"""Sweeps: one search of settings for every model and space, with the same ranges and the same budget, chosen on validation."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qgcn.sweeping.candidates import Candidate, parse_candidate
    from qgcn.sweeping.sweep import Sweep

__all__ = ["Candidate", "Sweep", "parse_candidate"]

_HOMES = {"candidates": ("Candidate", "parse_candidate"), "sweep": ("Sweep",)}


if not TYPE_CHECKING:  # imported when first used: trials can be evaluated where Optuna is not installed

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f"qgcn.sweeping.{home}"), name)
        raise AttributeError(f"module 'qgcn.sweeping' has no attribute {name!r}")
