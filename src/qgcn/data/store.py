"""One file for a graph as it was read, so that a folder with it needs nothing else: a compressed ``.npz`` without pickle."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from qgcn.content import ARRAYS, NODES, STORED, megabytes
from qgcn.data.arrays import archive_of, arrays_of
from qgcn.data.assemble import Array
from qgcn.seals import read_sealed

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["is_stored", "load_graph", "save_graph"]

_VERSION = 1
_MARK = "qgcn_graph"
"""Array that holds the version, by which the file is known."""
_TENSORS = {
    "edge_index": (torch.int64, 2),
    "edge_weight": (torch.float32, 1),
    "x": (torch.float32, 2),
    "y": (torch.int64, 1),
    "train_mask": (torch.bool, 1),
    "val_mask": (torch.bool, 1),
    "test_mask": (torch.bool, 1),
}
"""Type and number of axes of each tensor."""
_LARGEST = (1 << 63) - 1
_FLOAT, _CHARACTER = np.dtype(np.float32).itemsize, np.dtype("U1").itemsize
_KINDS = {"iu": "integers", "u": "bytes", "f": "float32"}
_OTHERS = ("num_nodes", "name", "node_ids", "remarks", "directed", "classes")
_MASKS = ("train_mask", "val_mask", "test_mask")


def save_graph(target: str | os.PathLike[str] | IO[bytes], data: "Data") -> None:
    """Write a graph, with a version and a checksum.

    The same graph gives the same bytes. A path is written in place: let the caller give a temporary one and rename it.

    Args:
        target: Path, or a binary file open for writing.
        data: A graph as :func:`qgcn.data.load` and :func:`qgcn.data.read_graph` return it.

    Raises:
        ValueError: It has a field that such graphs do not have, or a field with other values than theirs.
        OSError: The file cannot be written.
    """
    content = archive_of(_arrays(data), STORED)
    if data.get("x") is not None and data.x.numel() * _FLOAT > ARRAYS.of(len(content)):  # too sparse for its size
        content = archive_of(_arrays(data, dense=True), STORED)
    if (width := _width(data)) > ARRAYS.of(len(content)):
        raise ValueError(f"node_ids take {megabytes(width)} to be stored: shorten the longest of them")
    if isinstance(target, str | os.PathLike):
        Path(target).write_bytes(content)
    else:
        target.write(content)


def load_graph(path: str | os.PathLike[str]) -> "Data":
    """Read what :func:`save_graph` wrote.

    Law: ``load_graph`` of what ``save_graph`` wrote equals the graph bit for bit, in every field, type and order.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no such file, is damaged, or was written by another version; one line says what is wrong.
    """
    path, content = Path(path), read_sealed(Path(path))
    return _from_arrays(arrays_of(content, path, STORED), path, len(content))


def is_stored(arrays: dict[str, Array]) -> bool:
    """Tell whether arrays of an ``.npz`` are those of :func:`save_graph`."""
    return _MARK in arrays


def _from_arrays(arrays: dict[str, Array], path: Path, size: int) -> "Data":
    """Build the graph from the arrays of a file of ``size`` bytes; ``path`` names it in an error."""
    from torch_geometric.data import Data

    held = _Held(arrays, path, size)
    version = held.number(_MARK)
    if version != _VERSION:
        raise ValueError(f"{path} was written by another version of qgcn: its format is {version}, this one reads {_VERSION}")
    nodes = held.number("num_nodes", NODES.of(sum(array.size for array in arrays.values())))
    index, weights = _load_edges(held, nodes)
    classes = held.texts("classes") if "classes" in held else None
    readers: dict[str, Callable[[], Any]] = {
        "name": lambda: held.texts("name", 1)[0],
        "node_ids": lambda: _load_ids(held, nodes),
        "remarks": lambda: held.texts("remarks"),
        "edge_weight": lambda: weights,
        "directed": lambda: bool(held.number("directed", 1)),
        "x": lambda: _load_features(held, nodes),
        "y": lambda: held.integers("y", nodes, -1, None if classes is None else len(classes) - 1),
        "train_mask": lambda: held.bits("train_mask", nodes),
        "val_mask": lambda: held.bits("val_mask", nodes),
        "test_mask": lambda: held.bits("test_mask", nodes),
        "classes": lambda: classes,
    }
    fields = {"num_nodes": nodes} | {name: read() for name, read in readers.items() if name in held or f"{name}_shape" in held}
    held.check_all_read()
    data = Data(edge_index=torch.from_numpy(index))
    for name, value in fields.items():
        data[name] = torch.from_numpy(value) if name in _TENSORS else value
    return data


# --- writing ---------------------------------------------------------------------------------------------------------


def _arrays(data: "Data", dense: bool = False) -> dict[str, Array]:
    known = (*_TENSORS, *_OTHERS)
    for name in data.keys():  # noqa: SIM118 (Data is no dictionary)
        if name not in known:
            raise ValueError(f"a graph with a field {name!r} cannot be stored: expected {', '.join(known)}")
    fields = {name: data[name] for name in known if data.get(name) is not None}  # PyG lists them in any order
    nodes = int(data.num_nodes or 0)
    arrays = {_MARK: np.array(_VERSION), "num_nodes": np.array(nodes)}
    fields.setdefault("edge_index", None)
    tensors = {name: _checked(fields.pop(name), name, nodes) for name in _TENSORS if name in fields}
    _check_ranges(tensors, nodes, len(fields["classes"]) if "classes" in fields else None)
    arrays |= _edges(tensors.pop("edge_index"), tensors.pop("edge_weight", None), nodes)
    for name, value in {**tensors, **fields}.items():
        arrays |= {"x": value} if name == "x" and dense else _written(name, value, nodes)
    return arrays


def _written(name: str, value: Any, nodes: int) -> dict[str, Array]:
    """Return the arrays of one field."""
    if name == "x":
        return _features(value)
    if name == "node_ids":
        return _ids(np.asarray(value), nodes)
    if name in ("name", "remarks", "classes"):
        return _texts(name, [value] if name == "name" else value)
    return {name: np.packbits(value) if name in _MASKS else _small(np.asarray(value, dtype=np.int64))}


def _checked(value: Any, name: str, nodes: int) -> Array:
    """Return the array of a tensor that has the type, shape and range of such graphs."""
    dtype, axes = _TENSORS[name]
    if not isinstance(value, Tensor) or (value.dtype, value.ndim, value.layout) != (dtype, axes, torch.strided):
        kind = f"{value.dtype} in {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"{name} must be a dense {dtype} tensor with {axes} axes to be stored, got {kind}")
    if not name.startswith("edge") and len(value) != nodes:
        raise ValueError(f"{name} must have one row for each of the {nodes} nodes to be stored, got {len(value)}")
    if not bool(value.isfinite().all()):
        raise ValueError(f"{name} must be finite to be stored")
    return np.ascontiguousarray(value.detach().cpu().numpy())


def _check_ranges(tensors: dict[str, Array], nodes: int, classes: int | None) -> None:
    """Raise unless edges, weights and classes lie where reading expects them."""
    index, weights = tensors["edge_index"], tensors.get("edge_weight")
    if len(index) != 2:
        raise ValueError(f"edge_index must have shape (2, E) to be stored, got {index.shape}")
    if weights is not None and len(weights) != index.shape[1]:
        raise ValueError(f"edge_weight must have {index.shape[1]} values to be stored, got {len(weights)}")
    for name, least, end in (("edge_index", 0, nodes), ("edge_weight", 0, None), ("y", -1, classes)):
        values = tensors.get(name, np.empty(0))
        if values.size and (values.min() < least or (end is not None and values.max() >= end)):
            bounds = f"[{least}, {'inf' if end is None else end})"
            raise ValueError(f"{name} must lie in {bounds} to be stored, got {values.min()} to {values.max()}")


def _edges(index: Array, weights: Array | None, nodes: int) -> dict[str, Array]:
    """Return edges as differences, which are small where edges are sorted; of an undirected graph each pair once."""
    once = index[0] < index[1]
    half, half_weights = index[:, once], None if weights is None else weights[once]
    again, again_weights = _both(half, half_weights, nodes)
    mirrored = np.array_equal(again, index) and np.array_equal(again_weights, weights)  # type: ignore[arg-type]
    if mirrored:
        index, weights = half, half_weights
    arrays = {f"edge_{end}": _small(np.diff(row, prepend=0)) for end, row in zip(("source", "target"), index, strict=True)}
    arrays["edge_mirrored"] = np.array(int(mirrored))
    return arrays if weights is None else arrays | {"edge_weight": weights}


def _both(half: Array, weights: Array | None, nodes: int) -> tuple[Array, Array | None]:
    """Return both directions of edges, sorted."""
    both = np.concatenate((half, half[::-1]), axis=1)
    order = np.argsort(both[0] * nodes + both[1], kind="stable")
    return both[:, order], None if weights is None else np.concatenate((weights, weights))[order]


def _features(x: Array) -> dict[str, Array]:
    """Return features densely, or as the parts of a sparse matrix, row by row, where those are smaller."""
    row, column = np.nonzero(x.view(np.int32))  # of the bits: -0.0 is kept
    parts = {
        "x_shape": np.array(x.shape),
        "x_count": _small(np.bincount(row, minlength=len(x))),
        "x_column": _small(column),
        "x_value": x[row, column],
    }
    return parts if sum(part.nbytes for part in parts.values()) < x.nbytes else {"x": x}


def _ids(ids: Array, nodes: int) -> dict[str, Array]:
    if ids.shape != (nodes,) or ids.dtype.kind not in "iuU":
        raise ValueError(f"node_ids must be {nodes} integers or strings to be stored, got {ids.dtype} in {ids.shape}")
    if ids.dtype.kind != "U":
        return {"node_ids": ids}
    return _texts("node_ids", ids.tolist()) | {"node_ids_width": np.array(ids.dtype.itemsize // _CHARACTER)}


def _width(data: "Data") -> int:
    """Return the memory that names of nodes take, in bytes."""
    ids = np.asarray(data.get("node_ids", ()))
    return ids.nbytes if ids.dtype.kind == "U" else 0


def _texts(name: str, texts: Any) -> dict[str, Array]:
    """Return strings as one array of UTF-8 bytes and the length of each in bytes."""
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"{name} must be text to be stored, got {texts!r}")
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = np.array([len(text) for text in encoded], dtype=np.int64)
    return {name: np.frombuffer(b"".join(encoded), dtype=np.uint8), f"{name}_length": _small(lengths)}


def _small(values: Array) -> Array:
    """Return integers in the smallest type that holds them."""
    if values.size == 0:
        return values.astype(np.int8)
    low, high = int(values.min()), int(values.max())
    return values.astype(np.min_scalar_type(high if low >= 0 else min(low, -high - 1)))


# --- reading ---------------------------------------------------------------------------------------------------------


class _Held:
    """The arrays of a file, each checked when it is asked for.

    Args:
        arrays: The arrays by name.
        path: The file, for errors.
        size: Its size in bytes, by which the memory for what it holds is limited.
    """

    def __init__(self, arrays: dict[str, Array], path: Path, size: int) -> None:
        self._arrays = arrays
        self._path = path
        self._size = size
        self._read: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def check(self, holds: bool, problem: str) -> None:
        """Raise unless a condition holds."""
        if not holds:
            raise ValueError(f"{self._path} is damaged: {problem}")

    def check_room(self, needed: int, what: str) -> None:
        """Raise if something takes more memory than a file of this size may ask for."""
        most = ARRAYS.of(self._size)
        self.check(needed <= most, f"{what} would take {megabytes(needed)}, expected {megabytes(most)} at most")

    def array(self, name: str, kinds: str, *shape: int | None) -> Array:
        """Return an array after checking presence, type and shape; ``None`` is any length."""
        self.check(name in self._arrays, f"it has no array {name!r}")
        self._read.add(name)
        found = self._arrays[name]
        fits = found.ndim == len(shape) and all(size in (None, length) for size, length in zip(shape, found.shape, strict=True))
        wanted = f"({', '.join('*' if size is None else str(size) for size in shape)})"
        of_kind = found.dtype.kind in kinds and (found.dtype.kind != "f" or found.dtype == np.float32)
        self.check(fits and of_kind, f"{name} must hold {_KINDS[kinds]} in shape {wanted}, got {found.dtype} in {found.shape}")
        return found

    def integers(self, name: str, length: int | None, least: int = 0, most: int | None = None) -> Array:
        """Return integers as int64 after checking their range."""
        values = self.array(name, "iu", length)
        return self._ranged(name, values, least, most)

    def number(self, name: str, most: int | None = None) -> int:
        """Return one integer that is not negative."""
        return int(self._ranged(name, self.array(name, "iu"), 0, most))

    def _ranged(self, name: str, values: Array, least: int, most: int | None) -> Array:
        if values.size:
            low, high = int(values.min()), int(values.max())
            top = _LARGEST if most is None else most
            self.check(least <= low and high <= top, f"{name} must lie in [{least}, {top}], got {low} to {high}")
        return values.astype(np.int64)

    def floats(self, name: str, *shape: int | None) -> Array:
        """Return float32 numbers after checking that they are finite."""
        values = self.array(name, "f", *shape)
        self.check(bool(np.isfinite(values).all()), f"{name} holds numbers that are not finite")
        return values

    def bits(self, name: str, length: int) -> Array:
        """Return a mask."""
        return np.unpackbits(self.array(name, "u", -(-length // 8)).astype(np.uint8), count=length).astype(bool)

    def texts(self, name: str, number: int | None = None) -> list[str]:
        """Return strings."""
        content = self.array(name, "u", None).astype(np.uint8).tobytes()
        ends = np.cumsum(self.integers(f"{name}_length", number))
        self.check(len(content) == (ends[-1] if len(ends) else 0), f"{name} and {name}_length do not fit each other")
        self.check(len(ends) == 0 or int(ends.max()) == len(content), f"{name}_length is too large")
        starts = np.concatenate(([0], ends[:-1]))
        try:
            return [content[a:b].decode("utf-8", "surrogatepass") for a, b in zip(starts, ends, strict=False)]
        except UnicodeDecodeError:
            raise ValueError(f"{self._path} is damaged: {name} is not UTF-8 text") from None

    def check_all_read(self) -> None:
        """Raise if there are arrays beside those asked for."""
        others = sorted(set(self._arrays) - self._read)
        self.check(not others, f"it has an unknown array {', '.join(map(repr, others))}")


def _load_edges(held: _Held, nodes: int) -> tuple[Array, Array | None]:
    source = np.cumsum(held.integers("edge_source", None, -_LARGEST))
    target = np.cumsum(held.integers("edge_target", len(source), -_LARGEST))
    index = np.stack((source, target))
    weights = held.floats("edge_weight", len(source)) if "edge_weight" in held else None
    held.check(index.size == 0 or (index.min() >= 0 and index.max() < nodes), f"edges must lie in [0, {nodes})")
    held.check(weights is None or bool((weights >= 0).all()), "edge_weight holds negative numbers")
    if not held.number("edge_mirrored", 1):
        return index, weights
    held.check(bool((source < target).all()), "edge_source must be below edge_target")
    return _both(index, weights, nodes)


def _load_ids(held: _Held, nodes: int) -> Array:
    if "node_ids_width" not in held:
        return held.array("node_ids", "iu", nodes)
    texts, width = held.texts("node_ids", nodes), held.number("node_ids_width")
    held.check(max(map(len, texts), default=0) <= width, f"node_ids must have at most {width} characters")
    held.check_room(_CHARACTER * width * nodes, f"node_ids of {width} characters")
    return np.array(texts, dtype=f"U{width}")


def _load_features(held: _Held, nodes: int) -> Array:
    if "x" in held:
        return held.floats("x", nodes, None)
    rows, columns = held.integers("x_shape", 2)
    held.check(rows == nodes, f"x_shape must begin with {nodes}, got {rows}")
    count, column = held.integers("x_count", nodes), held.integers("x_column", None, 0, int(columns) - 1)
    held.check(count.sum() == len(column), f"x_count must add up to {len(column)}, got {count.sum()}")
    held.check_room(_FLOAT * int(rows) * int(columns), f"features of shape ({rows}, {columns})")
    x = np.zeros((rows, columns), dtype=np.float32)
    x[np.repeat(np.arange(rows), count), column] = held.floats("x_value", len(column))
    return x
