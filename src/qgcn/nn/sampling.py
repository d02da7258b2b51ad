"""Neighbourhoods that are sampled: what a step sees of a graph that is too large to be seen as a whole."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from qgcn.kernels.hashing import keyed_uniform
from qgcn.kernels.part import Part
from qgcn.kernels.product import SparseMatrix, Structure
from qgcn.kernels.sampling import draw_neighbours, number_nodes
from qgcn.nn.adjacency import Adjacency, Hop
from qgcn.nn.dropout import mixed_key

__all__ = ["NeighbourSampler", "Sample", "sample_neighbours"]

_NEIGHBOURS, _DROPS = 0, 1  # keep what is drawn apart from which edges are dropped


@dataclass(frozen=True)
class Sample:
    """Nodes, and some of their neighbours in several hops.

    The first nodes are those that were asked for, the others follow in the order in which they were found. All but those of the
    last hop have a row: the entries drawn of them.

    Attributes:
        nodes: Different nodes, int64, shape ``(n,)``.
        sizes: Number of nodes asked for, then of those found within 1, 2, ... hops.
        begin: Where the rows begin, then the number of entries, int64, shape ``(r + 1,)``.
        entries: Places of the entries in the whole matrix, ascending in each row, int64, shape ``(e,)``.
        sources: Their columns, as places among ``nodes``, int64, shape ``(e,)``.
    """

    nodes: Tensor
    sizes: tuple[int, ...]
    begin: Tensor
    entries: Tensor
    sources: Tensor

    @property
    def targets(self) -> Tensor:
        """Row of each entry, int64, shape ``(e,)``."""
        rows = torch.arange(len(self.begin) - 1, device=self.begin.device)
        return torch.repeat_interleave(rows, self.begin.diff(), output_size=len(self.entries))


def sample_neighbours(
    crow: Tensor,
    col: Tensor,
    nodes: Tensor,
    fanout: Sequence[int],
    key: int,
    *,
    replace: bool = False,
    loops: Tensor | None = None,
) -> Sample:
    """Draw neighbours of nodes, neighbours of those, and so on, as a function of the key, the number and each node alone.

    Args:
        crow: Where the rows of the matrix begin, one row for each target, int32, shape ``(N + 1,)``.
        col: Sources, int32, shape ``(E,)``.
        nodes: Different nodes, int64, shape ``(n,)``.
        fanout: Number of neighbours drawn at each hop; all if negative.
        key: Key, an integer of 63 bits.
        replace: Draw with replacement (default: no).
        loops: Entry of each node's loop, or -1, shape ``(N,)``: always taken, and not counted (default: none are special).
    """
    begins, entries, sources, sizes = [nodes.new_zeros(1)], [], [], [len(nodes)]
    found, total = nodes, 0
    for count in fanout:  # one key: what is drawn of a node should not depend on how far away it is
        drawn = draw_neighbours(crow, col, found, count, mixed_key(key, _NEIGHBOURS), replace=replace, loops=loops)
        places, found = number_nodes(nodes, drawn.sources)
        nodes = torch.cat((nodes, found))
        sizes.append(len(nodes))
        begins.append(drawn.begin[1:] + total)
        total += len(drawn.entries)
        entries.append(drawn.entries)
        sources.append(places)
    return Sample(nodes, tuple(sizes), torch.cat(begins), _joined(entries, nodes), _joined(sources, nodes))


class NeighbourSampler:
    r"""Draws operands of a graph that stand for the whole of it, for the nodes of a batch.

    Of the :math:`d` neighbours of a node, :math:`k` are drawn, and each weighs :math:`d/k` times as much; the node's own loop
    is always there. So each aggregation is, on average, the one along all edges. What is drawn of a node is a function of the
    key and of the node: the same whichever batch, or process, asks.

    Args:
        graph: The whole graph; its matrix is built once.

    Example:
        >>> graph = Adjacency.of(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), 4)
        >>> NeighbourSampler(graph).sample(torch.tensor([2]), [5], key=7).nodes
        tensor([2, 1])
    """

    def __init__(self, graph: Adjacency) -> None:
        self.graph = graph
        self._matrix = graph.matrix
        self._loops = _loops_of(self._matrix) if graph.self_loops else None

    def sample(self, nodes: Tensor, fanout: Sequence[int], key: int) -> Sample:
        """Draw neighbours of different nodes, shape ``(n,)``, in so many hops."""
        return sample_neighbours(self._matrix.crow, self._matrix.col, nodes, fanout, key, loops=self._loops)

    def operand(self, sample: Sample, key: int, *, layered: bool, drop: float = 0.0) -> Adjacency:
        """Return the operand of a sample; its nodes are numbered as there.

        Args:
            sample: What was drawn.
            key: What edges are dropped by.
            layered: Give each aggregation the rows that are needed then, as :meth:`Adjacency.seen_from` does; otherwise there
                is one matrix of all nodes.
            drop: Share of the edges dropped, both directions together; the others weigh more.
        """
        scale = self._scale(sample, key, drop)
        if layered:
            values = self._matrix.values[sample.entries] * scale
            return self._layered(sample, values)
        return self._joint(sample, scale)

    # --- parts of it -------------------------------------------------------------------------------------------------------

    def _scale(self, sample: Sample, key: int, drop: float) -> Tensor:
        """Return how much more each entry weighs than in the whole graph, shape ``(e,)``."""
        matrix, dtype = self._matrix, self._matrix.dtype
        rows, targets = sample.nodes[: len(sample.begin) - 1], sample.targets
        own = torch.zeros_like(rows) if self._loops is None else (self._loops[rows] >= 0).long()
        every = (matrix.crow[rows + 1] - matrix.crow[rows]).long() - own
        taken = sample.begin.diff() - own
        more = torch.where(taken > 0, every, 1).to(dtype) / torch.where(taken > 0, taken, 1).to(dtype)
        loop = sample.sources == targets
        scale = more[targets]
        if drop > 0:
            u, v = sample.nodes[targets], sample.nodes[sample.sources]
            left = keyed_uniform(mixed_key(key, _DROPS), torch.minimum(u, v), torch.maximum(u, v)) >= drop
            scale = scale * left.to(dtype) / (1 - drop)
        return scale if self._loops is None else torch.where(loop, 1, scale)

    def _layered(self, sample: Sample, values: Tensor) -> Adjacency:
        hops, sizes, total = [], sample.sizes, self.graph.num_nodes
        for rows, columns in zip(sizes[-2::-1], sizes[:0:-1], strict=True):
            count = int(sample.begin[rows])
            structure = Structure(sample.begin[: rows + 1], sample.sources[:count], (rows, columns))
            hops.append(Hop(_matrix(structure, values[:count]), Part(sample.nodes[:columns], total, scattered=True)))
        ends = Part(sample.nodes[: sizes[0]], total, scattered=True)
        return self.graph.restricted(hops, ends)

    def _joint(self, sample: Sample, scale: Tensor) -> Adjacency:
        count, rows, matrix = len(sample.nodes), len(sample.begin) - 1, self._matrix
        weights, later = self.graph.weights.values, sample.nodes[rows:]
        places = sample.entries
        sources, begin = sample.sources, sample.begin
        if self._loops is not None:  # nodes of the last hop have nothing but a loop
            places = torch.cat((places, self._loops[later].long()))
            sources = torch.cat((sources, torch.arange(rows, count, device=sources.device)))
            scale = torch.cat((scale, scale.new_ones(len(later))))
            begin = torch.cat((begin, begin[-1] + torch.arange(1, len(later) + 1, device=begin.device)))
        else:
            begin = torch.cat((begin, begin[-1].expand(len(later))))
        structure = Structure(begin, sources, (count, count))
        raw, normal = (_matrix(structure, values[places] * scale) for values in (weights, matrix.values))
        return Adjacency.of_part(raw, normal, Part(sample.nodes, self.graph.num_nodes, scattered=True))


def _matrix(structure: Structure, values: Tensor) -> SparseMatrix:
    """Return a matrix that is taken for not symmetric: to find out would take longer than it saves."""
    return SparseMatrix.sharing(structure, values).with_values(values)


def _loops_of(matrix: SparseMatrix) -> Tensor:
    """Return the entry of each node's loop, or -1, int32, shape ``(N,)``."""
    found = torch.full((len(matrix),), -1, dtype=torch.int32, device=matrix.device)
    numbers = torch.arange(len(matrix), device=matrix.device, dtype=torch.int32)
    rows = torch.repeat_interleave(numbers, matrix.crow.diff(), output_size=matrix.col.numel())
    places = (rows == matrix.col).nonzero().squeeze(1)
    found[rows[places].long()] = places.int()
    return found


def _joined(parts: list[Tensor], like: Tensor) -> Tensor:
    return torch.cat(parts) if parts else like.new_empty(0)
