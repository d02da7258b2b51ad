"""Graphs in files: edge lists, ``.npz`` and GraphML, as drafts of a graph."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from qgcn.data.assemble import Array, count
from qgcn.data.attributes import HEADER_WORDS, Nodes
from qgcn.data.objects import Draft, from_data, from_index, from_networkx, from_sparse, weight_array
from qgcn.data.pairs import Ints
from qgcn.data.store import from_arrays as stored_graph
from qgcn.data.store import is_stored
from qgcn.data.tables import TEXT_SUFFIXES, Table, read_arrays, read_bytes, read_table, sparse_from, suffix_of

__all__ = ["from_path"]


def from_path(path: Path, num_nodes: int | None) -> Draft:
    """Read a file.

    Args:
        path: Edge list, ``.npz`` or ``.graphml``; the suffix tells which.
        num_nodes: Number of nodes, if ids are ``0 .. N - 1``.

    Raises:
        OSError: It cannot be read.
        ValueError: It cannot be understood.
    """
    suffix, name = suffix_of(path), path.name.split(".")[0] or path.name
    if not path.exists():
        raise FileNotFoundError(f"no file {path}")
    if suffix in TEXT_SUFFIXES:
        return _from_table(read_table(path), name, num_nodes)
    if suffix == ".npz":
        return _from_arrays(path, name, num_nodes)
    if suffix == ".graphml":
        return _from_graphml(path, name, num_nodes)
    raise ValueError(f"cannot read a graph from {path}: expected one of {', '.join(TEXT_SUFFIXES)} (.gz too), .npz or .graphml")


def _from_graphml(path: Path, name: str, num_nodes: int | None) -> Draft:
    import networkx

    content = read_bytes(path)
    try:
        graph = networkx.read_graphml(io.BytesIO(content))
    except Exception as error:  # the XML parser and NetworkX raise many kinds
        raise ValueError(f"{path} is not GraphML: {str(error).splitlines()[0] if str(error) else 'no graph in it'}") from None
    return from_networkx(graph, name, num_nodes)


# --- edge lists ------------------------------------------------------------------------------------------------------


def _from_table(table: Table, name: str, num_nodes: int | None) -> Draft:
    table, head = _without_header(table)
    weights, remarks = None, []
    _check_filled(table)
    if len(table.columns) == 3:
        weights = _weights_of(table)
        remarks = [f"{'the third column' if head is None else f'column {head[2]!r}'} read as weights"]
    columns = table.integers([0, 1])
    if columns is not None and num_nodes is not None:
        return from_index(np.stack(columns), f"ids of {table.path}", name, num_nodes, weights=weights)
    if num_nodes is not None:
        raise ValueError(f"num_nodes is for ids 0 .. N - 1, but {table.path} has names such as {table.field(0, 0)!r}")
    if columns is not None:
        ids, edges = _compact(np.stack(columns))
        return Draft(edges, Nodes(ids, "seen"), name, weights, remarks=tuple(remarks))
    names, edges = _number_names(table)
    if head is None and _first_stands_apart(edges):
        line = f"{table.field(0, 0)}, {table.field(0, 1)}"
        remarks.append(f"line 1 ({line}) was read as an edge, though its names do not recur")
    return Draft(edges, Nodes(names, "seen"), name, weights, remarks=tuple(remarks))


def _check_filled(table: Table) -> None:
    for k, column in enumerate(table.columns):
        if (column == b"").any():
            raise ValueError(f"{table.at(int((column == b'').argmax()))}: column {k + 1} is empty")


def _first_stands_apart(edges: Ints) -> bool:
    """Tell whether the first of several edges joins two nodes that no other edge has: it may be a header."""
    apart = edges.shape[1] > 1 and edges[0, 0] != edges[1, 0]
    return bool(apart and (np.bincount(edges.ravel())[edges[:, 0]] == 1).all())


def _without_header(table: Table) -> tuple[Table, list[str] | None]:
    """Return the rows that hold edges, and the header if there is one."""
    if len(table.columns) not in (2, 3):
        raise ValueError(f"{table.path} has {count(len(table.columns), 'column')}: expected two ids and perhaps a weight")
    if len(table) == 1 and _names_columns(table):
        raise ValueError(f"{table.path} has a header and nothing below it: expected edges")
    if len(table) == 1 or not _has_header(table):
        return table, None
    return table.without_header(), [table.field(0, k) for k in range(len(table.columns))]


def _weights_of(table: Table) -> Any:
    weights = table.numbers(2, "a weight")
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"{table.at(row)}: a weight must be finite and not negative, got {table.field(row, 2)}")
    return weights


def _compact(pairs: Ints) -> tuple[Ints, Ints]:
    """Return the sorted distinct ids and the pairs in terms of their positions, shape ``(2, E)``."""
    low, high = int(pairs.min()), int(pairs.max())
    if high - low > 4 * pairs.size:
        ids, edges = np.unique(pairs, return_inverse=True)
        return ids, edges.reshape(pairs.shape)
    seen = np.zeros(high - low + 1, dtype=bool)  # ids close together need no sorting
    seen[pairs - low] = True
    return np.flatnonzero(seen) + low, (np.cumsum(seen) - 1)[pairs - low]


def _number_names(table: Table) -> tuple[Array, Ints]:
    """Return the sorted distinct names of the first two columns, and edges in terms of their positions."""
    # a dictionary beats sorting all fields, of which most are repeated
    fields = [column.tolist() for column in table.columns[:2]]
    names = sorted({*fields[0], *fields[1]})
    index = {field: k for k, field in enumerate(names)}
    edges = np.stack([np.fromiter(map(index.__getitem__, column), dtype=np.int64, count=len(column)) for column in fields])
    return np.array([field.decode() for field in names]), edges


def _has_header(table: Table) -> bool:
    """Tell whether the first row names the columns: its words say so, or numbers begin below it."""
    head, rest = table.row(0), table.without_header()
    if _names_columns(head):
        return True
    if len(table.columns) == 3 and not head.is_number(0, 2) and rest.is_number(0, 2):
        return True
    return head.integers([0]) is None and head.integers([1]) is None and rest.integers([0, 1]) is not None


def _names_columns(table: Table) -> bool:
    """Tell whether the first row holds words that head columns."""
    return table.field(0, 0).lower() in HEADER_WORDS and table.field(0, 1).lower() in HEADER_WORDS


# --- arrays ----------------------------------------------------------------------------------------------------------


def _from_arrays(path: Path, name: str, num_nodes: int | None) -> Draft:
    arrays = read_arrays(path)
    if is_stored(arrays):
        return from_data(stored_graph(arrays, path), num_nodes)
    matrix = sparse_from(arrays, path)
    if matrix is not None:
        return from_sparse(matrix, name, num_nodes)
    what, index = _edge_index(arrays, path)
    more: dict[str, Any] = {"x": arrays.get("x"), "y": arrays.get("y")}
    if "edge_weight" in arrays:
        more["weights"] = weight_array(arrays["edge_weight"], index.shape[-1])
    if num_nodes is None:
        num_nodes = next((len(arrays[key]) for key in ("node_ids", "x", "y") if key in arrays and arrays[key].ndim), None)
    if "node_ids" in arrays:
        ids = arrays["node_ids"]
        if ids.shape != (num_nodes,) or ids.dtype.kind not in "iuU":
            raise ValueError(f"{path}: node_ids must be {num_nodes} integers or strings, got {ids.dtype} in {ids.shape}")
        more["nodes"] = Nodes(ids, "all")
    return from_index(index, f"{path}: {what}", name, num_nodes, **more)


def _edge_index(arrays: dict[str, Array], path: Path) -> tuple[str, Array]:
    """Return the array of the edges, source above target, and its name."""
    if "edge_index" in arrays:
        return "edge_index", arrays["edge_index"]
    if "edges" not in arrays:
        held = ", ".join(map(repr, arrays)) or "nothing"
        raise ValueError(f"{path} must hold 'edge_index' (2, E) or 'edges' (E, 2), got {held}")
    index = arrays["edges"]
    if index.ndim != 2 or index.shape[1] != 2:
        raise ValueError(f"{path}: edges must have shape (E, 2), got {index.shape}")
    return "edges", index.T
