"""Placement of new nodes among points that stay where they are."""

import math

import torch
from torch import Tensor
from torch.nn.functional import softplus

from qgcn.kernels import Neighbourhoods, distances_from
from qgcn.manifolds import Space

__all__ = ["place_nodes"]

STEPS, RATE = 100, 0.05
"""Steps of Adam that place new nodes, and its learning rate, which falls along a cosine."""
JITTERS = (0.01, 0.1, 0.3, 1.0)
"""Starts, by how far they are around the mean of the neighbours: a single one often ends in a poor local optimum."""
BLOCK_ENTRIES = 2**20
"""Distances in memory at once; their gradient takes some twenty times as much."""


@torch.no_grad()
def place_nodes(points: Tensor, new: Tensor, graph: Neighbourhoods, space: Space, temperature: float) -> Tensor:
    r"""Place new nodes so that neighbours are nearest points; known nodes do not move.

    New nodes minimise the loss of the whole graph, :func:`qgcn.kernels.reconstruction_loss`, of which nothing but their own
    pairs changes. Those near known nodes come first, as many at a time as fit into memory.

    Args:
        points: Points of all nodes, shape ``(N, d)``; those of new nodes are not read.
        new: Which nodes are new, bool, shape ``(N,)``.
        graph: The graph, undirected.
        space: The space.
        temperature: Temperature of the loss.

    Returns:
        Points of all nodes, shape ``(N, d)``.
    """
    if not bool(new.any()):
        return points
    depth = _depth(new, graph)
    scene = _Scene(points.clone(), ~new, graph, space, temperature)
    nodes = new.nonzero().squeeze(1)
    near_first = torch.where(depth > 0, depth, len(points))[nodes].argsort(stable=True)
    for block in nodes[near_first].split(max(1, BLOCK_ENTRIES // len(points))):
        scene.place(block, depth)
    return scene.points


def _depth(new: Tensor, graph: Neighbourhoods) -> Tensor:
    """Return the number of links from each node to the nearest known one, -1 where no path leads to one; shape ``(N,)``."""
    depth = torch.where(new, -1, 0)
    reached, level = ~new, 0
    while bool(reached.any()):
        level += 1
        beside = torch.zeros_like(new).index_fill_(0, graph.target[reached[graph.source]], True)
        reached = beside & (depth < 0)
        depth[reached] = level
    return depth


def _links(graph: Neighbourhoods, rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """Return the links from some nodes to some nodes, by their places among those; the first ascending if ``rows`` are."""
    counts = (torch.arange(len(nodes), device=nodes.device) for nodes in (rows, columns))
    places = [torch.full_like(graph.degree, -1).index_copy_(0, *each) for each in zip((rows, columns), counts, strict=True)]
    row, column = places[0][graph.source], places[1][graph.target]
    both = (row >= 0) & (column >= 0)
    return row[both], column[both]


class _Scene:
    r"""The nodes that have a place, and :math:`\log Z_w` of each of them, the sum over those that are not its neighbours.

    Args:
        points: Points of all nodes, overwritten.
        placed: Which of them count.
        graph: The graph.
        space: The space.
        temperature: Temperature of the loss.
    """

    def __init__(self, points: Tensor, placed: Tensor, graph: Neighbourhoods, space: Space, temperature: float) -> None:
        self.points, self.placed, self.graph, self.space, self.temperature = points, placed, graph, space, temperature
        self.nothing = torch.finfo(points.dtype).min / 2
        """Logarithm of a sum of nothing, finite so that its gradient is."""
        self.log_sum = points.new_full((len(points),), self.nothing)
        self.generator = torch.Generator().manual_seed(0)
        known, most = placed.nonzero().squeeze(1), max(1, BLOCK_ENTRIES // len(points))
        row, other = _links(graph, known, known)
        for first in range(0, len(known), most):
            rows = range(first, min(first + most, len(known)))
            energy = distances_from(points[known], rows, space).square_().mul_(-temperature)
            mine = slice(*torch.searchsorted(row, torch.tensor([rows.start, rows.stop], device=row.device)).tolist())
            energy[row[mine] - first, other[mine]] = self.nothing
            energy.diagonal(first).fill_(self.nothing)
            self.log_sum[known[rows.start : rows.stop]] = energy.logsumexp(1)

    def place(self, block: Tensor, depth: Tensor) -> None:
        """Place some nodes among those that have a place: each where the best of several starts has led it."""
        rows, start = _Rows(self, block), self._start(block, depth)
        best, least = start, torch.full_like(start[:, 0], math.inf)
        for jitter in JITTERS:
            found = self._descend(rows, start, jitter)
            cost = rows.cost_of_nodes(found)
            best, least = torch.where((cost < least).unsqueeze(1), found, best), torch.minimum(cost, least)
        self.points[block] = best
        self.log_sum[rows.nodes] = rows.costs(best)[1]
        self.placed[block] = True

    def _descend(self, rows: "_Rows", start: Tensor, jitter: float) -> Tensor:
        """Minimise the loss from somewhere near the start."""
        pole = self.space.origin(start.shape[1]).to(start)
        moved = (jitter * torch.randn(start.shape, generator=self.generator, dtype=start.dtype)).to(start).requires_grad_()
        optimiser = torch.optim.Adam([moved], lr=RATE)
        for step in range(STEPS):
            for group in optimiser.param_groups:
                group["lr"] = RATE * (1 + math.cos(math.pi * step / STEPS)) / 2
            with torch.enable_grad():
                cost, _ = rows.costs(self.space.translate(start, self.space.proju(pole, moved)))
                (moved.grad,) = torch.autograd.grad(rows.share @ cost, [moved])
            optimiser.step()
        return self.space.translate(start, self.space.proju(pole, moved.detach()))

    def _start(self, block: Tensor, depth: Tensor) -> Tensor:
        """Return the mean of the neighbours of each node that have a place before it, the origin if none has."""
        source, target = self.graph.source, self.graph.target
        found = self.points.clone()
        found[block] = self.space.origin(found.shape[1]).to(found)
        for level in depth[block].unique():
            here = torch.zeros_like(self.placed).index_fill_(0, block[depth[block] == level], True)
            towards = here[source] & (depth[target] >= 0) & (depth[target] < level)
            total = torch.zeros_like(found).index_add_(0, source[towards], found[target[towards]])
            count = torch.bincount(source[towards], minlength=len(found)).unsqueeze(1)
            found = torch.where(count > 0, self.space.projx(torch.where(count > 0, total / count, found)), found)
        return found[block]


class _Rows:
    """The pairs of some nodes with all that have a place, themselves included.

    Args:
        scene: The nodes that have a place.
        block: Nodes that are placed now.
    """

    def __init__(self, scene: _Scene, block: Tensor) -> None:
        known = scene.placed.nonzero().squeeze(1)
        self.scene, self.known, self.nodes = scene, len(known), torch.cat((known, block))
        edges = torch.stack(_links(scene.graph, self.nodes, self.nodes))
        fixed, mine = edges[:, (edges < len(known)).all(0)], edges[:, edges[0] >= len(known)]
        back = mine[:, mine[1] < len(known)].flip(0)  # the same links from the other end
        self.row, self.other = torch.cat((mine, back.flip(0)), dim=1) - torch.tensor([[len(known)], [0]], device=edges.device)
        self.ends = torch.cat((mine[0], back[0], fixed[0]))
        # every node counts alike
        self.share = torch.bincount(self.ends, minlength=len(self.nodes)).to(scene.points).reciprocal()[self.ends]
        self.taken = torch.zeros(len(block), len(self.nodes), dtype=torch.bool, device=edges.device)
        self.taken[self.row, self.other] = True
        self.taken.diagonal(len(known)).fill_(True)
        self.points = scene.points[known]
        self.fixed = -scene.temperature * scene.space.dist2(*self.points[fixed])

    def costs(self, moving: Tensor) -> tuple[Tensor, Tensor]:
        """Return the cost of every link if the block is at these points, and the logarithm of the sum of every node."""
        scene = self.scene
        energy = -scene.temperature * scene.space.pairwise_dist(moving, torch.cat((self.points, moving))).square()
        others = energy.masked_fill(self.taken, scene.nothing)
        before = scene.log_sum[self.nodes[: self.known]].unsqueeze(0)
        log_sum = torch.cat((torch.cat((before, others[:, : self.known])).logsumexp(0), others.logsumexp(1)))
        links = torch.cat((energy[self.row, self.other], self.fixed))
        return softplus(log_sum[self.ends] - links), log_sum

    def cost_of_nodes(self, moving: Tensor) -> Tensor:
        """Return the cost of the links of each node of the block, shape ``(n,)``."""
        cost, _ = self.costs(moving)
        return torch.zeros_like(moving[:, 0]).index_add_(0, self.row, cost[: len(self.row)])
