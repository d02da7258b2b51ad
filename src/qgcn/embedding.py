"""Embeddings as files: points, tangent coordinates, node ids, the space and its curvature."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from qgcn.data.arrays import archive_of, arrays_of
from qgcn.files import write_bytes
from qgcn.manifolds import Space, parse_space
from qgcn.seals import Damaged, read_sealed

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Embedding", "is_finite", "load_embedding", "node_ids_of", "read_embedding", "write_embedding"]

_KINDS = {"points": ("f", 2), "tangent": ("f", 2), "node_ids": ("iuU", 1), "space": ("U", 0), "curvature": ("f", 1)}
"""Kinds of numbers or texts, and number of axes, of each array of the file."""
_NUMBERS = ("points", "tangent", "curvature")


def write_embedding(path: Path, embedding: "Embedding") -> None:
    """Write an embedding, atomically, as npz without pickle, with a version and a checksum.

    Raises:
        ValueError: It holds numbers that are not finite.
        OSError: The file cannot be written.
    """
    points, space, node_ids = embedding
    content: dict[str, Any] = {
        "points": points.cpu().numpy(),
        "tangent": space.logmap0(points).cpu().numpy(),
        "node_ids": node_ids,
        "space": np.asarray(str(space)),
        "curvature": np.asarray(space.curvatures),
    }
    for name in _NUMBERS:
        if not np.isfinite(content[name]).all():
            raise ValueError(f"an embedding must be finite to be written, but its {name} are not")
    write_bytes(path, archive_of(content))


def is_finite(points: Tensor, space: Space) -> bool:
    """Tell whether points, and their coordinates in the tangent space, are finite."""
    return bool(points.isfinite().all()) and bool(space.logmap0(points).isfinite().all())


def node_ids_of(data: "Data") -> np.ndarray[Any, Any]:
    """Return the names of the nodes of a graph, their numbers if they have none."""
    return np.asarray(getattr(data, "node_ids", np.arange(data.num_nodes or 0)))


def read_embedding(folder: Path, data: "Data") -> torch.Tensor:
    """Read the embedding of a run's first seed, in tangent coordinates, for the nodes of a graph."""
    files = sorted((folder / "embeddings").glob("seed-*.npz"), key=lambda path: int(path.stem.split("-")[1]))
    if not files or not (folder / "results.json").is_file():
        raise FileNotFoundError(f"{folder} holds no finished run to start from")
    content, own = _arrays(files[0]), node_ids_of(data)
    tangent, ids = content["tangent"], content["node_ids"]
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
    content = _arrays(path)
    try:
        points, node_ids = torch.from_numpy(content["points"]), content["node_ids"]
        space = parse_space(str(content["space"])).with_curvatures(content["curvature"].tolist())
    except (ValueError, TypeError) as error:
        raise Damaged(f"{path} is damaged or no embedding: {error}") from None
    if points.ndim != 2 or points.shape != (len(node_ids), space.ambient_dim):
        shape = (len(node_ids), space.ambient_dim)
        raise Damaged(f"{path}: points of {len(node_ids)} nodes in {space} must have shape {shape}, got {tuple(points.shape)}")
    return Embedding(points, space, node_ids)


def _arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of an embedding, all of them present, of the right type, and finite."""
    content = read_sealed(path)
    try:
        found = arrays_of(content, path)
    except ValueError as error:
        raise Damaged(f"{error}; it is damaged or no embedding") from None
    if missing := [name for name in _KINDS if name not in found]:
        raise Damaged(f"{path} is damaged or no embedding: it has no array {missing[0]!r}")
    for name, (kinds, axes) in _KINDS.items():
        array = found[name]
        if array.dtype.kind not in kinds or array.ndim != axes:
            raise Damaged(f"{path} is damaged: {name} must not be {array.dtype} in shape {array.shape}")
        if name in _NUMBERS and not np.isfinite(array).all():
            raise Damaged(f"{path} is damaged: {name} holds numbers that are not finite")
    if found["tangent"].shape[0] != len(found["node_ids"]):
        raise Damaged(f"{path} is damaged: tangent must have {len(found['node_ids'])} rows, got {found['tangent'].shape[0]}")
    return found
