"""Training: the loop, run folders, checkpoints. Names are imported when they are first used: a command line starts faster."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qgcn.training.config import Config, read_config
    from qgcn.training.loop import Diverged, Progress, Trainer
    from qgcn.training.run import Interrupted, Listener, Run, summarize

__all__ = ["Config", "Diverged", "Interrupted", "Listener", "Progress", "Run", "Trainer", "read_config", "summarize"]

_HOMES = {
    "config": ("Config", "read_config"),
    "loop": ("Diverged", "Progress", "Trainer"),
    "run": ("Interrupted", "Listener", "Run", "summarize"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"qgcn.training.{home}"), name)
    raise AttributeError(f"module 'qgcn.training' has no attribute {name!r}")
