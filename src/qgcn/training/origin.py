"""What a file of a run belongs to: its settings, and the graph and split that it was trained on."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from qgcn.tasks import Config

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["check_origin", "check_same", "fingerprint_of"]

_MAY_CHANGE = ("checkpoint_seconds", "device", "yardsticks")
"""Settings that have no part in what is learned."""


def check_origin(about: dict[str, Any], config: Config, fingerprint: str, path: Path) -> None:
    """Raise if a file belongs to other settings or to another graph.

    Args:
        about: What it says, under ``config`` and ``data``.
        config: The settings of the run.
        fingerprint: Hash of its graph, see :func:`fingerprint_of`.
        path: The file.
    """
    check_same(about.get("config"), config, path)
    if about.get("data") != fingerprint:
        raise ValueError(f"{path} was trained on another graph than that of the run: start a new one")


def check_same(saved: Any, config: Config, path: Path) -> None:
    """Raise if a checkpoint or run was written with other settings, and name the first that differs."""
    if not isinstance(saved, dict):
        raise ValueError(f"{path} does not say which settings it belongs to")
    for name, value in config.model_dump().items():
        before = saved.get(name, type(config).model_fields[name].default)
        if before != value and name not in _MAY_CHANGE:
            raise ValueError(
                f"{path} was trained with {name} = {before!r}, but the config says {value!r}: "
                "restore the config, or start a new run in another folder"
            )


def fingerprint_of(data: "Data", split: dict[str, Tensor]) -> str:
    """Return a hash of what is learned from: edges, weights, features, labels and who may see them."""
    digest = hashlib.sha256()
    names = ("edge_index", "edge_weight", "x", "y", "train_mask", "val_mask", "test_mask")
    for name, value in [*((name, data.get(name)) for name in names), *sorted(split.items())]:
        if isinstance(value, Tensor):
            array = np.ascontiguousarray((value.to_dense() if value.layout != torch.strided else value).cpu().numpy())
            digest.update(f"{name} {array.dtype} {array.shape} ".encode() + array.tobytes())
    return digest.hexdigest()
