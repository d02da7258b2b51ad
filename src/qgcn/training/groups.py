"""Groups of seeds that are trained together."""

from typing import Any, Final

import torch

from qgcn.tasks import Task

__all__ = ["groups_of"]

BATCH_BYTES: Final = 2**30
"""Memory that a batch of seeds may take; beyond it a batch is no faster than its seeds one by one."""
TENSORS_OF_A_LAYER: Final = 60
"""Tensors of the size of a layer's output that a step keeps for its gradient, at most."""


def groups_of(task: Task[Any], seeds: list[int]) -> list[list[int]]:
    """Return seeds, those that are trained together in one list: as many as fit into :data:`BATCH_BYTES`.

    It depends on nothing but config and graph, so that a run resumed on another machine finds its checkpoints.
    """
    config, together = task.config, 1
    if config.batch_seeds and task.can_batch():
        coordinates = config.coordinates_kept()
        one = TENSORS_OF_A_LAYER * task.num_nodes * coordinates * getattr(torch, config.precision).itemsize
        together = max(1, BATCH_BYTES // one)
    return [seeds[first : first + together] for first in range(0, len(seeds), together)]
