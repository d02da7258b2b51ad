"""One shape for every graph: each edge once, sorted, its direction kept, nothing silently dropped."""

from copy import copy
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from qgcn.data.pairs import Ints
from qgcn.data.splits import split_nodes

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Array", "Floats", "assemble", "count", "degree_one_hot", "undirected"]

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
    """Build the ``Data`` of a graph.

    Self-loops and edges of weight 0 are dropped; an edge given several times becomes one with the mean of the weights given.
    Direction is kept: an undirected graph must be given in both directions, or go through :func:`undirected`.

    Args:
        edges: Edges from source to target, shape ``(2, E)``.
        num_nodes: Number of nodes.
        name: Name of the graph.
        weights: Weights of the edges, shape ``(E,)``, not negative.
        node_ids: Names of the nodes, shape ``(N,)`` (default: ``0 .. N - 1``).
        x: Features, shape ``(N, F)``.
        y: Classes, shape ``(N,)``, -1 where there is none.
        masks: Train, validation and test masks; drawn by :func:`split_nodes` if there are labels and no masks.
        split_seed: Seed of the masks.
        remarks: Remarks on what has been cleaned already.

    Returns:
        ``edge_index`` int64, sorted by source, then target; ``directed``, whether an edge lacks its reverse or the reverse has
        another weight; ``edge_weight`` float32 if weighted; ``num_nodes``, ``node_ids``, ``name``, ``remarks``; ``x``, ``y``,
        ``train_mask``, ``val_mask``, ``test_mask`` where there are any.
    """
    from torch_geometric.data import Data

    proper, notes = _proper(edges, weights)
    given = edges[0] * num_nodes
    given += edges[1]
    if proper is not None:
        given = given[proper]
    if weights is None:
        given.sort()
    else:  # one array after the other, so that few of them are there at once
        order = np.argsort(given, kind="stable")
        given = given[order]
        weights = weights if proper is None else weights[proper]
        weights = weights[order]
        del order
    first = _is_first(given)
    repeated = len(given) - int(np.count_nonzero(first))
    if repeated:
        averaged = ", weights averaged" * (weights is not None)
        notes.append(f"{count(repeated, 'repeated edge')} merged{averaged}")
        weights = None if weights is None else _first_means(weights, first)
        given = given[first]
    edge_index = np.empty((2, len(given)), dtype=np.int64)
    np.floor_divide(given, num_nodes, out=edge_index[0])
    np.remainder(given, num_nodes, out=edge_index[1])
    del given, first
    isolated = num_nodes - int(np.count_nonzero(_has_edge(edge_index, num_nodes)))
    if isolated:
        notes.append(f"{count(isolated, 'isolated node')} kept")

    data = Data(edge_index=torch.from_numpy(edge_index))
    data.num_nodes = num_nodes
    data.name = name
    data.node_ids = np.arange(num_nodes) if node_ids is None else node_ids
    data.remarks = list(dict.fromkeys((*remarks, *notes)))  # a graph read a second time has its remarks already
    if weights is not None:
        data.edge_weight = torch.from_numpy(weights).float()
    data.directed = _is_directed(data)
    if x is not None:
        data.x = x
    if y is not None:
        data.y = y
        data.train_mask, data.val_mask, data.test_mask = split_nodes(y, seed=split_seed) if masks is None else masks
    return data


def undirected(data: "Data") -> "Data":
    """Return the same graph with both directions of every edge.

    A weight is the mean of the weights of the directions given. It differs from the mean of all weights in a file only if the
    file repeats an edge unequally often in its two directions with different weights: then it is the mean of the two
    directions' means.

    Laws: the argument stays as it is; an undirected graph is returned itself; all that is not edges is kept.

    Args:
        data: A graph as :func:`qgcn.data.load` and :func:`qgcn.data.read_graph` return it; ``directed`` is believed if it is
            set, and found out otherwise.

    Returns:
        ``edge_index`` sorted, ``directed`` false; ``remarks`` say how many edges were given in one direction.
    """
    if not (_is_directed(data) if data.get("directed") is None else data.directed):
        return data
    size = int(data.num_nodes or 0)
    i, j = data.edge_index.cpu().numpy()
    pairs = np.minimum(i, j) * size + np.maximum(i, j)
    keys = _distinct(pairs)
    low, high = keys // size, keys % size
    both = np.concatenate((keys, (high * size + low)[low != high]))
    ordered = np.sort(both)
    made = copy(data)
    made.edge_index = torch.from_numpy(np.stack((ordered // size, ordered % size))).to(data.edge_index.device)
    one_way = len(both) - len(_distinct(i * size + j))
    remark = f"{count(one_way, 'edge')} given in one direction, now in both"
    if data.get("edge_weight") is not None:
        mean = _means(data.edge_weight.cpu().numpy(), np.searchsorted(keys, pairs), len(keys))
        made.edge_weight = torch.from_numpy(np.concatenate((mean, mean[low != high]))[np.argsort(both)]).to(data.edge_weight)
        if not one_way:
            remark = "weights of the two directions averaged"
    made.remarks = list(dict.fromkeys((*(data.get("remarks") or ()), remark)))
    made.directed = False
    return made


def _proper(edges: Ints, weights: Floats | None) -> tuple[Any, list[str]]:
    """Tell which edges are no self-loops and not of weight 0, ``None`` if all are fine; with remarks on the others."""
    notes = []
    proper = edges[0] != edges[1]
    loops = len(proper) - int(np.count_nonzero(proper))
    if loops:
        notes.append(f"{count(loops, 'self-loop')} removed")
    if weights is not None:
        void = proper & (weights == 0)
        if void.any():
            notes.append(f"{count(int(void.sum()), 'edge')} of weight 0 removed")
            proper &= ~void
    return (proper if len(notes) else None), notes


def _has_edge(edge_index: Ints, num_nodes: int) -> Array:
    """Tell which nodes have an edge."""
    found = np.zeros(num_nodes, dtype=bool)
    for ends in edge_index:
        found[ends] = True
    return found


def _is_directed(data: "Data") -> bool:
    """Tell whether an edge lacks its reverse, or the reverse has another weight."""
    size = int(data.num_nodes or 0)
    i, j = data.edge_index.cpu().numpy()
    up, down = i < j, i > j  # a loop is its own reverse
    if np.count_nonzero(up) != np.count_nonzero(down):
        return True
    forth, back = i[up] * size + j[up], j[down] * size + i[down]
    if data.get("edge_weight") is None:
        forth.sort()
        back.sort()
        return not np.array_equal(forth, back)
    weights = data.edge_weight.cpu().numpy()
    one, other = np.argsort(forth, kind="stable"), np.argsort(back, kind="stable")
    return not (np.array_equal(forth[one], back[other]) and np.array_equal(weights[up][one], weights[down][other]))


def _means(weights: Array, group: Ints, groups: int) -> Floats:
    """Return the mean weight of each group."""
    return np.asarray(np.bincount(group, weights=weights, minlength=groups) / np.bincount(group, minlength=groups))


def _first_means(weights: Floats, first: Array) -> Floats:
    """Return the mean of each run of weights, of which each begins where ``first`` is set."""
    head = first.copy()  # of a run of several
    np.logical_and(head[:-1], ~first[1:], out=head[:-1])
    head[-1] = False
    members = head | ~first
    made = weights[first]
    made[head[first]] = _means(weights[members], np.cumsum(head[members]) - 1, int(np.count_nonzero(head)))
    return made


def _distinct(values: Ints) -> Ints:
    # np.unique hashes integers, which is several times slower than sorting them
    ordered = np.sort(values)
    return np.asarray(ordered[_is_first(ordered)])


def _is_first(ordered: Ints) -> Array:
    """Tell which of sorted values differ from the one before."""
    found = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=found[1:])
    return found


def count(number: int, what: str) -> str:
    """Write ``1 edge`` or ``2 edges``."""
    return f"{number} {what}" + "s" * (number != 1)


_LARGEST_DEGREE = 5  # degrees above count as this one, as the hyperbolic literature has it


def degree_one_hot(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Return a one-hot of ``min(degree, 5)`` of every node, float32, shape ``(N, 6)``."""
    degree = torch.bincount(edge_index[0], minlength=num_nodes).minimum(torch.tensor(_LARGEST_DEGREE))
    return torch.nn.functional.one_hot(degree, _LARGEST_DEGREE + 1).float()
