"""Graphs of your own: tensors, matrices, NetworkX graphs and files become the same ``Data`` as a named data set."""

import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from qgcn.data.assemble import Array, Floats, assemble, count
from qgcn.data.attributes import HEADER_WORDS, Nodes, read_features, read_labels
from qgcn.data.catalogue import CATALOGUE, GENERATORS, nearest
from qgcn.data.load import is_known, load
from qgcn.data.pairs import Ints
from qgcn.data.tables import TEXT_SUFFIXES, Table, read_arrays, read_bytes, read_table, sparse_from, suffix_of

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["as_data", "read_graph"]

_MOST_NODES = 1 << 31  # a pair of nodes is numbered in 64 bits


@dataclass(frozen=True)
class _Draft:
    """What a source says of a graph, before it is cleaned."""

    edges: Ints
    nodes: Nodes
    name: str
    weights: Floats | None = None
    x: Any = None
    y: Any = None
    masks: tuple[Tensor, Tensor, Tensor] | None = None
    remarks: tuple[str, ...] = ()


def read_graph(
    graph: Any, *, features: Any = None, labels: Any = None, num_nodes: int | None = None, split_seed: int = 0
) -> "Data":
    """Read a graph of your own.

    ``graph`` is one of:

    - a PyG ``Data``; its ``x``, ``y``, masks and ``edge_weight`` are kept;
    - an ``edge_index`` of shape ``(2, E)``, a tensor or a NumPy array of integers;
    - a square SciPy sparse matrix; values other than 1 are weights;
    - a NetworkX graph; the edge attribute ``weight`` is the weight;
    - the path of an edge list (``.csv``, ``.tsv``, ``.txt``, ``.edges``, ``.edgelist``, ``.tab``, ``.dat``, each also with
      ``.gz``): two ids a line and perhaps a weight, divided by commas, semicolons, tabs or blanks, with or without a header;
      lines that begin with ``#`` or ``%`` are comments. Ids are integers or names;
    - the path of an ``.npz``: ``edge_index`` of shape ``(2, E)`` or ``edges`` of shape ``(E, 2)``, perhaps ``x``, ``y``,
      ``edge_weight`` and ``node_ids``; or what ``scipy.sparse.save_npz`` wrote;
    - the path of a ``.graphml``.

    The graph becomes undirected: edges get both directions, self-loops and edges of weight 0 go, an edge given more than once
    becomes one with the mean of its weights. ``remarks`` says how many of each. Isolated nodes stay where they are known: from
    ``num_nodes``, from the features, from a matrix, a ``Data`` or a NetworkX graph.

    Args:
        graph: The graph.
        features: Path of a text table, first the id, then numbers; path of an ``.npy`` or ``.npz``; or an array of shape
            ``(N, F)`` in the order of the nodes. Every node needs them.
        labels: Path of a text table of id and label; path of an ``.npy`` or ``.npz``; or an array of shape ``(N,)``. Strings,
            or integers, negative for none.
        num_nodes: Number of nodes, if ids are ``0 .. N - 1`` and not all of them have edges.
        split_seed: Fixes the masks, 70 / 15 / 15 of the labelled nodes.

    Returns:
        The same as :func:`qgcn.data.load`; besides ``edge_weight`` float32 of shape ``(E,)`` if edges have weights, and
        ``classes``, the names of the classes, if nodes have labels. Nodes without a label have ``y == -1`` and are in no mask.

    Raises:
        OSError: A file cannot be read.
        ValueError: It cannot be understood: one line says what and where.
        TypeError: ``graph`` is none of these.
    """
    draft = _draft(graph, num_nodes)
    _check_weights(draft)
    nodes, x, y, masks = draft.nodes, draft.x, draft.y, draft.masks
    classes: list[str] | None = None
    if features is None and x is not None:
        features = x
    if features is not None:
        x, nodes = read_features(features, nodes)
    if labels is not None:
        y, classes, nodes = read_labels(labels, nodes)
        masks = None
        if x is not None and len(x) != len(nodes.ids):
            raise ValueError(f"labels are for {len(nodes.ids)} nodes, features for {len(x)}")
    elif y is not None:
        y, classes, nodes = read_labels(y, nodes)
    edges = draft.edges if nodes is draft.nodes else nodes.locate(draft.nodes.ids)[draft.edges]
    remarks = list(draft.remarks)
    if y is not None and (bare := int((y < 0).sum())):
        remarks.append(f"{count(bare, 'node')} without label, in no mask")
    data = assemble(
        edges,
        len(nodes.ids),
        name=draft.name,
        weights=draft.weights,
        node_ids=nodes.ids,
        x=x,
        y=y,
        masks=masks,
        split_seed=split_seed,
        remarks=tuple(remarks),
    )
    if data.edge_index.numel() == 0:
        raise ValueError(f"{draft.name} has no edges" + (f" ({'; '.join(data.remarks)})" if data.remarks else ""))
    if classes is not None:
        data.classes = classes
    return data


def as_data(
    graph: Any,
    root: str | Path | None = None,
    split_seed: int = 0,
    features: Any = None,
    labels: Any = None,
    **options: Any,
) -> "Data":
    """Turn whatever names or is a graph into ``Data``: the one door of the command line and the estimator.

    Args:
        graph: The name of a data set, for :func:`qgcn.data.load`, or anything that :func:`read_graph` takes. A string that is
            both a name and a file is the name; write ``./cora`` for the file.
        root: Folder of the data sets.
        split_seed: Fixes the masks.
        features: As for :func:`read_graph`.
        labels: As for :func:`read_graph`.
        options: As for :func:`qgcn.data.load`.

    Raises:
        OSError: A file cannot be read or downloaded.
        ValueError: A string is neither a name nor a file, or the graph cannot be understood.
    """
    if isinstance(graph, str):
        if is_known(graph):
            data = load(graph, root, split_seed=split_seed, **options)
            if features is None and labels is None:
                return data
            return read_graph(data, features=features, labels=labels, split_seed=split_seed)
        if not Path(graph).exists():
            raise ValueError(f"no file and no data set {graph!r}{nearest(graph, [*CATALOGUE, *GENERATORS])}")
    if options:
        raise ValueError(f"option {next(iter(options))!r} is for named data sets only")
    return read_graph(graph, features=features, labels=labels, split_seed=split_seed)


def _draft(graph: Any, num_nodes: int | None) -> _Draft:
    if isinstance(graph, str | os.PathLike):
        return _from_path(Path(graph), num_nodes)
    if isinstance(graph, Tensor | np.ndarray):
        array = graph.detach().cpu().numpy() if isinstance(graph, Tensor) else graph
        return _from_index(array, "edge_index", "graph", num_nodes)
    # a graph of a library that has not been imported cannot be at hand
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(graph, networkx.Graph):
        return _from_networkx(graph, graph.name or "graph", num_nodes)
    geometric = sys.modules.get("torch_geometric.data")
    if geometric is not None and isinstance(graph, geometric.Data):
        return _from_data(graph, num_nodes)
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(graph):
        return _from_sparse(graph, "graph", num_nodes)
    raise TypeError(
        "graph must be a Data, an edge_index, a SciPy sparse matrix, a NetworkX graph or a path, "
        f"got {type(graph).__module__}.{type(graph).__qualname__}"
    )


def _from_index(array: Array, what: str, name: str, num_nodes: int | None, **more: Any) -> _Draft:
    if array.ndim != 2 or array.shape[0] != 2 or array.dtype.kind not in "iu":
        hint = "; transpose it" if array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "iu" else ""
        raise ValueError(f"{what} must hold integers in shape (2, E), got {array.dtype} in {array.shape}{hint}")
    if array.size == 0:
        raise ValueError(f"{name} has no edges")
    low, high = int(array.min()), int(array.max())
    size = high + 1 if num_nodes is None else num_nodes
    if low < 0 or high >= size:
        raise ValueError(f"{what} must lie in [0, {size}), got {low if low < 0 else high}")
    if size > _MOST_NODES:
        raise ValueError(f"{what} numbers nodes up to {high}, but at most {_MOST_NODES} are possible")
    known: Literal["all", "index"] = "index" if num_nodes is None else "all"
    more.setdefault("nodes", Nodes(np.arange(size), known))
    return _Draft(array.astype(np.int64), name=name, **more)


def _from_data(data: "Data", num_nodes: int | None) -> _Draft:
    if data.edge_index is None:
        raise ValueError("the Data has no edge_index")
    size = data.num_nodes
    _check_size(num_nodes, size)
    name = data.name if isinstance(data.get("name"), str) else "graph"
    node_ids = data.get("node_ids")
    nodes = Nodes(np.arange(size) if node_ids is None else np.asarray(node_ids), "all")
    if len(nodes.ids) != size:
        raise ValueError(f"node_ids must name {size} nodes, got {len(nodes.ids)}")
    weights = data.get("edge_weight")
    if weights is None and isinstance(data.get("edge_attr"), Tensor) and data.edge_attr.squeeze(-1).ndim == 1:
        weights = data.edge_attr.squeeze(-1)
    masks: Any = tuple(data.get(key) for key in ("train_mask", "val_mask", "test_mask"))
    complete = all(isinstance(mask, Tensor) and mask.dtype == torch.bool and mask.shape == (size,) for mask in masks)
    return _from_index(
        data.edge_index.detach().cpu().numpy(),
        "edge_index",
        name,
        size,
        nodes=nodes,
        weights=None if weights is None else _weight_array(weights.detach().cpu().numpy(), data.edge_index.shape[1]),
        x=data.x,
        y=data.get("y"),
        masks=tuple(mask.cpu() for mask in masks) if complete and data.get("y") is not None else None,
        remarks=tuple(data.get("remarks") or ()),
    )


def _from_sparse(matrix: Any, name: str, num_nodes: int | None) -> _Draft:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"an adjacency matrix must be square, got {matrix.shape}")
    _check_size(num_nodes, matrix.shape[0])
    entries = matrix.tocoo()
    if entries.dtype.kind not in "biuf":
        raise ValueError(f"an adjacency matrix must hold real numbers, got {entries.dtype}")
    values = entries.data.astype(np.float64)
    kept = values != 0  # NaN stays, and is refused with the other bad weights
    edges = np.stack((entries.row[kept], entries.col[kept])).astype(np.int64)
    weights = None if (values[kept] == 1).all() else values[kept]
    return _Draft(edges, Nodes(np.arange(matrix.shape[0]), "all"), name, weights)


def _from_networkx(graph: Any, name: str, num_nodes: int | None) -> _Draft:
    listed = list(graph.nodes)
    _check_size(num_nodes, len(listed))
    if not listed:
        raise ValueError(f"{name} has no nodes")
    whole = all(isinstance(node, int | np.integer) and not isinstance(node, bool) for node in listed)
    nodes = Nodes(np.array(listed, dtype=np.int64) if whole else np.array([str(node) for node in listed]), "all")
    nodes.check_unique()
    index = {node: k for k, node in enumerate(listed)}
    edges = np.array([(index[a], index[b]) for a, b in graph.edges()], dtype=np.int64).reshape(-1, 2).T
    given = [weight for _, _, weight in graph.edges(data="weight")]
    weights = None
    if any(weight is not None for weight in given):
        try:
            weights = np.array([1.0 if weight is None else float(weight) for weight in given])
        except (TypeError, ValueError):
            raise ValueError(f"the edge attribute 'weight' of {name} must be a number") from None
    if not graph.is_directed():  # each edge was listed once and means both directions
        edges = np.concatenate((edges, edges[::-1][:, edges[0] != edges[1]]), axis=1)
        if weights is not None:
            weights = np.concatenate((weights, weights[edges[0, : len(weights)] != edges[1, : len(weights)]]))
    return _Draft(edges, nodes, name, weights)


def _from_path(path: Path, num_nodes: int | None) -> _Draft:
    suffix, name = suffix_of(path), path.name.split(".")[0] or path.name
    if not path.exists():
        raise FileNotFoundError(f"no file {path}")
    if suffix in TEXT_SUFFIXES:
        return _from_table(read_table(path), name, num_nodes)
    if suffix == ".npz":
        return _from_arrays(path, name, num_nodes)
    if suffix == ".graphml":
        import networkx

        content = read_bytes(path)
        try:
            graph = networkx.read_graphml(io.BytesIO(content))
        except Exception as error:  # the XML parser and NetworkX raise many kinds
            raise ValueError(
                f"{path} is not GraphML: {str(error).splitlines()[0] if str(error) else 'no graph in it'}"
            ) from None
        return _from_networkx(graph, name, num_nodes)
    raise ValueError(f"cannot read a graph from {path}: expected one of {', '.join(TEXT_SUFFIXES)} (.gz too), .npz or .graphml")


def _from_table(table: Table, name: str, num_nodes: int | None) -> _Draft:
    width = len(table.columns)
    if width not in (2, 3):
        raise ValueError(f"{table.path} has {count(width, 'column')}: expected two ids and perhaps a weight")
    title = "the third column"
    if len(table) == 1 and _names_columns(table):
        raise ValueError(f"{table.path} has a header and nothing below it: expected edges")
    headed = len(table) > 1 and _has_header(table)
    if headed:
        title = f"column {table.field(0, 2)!r}" if width == 3 else title
        table = table.without_header()
    remarks = (f"{title} read as weights",) if width == 3 else ()
    for k in range(width):
        if (table.columns[k] == b"").any():
            raise ValueError(f"{table.at(int((table.columns[k] == b'').argmax()))}: column {k + 1} is empty")
    weights = table.numbers(2, "a weight") if width == 3 else None
    if weights is not None and not (np.isfinite(weights) & (weights >= 0)).all():
        row = int((~(np.isfinite(weights) & (weights >= 0))).argmax())
        raise ValueError(f"{table.at(row)}: a weight must be finite and not negative, got {table.field(row, 2)}")
    columns = table.integers([0, 1])
    if columns is not None and num_nodes is not None:
        return _from_index(np.stack(columns), f"ids of {table.path}", name, num_nodes, weights=weights)
    if num_nodes is not None:
        raise ValueError(f"num_nodes is for ids 0 .. N - 1, but {table.path} has names such as {table.field(0, 0)!r}")
    if columns is not None:
        ids, edges = _compact(np.stack(columns))
        return _Draft(edges, Nodes(ids, "seen"), name, weights, remarks=remarks)
    # a dictionary beats sorting all fields, of which most are repeated
    fields = [column.tolist() for column in table.columns[:2]]
    names = sorted({*fields[0], *fields[1]})
    first = {fields[0][0], fields[1][0]}
    if not headed and len(table) > 1 and len(first) == 2 and not first & {*fields[0][1:], *fields[1][1:]}:
        line = f"{table.field(0, 0)}, {table.field(0, 1)}"
        remarks = (*remarks, f"line 1 ({line}) was read as an edge, though its names do not recur")
    index = {field: k for k, field in enumerate(names)}
    edges = np.stack([np.fromiter(map(index.__getitem__, column), dtype=np.int64, count=len(column)) for column in fields])
    return _Draft(edges, Nodes(np.array([field.decode() for field in names]), "seen"), name, weights, remarks=remarks)


def _compact(pairs: Ints) -> tuple[Ints, Ints]:
    """Return the sorted distinct ids and the pairs in terms of their positions, shape ``(2, E)``."""
    low, high = int(pairs.min()), int(pairs.max())
    if high - low > 4 * pairs.size:
        ids, edges = np.unique(pairs, return_inverse=True)
        return ids, edges.reshape(pairs.shape)
    seen = np.zeros(high - low + 1, dtype=bool)  # ids close together need no sorting
    seen[pairs - low] = True
    return np.flatnonzero(seen) + low, (np.cumsum(seen) - 1)[pairs - low]


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


def _from_arrays(path: Path, name: str, num_nodes: int | None) -> _Draft:
    arrays = read_arrays(path)
    matrix = sparse_from(arrays, path)
    if matrix is not None:
        return _from_sparse(matrix, name, num_nodes)
    if "edge_index" in arrays:
        what, index = "edge_index", arrays["edge_index"]
    elif "edges" in arrays:
        what, index = "edges", arrays["edges"]
        if index.ndim != 2 or index.shape[1] != 2:
            raise ValueError(f"{path}: edges must have shape (E, 2), got {index.shape}")
        index = index.T
    else:
        held = ", ".join(map(repr, arrays)) or "nothing"
        raise ValueError(f"{path} must hold 'edge_index' (2, E) or 'edges' (E, 2), got {held}")
    more: dict[str, Any] = {"x": arrays.get("x"), "y": arrays.get("y")}
    if "edge_weight" in arrays:
        more["weights"] = _weight_array(arrays["edge_weight"], index.shape[-1])
    if num_nodes is None:
        num_nodes = next((len(arrays[key]) for key in ("node_ids", "x", "y") if key in arrays and arrays[key].ndim), None)
    if "node_ids" in arrays:
        ids = arrays["node_ids"]
        if ids.shape != (num_nodes,) or ids.dtype.kind not in "iuU":
            raise ValueError(f"{path}: node_ids must be {num_nodes} integers or strings, got {ids.dtype} in {ids.shape}")
        more["nodes"] = Nodes(ids, "all")
    return _from_index(index, f"{path}: {what}", name, num_nodes, **more)


def _weight_array(weights: Array, edges: int) -> Floats:
    if weights.shape != (edges,) or weights.dtype.kind not in "biuf":
        raise ValueError(f"edge_weight must hold {edges} numbers, got {weights.dtype} in {weights.shape}")
    return weights.astype(np.float64)


def _check_weights(draft: _Draft) -> None:
    if draft.weights is None:
        return
    bad = ~(np.isfinite(draft.weights) & (draft.weights >= 0))
    if bad.any():
        k = int(bad.argmax())
        a, b = (draft.nodes.ids[node].item() for node in draft.edges[:, k])
        raise ValueError(f"a weight must be finite and not negative, got {draft.weights[k]} between {a!r} and {b!r}")


def _check_size(num_nodes: int | None, size: int) -> None:
    if num_nodes is not None and num_nodes != size:
        raise ValueError(f"num_nodes must be {size}, the number of nodes of the graph, got {num_nodes}")
