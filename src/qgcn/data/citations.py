"""Directed citation graphs with published splits: what their files hold."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from qgcn.data.assemble import Array, assemble

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["citations", "published_fold"]

PARTS = {"train": "pos_train", "val": "pos_val", "test": "pos_test", "val_negative": "neg_val", "test_negative": "neg_test"}
"""Names of the parts of a split, and of their arrays."""


def citations(name: str, arrays: dict[str, Array], split_seed: int) -> "Data":
    """Return a citation graph, direction kept.

    Args:
        name: Name of the data set.
        arrays: Content of its file.
        split_seed: Fixes the masks of the nodes, for which nothing is published.

    Raises:
        ValueError: An array is missing, or arrays do not fit.
    """
    from scipy.sparse import csr_matrix

    edges, labels = _array(arrays, "edge_index", name, 2), _array(arrays, "labels", name, 1)
    index, data = (_array(arrays, f"feature_{part}", name, 1) for part in ("indices", "data"))
    starts, shape = (_array(arrays, f"feature_{part}", name, 1) for part in ("indptr", "shape"))
    nodes = len(labels)
    try:
        features = csr_matrix((data.astype(np.float32), index, starts), shape=tuple(int(size) for size in shape))
        features.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"{name}.npz holds features that are no sparse matrix: {error}") from None
    if features.shape[0] != nodes:
        raise ValueError(f"{name}.npz holds features of {features.shape[0]} nodes and labels of {nodes}")
    _check_nodes(edges, nodes, f"{name}.npz: edge_index")
    x = torch.from_numpy(features.toarray())
    y = torch.from_numpy(labels.astype(np.int64))
    return assemble(edges.astype(np.int64), nodes, name=name, x=x, y=y, split_seed=split_seed)


def published_fold(arrays: dict[str, Array], fold: int, name: str) -> dict[str, Tensor]:
    """Return one of the splits that a file holds, as ordered pairs of shape ``(2, P)``.

    Args:
        arrays: Content of the file.
        fold: Number of the split, from 0.
        name: Name of the data set.

    Raises:
        ValueError: There is no such split, or an array of it is missing or of another shape.
    """
    known = sorted(int(key[5:-10]) for key in arrays if key.startswith("split") and key.endswith("_pos_train"))
    if fold not in known:
        raise ValueError(f"fold must be one of {', '.join(map(str, known))} for {name}, got {fold}")
    nodes, found = len(_array(arrays, "labels", name, 1)), {}
    for part, suffix in PARTS.items():
        pairs = _array(arrays, f"split{fold}_{suffix}", name, 2)
        _check_nodes(pairs, nodes, f"{name}.npz: split{fold}_{suffix}")
        found[part] = torch.from_numpy(pairs.astype(np.int64))
    return found


def _array(arrays: dict[str, Array], key: str, name: str, axes: int) -> Array:
    """Return an array of a file; of pairs, the first axis has both ends."""
    shape = "(2, P)" if axes == 2 else "(n,)"
    if key not in arrays or arrays[key].ndim != axes or (axes == 2 and len(arrays[key]) != 2):
        raise ValueError(f"{name}.npz must hold the array {key!r} {shape}")
    return arrays[key]


def _check_nodes(pairs: Array, nodes: int, what: str) -> None:
    if pairs.dtype.kind not in "iu" or (pairs.size and not 0 <= pairs.min() <= pairs.max() < nodes):
        raise ValueError(f"{what} must hold integers in [0, {nodes})")
