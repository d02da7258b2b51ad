"""Training of coordinates in blocks: two on the device at a time, the others in memory or on disk.

``partition.py`` deals out nodes and edges, ``store.py`` keeps blocks, ``engine.py`` takes steps, ``trainer.py`` is what a run
drives.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qgcn.tasks import Task
from qgcn.training.blocks.engine import BlockEngine
from qgcn.training.blocks.partition import BlockGraph
from qgcn.training.blocks.store import BlockStore
from qgcn.training.blocks.trainer import BlockTrainer
from qgcn.training.loop import Trainer
from qgcn.training.training import Training

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = ["BlockEngine", "BlockGraph", "BlockStore", "BlockTrainer", "training_of"]


def training_of(
    task: Task[Any], seeds: list[int], fabric: "Fabric", keep: Sequence[int] | None, folder: Path | None
) -> Training:
    """Return the training of a group of seeds: in blocks if the problem is divided, otherwise all on the device.

    Args:
        task: The problem.
        seeds: The group.
        fabric: The device.
        keep: Epoch whose parameters are kept, of each seed; there is no validation then.
        folder: Where files of blocks are written; ``None`` writes nothing.
    """
    division = task.division
    return Trainer(task, seeds, fabric, keep=keep) if division is None else BlockTrainer(task, division, seeds, fabric, folder)
