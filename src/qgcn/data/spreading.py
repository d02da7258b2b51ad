"""Graphs on which something spreads: who catches it is the label, and noisy observations of it are the features."""

import numpy as np
import torch
from torch import Tensor

from qgcn.data.generators import at_least, both_ways, probability
from qgcn.data.pairs import Ints, draw_other_keys, keys_to_pairs, pairs_to_keys

__all__ = ["spreading_graph", "spreading_tree"]

FADING = 0.9
"""What is left after each step of how strongly a strain is felt."""
SUSCEPTIBLE = (6.0, 2.0)
"""Parameters of the beta distribution of susceptibility: 0.75 on average."""


def spreading_tree(
    nodes: int = 1500,
    branching: float = 2.0,
    infectivity: float = 1.0,
    features: int = 12,
    noise: float = 0.5,
    seed: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Grow a random tree and let contagions spread along its edges.

    Every node has at least one child until there are enough nodes: :math:`1 + \mathrm{Poisson}(b - 1)` of them. Node 0 is the
    root, then level by level.

    Each node has a susceptibility, drawn from a beta distribution. Each strain of the contagion starts at a few nodes. Whoever
    catches it passes it on one step later, once, to each neighbour that has not had it, with a probability of infectivity times
    the susceptibility of that neighbour; then it is immune. The label tells who catches the first strain.

    Features are observations with noise: the susceptibility, and for each of ``features - 1`` strains the exposure, the mean
    of :math:`0.9^t` over a node and its neighbours, where :math:`t` is the step at which each caught the strain, and 0 if it
    did not. Each feature has mean 0 and standard deviation 1 before noise is added. All edges carry contagions, held-out ones
    included: features are measured in the world, not in a model.

    Args:
        nodes: Number of nodes, at least 2.
        branching: Mean number of children :math:`b`, at least 1.
        infectivity: Factor of the probability that a contagion is passed on, between 0 and 1.
        features: Number of features, at least 2.
        noise: Standard deviation of the noise.
        seed: Fixes tree and contagions.

    Returns:
        ``edge_index`` of shape ``(2, E)``, int64, each edge in both directions; labels of shape ``(N,)``, int64, 1 for those
        infected; features of shape ``(N, F)``, float32.
    """
    at_least(2, nodes=nodes)
    if not branching >= 1:
        raise ValueError(f"branching must be at least 1, got {branching}")
    rng = np.random.default_rng(seed)
    # with a child each, the nodes before node k have at least k children: parents come first
    children = 1 + rng.poisson(branching - 1, nodes - 1)
    parent = np.repeat(np.arange(nodes - 1), children)[: nodes - 1]
    return _spread(np.stack((parent, np.arange(1, nodes))), nodes, infectivity, features, noise, rng)


def spreading_graph(
    nodes: int = 1500,
    neighbours: int = 4,
    rewired: float = 0.1,
    infectivity: float = 0.6,
    features: int = 12,
    noise: float = 0.5,
    seed: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Build a small world and let contagions spread along its edges, as :func:`spreading_tree` does.

    Nodes form a ring in which each is joined to those nearest to it; then some edges are replaced by random ones.

    Args:
        nodes: Number of nodes, more than ``neighbours``.
        neighbours: Neighbours of each node in the ring, an even number, at least 2.
        rewired: Probability that an edge is replaced.
        infectivity: Factor of the probability that a contagion is passed on, between 0 and 1.
        features: Number of features, at least 2.
        noise: Standard deviation of the noise.
        seed: Fixes graph and contagions.

    Returns:
        ``edge_index`` of shape ``(2, E)``, int64, each edge in both directions; labels of shape ``(N,)``, int64, 1 for those
        infected; features of shape ``(N, F)``, float32.
    """
    at_least(2, neighbours=neighbours)
    if neighbours % 2 or nodes <= neighbours:
        raise ValueError(f"neighbours must be even and less than nodes, got {neighbours} and {nodes} nodes")
    probability(rewired=rewired)
    rng = np.random.default_rng(seed)
    steps = np.arange(1, neighbours // 2 + 1)
    start = np.repeat(np.arange(nodes), len(steps))
    ring = pairs_to_keys(np.stack((start, (start + np.tile(steps, nodes)) % nodes)), nodes)
    total = nodes * (nodes - 1) // 2
    kept = rng.random(len(ring)) >= rewired
    fresh = min(int((~kept).sum()), total - len(ring))
    keys = np.concatenate((ring[kept], draw_other_keys(ring, total, fresh, rng)))
    return _spread(keys_to_pairs(np.sort(keys), nodes), nodes, infectivity, features, noise, rng)


def _spread(
    edges: Ints, nodes: int, infectivity: float, features: int, noise: float, rng: np.random.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Return edges in both directions, who caught the first strain, and what is observed."""
    at_least(2, features=features)
    probability(infectivity=infectivity)
    if not noise >= 0:
        raise ValueError(f"noise must not be negative, got {noise}")
    susceptibility = rng.beta(*SUSCEPTIBLE, nodes)
    both = np.concatenate((edges, edges[::-1]), axis=1)
    steps = np.stack([_caught(both, infectivity * susceptibility, rng) for _ in range(features - 1)])  # (strains, N)
    felt = np.where(steps >= 0, FADING**steps, 0.0)
    met = np.bincount(both[1], minlength=nodes) + 1
    exposure = [(own + np.bincount(both[1], weights=own[both[0]], minlength=nodes)) / met for own in felt]
    seen = np.stack((susceptibility, *exposure), axis=1)
    spread = seen.std(axis=0)
    seen = (seen - seen.mean(axis=0)) / np.where(spread > 0, spread, 1)
    x = seen + noise * rng.standard_normal(seen.shape)
    labels = torch.from_numpy((steps[0] >= 0).astype(np.int64))
    return both_ways(torch.from_numpy(edges)), labels, torch.from_numpy(x).float()


def _caught(both: Ints, chance: "np.ndarray[tuple[int], np.dtype[np.float64]]", rng: np.random.Generator) -> Ints:
    """Return the step at which each node catches a strain, -1 if it never does, shape ``(N,)``."""
    nodes = len(chance)
    steps = np.full(nodes, -1)
    steps[rng.choice(nodes, max(1, nodes // 50), replace=False)] = 0
    # each edge is tried once in each direction at most, so that what comes of it can be drawn beforehand
    passes = rng.random(both.shape[1]) < chance[both[1]]
    source, target = both[:, passes]
    for step in range(nodes):
        reached = target[(steps[source] == step) & (steps[target] < 0)]
        if len(reached) == 0:
            break
        steps[reached] = step + 1
    return steps
