"""Graphs of known shape that need no download."""

import torch
from torch import Tensor

__all__ = ["ring_of_trees"]


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
    if ring < 3:
        raise ValueError(f"ring must be at least 3, got {ring}")
    if branching < 1:
        raise ValueError(f"branching must be at least 1, got {branching}")
    if depth < 0:
        raise ValueError(f"depth must not be negative, got {depth}")
    level = torch.arange(ring)
    parents, children = [level], [level.roll(-1)]
    for _ in range(depth):
        first = int(level[-1]) + 1
        parents.append(level.repeat_interleave(branching))
        level = torch.arange(first, first + len(level) * branching)
        children.append(level)
    edges = torch.stack((torch.cat(parents), torch.cat(children)))
    return torch.cat((edges, edges.flip(0)), dim=1)
