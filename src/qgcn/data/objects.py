"""Graphs in memory: tensors, arrays, sparse matrices, NetworkX graphs and ``Data``, as drafts of a graph."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from qgcn.data.assemble import Array, Floats
from qgcn.data.attributes import Nodes
from qgcn.data.pairs import Ints

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Draft", "from_data", "from_index", "from_networkx", "from_object", "from_sparse", "weight_array"]

_MOST_NODES = 1 << 31  # a pair of nodes is numbered in 64 bits


@dataclass(frozen=True)
class Draft:
    """A graph as its source gives it, before it is cleaned.

    Attributes:
        edges: From source to target, shape ``(2, E)``.
        nodes: The nodes.
        name: Name of the graph.
        weights: Weights of the edges, shape ``(E,)``.
        x: Features, as the source gives them.
        y: Labels, as the source gives them.
        classes: Names of the classes, if ``y`` numbers them.
        masks: Train, validation and test masks.
        remarks: Remarks on how it was read.
    """

    edges: Ints
    nodes: Nodes
    name: str
    weights: Floats | None = None
    x: Any = None
    y: Any = None
    classes: list[str] | None = None
    masks: tuple[Tensor, Tensor, Tensor] | None = None
    remarks: tuple[str, ...] = ()

    def check_weights(self) -> None:
        """Raise unless weights are finite and not negative."""
        if self.weights is None:
            return
        bad = ~(np.isfinite(self.weights) & (self.weights >= 0))
        if bad.any():
            k = int(bad.argmax())
            a, b = (self.nodes.ids[node].item() for node in self.edges[:, k])
            raise ValueError(f"a weight must be finite and not negative, got {self.weights[k]} between {a!r} and {b!r}")


def from_object(graph: Any, num_nodes: int | None) -> Draft:
    """Read a tensor, array, SciPy matrix, NetworkX graph or ``Data``.

    Args:
        graph: The graph.
        num_nodes: Number of nodes; how many the graph says or shows, if not given.

    Raises:
        TypeError: It is none of these.
        ValueError: It is no graph.
    """
    if isinstance(graph, Tensor | np.ndarray):
        array = graph.detach().cpu().numpy() if isinstance(graph, Tensor) else graph
        return from_index(array, "edge_index", "graph", num_nodes)
    # a graph of a library that has not been imported cannot be at hand
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
        "graph must be a Data, an edge_index, a SciPy sparse matrix, a NetworkX graph or a path, "
        f"got {type(graph).__module__}.{type(graph).__qualname__}"
    )


def from_index(array: Array, what: str, name: str, num_nodes: int | None, **more: Any) -> Draft:
    """Read an ``edge_index`` of shape ``(2, E)``; ``what`` names it in an error, ``more`` are fields of the draft."""
    whole, shape = array.dtype.kind in "iu", array.shape
    if not whole or len(shape) != 2 or shape[0] != 2:
        hint = "; transpose it" if whole and len(shape) == 2 and shape[1] == 2 else ""
        raise ValueError(f"{what} must hold integers in shape (2, E), got {array.dtype} in {array.shape}{hint}")
    if array.size == 0:
        raise ValueError(f"{name} has no edges")
    size = int(array.max()) + 1 if num_nodes is None else num_nodes
    _check_range(array, size, what)
    known: Literal["all", "index"] = "index" if num_nodes is None else "all"
    more.setdefault("nodes", Nodes(np.arange(size), known))
    return Draft(array.astype(np.int64), name=name, **more)


def _check_range(array: Array, size: int, what: str) -> None:
    """Raise unless all entries lie in ``[0, size)``, and so many nodes are possible."""
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= size:
        raise ValueError(f"{what} must lie in [0, {size}), got {low if low < 0 else high}")
    if size > _MOST_NODES:
        raise ValueError(f"{what} numbers nodes up to {high}, but at most {_MOST_NODES} are possible")


def from_data(data: "Data", num_nodes: int | None) -> Draft:
    """Read a ``Data`` with its features, labels, masks, weights, names and remarks."""
    if data.edge_index is None:
        raise ValueError("the Data has no edge_index")
    size = data.num_nodes
    _check_size(num_nodes, size)
    node_ids = data.get("node_ids")
    nodes = Nodes(np.arange(size) if node_ids is None else np.asarray(node_ids), "all")
    if len(nodes.ids) != size:
        raise ValueError(f"node_ids must name {size} nodes, got {len(nodes.ids)}")
    return from_index(
        data.edge_index.detach().cpu().numpy(),
        "edge_index",
        data.name if isinstance(data.get("name"), str) else "graph",
        size,
        nodes=nodes,
        weights=_weights_of(data),
        x=data.x,
        y=data.get("y"),
        classes=_classes_of(data),
        masks=_masks_of(data),
        remarks=tuple(data.get("remarks") or ()),
    )


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
    _check_size(num_nodes, matrix.shape[0])
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
    _check_size(num_nodes, len(listed))
    if not listed:
        raise ValueError(f"{name} has no nodes")
    whole = all(isinstance(node, int | np.integer) and not isinstance(node, bool) for node in listed)
    nodes = Nodes(np.array(listed, dtype=np.int64) if whole else np.array([str(node) for node in listed]), "all")
    nodes.check_unique()
    index = {node: k for k, node in enumerate(listed)}
    edges = np.array([(index[a], index[b]) for a, b in graph.edges()], dtype=np.int64).reshape(-1, 2).T
    weights = _networkx_weights([weight for _, _, weight in graph.edges(data="weight")], name)
    if not graph.is_directed():  # each edge was listed once and means both directions
        apart = edges[0] != edges[1]
        edges = np.concatenate((edges, edges[::-1, apart]), axis=1)
        weights = None if weights is None else np.concatenate((weights, weights[apart]))
    return Draft(edges, nodes, name, weights)


def _networkx_weights(given: list[Any], name: str) -> Floats | None:
    """Return the weights, 1 where there is none; nothing if no edge has one."""
    if all(weight is None for weight in given):
        return None
    try:
        return np.array([1.0 if weight is None else float(weight) for weight in given])
    except (TypeError, ValueError):
        raise ValueError(f"the edge attribute 'weight' of {name} must be a number") from None


def weight_array(weights: Array, edges: int) -> Floats:
    """Return weights as float64; raise unless there is one for each edge."""
    if weights.shape != (edges,) or weights.dtype.kind not in "biuf":
        raise ValueError(f"edge_weight must hold {edges} numbers, got {weights.dtype} in {weights.shape}")
    return weights.astype(np.float64)


def _check_size(num_nodes: int | None, size: int) -> None:
    if num_nodes is not None and num_nodes != size:
        raise ValueError(f"num_nodes must be {size}, the number of nodes of the graph, got {num_nodes}")
