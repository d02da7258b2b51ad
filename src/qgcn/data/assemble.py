"""One shape for every graph: undirected, each edge once per direction, nothing silently dropped."""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from qgcn.data.pairs import Ints
from qgcn.data.splits import split_nodes

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Array", "Floats", "assemble", "count", "degree_one_hot"]

Array: TypeAlias = np.ndarray[Any, Any]
Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


def assemble(
    edges: Ints,
    num_nodes: int,
    *,
    name: str,
    weights: Floats | None = None,
    node_ids: Array | None = None,
    x: Tensor | None = None,
    y: Tensor | None = None,
    masks: tuple[Tensor, Tensor, Tensor] | None = None,
    split_seed: int = 0,
    remarks: tuple[str, ...] = (),
) -> "Data":
    """Build the ``Data`` of an undirected graph.

    Self-loops and edges of weight 0 are dropped; an edge given several times, in either direction, becomes one, whose weight is
    the mean of what was given. The mean, not the sum, so that a graph written in both directions keeps its weights.

    Args:
        edges: Edges in either or both directions, shape ``(2, E)``.
        num_nodes: Number of nodes.
        name: What to call the graph.
        weights: Weights of the edges, shape ``(E,)``, not negative.
        node_ids: Names of the nodes, shape ``(N,)``; ``0 .. N - 1`` by default.
        x: Features, shape ``(N, F)``.
        y: Classes, shape ``(N,)``, -1 where there is none.
        masks: Train, validation and test masks; drawn by :func:`split_nodes` if there are labels and no masks.
        split_seed: Fixes the masks.
        remarks: What has been cleaned already.

    Returns:
        ``edge_index`` int64 sorted, both directions; ``edge_weight`` float32 if weighted; ``num_nodes``, ``node_ids``,
        ``name``, ``remarks``; ``x``, ``y``, ``train_mask``, ``val_mask``, ``test_mask`` where there are any.
    """
    from torch_geometric.data import Data

    notes = list(remarks)
    proper = edges[0] != edges[1]
    if not proper.all():
        notes.append(f"{count(int((~proper).sum()), 'self-loop')} removed")
    if weights is not None:
        void = proper & (weights == 0)
        if void.any():
            notes.append(f"{count(int(void.sum()), 'edge')} of weight 0 removed")
        proper &= ~void
        weights = weights[proper]
    i, j = edges[:, proper]
    directed = _distinct(i * num_nodes + j)
    if len(directed) < len(i):
        notes.append(
            f"{count(len(i) - len(directed), 'repeated edge')} merged" + (", weights averaged" * (weights is not None))
        )
    undirected = np.minimum(i, j) * num_nodes + np.maximum(i, j)
    keys = _distinct(undirected)
    one_way = 2 * len(keys) - len(directed)
    if one_way:
        notes.append(f"{count(one_way, 'edge')} given in one direction, now in both")
    low, high = keys // num_nodes, keys % num_nodes
    both = np.concatenate((keys, high * num_nodes + low))
    order = np.argsort(both)
    edge_index = np.stack((both[order] // num_nodes, both[order] % num_nodes))
    isolated = int((np.bincount(edge_index[0], minlength=num_nodes) == 0).sum())
    if isolated:
        notes.append(f"{count(isolated, 'isolated node')} kept")

    data = Data(edge_index=torch.from_numpy(edge_index))
    data.num_nodes = num_nodes
    data.name = name
    data.node_ids = np.arange(num_nodes) if node_ids is None else node_ids
    data.remarks = list(dict.fromkeys(notes))  # a graph read a second time has said it before
    if weights is not None:
        inverse = np.searchsorted(keys, undirected)
        mean = np.bincount(inverse, weights=weights, minlength=len(keys)) / np.bincount(inverse, minlength=len(keys))
        data.edge_weight = torch.from_numpy(np.concatenate((mean, mean))[order]).float()
    if x is not None:
        data.x = x
    if y is not None:
        data.y = y
        data.train_mask, data.val_mask, data.test_mask = split_nodes(y, seed=split_seed) if masks is None else masks
    return data


def _distinct(values: Ints) -> Ints:
    # np.unique hashes integers, which is several times slower than sorting them
    ordered = np.sort(values)
    return np.asarray(ordered[np.concatenate((np.ones(min(1, len(ordered)), dtype=bool), ordered[1:] != ordered[:-1]))])


def count(number: int, what: str) -> str:
    """Write ``1 edge`` or ``2 edges``."""
    return f"{number} {what}" + "s" * (number != 1)


_LARGEST_DEGREE = 5  # degrees above count as this one, as the hyperbolic literature has it


def degree_one_hot(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Return a one-hot of ``min(degree, 5)`` of every node, float32, shape ``(N, 6)``."""
    degree = torch.bincount(edge_index[0], minlength=num_nodes).minimum(torch.tensor(_LARGEST_DEGREE))
    return torch.nn.functional.one_hot(degree, _LARGEST_DEGREE + 1).float()
