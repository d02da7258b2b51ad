"""How several processes become one run: what they must agree on, and where they begin."""

from pathlib import Path
from typing import Any

from qgcn.files import tensor_bytes, tensors_from
from qgcn.tasks import Task
from qgcn.training.loop import Trainer
from qgcn.training.origin import fingerprint_of
from qgcn.training.processes import Processes

__all__ = ["begin_together", "join"]


def join(task: Task[Any], processes: Processes) -> None:
    """Agree with the other processes, if there are any, on what is trained.

    Raises:
        ValueError: The settings need mini-batches; or this process has read another graph than the first one.
    """
    if processes.alone:
        return
    if task.config.batch_size is None and not task.shares_rows:
        raise ValueError("several processes train this task on mini-batches: give a batch size, such as --batch-size 1024")
    own = fingerprint_of(task.data, task.split).encode()
    if processes.from_first(own) != own:
        raise ValueError(f"process {processes.rank} has read another graph, or drawn another split, than the first one")


def begin_together(trainer: Trainer, *, restored: bool) -> None:
    """Let all processes begin where the first one does.

    Args:
        trainer: The trainer of this process.
        restored: Whether that of the first one goes on from a checkpoint; elsewhere it does not matter.
    """
    processes = trainer.processes
    if processes.alone:
        return
    state = processes.from_first(tensor_bytes(*trainer.state()) if restored else b"")
    if state and processes.rank > 0:
        trainer.restore(*tensors_from(state, Path("the state of the first process")))
