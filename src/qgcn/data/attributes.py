"""Features and labels for the nodes of your own graph, from tables with ids or arrays in the order of the nodes."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from qgcn.data.assemble import Array, count
from qgcn.data.pairs import Ints
from qgcn.data.tables import TEXT_SUFFIXES, Table, read_arrays, read_table, sparse_from, suffix_of

__all__ = ["HEADER_WORDS", "Nodes", "label_classes", "read_features", "read_labels"]

# fmt: off
HEADER_WORDS = frozenset({
    "source", "target", "src", "dst", "from", "to", "head", "tail", "start", "end",
    "node", "node1", "node2", "id", "id1", "id2", "node_id", "nodeid", "name", "source_id", "target_id", "fromnodeid",
    "tonodeid", "weight", "label", "class", "community", "group", "category", "type",
})
# fmt: on


@dataclass(frozen=True)
class Nodes:
    """The nodes of a graph in the making.

    Attributes:
        ids: Their names, unique, shape ``(N,)``, integers or strings.
        known: How far they are known. ``"all"``: these and no others. ``"index"``: numbers ``0 .. N - 1``, of which the edges
            may not have shown the last ones. ``"seen"``: the ids an edge list happened to name.
    """

    ids: Array
    known: Literal["all", "index", "seen"]

    @property
    def are_integers(self) -> bool:
        """Whether ids are integers rather than names."""
        return bool(np.issubdtype(self.ids.dtype, np.integer))

    def locate(self, ids: Array) -> Ints:
        """Return the position of each id, -1 for a stranger."""
        order = np.argsort(self.ids, kind="stable")
        place = np.searchsorted(self.ids, ids, sorter=order)
        found = order[np.minimum(place, len(order) - 1)]
        return np.where(self.ids[found] == ids, found, -1)

    def check_unique(self) -> None:
        """Raise unless each id names one node."""
        values, repeats = np.unique(self.ids, return_counts=True)
        if len(values) < len(self.ids):
            raise ValueError(f"node ids are not unique: {_name(values[repeats.argmax()])} names {repeats.max()} nodes")

    def with_rows(self, rows: int, what: str) -> "Nodes":
        """Return the nodes of an array whose row ``k`` is node ``k``.

        Raises:
            ValueError: The number of rows does not fit, or nodes have names and no order.
        """
        if self.known == "all":
            if rows != len(self.ids):
                raise ValueError(f"{what} must have one row for each of the {len(self.ids)} nodes, got {rows}")
            return self
        if not self.are_integers:
            raise ValueError(f"{what} has no ids, but nodes have names such as {_name(self.ids[0])}: give a CSV with ids")
        low, high = int(self.ids.min()), int(self.ids.max())
        if low < 0 or high >= rows:
            odd = low if low < 0 else high
            raise ValueError(f"{what} has {rows} rows, for nodes 0 to {rows - 1}, but the graph has a node {odd}")
        return Nodes(np.arange(rows), "all")

    def with_ids(self, ids: Array, table: Table) -> "Nodes":
        """Return the nodes together with those that a table names beside them."""
        strange = np.flatnonzero(self.locate(ids) < 0)
        if len(strange) == 0:
            return self
        if self.known == "all" or (self.known == "index" and ids.min() < 0):
            raise ValueError(f"{table.at(strange[0])}: node {_name(ids[strange[0]])} is not in the graph")
        if self.known == "index":
            return Nodes(np.arange(int(ids.max()) + 1), "index")
        return Nodes(np.union1d(self.ids, ids), "seen")

    def ids_of(self, table: Table) -> Array:
        """Read the first column of a table as ids of the kind of this graph's.

        Raises:
            ValueError: The graph's ids are integers and one of these is not, or one is empty or given twice.
        """
        if self.are_integers:
            read = table.integers([0])
            if read is None:
                single = (table.row(row) for row in range(len(table)))
                row = next(k for k, one in enumerate(single) if one.integers([0]) is None)
                raise ValueError(f"{table.at(row)}: node {table.field(row, 0)!r} is not in the graph, whose ids are integers")
            ids: Array = read[0]
        else:
            ids = np.char.decode(table.columns[0], "utf-8")
        values, first = np.unique(ids, return_index=True)
        if len(values) < len(ids):
            again = np.setdiff1d(np.arange(len(ids)), first)[0]
            raise ValueError(f"{table.at(again)}: node {_name(ids[again])} is given a second time")
        return ids

    def skip_header(self, table: Table, numeric: bool) -> tuple[Table, list[str] | None]:
        """Return a table without its header, and the header if there is one.

        A first row is a header if values must be numbers and one is not, if its id cannot be one, or if its id is a word like
        ``id`` and no node.
        """
        if len(table) < 2:
            return table, None
        head = [table.field(0, k) for k in range(len(table.columns))]
        is_header = numeric and any(field and not table.is_number(0, k) for k, field in enumerate(head) if k)
        if self.are_integers:
            is_header |= table.row(0).integers([0]) is None
        else:
            is_header |= head[0].lower() in HEADER_WORDS and int(self.locate(np.array([head[0]]))[0]) < 0
        return (table.without_header(), head) if is_header else (table, None)


def read_features(features: Any, nodes: Nodes) -> tuple[Tensor, Nodes]:
    """Read features for each node.

    Args:
        features: Path of a text table whose first column is the id, path of an ``.npy`` or ``.npz`` file, or an array or sparse
            matrix of shape ``(N, F)``.
        nodes: The nodes known so far.

    Returns:
        ``x``, float32 of shape ``(N, F)``, and the nodes, more than before if features name nodes that no edge names.

    Raises:
        OSError: A file cannot be read.
        ValueError: A node has no features, a value is no finite number, or the shape does not fit.
    """
    if isinstance(features, str | os.PathLike):
        path = Path(features)
        suffix = suffix_of(path)
        if suffix in TEXT_SUFFIXES:
            return _features_from_table(read_table(path), nodes)
        if suffix not in (".npy", ".npz"):
            raise ValueError(f"cannot read features from {path}: expected one of {', '.join(TEXT_SUFFIXES)}, .npy or .npz")
        values, what = _sole_array(path, ("x", "features")), str(path)
    else:
        values, what = _plain_array(features, "features"), "features"
    if values.ndim != 2 or values.shape[1] < 1:
        raise ValueError(f"{what} must have shape (N, F), got {values.shape}")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{what} must hold numbers, got {values.dtype}")
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, column = bad[0]
        raise ValueError(f"{what}: row {row}, column {column} is {values[row, column]}")
    grown = nodes.with_rows(len(values), what)
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)), grown


def _features_from_table(table: Table, nodes: Nodes) -> tuple[Tensor, Nodes]:
    if len(table.columns) < 2:
        raise ValueError(f"{table.path} has 1 column: expected the id of a node, then its features")
    nodes.check_unique()
    table, head = nodes.skip_header(table, numeric=True)
    ids = nodes.ids_of(table)
    values = np.stack([table.numbers(k, f"column {_column(head, k)}") for k in range(1, len(table.columns))], axis=1)
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"{table.at(row)}: column {_column(head, column + 1)} of node {_name(ids[row])} is {values[row, column]}"
        )
    grown = nodes.with_ids(ids, table)
    place = grown.locate(ids)
    missing = np.setdiff1d(np.arange(len(grown.ids)), place)
    if len(missing):
        others = f" and {count(len(missing) - 1, 'other')}" * (len(missing) > 1)
        raise ValueError(f"{table.path} has no features for node {_name(grown.ids[missing[0]])}{others}")
    x = np.empty(values.shape, dtype=np.float32)
    x[place] = values
    return torch.from_numpy(x), grown


def read_labels(labels: Any, nodes: Nodes) -> tuple[Tensor, list[str], Nodes]:
    """Read a label for each node that has one.

    Args:
        labels: Path of a text table of two columns, id and label; path of an ``.npy`` or ``.npz`` file; or an array of shape
            ``(N,)``. Labels are strings or integers; an empty string or a negative integer means none.
        nodes: The nodes.

    Returns:
        ``y``, int64 of shape ``(N,)``, numbers of classes in order, -1 for none; the names of the classes; the nodes.

    Raises:
        OSError: A file cannot be read.
        ValueError: A label is for a node that is not in the graph, or the shape does not fit.
    """
    if isinstance(labels, str | os.PathLike):
        path = Path(labels)
        suffix = suffix_of(path)
        if suffix in TEXT_SUFFIXES:
            return (*_labels_from_table(read_table(path), nodes), nodes)
        if suffix not in (".npy", ".npz"):
            raise ValueError(f"cannot read labels from {path}: expected one of {', '.join(TEXT_SUFFIXES)}, .npy or .npz")
        values, what = _sole_array(path, ("y", "labels")), str(path)
    else:
        values, what = _plain_array(labels, "labels"), "labels"
    if values.ndim != 1:
        raise ValueError(f"{what} must have shape (N,), got {values.shape}")
    grown = nodes.with_rows(len(values), what)
    return (*label_classes(values, what), grown)


def _labels_from_table(table: Table, nodes: Nodes) -> tuple[Tensor, list[str]]:
    if len(table.columns) != 2:
        raise ValueError(
            f"{table.path} has {count(len(table.columns), 'column')}: expected two, the id of a node and its label"
        )
    nodes.check_unique()
    table, _ = nodes.skip_header(table, numeric=False)
    ids = nodes.ids_of(table)
    place = nodes.locate(ids)
    if (place < 0).any():
        row = int((place < 0).argmax())
        raise ValueError(f"{table.at(row)}: node {_name(ids[row])} has a label, but is not in the graph")
    integers = table.integers([1])
    read, classes = label_classes(
        np.char.decode(table.columns[1], "utf-8") if integers is None else integers[0], str(table.path)
    )
    y = torch.full((len(nodes.ids),), -1)
    y[torch.from_numpy(place)] = read
    return y, classes


def label_classes(values: Array, what: str) -> tuple[Tensor, list[str]]:
    """Number the labels ``0 .. C - 1`` in their order.

    Args:
        values: Strings, ``""`` for no label, or integers, negative for none; shape ``(N,)``.
        what: How to call them in an error.

    Returns:
        Numbers, int64 of shape ``(N,)``, -1 for none; names of the classes.
    """
    if values.dtype.kind == "f" and (values == np.floor(values)).all():
        values = values.astype(np.int64)
    if values.dtype.kind not in "biuUS":
        raise ValueError(f"{what} must hold integers or strings, got {values.dtype}")
    labelled = values != values.dtype.type() if values.dtype.kind in "US" else values.astype(np.int64) >= 0
    if not labelled.any():
        raise ValueError(f"{what} has no label at all")
    names, numbers = np.unique(values[labelled], return_inverse=True)
    y = torch.full((len(values),), -1)
    y[torch.from_numpy(labelled)] = torch.from_numpy(numbers)
    return y, [name.decode() if isinstance(name, bytes) else str(name) for name in names.tolist()]


def _plain_array(values: Any, what: str) -> Array:
    if isinstance(values, Tensor):
        return np.asarray(values.detach().cpu())
    if hasattr(values, "toarray"):
        return np.asarray(values.toarray())
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{what} must be an array, got rows of different lengths") from None
    if array.dtype == object:
        raise ValueError(f"{what} must be an array of numbers or strings, got {type(values).__name__}")
    return array


def _sole_array(path: Path, names: tuple[str, ...]) -> Array:
    """Return the array of an ``.npy`` file, or the one of an ``.npz`` file that has one of the names or is alone."""
    arrays = read_arrays(path)
    matrix = sparse_from(arrays, path)
    if matrix is not None:
        return np.asarray(matrix.toarray())
    for name in ("", *names):
        if name in arrays:
            return arrays[name]
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    raise ValueError(f"{path} must hold an array {' or '.join(map(repr, names))}, got {', '.join(map(repr, arrays)) or 'none'}")


def _name(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)


def _column(head: list[str] | None, k: int) -> str:
    return str(k + 1) if head is None else repr(head[k])
