"""Training: the loop, run folders, checkpoints. Names are imported when they are first used: a command line starts faster."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qgcn.tasks.config import Config, read_config
    from qgcn.training.costs import Cost, Declined
    from qgcn.training.loop import Diverged, Trainer, Validation
    from qgcn.training.run import Run, load_run
    from qgcn.training.summary import summarize
    from qgcn.training.supervision import Interrupted

__all__ = [
    "Config",
    "Cost",
    "Declined",
    "Diverged",
    "Interrupted",
    "Run",
    "Trainer",
    "Validation",
    "load_run",
    "read_config",
    "summarize",
]

_HOMES = {
    "tasks": ("Config", "read_config"),
    "training.costs": ("Cost", "Declined"),
    "training.loop": ("Diverged", "Trainer", "Validation"),
    "training.run": ("Run", "load_run"),
    "training.summary": ("summarize",),
    "training.supervision": ("Interrupted",),
}


if not TYPE_CHECKING:  # a type checker takes the imports above, and reports names that are not there

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f"qgcn.{home}"), name)
        raise AttributeError(f"module 'qgcn.training' has no attribute {name!r}")
