"""Features and labels for the nodes of your own graph, from tables with ids or arrays in the order of the nodes."""

import os
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from qgcn.data.arrays import check_dense, read_arrays, sparse_from
from qgcn.data.assemble import Array, count
from qgcn.data.columns import Table
from qgcn.data.nodes import Nodes, quoted
from qgcn.data.tables import TABLE_SUFFIXES, read_table, refuse_pickle, suffix_of

__all__ = ["label_classes", "read_features", "read_labels"]

_MIXED = {str, type(None)}
"""Types whose presence in a list means that its entries are looked at one by one."""
_TOO_LARGE = ", which is too large for float32"
_LARGEST_LABEL = np.iinfo(np.int64).max


def read_features(features: Any, nodes: Nodes) -> tuple[Tensor, Nodes]:
    """Read features for each node.

    Args:
        features: Path of a table whose first column is the id, path of an ``.npy`` or ``.npz`` file, or an array or sparse
            matrix of shape ``(N, F)``.
        nodes: The nodes known so far.

    Returns:
        ``x``, float32 of shape ``(N, F)``, and the nodes, more than before if features name nodes that no edge names.

    Raises:
        OSError: A file cannot be read.
        ValueError: A node has no features, a value is no finite number, or the shape does not fit.
    """
    if isinstance(features, str | os.PathLike):
        source = _read_file(Path(features), "features", ("x", "features"))
        if isinstance(source, Table):
            return _features_from_table(source, nodes)
        if hasattr(source, "toarray"):
            check_dense(source.shape, Path(features))
        values, what = _plain_array(source, "features"), str(features)
    else:
        values, what = _plain_array(features, "features"), "features"
    if values.ndim != 2 or values.shape[1] < 1:
        raise ValueError(f"{what} must have shape (N, F), got {values.shape}")
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{what} must hold numbers, got {values.dtype}")
    kept = _float32(values)
    bad = np.argwhere(~np.isfinite(kept))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"{what}: row {row}, column {column} is {values[row, column]}{_TOO_LARGE * _is_finite(values[row, column])}"
        )
    grown = nodes.with_rows(len(values), what)
    return torch.from_numpy(kept), grown


def _features_from_table(table: Table, nodes: Nodes) -> tuple[Tensor, Nodes]:
    if len(table.columns) < 2:
        raise ValueError(f"{table.path} has 1 column: expected the id of a node, then its features")
    nodes.check_unique()
    table = nodes.skip_header(table, numeric=True)
    ids = nodes.unique_ids_of(table)
    values = np.empty((len(table), len(table.columns) - 1), dtype=np.float32)
    for k in range(1, len(table.columns)):
        column = table.numbers(k, f"column {table.title(k)}")
        values[:, k - 1] = _float32(column)
        bad = ~np.isfinite(values[:, k - 1])
        if bad.any():
            row = int(bad.argmax())
            about = f"column {table.title(k)} of node {quoted(ids[row])} is {column[row]}"
            raise ValueError(f"{table.at(row)}: {about}{_TOO_LARGE * _is_finite(column[row])}")
    grown = nodes.with_ids(ids, table)
    place = grown.locate(ids)
    missing = np.setdiff1d(np.arange(len(grown.ids)), place)
    if len(missing):
        others = f" and {count(len(missing) - 1, 'other')}" * (len(missing) > 1)
        raise ValueError(f"{table.path} has no features for node {quoted(grown.ids[missing[0]])}{others}")
    x = np.empty(values.shape, dtype=np.float32)
    x[place] = values
    return torch.from_numpy(x), grown


def _float32(values: Array) -> Array:
    """Return numbers as float32, infinite where they are too large for it."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, dtype=np.float32)


def _is_finite(value: Any) -> bool:
    return bool(np.isfinite(value))


def read_labels(labels: Any, nodes: Nodes) -> tuple[Tensor, list[str], Nodes]:
    """Read a label for each node that has one.

    Labels are strings or integers. No label is an empty string, a negative integer, NaN, ``None``, or a row of zeros.

    Args:
        labels: Path of a table of two columns, id and label; path of an ``.npy`` or ``.npz`` file; or an array, list or sparse
            matrix of shape ``(N,)``, ``(N, 1)`` or, with a single 1 in a row, ``(N, C)``.
        nodes: The nodes.

    Returns:
        ``y``, int64 of shape ``(N,)``, numbers of classes in order, -1 for none; the names of the classes; the nodes.

    Raises:
        OSError: A file cannot be read.
        ValueError: A label is for a node that is not in the graph, or the shape does not fit.
    """
    if isinstance(labels, str | os.PathLike):
        source = _read_file(Path(labels), "labels", ("y", "labels"))
        if isinstance(source, Table):
            return (*_labels_from_table(source, nodes), nodes)
        values, what = _label_array(source, str(labels)), str(labels)
    else:
        values, what = _label_array(labels, "labels"), "labels"
    grown = nodes.with_rows(len(values), what)
    return (*label_classes(values, what), grown)


def _labels_from_table(table: Table, nodes: Nodes) -> tuple[Tensor, list[str]]:
    if len(table.columns) != 2:
        raise ValueError(
            f"{table.path} has {count(len(table.columns), 'column')}: expected two, the id of a node and its label"
        )
    nodes.check_unique()
    table = nodes.skip_header(table, numeric=False)
    nodes.unique_ids_of(table)
    place = nodes.places_of(table)
    integers, given = table.integers([1]), table.values(1)
    values = integers[0] if integers is not None else given if given.dtype.kind == "f" else table.texts(1)
    read, classes = label_classes(values, str(table.path))
    y = torch.full((len(nodes.ids),), -1)
    y[torch.from_numpy(place)] = read
    return y, classes


def label_classes(values: Array, what: str) -> tuple[Tensor, list[str]]:
    """Number the labels ``0 .. C - 1`` in their order.

    Args:
        values: Strings, ``""`` for no label; or integers, negative for none; or whole floats, NaN or negative for none;
            shape ``(N,)``.
        what: How to call them in an error.

    Returns:
        Numbers, int64 of shape ``(N,)``, -1 for none; names of the classes.
    """
    if values.dtype.kind == "f" and (np.isnan(values) | (values == np.floor(values))).all():
        values = np.where(np.isnan(values), -1, values)
        if (size := np.abs(values.astype(np.float64))).size and size.max() >= _LARGEST_LABEL:
            raise ValueError(f"{what} has a label {values[size.argmax()]}, which is too large for an integer")
        values = values.astype(np.int64)
    if values.dtype.kind not in "biuUS":
        raise ValueError(f"{what} must hold integers or strings, got {values.dtype}")
    if values.dtype.kind == "u" and values.size and int(values.max()) > _LARGEST_LABEL:
        raise ValueError(f"{what} has a label {values.max()}, which is too large for an integer")
    labelled = values != values.dtype.type() if values.dtype.kind in "US" else values.astype(np.int64) >= 0
    if not labelled.any():
        raise ValueError(f"{what} has no label at all")
    names, numbers = np.unique(values[labelled], return_inverse=True)
    y = torch.full((len(values),), -1)
    y[torch.from_numpy(labelled)] = torch.from_numpy(numbers)
    try:
        return y, [name.decode() if isinstance(name, bytes) else str(name) for name in names.tolist()]
    except UnicodeDecodeError:
        raise ValueError(f"{what} has a label that is not UTF-8 text") from None


def _label_array(labels: Any, what: str) -> Array:
    """Return labels as an array of shape ``(N,)`` for :func:`label_classes`."""
    if hasattr(labels, "tocoo"):
        return _from_one_hot(labels.tocoo(), what)
    if isinstance(labels, list | tuple) and {type(each) for each in labels} & _MIXED:
        values = np.asarray(labels, dtype=object)  # NumPy would turn the -1 of ["a", -1] into a name
    else:
        values = _plain_array(labels, what)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 2 and values.dtype.kind in "biuf":
        from scipy.sparse import coo_array

        return _from_one_hot(coo_array(values), what)
    if values.ndim != 1:
        raise ValueError(f"{what} must have shape (N,), got {values.shape}")
    return _from_objects(values, what) if values.dtype == object else values


def _from_one_hot(matrix: Any, what: str) -> Array:
    """Return the column of the single 1 of each row, -1 for a row of zeros."""
    kept = matrix.data != 0
    row, column, value = matrix.row[kept], matrix.col[kept], matrix.data[kept]
    repeats = np.bincount(row, minlength=matrix.shape[0])
    if (value != 1).any() or (repeats > 1).any():
        odd = int(row[(value != 1).argmax()] if (value != 1).any() else repeats.argmax())
        raise ValueError(f"{what} must have shape (N,), or (N, C) with a single 1 in a row, which row {odd} has not")
    found = np.full(matrix.shape[0], -1, dtype=np.int64)
    found[row] = column
    return found


def _from_objects(values: Array, what: str) -> Array:
    """Return labels that are Python objects as strings or integers; ``None``, NaN and negative numbers mean no label."""
    given = values.tolist()
    missing = [each is None or each != each or type(each).__name__ == "NAType" for each in given]
    missing = [gone or (isinstance(each, Integral) and each < 0) for each, gone in zip(given, missing, strict=True)]
    kept = [each for each, gone in zip(given, missing, strict=True) if not gone]
    if all(isinstance(each, str) for each in kept):
        return np.array(["" if gone else each for each, gone in zip(given, missing, strict=True)], dtype=np.str_)
    if all(isinstance(each, Integral) for each in kept):
        return np.array([-1 if gone else int(each) for each, gone in zip(given, missing, strict=True)])
    kinds = ", ".join(sorted({type(each).__name__ for each in kept}))
    raise ValueError(f"{what} must hold integers or strings, got {kinds}")


def _plain_array(values: Any, what: str) -> Array:
    if isinstance(values, Tensor):
        return np.asarray(values.detach().cpu().to_dense())
    if hasattr(values, "toarray"):
        with np.errstate(over="ignore"):
            return np.asarray((values.astype(np.float32) if values.dtype.kind == "f" else values).toarray())
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{what} must be an array, got rows of different lengths") from None
    if array.ndim == 0:
        raise ValueError(f"{what} must be an array of numbers or strings, got {type(values).__name__}")
    return array


def _read_file(path: Path, what: str, names: tuple[str, ...]) -> Any:
    """Read a file as a table, an array or a sparse matrix; of an ``.npz``, the array of one of the names or the only one."""
    refuse_pickle(path, what)
    suffix = suffix_of(path)
    if suffix in TABLE_SUFFIXES:
        return read_table(path)
    if suffix not in (".npy", ".npz"):
        raise ValueError(f"cannot read {what} from {path}: expected one of {', '.join(TABLE_SUFFIXES)}, .npy or .npz")
    arrays = read_arrays(path)
    matrix = sparse_from(arrays, path)
    if matrix is not None:
        return matrix
    for name in ("", *names):
        if name in arrays:
            return arrays[name]
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    raise ValueError(f"{path} must hold an array {' or '.join(map(repr, names))}, got {', '.join(map(repr, arrays)) or 'none'}")
