"""Embeddings as files: points, tangent coordinates, node ids, the space and its curvature."""

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from qgcn.files import write_atomically
from qgcn.manifolds import Space, parse_space

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Embedding", "load_embedding", "node_ids_of", "read_embedding", "write_embedding"]


def write_embedding(path: Path, embedding: "Embedding") -> None:
    """Write an embedding, atomically, as npz without pickle."""
    points, space, node_ids = embedding
    content = {
        "points": points.cpu().numpy(),
        "tangent": space.logmap0(points).cpu().numpy(),
        "node_ids": node_ids,
        "space": np.asarray(str(space)),
        "curvature": np.asarray(space.curvatures),
    }
    write_atomically(path, lambda temporary: _write_npz(temporary, content))


def node_ids_of(data: "Data") -> np.ndarray[Any, Any]:
    """Return the names of the nodes of a graph, their numbers if they have none."""
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
    own = node_ids_of(data)
    if not np.array_equal(ids, own):
        raise ValueError(f"{folder} embeds other nodes: expected the {len(own)} nodes of this graph, got {len(ids)}")
    return torch.from_numpy(tangent).float()


class Embedding(NamedTuple):
    """An embedding with its space and node ids."""

    points: Tensor
    """Shape ``(N, d)``."""
    space: Space
    """With the curvature that was learned."""
    node_ids: np.ndarray[Any, Any]
    """The names of the nodes, shape ``(N,)``."""


def load_embedding(path: Path) -> Embedding:
    """Read an embedding written by :func:`write_embedding`.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is damaged or not an embedding.
    """
    try:
        with np.load(path, allow_pickle=False) as content:
            points, node_ids = torch.from_numpy(content["points"]), content["node_ids"]
            space = parse_space(str(content["space"])).with_curvatures(content["curvature"].tolist())
    except FileNotFoundError:
        raise FileNotFoundError(f"no embedding {path}") from None
    except (ValueError, KeyError, TypeError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is damaged or no embedding: {error}") from None
    if points.ndim != 2 or points.shape != (len(node_ids), space.ambient_dim):
        shape = (len(node_ids), space.ambient_dim)
        raise ValueError(
            f"{path}: points of {len(node_ids)} nodes in {space} must have shape {shape}, got {tuple(points.shape)}"
        )
    return Embedding(points, space, node_ids)


def _write_npz(path: Path, content: dict[str, Any]) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **content)
