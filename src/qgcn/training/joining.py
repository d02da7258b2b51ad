"""How several processes become one run: what they must agree on, and where they begin."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from qgcn.files import tensor_bytes, tensors_from
from qgcn.seals import Damaged
from qgcn.tasks import Task
from qgcn.training.checkpoints import Checkpoint, Incomplete, Saved
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


def begin_together(
    trainer: Training, checkpoint: Checkpoint | None = None, check: Callable[[Saved], None] | None = None
) -> Saved | None:
    """Go on from a checkpoint, and let all processes begin where the first one does.

    Args:
        trainer: The trainer of this process.
        checkpoint: The checkpoint of its seeds; the first process alone knows.
        check: Raises if a state is not of this run.

    Returns:
        The state that training goes on from, if there is one: the last one that is not damaged, nor any file that it names.

    Raises:
        Damaged: There are states, but none that training can go on from.
    """

    def restore(saved: Saved) -> None:
        if check is not None:
            check(saved)
        try:
            trainer.restore(saved.tensors, saved.about)
        except Damaged as error:
            raise Incomplete(f"{saved.path} cannot be restored: {error}") from None
        except ValueError as error:
            raise Damaged(f"{saved.path} is damaged: {error}") from None

    saved = None if checkpoint is None else checkpoint.recover(restore)
    processes = trainer.processes
    if processes.alone:
        return saved
    state = processes.from_first(b"" if saved is None else tensor_bytes(*trainer.state()))
    if state and processes.rank > 0:
        trainer.restore(*tensors_from(state, Path("the state of the first process")))
    return saved
