"""Graphs in memory: tensors, arrays, lists, matrices, data frames, NetworkX graphs and ``Data``, as drafts of a graph."""

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from qgcn.data.assemble import Array, Floats
from qgcn.data.columns import Columns, Table, WideFieldError, check_width
from qgcn.data.draft import Draft, check_size, from_index, weight_array
from qgcn.data.edge_lists import EdgeColumns, from_pairs, from_table
from qgcn.data.nodes import Nodes

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["from_data", "from_networkx", "from_object", "from_sparse"]

WIDTH = 3
"""Columns of a table of edges at most: source, target, weight."""


def from_object(graph: Any, num_nodes: int | None, wanted: EdgeColumns) -> Draft:
    """Read a tensor, array, list, SciPy matrix, pandas ``DataFrame``, NetworkX graph or ``Data``.

    Args:
        graph: The graph.
        num_nodes: Number of nodes; how many the graph says or shows, if not given.
        wanted: Columns to read of a ``DataFrame``.

    Raises:
        TypeError: It is none of these.
        ValueError: It is no graph.
    """
    # an object of a library that has not been imported cannot be at hand
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(graph, pandas.DataFrame):
        if not wanted.given() and _is_adjacency(graph):
            return _from_square(graph, num_nodes)
        return from_table(_frame_table(graph), "graph", num_nodes, wanted)
    wanted.check_unused(f"a {type(graph).__name__}")
    if isinstance(graph, Tensor | np.ndarray | list | tuple):
        return _from_plain(graph, num_nodes)
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(graph, networkx.Graph):
        return from_networkx(graph, graph.name or "graph", num_nodes)
    geometric = sys.modules.get("torch_geometric.data")
    if geometric is not None and isinstance(graph, geometric.Data):
        return from_data(graph, num_nodes)
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(graph):
        return from_sparse(graph, "graph", num_nodes)
    raise TypeError(
        "graph must be a Data, an edge_index, pairs, an adjacency matrix (dense, SciPy or torch), a DataFrame, "
        f"a NetworkX graph or a path, got {type(graph).__module__}.{type(graph).__qualname__}"
    )


def _from_plain(graph: Any, num_nodes: int | None) -> Draft:
    """Read a tensor, an array or a list; tuples in a list are pairs, whatever their number."""
    if isinstance(graph, Tensor):
        if graph.layout != torch.strided:
            return from_sparse(_scipy_matrix(graph), "graph", num_nodes)
        return _from_array(graph.detach().cpu().numpy(), num_nodes)
    if isinstance(graph, np.ndarray):
        return _from_array(graph, num_nodes)
    if len(graph) == 0 or any(isinstance(row, tuple | str) for row in graph):
        return from_pairs(graph, num_nodes)
    try:
        array = np.asarray(graph)
    except ValueError:
        return from_pairs(graph, num_nodes)
    rows, columns = array.shape if array.ndim == 2 else (0, 0)
    triples = columns == 3 != rows and (rows != 2 or array.dtype.kind == "f")
    if triples or array.dtype.kind in "USO":
        return from_pairs(graph, num_nodes)
    return _from_array(array, num_nodes)


def _from_array(array: Array, num_nodes: int | None) -> Draft:
    """Read an ``edge_index`` of shape ``(2, E)``, pairs of shape ``(E, 2)``, or a square adjacency matrix.

    Integers of shape ``(2, 2)`` are an ``edge_index``.
    """
    if array.dtype.kind in "USO":
        return from_pairs(array.tolist(), num_nodes)
    whole, shape = array.dtype.kind in "iu", array.shape
    if array.size == 0 or array.ndim != 2 or shape[0] == 2 != shape[1] or (shape[0] == 2 and whole):
        return from_index(array, "edge_index", "graph", num_nodes)
    if whole and shape[1] == 2:
        return from_index(array.T, "pairs", "graph", num_nodes)
    if shape[0] != shape[1]:
        raise ValueError(
            "graph must be an edge_index of shape (2, E) or pairs of shape (E, 2), of integers, or a square adjacency matrix, "
            f"got {array.dtype} in {shape}"
        )
    from scipy.sparse import coo_array

    return from_sparse(coo_array(array), "graph", num_nodes)


def _scipy_matrix(matrix: Any) -> Any:
    """Return a sparse tensor of PyTorch, or a ``SparseTensor`` of torch_sparse, as a SciPy matrix."""
    from scipy.sparse import coo_array

    if not isinstance(matrix, Tensor):
        matrix = matrix.to_torch_sparse_coo_tensor()
    entries = matrix.detach().cpu().to_sparse_coo().coalesce()
    if entries.sparse_dim() != 2 or entries.dense_dim():
        raise ValueError(f"an adjacency matrix must be square, got {tuple(matrix.shape)}")
    values = entries.values()
    values = values if values.is_complex() else values.double()  # NumPy does not have all types of PyTorch
    return coo_array((values.numpy(), tuple(entries.indices().numpy())), shape=tuple(entries.shape))


def _is_adjacency(frame: Any) -> bool:
    """Tell whether a ``DataFrame`` is a matrix of nodes by nodes: its index equals its columns.

    Two or three columns that are numbered, not named, are those of a table of edges.
    """
    rows, columns = frame.shape
    numbered = list(frame.columns) == list(range(columns))
    return rows == columns and list(frame.index) == list(frame.columns) and not (numbered and columns <= WIDTH)


def _from_square(frame: Any, num_nodes: int | None) -> Draft:
    """Read an adjacency matrix whose index names the nodes; row is source."""
    from scipy.sparse import coo_array

    values = frame.to_numpy()
    if values.dtype.kind not in "biuf":
        raise ValueError(f"an adjacency matrix must hold real numbers, got columns of {sorted(set(map(str, frame.dtypes)))}")
    draft = from_sparse(coo_array(values), "graph", num_nodes)
    nodes = Nodes(_node_names(list(frame.index), draft.name), "all")
    nodes.check_unique()
    return Draft(draft.edges, nodes, draft.name, draft.weights)


def _node_names(listed: list[Any], graph: str) -> Array:
    """Return names of nodes: integers if all are, texts otherwise."""
    whole = all(isinstance(node, int | np.integer) and not isinstance(node, bool) for node in listed)
    return _integers(listed) if whole else _names(listed, graph)


def _frame_table(frame: Any) -> Table:
    """Return a pandas ``DataFrame`` as a table; its index has no part in it."""

    def load(k: int, part: range) -> Array:
        column = frame.iloc[part.start : part.stop, k]
        values = column.to_numpy()
        if values.dtype.kind in "iub":
            return np.asarray(values, dtype=np.int64)
        if values.dtype.kind == "f":
            return np.asarray(values, dtype=np.float64)
        gone = column.isna().to_numpy()
        return np.array([b"" if gone[k] else str(each).encode() for k, each in enumerate(values)], dtype=np.bytes_)

    rows = len(frame)
    if rows == 0:
        raise ValueError("the DataFrame has no rows")
    columns = Columns(frame.shape[1], range(rows), load)
    return Table("the DataFrame", columns, np.arange(rows), tuple(map(str, frame.columns)), unit="row")


def from_data(data: "Data", num_nodes: int | None) -> Draft:
    """Read a ``Data`` with its features, labels, masks, weights, names and remarks."""
    edges, weights, size = _edges_of(data)
    check_size(num_nodes, size)
    node_ids = data.get("node_ids")
    nodes = Nodes(np.arange(size) if node_ids is None else np.asarray(node_ids), "all")
    if len(nodes.ids) != size:
        raise ValueError(f"node_ids must name {size} nodes, got {len(nodes.ids)}")
    return from_index(
        edges,
        "edge_index",
        data.name if isinstance(data.get("name"), str) else "graph",
        size,
        nodes=nodes,
        weights=weights,
        x=data.x,
        y=data.get("y"),
        classes=_classes_of(data),
        masks=_masks_of(data),
        remarks=tuple(data.get("remarks") or ()),
    )


def _edges_of(data: "Data") -> tuple[Array, Floats | None, int]:
    """Return ``edge_index``, weights and the number of nodes; ``adj_t``, whose rows are targets, stands for missing edges."""
    if data.get("edge_index") is not None:
        return data.edge_index.detach().cpu().numpy(), _weights_of(data), int(data.num_nodes or 0)
    if data.get("adj_t") is None:
        raise ValueError("the Data has no edge_index")
    draft = from_sparse(_scipy_matrix(data.adj_t).T, "graph", None)
    return draft.edges, draft.weights, len(draft.nodes.ids)


def _weights_of(data: "Data") -> Floats | None:
    """Return ``edge_weight``, else ``edge_attr`` if it has one column."""
    weights = data.get("edge_weight")
    if weights is None and isinstance(data.get("edge_attr"), Tensor) and data.edge_attr.squeeze(-1).ndim == 1:
        weights = data.edge_attr.squeeze(-1)
    return None if weights is None else weight_array(weights.detach().cpu().numpy(), data.edge_index.shape[1])


def _classes_of(data: "Data") -> list[str] | None:
    """Return the names of the classes, if there is one for each number."""
    names, y = data.get("classes"), data.get("y")
    if names is None or not isinstance(y, Tensor) or y.is_floating_point() or int(y.max()) >= len(names):
        return None
    return [str(name) for name in names]


def _masks_of(data: "Data") -> tuple[Tensor, Tensor, Tensor] | None:
    """Return the masks, if there are labels and all three masks."""
    masks = [data.get(key) for key in ("train_mask", "val_mask", "test_mask")]
    whole = [each.cpu() for each in masks if isinstance(each, Tensor) and each.dtype == torch.bool and each.ndim == 1]
    if data.get("y") is None or len(whole) < 3 or any(len(each) != data.num_nodes for each in whole):
        return None
    return whole[0], whole[1], whole[2]


def from_sparse(matrix: Any, name: str, num_nodes: int | None) -> Draft:
    """Read a square SciPy matrix: row is source, column is target; values other than 1 are weights."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"an adjacency matrix must be square, got {matrix.shape}")
    check_size(num_nodes, matrix.shape[0])
    entries = matrix.tocoo()
    if entries.dtype.kind not in "biuf":
        raise ValueError(f"an adjacency matrix must hold real numbers, got {entries.dtype}")
    values = entries.data.astype(np.float64)
    kept = values != 0  # NaN stays, and is refused with the other bad weights
    edges = np.stack((entries.row[kept], entries.col[kept])).astype(np.int64)
    weights = None if (values[kept] == 1).all() else values[kept]
    return Draft(edges, Nodes(np.arange(matrix.shape[0]), "all"), name, weights)


def from_networkx(graph: Any, name: str, num_nodes: int | None) -> Draft:
    """Read a NetworkX graph; an undirected one has both directions of each edge."""
    listed = list(graph.nodes)
    check_size(num_nodes, len(listed))
    if not listed:
        raise ValueError(f"{name} has no nodes")
    nodes = Nodes(_node_names(listed, name), "all")
    nodes.check_unique()
    index = {node: k for k, node in enumerate(listed)}
    edges = np.array([(index[a], index[b]) for a, b in graph.edges()], dtype=np.int64).reshape(-1, 2).T
    weights = _networkx_weights([weight for _, _, weight in graph.edges(data="weight")], name)
    if not graph.is_directed():  # each edge was listed once and means both directions
        apart = edges[0] != edges[1]
        edges = np.concatenate((edges, edges[::-1, apart]), axis=1)
        weights = None if weights is None else np.concatenate((weights, weights[apart]))
    return Draft(edges, nodes, name, weights)


def _integers(nodes: list[Any]) -> Array:
    try:
        return np.array(nodes, dtype=np.int64)
    except OverflowError:
        raise ValueError(f"a node must be an integer of 64 bits or a name, got {max(nodes, key=abs)}") from None


def _names(nodes: list[Any], graph: str) -> Array:
    """Return nodes by name; all names are kept as long as the longest."""
    names = [str(node) for node in nodes]
    lengths = np.array([len(name) for name in names])
    try:
        check_width(lengths, int(lengths.sum()))
    except WideFieldError as error:
        raise ValueError(
            f"{graph} has a node with a name of {error.length:,} characters, "
            f"too long for {len(names):,} nodes: expected {error.most:,} at most"
        ) from None
    return np.array(names)


def _networkx_weights(given: list[Any], name: str) -> Floats | None:
    """Return the weights, 1 where there is none; nothing if no edge has one."""
    if all(weight is None for weight in given):
        return None
    try:
        return np.array([1.0 if weight is None else float(weight) for weight in given])
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"the edge attribute 'weight' of {name} must be a number") from None
