"""The problem of a run, built from its settings and a graph."""

import copy
from typing import TYPE_CHECKING, Any

from torch import Tensor

from qgcn.data import as_data
from qgcn.progress import Progress, silent
from qgcn.tasks import Config, Task, find_task
from qgcn.training.machine import device_of

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["build_problem"]


def build_problem(
    config: Config, data: "Data | None", split: dict[str, Tensor] | None, progress: Progress = silent
) -> Task[Any]:
    """Build the problem of a run, on its device.

    Args:
        config: The settings.
        data: The graph: anything that :func:`qgcn.data.as_data` takes; read from ``config.data`` if not given.
        split: The split of a run that is read back.
        progress: Progress callback for reading a file.

    Raises:
        ValueError: The device is not there; the graph cannot be understood, or does not fit the settings.
        OSError: The graph cannot be read.
    """
    device = device_of(config)
    if data is None:
        names = ("split_seed", "features", "labels", "source", "target", "weight")
        data = as_data(config.data, progress=progress, **{name: getattr(config, name) for name in names})
    elif split is None:  # not from a folder of ours
        data = as_data(_plain(data, find_task(config.task)), split_seed=config.split_seed)
    return find_task(config.task)(data, config, split=split, device=device)


def _plain(data: "Data", task: type[Task[Any]]) -> "Data":
    """Return a graph without targets that are no classes, unless the task needs them."""
    from torch_geometric.data import Data

    if not isinstance(data, Data):
        return data
    y = data.get("y")
    if task.needs_labels or y is None or (isinstance(y, Tensor) and y.ndim == 1 and not y.is_floating_point()):
        return data
    made = copy.copy(data)
    made.y = None
    return made
