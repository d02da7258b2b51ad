"""Graphs of known shape that need no download.

Every ``edge_index`` has shape ``(2, E)``, int64, each edge in both directions, no self-loops and no repetition.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from qgcn.data.pairs import draw_other_keys, keys_to_pairs, pairs_to_keys

__all__ = [
    "cycle",
    "grid",
    "ring_of_trees",
    "sphere_graph",
    "sphere_with_trees",
    "stochastic_block",
    "torus_graph",
    "torus_with_trees",
    "tree",
    "tree_with_cycles",
]


def tree(branching: int = 2, depth: int = 6) -> Tensor:
    """Build a balanced tree: pure hierarchy. Node 0 is the root, then level by level.

    Args:
        branching: Children of each inner node.
        depth: Levels below the root, at least 1.

    Returns:
        ``edge_index`` of shape ``(2, E)``, int64, each edge in both directions.
    """
    at_least(1, branching=branching, depth=depth)
    return both_ways(_hang_trees(1, branching, depth))


def cycle(nodes: int = 64) -> Tensor:
    """Build a ring, ``0 - 1 - ... - 0``.

    Args:
        nodes: Length of the ring, at least 3.

    Returns:
        ``edge_index`` of shape ``(2, E)``, int64, each edge in both directions.
    """
    at_least(3, nodes=nodes)
    return both_ways(_ring(nodes))


def grid(rows: int = 12, columns: int = 12, periodic: bool = False) -> Tensor:
    """Build a rectangular grid; node ``(i, j)`` has the number ``i * columns + j``.

    Args:
        rows: Number of rows.
        columns: Number of columns.
        periodic: Join opposite sides, which makes the grid a torus; then both sizes must be at least 3.

    Returns:
        ``edge_index`` of shape ``(2, E)``, int64, each edge in both directions.
    """
    at_least(3 if periodic else 1, rows=rows, columns=columns)
    if rows * columns < 2:
        raise ValueError(f"a grid needs at least 2 nodes, got {rows} x {columns}")
    return both_ways(_lattice(rows, columns, periodic))


def ring_of_trees(ring: int = 12, branching: int = 2, depth: int = 3) -> Tensor:
    """Build a cycle with a tree hung on each of its nodes: the smallest graph that is hierarchy *and* cycle.

    Nodes of the ring come first, ``0 .. ring - 1``; then the trees, level by level.

    Args:
        ring: Length of the cycle, at least 3.
        branching: Children of each node.
        depth: Levels of each tree below the ring; 0 leaves the bare cycle.

    Returns:
        ``edge_index`` of shape ``(2, E)``, int64, each edge in both directions.
    """
    at_least(3, ring=ring)
    at_least(1, branching=branching)
    at_least(0, depth=depth)
    return both_ways(torch.cat((_ring(ring), _hang_trees(ring, branching, depth)), dim=1))


def torus_with_trees(rows: int = 6, columns: int = 6, branching: int = 2, depth: int = 2) -> Tensor:
    """Build a periodic grid with a tree hung on each of its nodes: two cycles at once, and hierarchy.

    Nodes of the grid come first, row by row; then the trees, level by level.

    Args:
        rows: Rows of the grid, at least 3.
        columns: Columns of the grid, at least 3.
        branching: Children of each node.
        depth: Levels of each tree below the grid; 0 leaves the bare torus.

    Returns:
        ``edge_index`` of shape ``(2, E)``, int64, each edge in both directions.
    """
    at_least(3, rows=rows, columns=columns)
    at_least(1, branching=branching)
    at_least(0, depth=depth)
    return both_ways(torch.cat((_lattice(rows, columns, True), _hang_trees(rows * columns, branching, depth)), dim=1))


def tree_with_cycles(branching: int = 2, depth: int = 6, extra: int = 20, seed: int = 0) -> Tensor:
    """Build a balanced tree and join ``extra`` pairs of its nodes at random: each closes one cycle.

    Args:
        branching: Children of each inner node.
        depth: Levels below the root, at least 1.
        extra: Edges beside those of the tree.
        seed: Fixes which pairs.

    Returns:
        ``edge_index`` of shape ``(2, E)``, int64, each edge in both directions.
    """
    at_least(1, branching=branching, depth=depth)
    at_least(0, extra=extra)
    edges = _hang_trees(1, branching, depth)
    nodes = edges.shape[1] + 1
    keys, total = pairs_to_keys(edges.numpy(), nodes), nodes * (nodes - 1) // 2
    if extra > total - len(keys):
        raise ValueError(f"extra must be at most {total - len(keys)} for a tree of {nodes} nodes, got {extra}")
    chords = keys_to_pairs(draw_other_keys(keys, total, extra, np.random.default_rng(seed)), nodes)
    return both_ways(torch.cat((edges, torch.from_numpy(chords)), dim=1))


def stochastic_block(
    sizes: Sequence[int] = (60, 60, 60, 60), within: float = 0.15, between: float = 0.01, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Draw a graph with communities: each pair is joined with probability ``within`` or ``between`` blocks.

    Args:
        sizes: Nodes of each block; nodes are numbered block by block.
        within: Probability of an edge inside a block.
        between: Probability of an edge between two blocks.
        seed: Fixes the graph.

    Returns:
        ``edge_index`` of shape ``(2, E)``, int64, each edge in both directions, and the blocks, shape ``(N,)``, int64.
    """
    if not sizes:
        raise ValueError("sizes must name at least one block, got none")
    for size in sizes:
        at_least(1, size=size)
    probability(within=within, between=between)
    rng = np.random.default_rng(seed)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    parts = []
    none = np.empty(0, dtype=np.int64)
    for a, size in enumerate(sizes):
        inside = size * (size - 1) // 2
        drawn = draw_other_keys(none, inside, rng.binomial(inside, within), rng) if inside else none
        parts.append(keys_to_pairs(drawn, size) + starts[a])
        rest = int(starts[-1] - starts[a + 1])  # every later block at once
        if rest:
            drawn = draw_other_keys(none, size * rest, rng.binomial(size * rest, between), rng)
            parts.append(np.stack((drawn // rest + starts[a], drawn % rest + starts[a + 1])))
    labels = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    return both_ways(torch.from_numpy(np.concatenate(parts, axis=1))), labels


def sphere_graph(nodes: int = 400, radius: float = 0.25, seed: int = 0) -> Tensor:
    r"""Scatter points uniformly on the unit sphere :math:`S^2` and join those within an angle of ``radius``.

    Nodes without a neighbour have no edge: give ``num_nodes`` where it matters.

    Args:
        nodes: Number of points.
        radius: Largest great-circle distance of two neighbours, in :math:`(0, \pi]`.
        seed: Fixes the points.

    Returns:
        ``edge_index`` of shape ``(2, E)``, int64, each edge in both directions.
    """
    at_least(2, nodes=nodes)
    if not 0 < radius <= math.pi:
        raise ValueError(f"radius must be in (0, pi], got {radius}")
    points = np.random.default_rng(seed).standard_normal((nodes, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return _neighbours(points, 2 * math.sin(radius / 2), None)


def sphere_with_trees(points: int = 60, radius: float = 0.6, branching: int = 2, depth: int = 2, seed: int = 0) -> Tensor:
    """Build a :func:`sphere_graph` with a tree hung on each of its nodes: positive curvature, and hierarchy.

    Nodes on the sphere come first; then the trees, level by level.

    Args:
        points: Number of points on the sphere.
        radius: Largest great-circle distance of two neighbours.
        branching: Children of each node.
        depth: Levels of each tree below the sphere; 0 leaves the bare sphere.
        seed: Fixes the points.

    Returns:
        ``edge_index`` of shape ``(2, E)``, int64, each edge in both directions.
    """
    at_least(1, branching=branching)
    at_least(0, depth=depth)
    return torch.cat((sphere_graph(points, radius, seed), both_ways(_hang_trees(points, branching, depth))), dim=1)


def torus_graph(nodes: int = 400, radius: float = 0.08, seed: int = 0) -> Tensor:
    """Scatter points uniformly on the flat torus, a unit square with opposite sides joined, and join those within ``radius``.

    Nodes without a neighbour have no edge: give ``num_nodes`` where it matters.

    Args:
        nodes: Number of points.
        radius: Largest distance of two neighbours, in (0, 0.5).
        seed: Fixes the points.

    Returns:
        ``edge_index`` of shape ``(2, E)``, int64, each edge in both directions.
    """
    at_least(2, nodes=nodes)
    if not 0 < radius < 0.5:
        raise ValueError(f"radius must be in (0, 0.5), got {radius}")
    return _neighbours(np.random.default_rng(seed).random((nodes, 2)), radius, 1.0)


def _neighbours(points: "np.ndarray[tuple[int, int], np.dtype[np.float64]]", radius: float, period: float | None) -> Tensor:
    from scipy.spatial import cKDTree

    pairs = cKDTree(points, boxsize=period).query_pairs(radius, output_type="ndarray")
    return both_ways(torch.from_numpy(np.sort(pairs.astype(np.int64), axis=1).T.copy()))


def _ring(nodes: int) -> Tensor:
    start = torch.arange(nodes)
    return torch.stack((start, start.roll(-1)))


def _lattice(rows: int, columns: int, periodic: bool) -> Tensor:
    nodes = torch.arange(rows * columns).view(rows, columns)
    if periodic:
        steps = [(nodes, nodes.roll(-1, dims=axis)) for axis in (0, 1)]
    else:
        steps = [(nodes[:-1], nodes[1:]), (nodes[:, :-1], nodes[:, 1:])]
    return torch.cat([torch.stack((start.flatten(), end.flatten())) for start, end in steps], dim=1)


def _hang_trees(roots: int, branching: int, depth: int) -> Tensor:
    """Return edges (parent, child) of trees below nodes ``0 .. roots - 1``, all trees' levels numbered together."""
    # child k of all children, in order, hangs below node k // branching: levels follow each other without a gap
    total = roots * sum(branching**level for level in range(1, depth + 1))
    child = torch.arange(total)
    return torch.stack((child.div(branching, rounding_mode="floor"), child + roots))


def both_ways(edges: Tensor) -> Tensor:
    """Return edges in both directions."""
    return torch.cat((edges, edges.flip(0)), dim=1)


def at_least(bound: int, **values: int) -> None:
    """Raise if a number is less than a bound."""
    for name, value in values.items():
        if value < bound:
            raise ValueError(
                f"{name} must not be negative, got {value}" if bound == 0 else f"{name} must be at least {bound}, got {value}"
            )


def probability(**values: float) -> None:
    """Raise unless numbers are probabilities."""
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name} must be a probability, got {value}")
