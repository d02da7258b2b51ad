"""Neighbourhoods that are sampled: what a step sees of a graph that is too large to be seen as a whole."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

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

    def keeping(self, left: Tensor) -> "Sample":
        """Leave out all entries but some, bool, shape ``(e,)``; the nodes stay."""
        number = torch.cat((self.begin.new_zeros(1), left.cumsum(0)))
        return replace(self, begin=number[self.begin], entries=self.entries[left], sources=self.sources[left])


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

    Example:
        >>> crow, col = torch.tensor([0, 1, 2, 3, 4]).int(), torch.tensor([3, 0, 1, 2]).int()  # a ring
        >>> sample_neighbours(crow, col, torch.tensor([2]), [1, 1], key=7).nodes
        tensor([2, 1, 0])
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
            drop: Share of the edges dropped, both directions together, in a directed graph each alone, before weights are
                normalised.
        """
        more, loops = self._more(sample), self._are_loops(sample)
        if drop > 0:
            sample = sample.keeping(self._kept(sample, loops, key, drop))
            loops = self._are_loops(sample)
        scale = torch.where(loops, 1, more[sample.targets])
        if drop == 0:
            values = self._matrix.values[sample.entries] * scale
        else:
            values = self._normalized(sample, scale, loops, more == 1, drop)
        return self._layered(sample, values) if layered else self._joint(sample, scale, values)

    # --- parts of it -------------------------------------------------------------------------------------------------------

    def _are_loops(self, sample: Sample) -> Tensor:
        """Tell which entries are loops that were added, and are never dropped, shape ``(e,)``."""
        if self._loops is None:
            return torch.zeros_like(sample.sources, dtype=torch.bool)
        return torch.eq(sample.sources, sample.targets)

    def _more(self, sample: Sample) -> Tensor:
        """Return how much more the entries of each row weigh than in the whole graph, but for its loop, shape ``(r,)``."""
        matrix, rows = self._matrix, sample.nodes[: len(sample.begin) - 1]
        own = torch.zeros_like(rows) if self._loops is None else (self._loops[rows] >= 0).long()
        every = (matrix.crow[rows + 1] - matrix.crow[rows]).long() - own
        taken = sample.begin.diff() - own
        return torch.where(taken > 0, every, 1).to(matrix.dtype) / torch.where(taken > 0, taken, 1).to(matrix.dtype)

    def _kept(self, sample: Sample, loops: Tensor, key: int, drop: float) -> Tensor:
        """Tell which entries are not dropped; both directions of an edge together, in a directed graph each alone."""
        u, v = sample.nodes[sample.sources], sample.nodes[sample.targets]
        ends = (u, v) if self.graph.directed else (torch.minimum(u, v), torch.maximum(u, v))
        return (keyed_uniform(mixed_key(key, _DROPS), *ends) >= drop) | loops

    def _normalized(self, sample: Sample, scale: Tensor, loops: Tensor, whole: Tensor, drop: float) -> Tensor:
        """Normalise what is left of the entries by the degrees that are left.

        Where all of a row was taken, its degree is that of what is there. Elsewhere, and for sources, whose rows may not be
        there, it is what is left on average if this entry is.

        Args:
            sample: What is left.
            scale: How much more each entry weighs than in the whole graph.
            loops: Which entries are never dropped.
            whole: Rows of which all entries were taken, before some were dropped, shape ``(r,)``.
            drop: Share of the edges that are dropped.
        """
        weight, targets = self.graph.weights.values[sample.entries], sample.targets
        scaled = weight * scale
        if self.graph.aggregation == "sum":
            return scaled
        own = torch.where(loops, 0, drop * weight)
        left = (self._degrees - drop * (self._degrees - self._own_weights)).to(weight.dtype)
        there = scaled.new_zeros(len(whole)).scatter_add_(0, targets, scaled)
        into, out_of = (left[sample.nodes[ends]] + own for ends in (targets, sample.sources))
        into = torch.where(whole[targets], there[targets], into)
        out_of = torch.where(loops, into, out_of)
        degree = into if self.graph.aggregation == "mean" else (into * out_of).sqrt()
        return scaled / torch.where(degree > 0, degree, 1)

    @cached_property
    def _degrees(self) -> Tensor:
        """Weights of each node's edges, added up, shape ``(N,)``."""
        weights = self.graph.weights
        ones = weights.values.new_ones(self.graph.num_nodes, 1)
        return (weights @ ones).squeeze(1)

    @cached_property
    def _own_weights(self) -> Tensor:
        """Weight of each node's loop that is never dropped, shape ``(N,)``."""
        weights = self.graph.weights.values
        if self._loops is None:
            return weights.new_zeros(self.graph.num_nodes)
        return torch.where(self._loops >= 0, weights[self._loops.long()], 0)

    def _layered(self, sample: Sample, values: Tensor) -> Adjacency:
        hops, sizes, total = [], sample.sizes, self.graph.num_nodes
        for rows, columns in zip(sizes[-2::-1], sizes[:0:-1], strict=True):
            count = int(sample.begin[rows])
            structure = Structure(sample.begin[: rows + 1], sample.sources[:count], (rows, columns))
            hops.append(Hop(_matrix(structure, values[:count]), Part(sample.nodes[:columns], total, scattered=True)))
        ends = Part(sample.nodes[: sizes[0]], total, scattered=True)
        return self.graph.restricted(hops, ends)

    def _joint(self, sample: Sample, scale: Tensor, values: Tensor) -> Adjacency:
        count, rows, matrix = len(sample.nodes), len(sample.begin) - 1, self._matrix
        weights, later = self.graph.weights.values, sample.nodes[rows:]
        weights = weights[sample.entries] * scale
        sources, begin = sample.sources, sample.begin
        if self._loops is not None:  # nodes of the last hop have nothing but a loop
            own = self._loops[later].long()
            weights = torch.cat((weights, self.graph.weights.values[own]))
            values = torch.cat((values, matrix.values[own]))
            sources = torch.cat((sources, torch.arange(rows, count, device=sources.device)))
            begin = torch.cat((begin, begin[-1] + torch.arange(1, len(later) + 1, device=begin.device)))
        else:
            begin = torch.cat((begin, begin[-1].expand(len(later))))
        structure = Structure(begin, sources, (count, count))
        raw, normal = (_matrix(structure, each) for each in (weights, values))
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
