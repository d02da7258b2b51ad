"""Training: the loop, run folders, checkpoints."""

from qgcn.training.config import Config, read_config
from qgcn.training.loop import Progress, Trainer
from qgcn.training.run import Interrupted, Listener, Run, summarize

__all__ = ["Config", "Interrupted", "Listener", "Progress", "Run", "Trainer", "read_config", "summarize"]
