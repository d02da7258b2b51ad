"""Pairs of nodes: read by name, and the best of all of them, found in blocks of rows."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from qgcn.data import NodeNames
from qgcn.data.nodes import Nodes
from qgcn.data.tables import read_table
from qgcn.progress import Progress, silent

__all__ = ["BLOCK_ROWS", "KnownPairs", "RowScores", "asked_nodes", "best_of_rows", "best_pairs", "check_count", "read_pairs"]

Array = np.ndarray[Any, Any]
RowScores = Callable[[Tensor], Tensor]
"""Scores of nodes, shape ``(n,)``, with all nodes, shape ``(n, N)``, in a tensor that may be overwritten."""

BLOCK_ENTRIES = 2**22
"""Scores in memory at once, 16 MiB in float32."""
BLOCK_ROWS = 2**14
"""Pairs in a block of answers."""


def read_pairs(pairs: Any, names: NodeNames) -> Tensor:
    """Return the positions of both nodes of each pair, shape ``(2, P)``.

    Args:
        pairs: Names of both nodes of each pair, shape ``(P, 2)``; the path of a table whose first two columns are names; or a
            tensor of shape ``(2, P)`` with positions.
        names: The names of the nodes.

    Raises:
        OSError: The file cannot be read.
        ValueError: A node is unknown, or something is not a pair.
    """
    if isinstance(pairs, Tensor):
        return _positions(pairs, len(names))
    if isinstance(pairs, str | os.PathLike):
        return _from_table(Path(pairs), names)
    listed = np.asarray(pairs) if hasattr(pairs, "__array__") else _listed(pairs)
    if listed.ndim != 2 or listed.shape[1] != 2:
        hint = "; transpose it" if listed.ndim == 2 and len(listed) == 2 else ""
        raise ValueError(f"pairs must name two nodes each, shape (P, 2), got shape {listed.shape}{hint}")
    return torch.from_numpy(names.locate(listed.T))


def _positions(pairs: Tensor, num_nodes: int) -> Tensor:
    if pairs.ndim != 2 or pairs.shape[0] != 2 or pairs.is_floating_point() or pairs.dtype == torch.bool:
        raise ValueError(f"a tensor of pairs must hold positions in shape (2, P), got {pairs.dtype} in {tuple(pairs.shape)}")
    if pairs.numel() and not (int(pairs.min()) >= 0 and int(pairs.max()) < num_nodes):
        raise ValueError(f"positions must lie in [0, {num_nodes}), got values from {int(pairs.min())} to {int(pairs.max())}")
    return pairs.long().cpu()


def _listed(pairs: Any) -> Array:
    rows = list(pairs)
    for row in rows:
        if isinstance(row, str) or not isinstance(row, Sequence | np.ndarray) or len(row) != 2:
            raise ValueError(f"pairs must name two nodes each, got {row!r}")
    whole = all(isinstance(name, int | np.integer) and not isinstance(name, bool) for row in rows for name in row)
    return np.array(rows, dtype=np.int64 if whole else str).reshape(-1, 2)


def _from_table(path: Path, names: NodeNames) -> Tensor:
    """Read pairs from the first two columns of a table, with or without a header."""
    table = read_table(path)
    if len(table.columns) < 2:
        raise ValueError(f"{path} has 1 column: expected two, the names of both nodes of a pair")
    table = Nodes(names.ids, "all").skip_header(table, numeric=False)
    found = np.stack([table.texts(column) for column in (0, 1)])
    places = names.find(found)
    if table.head is None and (places[:, 0] < 0).all() and (places[:, 1:] >= 0).any():  # a header of the user's own words
        table, found, places = table.headed(), found[:, 1:], places[:, 1:]
    if (places < 0).any():
        row, column = np.argwhere((places < 0).T)[0]
        raise ValueError(f"{table.at(row)}: {names.unknown(found[column, row])}")
    return torch.from_numpy(places)


def asked_nodes(nodes: Any, names: NodeNames) -> Array:
    """Return the positions of nodes, each once, in the order given; all if none are given.

    Args:
        nodes: Names of nodes, or one name.
        names: The names of the nodes.

    Raises:
        TypeError: It is no name and no list of names.
        ValueError: A node is unknown, or none is named.
    """
    if nodes is None:
        return np.arange(len(names))
    if isinstance(nodes, str | Integral):
        nodes = [nodes]
    elif not hasattr(nodes, "__iter__"):
        raise TypeError(f"nodes must be a name or a list of names, got {type(nodes).__name__}")
    given = np.asarray(nodes if hasattr(nodes, "__array__") else list(nodes))
    if given.ndim != 1 or len(given) == 0:
        raise ValueError(f"nodes must name at least one node, shape (n,), got shape {given.shape}")
    places = names.locate(given)
    return places[np.sort(np.unique(places, return_index=True)[1])]


def check_count(k: int) -> None:
    """Raise unless ``k`` is a number of answers."""
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        raise ValueError(f"k must be a positive integer, got {k!r}")


@dataclass(frozen=True)
class KnownPairs:
    """Pairs that a graph has already, in both directions unless they are ordered.

    Attributes:
        keys: ``i * N + j`` of each pair, ascending.
        num_nodes: Number of nodes ``N``.
    """

    keys: Array
    num_nodes: int

    @classmethod
    def of(cls, edges: Tensor, num_nodes: int, *, ordered: bool = False) -> "KnownPairs":
        """Take the edges of a graph, shape ``(2, E)``; those of a directed one are known in their own direction alone."""
        i, j = edges.cpu().numpy()
        both = (i * num_nodes + j,) if ordered else (i * num_nodes + j, j * num_nodes + i)
        keys = np.sort(np.concatenate(both))  # np.unique is several times slower
        return cls(keys[np.diff(keys, prepend=-1) > 0], num_nodes)

    def of_nodes(self, nodes: Array) -> tuple[Array, Array]:
        """Return the pairs of nodes: which of the nodes each belongs to, and its partner."""
        first = np.searchsorted(self.keys, nodes * self.num_nodes)
        count = np.searchsorted(self.keys, (nodes + 1) * self.num_nodes) - first
        which = np.repeat(np.arange(len(nodes)), count)
        place = np.arange(len(which)) + np.repeat(first - (np.cumsum(count) - count), count)
        return which, self.keys[place] % self.num_nodes

    def holds(self, nodes: Array, others: Array) -> Array:
        """Tell of each pair whether it is known."""
        return np.isin(nodes * self.num_nodes + others, self.keys)


def best_of_rows(
    scores: RowScores, asked: Array, num_nodes: int, k: int, known: KnownPairs | None = None, progress: Progress = silent
) -> Iterator[tuple[Array, Array]]:
    """Yield the best partners of nodes in blocks of about :data:`BLOCK_ROWS`, in the order in which nodes are asked for.

    Memory is bounded by :data:`BLOCK_ENTRIES` scores at a time, whatever the number of nodes.

    Args:
        scores: Scores of some nodes with all nodes.
        asked: Positions of the nodes, distinct.
        num_nodes: Number of all nodes.
        k: Number of partners; fewer are returned where there are no more.
        known: Pairs that are left out; a node is never its own partner.
        progress: Progress callback, in nodes asked for.

    Yields:
        For each pair found, which of the nodes asked for it belongs to, ascending, and the partner.
    """
    parts: list[tuple[Array, Array]] = []
    for some in _blocks(len(asked), num_nodes):
        block = _block(scores, asked[some.start : some.stop], known)
        found = block.topk(min(k, num_nodes), dim=1)
        kept = (found.values > -torch.inf).cpu().numpy()
        progress("nodes", some.stop, len(asked))
        parts.append((some.start + np.nonzero(kept)[0], found.indices.cpu().numpy()[kept]))
        if sum(len(which) for which, _ in parts) >= BLOCK_ROWS or some.stop == len(asked):
            which, others = (np.concatenate(each) for each in zip(*parts, strict=True))
            yield which, others
            parts = []


def best_pairs(
    scores: RowScores,
    num_nodes: int,
    k: int,
    known: KnownPairs | None = None,
    progress: Progress = silent,
    *,
    ordered: bool = False,
) -> Array:
    """Return the best pairs of all, each once, shape ``(2, k)``, or fewer where there are no more; in no order.

    Args:
        scores: Scores of some nodes with all nodes.
        num_nodes: Number of nodes.
        k: Number of pairs.
        known: Pairs that are left out.
        progress: Progress callback, in nodes.
        ordered: Whether a pair and its reverse are two.
    """
    k = min(k, num_nodes * (num_nodes - 1) // (1 if ordered else 2))
    best, where = torch.full((k,), -torch.inf), torch.zeros(k, dtype=torch.int64)
    for some in _blocks(num_nodes, num_nodes):
        block = _block(scores, np.arange(some.start, some.stop), known)
        if not ordered:  # of a pair, the row of its first node counts
            block.masked_fill_(torch.ones_like(block, dtype=torch.bool).tril_(some.start), -torch.inf)
        best, where = best.to(block), where.to(block.device)
        rows = (block.amax(1) > best.min()).nonzero().squeeze(1)  # few, once good pairs have been found
        found = block[rows].flatten().topk(min(k, len(rows) * num_nodes))
        keys = (some.start + rows[found.indices // num_nodes]) * num_nodes + found.indices % num_nodes
        best, kept = torch.cat((best, found.values)).topk(k)
        where = torch.cat((where, keys))[kept]
        progress("nodes", some.stop, num_nodes)
    chosen = where[best > -torch.inf].cpu().numpy()
    return np.stack((chosen // num_nodes, chosen % num_nodes))


def _blocks(rows: int, num_nodes: int) -> Iterator[range]:
    """Cut rows into blocks of at most :data:`BLOCK_ENTRIES` entries."""
    most = max(1, BLOCK_ENTRIES // num_nodes)
    return (range(first, min(first + most, rows)) for first in range(0, rows, most))


def _block(scores: RowScores, nodes: Array, known: KnownPairs | None) -> Tensor:
    """Return the scores of nodes with all nodes, minus infinity for themselves and known partners."""
    block = scores(torch.from_numpy(nodes))
    which, other = np.arange(len(nodes)), nodes
    if known is not None:
        which, other = (np.concatenate(both) for both in zip((which, other), known.of_nodes(nodes), strict=True))
    block[torch.from_numpy(which).to(block.device), torch.from_numpy(other).to(block.device)] = -torch.inf
    return block
