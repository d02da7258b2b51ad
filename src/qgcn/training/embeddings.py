"""Embeddings as files: points, tangent coordinates, node ids, the space and its curvature."""

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from qgcn.manifolds import Product, Space, Sphere
from qgcn.manifolds.quadric import Quadric
from qgcn.training.files import write_atomically

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["read_embedding", "write_embedding"]


def write_embedding(path: Path, points: Tensor, space: Space, data: "Data") -> None:
    """Write an embedding, atomically, as npz without pickle.

    Args:
        path: The file.
        points: Shape ``(N, d)``.
        space: The space, with the curvature that was learned.
        data: The graph, for the names of its nodes.
    """
    content = {
        "points": points.cpu().numpy(),
        "tangent": space.logmap0(points).cpu().numpy(),
        "node_ids": _node_ids(data),
        "space": np.asarray(str(space)),
        "curvature": np.asarray(_curvatures(space)),
    }
    write_atomically(path, lambda temporary: _write_npz(temporary, content))


def _node_ids(data: "Data") -> np.ndarray[Any, Any]:
    return np.asarray(getattr(data, "node_ids", np.arange(data.num_nodes or 0)))


def read_embedding(folder: Path, data: "Data") -> torch.Tensor:
    """Read the embedding of a run's first seed, in tangent coordinates, for the nodes of a graph."""
    files = sorted((folder / "embeddings").glob("seed-*.npz"), key=lambda path: int(path.stem.split("-")[1]))
    if not files or not (folder / "results.json").is_file():
        raise FileNotFoundError(f"{folder} holds no finished run to start from")
    try:
        with np.load(files[0], allow_pickle=False) as content:
            tangent, ids = content["tangent"], content["node_ids"]
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{files[0]} is damaged or no embedding: {error}") from None
    own = _node_ids(data)
    if not np.array_equal(ids, own):
        raise ValueError(f"{folder} embeds other nodes: expected the {len(own)} nodes of this graph, got {len(ids)}")
    return torch.from_numpy(tangent).float()


def _curvatures(space: Space) -> list[float]:
    """Return the sectional curvature of each factor of a space."""
    factors = list(space.manifolds) if isinstance(space, Product) else [space]
    values = []
    for factor in factors:
        if isinstance(factor, Quadric):
            values.append(float(1 / factor.beta) * (-1 if isinstance(factor, Sphere) else 1))
        else:
            values.append(float(getattr(factor, "k", 0.0)))
    return values


def _write_npz(path: Path, content: dict[str, Any]) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **content)
