"""Mini-batches of a graph for any model of PyTorch Geometric."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from qgcn.nn.dropout import mixed_key
from qgcn.nn.sampling import sample_neighbours

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["NeighborLoader"]

_ORDER, _SAMPLE = 0, 1
_MOST = 2**31
"""Nodes or edges, and more, that 32 bits do not count."""


class NeighborLoader:
    """Mini-batches of nodes with sampled neighbours, as PyTorch Geometric's ``NeighborLoader`` yields them.

    It needs neither ``pyg-lib`` nor ``torch-sparse``. Batches are a function of seed and epoch: :meth:`set_epoch` goes back to
    one, and an epoch that has begun can be entered at any batch. Neighbours are drawn on the device of the graph.

    A batch is a ``Data`` whose first ``batch_size`` nodes are those asked for. ``n_id`` and ``e_id`` say which nodes and edges
    of the graph its own are, ``input_id`` which of the input nodes. Every attribute of nodes or edges goes along. Each edge
    ends at a node whose neighbours were drawn; ``num_sampled_nodes`` and ``num_sampled_edges`` count them by hop.

    Args:
        data: The graph.
        num_neighbors: Number of neighbours drawn at each hop, of the edges that end at a node; -1 for all.
        input_nodes: Nodes to make batches of: indices, or a mask (default: all).
        batch_size: Number of nodes in a batch (default: 1).
        shuffle: Put the nodes into another order in every epoch (default: no).
        replace: Draw neighbours with replacement (default: no).
        drop_last: Leave out the last batch if it is smaller (default: no).
        transform: Applied to each batch.
        seed: What order and neighbours are drawn by (default: 0).

    Raises:
        ValueError: A number is not possible, or the graph has no edges to draw from.

    Example:
        >>> from torch_geometric.data import Data
        >>> ring = torch.stack((torch.arange(6), (torch.arange(6) + 1) % 6))
        >>> loader = NeighborLoader(Data(edge_index=ring, num_nodes=6), [1, 1], batch_size=3)
        >>> [batch.n_id.tolist() for batch in loader]
        [[0, 1, 2, 5, 4], [3, 4, 5, 2, 1]]
    """

    def __init__(
        self,
        data: "Data",
        num_neighbors: Sequence[int],
        input_nodes: Tensor | None = None,
        *,
        batch_size: int = 1,
        shuffle: bool = False,
        replace: bool = False,
        drop_last: bool = False,
        transform: "Callable[[Data], Data] | None" = None,
        seed: int = 0,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        if not num_neighbors or any(count == 0 or count < -1 for count in num_neighbors):
            raise ValueError(f"num_neighbors must be positive numbers, or -1 for all, one for each hop, got {num_neighbors}")
        edges = data.edge_index
        if edges is None or data.num_nodes is None:
            raise ValueError("the graph has no edge_index")
        if max(int(data.num_nodes), edges.shape[1]) >= _MOST:
            size = f"{int(data.num_nodes)} and {edges.shape[1]}"
            raise ValueError(f"a graph must have fewer than 2^31 nodes and edges, got {size}")
        if edges.numel() and not 0 <= int(edges.min()) <= int(edges.max()) < int(data.num_nodes):
            found = f"{int(edges.min())} to {int(edges.max())}"
            raise ValueError(f"edge_index must hold numbers of nodes, 0 to {int(data.num_nodes) - 1}, got {found}")
        self.data, self.num_neighbors, self.batch_size = data, list(num_neighbors), batch_size
        self.shuffle, self.replace, self.drop_last, self.transform, self.seed = shuffle, replace, drop_last, transform, seed
        self.epoch = 0
        self.input_nodes = _indices(input_nodes, int(data.num_nodes)).to(edges.device)
        source, target = edges
        # edges by target; of one target, in the order given
        self._edges = torch.argsort(target, stable=True)
        self._col = source[self._edges].int()
        crow = torch.zeros(int(data.num_nodes) + 1, dtype=torch.int64, device=edges.device)
        crow[1:] = torch.bincount(target, minlength=int(data.num_nodes)).cumsum(0)
        self._crow = crow.int()

    def __len__(self) -> int:
        whole, rest = divmod(len(self.input_nodes), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch that the next iteration goes through; each iteration ends with the next one."""
        self.epoch = epoch

    def __iter__(self) -> "Iterator[Data]":
        return self.batches()

    def batches(self, first: int = 0) -> "Iterator[Data]":
        """Yield the batches of the epoch, beginning at one of them."""
        if not 0 <= first <= len(self):
            raise ValueError(f"first must lie in [0, {len(self)}], got {first}")
        return self._batches(first)

    def _batches(self, first: int) -> "Iterator[Data]":
        epoch, count = self.epoch, len(self.input_nodes)
        order = torch.arange(count)
        if self.shuffle:
            order = torch.randperm(count, generator=torch.Generator().manual_seed(mixed_key(self.seed, epoch, _ORDER)))
        for number in range(first, len(self)):
            chosen = order[number * self.batch_size : (number + 1) * self.batch_size].to(self.input_nodes.device)
            yield self._batch(chosen, mixed_key(self.seed, epoch, _SAMPLE, number))
        self.epoch = epoch + 1

    def _batch(self, chosen: Tensor, key: int) -> "Data":
        from torch_geometric.data import Data

        nodes = self.input_nodes[chosen]
        sample = sample_neighbours(self._crow, self._col, nodes, self.num_neighbors, key, replace=self.replace)
        edges = self._edges[sample.entries]
        made = Data(edge_index=torch.stack((sample.sources, sample.targets)))
        for name, value in self.data:
            if name == "edge_index":
                continue
            if isinstance(value, Tensor) and self.data.is_node_attr(name):
                value = value[sample.nodes]
            elif isinstance(value, Tensor) and self.data.is_edge_attr(name):
                value = value[edges]
            made[name] = value
        made.num_nodes = len(sample.nodes)
        made.n_id, made.e_id, made.input_id, made.batch_size = sample.nodes, edges, chosen, len(nodes)
        made.num_sampled_nodes = [sample.sizes[0], *_steps(list(sample.sizes))]
        rows = [0, *sample.sizes[:-1]]
        made.num_sampled_edges = _steps([int(sample.begin[row]) for row in rows])
        return made if self.transform is None else self.transform(made)

    def __repr__(self) -> str:
        nodes = f"{len(self.input_nodes):,} nodes"
        return f"{type(self).__name__}({nodes}, {self.num_neighbors} neighbours, batches of {self.batch_size:,})"


def _indices(nodes: Any, count: int) -> Tensor:
    """Return nodes, given as indices or a mask, as different indices.

    Raises:
        ValueError: They are no nodes, or one is given twice.
    """
    if nodes is None:
        return torch.arange(count)
    given = torch.as_tensor(nodes)
    if given.dtype == torch.bool:
        if given.shape != (count,):
            raise ValueError(f"a mask of input_nodes must have shape ({count},), got {tuple(given.shape)}")
        return given.nonzero().squeeze(1)
    given = given.long().reshape(-1)
    if len(given) and not 0 <= int(given.min()) <= int(given.max()) < count:
        raise ValueError(f"input_nodes must lie in [0, {count}), got {int(given.min())} to {int(given.max())}")
    if len(given.unique()) < len(given):
        raise ValueError("input_nodes must be different nodes, but one is given twice")
    return given


def _steps(numbers: list[int]) -> list[int]:
    return [after - before for before, after in pairwise(numbers)]
