"""Graphs in files: edge lists, ``.npz`` and GraphML, as drafts of a graph."""

import io
import warnings
from pathlib import Path
from typing import Any

from qgcn.content import check_file, read_bytes
from qgcn.data.arrays import read_arrays, sparse_from
from qgcn.data.assemble import Array
from qgcn.data.draft import Draft, from_index, weight_array
from qgcn.data.edge_lists import EdgeColumns, from_table
from qgcn.data.nodes import Nodes
from qgcn.data.objects import from_data, from_networkx, from_sparse
from qgcn.data.store import is_stored, load_graph
from qgcn.data.tables import TABLE_SUFFIXES, read_table, refuse_pickle, suffix_of
from qgcn.progress import Progress, silent

__all__ = ["from_path"]


def from_path(path: Path, num_nodes: int | None, wanted: EdgeColumns, progress: Progress = silent) -> Draft:
    """Read a file.

    Args:
        path: Edge list, ``.npz`` or ``.graphml``; the suffix tells which.
        num_nodes: Number of nodes, if ids are ``0 .. N - 1``.
        wanted: Columns to read of an edge list.
        progress: Progress callback, in bytes of an edge list.

    Raises:
        OSError: It cannot be read.
        ValueError: It cannot be understood.
    """
    suffix, name = suffix_of(path), path.name.split(".")[0] or path.name
    check_file(path)
    refuse_pickle(path, "a graph")
    if suffix in TABLE_SUFFIXES:
        return from_table(read_table(path, progress), name, num_nodes, wanted)
    wanted.check_unused(str(path))
    if suffix == ".npz":
        return _from_arrays(path, name, num_nodes)
    if suffix == ".graphml":
        return _from_graphml(path, name, num_nodes)
    expected = f"{', '.join(TABLE_SUFFIXES)} (text also with .gz), .npz or .graphml"
    raise ValueError(f"cannot read a graph from {path}: expected one of {expected}")


def _from_graphml(path: Path, name: str, num_nodes: int | None) -> Draft:
    import networkx

    content = read_bytes(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = networkx.read_graphml(io.BytesIO(content))
    except Exception as error:  # the XML parser and NetworkX raise many kinds
        raise ValueError(f"{path} is not GraphML: {' '.join(str(error).split()) or 'no graph in it'}") from None
    return from_networkx(graph, name, num_nodes)


def _from_arrays(path: Path, name: str, num_nodes: int | None) -> Draft:
    arrays = read_arrays(path)
    if is_stored(arrays):
        return from_data(load_graph(path), num_nodes)
    matrix = sparse_from(arrays, path)
    if matrix is not None:
        return from_sparse(matrix, name, num_nodes)
    what, index = _edge_index(arrays, path)
    more: dict[str, Any] = {"x": arrays.get("x"), "y": arrays.get("y")}
    if "edge_weight" in arrays:
        more["weights"] = weight_array(arrays["edge_weight"], index.shape[-1] if index.ndim else 0)
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
