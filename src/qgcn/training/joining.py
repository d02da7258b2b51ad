"""How several processes become one run: what they must agree on, and where they begin."""

from pathlib import Path
from typing import Any

from qgcn.files import tensor_bytes, tensors_from
from qgcn.seals import Damaged
from qgcn.tasks import Task
from qgcn.training.checkpoints import Saved
from qgcn.training.origin import fingerprint_of
from qgcn.training.processes import Processes
from qgcn.training.training import Training

__all__ = ["begin_together", "join"]


def join(task: Task[Any], processes: Processes) -> None:
    """Agree with the other processes, if there are any, on what is trained.

    Raises:
        ValueError: There is nothing to share, or the settings need mini-batches; or a process has read another graph.
    """
    if processes.alone:
        return
    if task.config.batch_size is None and not (task.shares_rows or task.divides):
        if task.division is not None:
            raise ValueError("blocks of nodes are trained by one process: leave out blocks, or use one process")
        if task.items is None:
            raise ValueError(f"several processes have nothing to share of {task.name}: leave out devices and nodes")
        raise ValueError("several processes train this task on mini-batches: give a batch size, such as --batch-size 1024")
    own = fingerprint_of(task.data, task.split).encode()
    if processes.agree(processes.from_first(own) != own):
        raise ValueError("a process has read another graph, or drawn another split, than the first one")


def begin_together(trainer: Training, saved: Saved | None) -> None:
    """Go on from a checkpoint, and let all processes begin where the first one does.

    Args:
        trainer: The trainer of this process.
        saved: The checkpoint, if there is one; the first process alone knows.

    Raises:
        Damaged: It is not possible.
    """
    processes = trainer.processes
    if saved is not None:
        try:
            trainer.restore(saved.tensors, saved.about)
        except ValueError as error:
            raise Damaged(f"{saved.path} is damaged: {error}") from None
    if processes.alone:
        return
    state = processes.from_first(b"" if saved is None else tensor_bytes(*trainer.state()))
    if state and processes.rank > 0:
        trainer.restore(*tensors_from(state, Path("the state of the first process")))
