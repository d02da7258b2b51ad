"""Splits of ordered pairs: which edges of a directed graph are held out, and which pairs stand beside them that are none."""

import numpy as np
import torch
from torch import Tensor

from qgcn.data.pairs import Ints, draw_other_keys, keys_of

__all__ = ["ORDERED_PARTS", "one_way", "split_directed"]

ORDERED_PARTS = ("train", "val", "test", "val_negative", "test_negative")
"""Names of the parts of a split."""


def one_way(pairs: Tensor, edges: Tensor, num_nodes: int) -> Tensor:
    """Tell which ordered pairs have a reverse that is no edge, bool, shape ``(P,)``.

    Args:
        pairs: Shape ``(2, P)``.
        edges: Edges of the graph, shape ``(2, E)``.
        num_nodes: Number of nodes.

    Example:
        >>> edges = torch.tensor([[0, 1, 1], [1, 0, 2]])
        >>> one_way(edges, edges, 3)
        tensor([False, False,  True])
    """
    return ~torch.isin(pairs[1] * num_nodes + pairs[0], edges[0] * num_nodes + edges[1])


def split_directed(
    edge_index: Tensor,
    num_nodes: int,
    *,
    val: float = 0.05,
    test: float = 0.15,
    reverses: float = 0.0,
    seed: int = 0,
) -> dict[str, Tensor]:
    """Hold out edges of a directed graph, each as an ordered pair, and as many ordered pairs that are no edges.

    Both directions of a pair of nodes are two edges, each held out on its own. A negative is an ordered pair that is no edge
    of the whole graph: in part the reverse of a held-out edge of the same part, where that is no edge; the others are uniform,
    without replacement.

    Laws: train, val, test, val_negative and test_negative are pairwise disjoint as ordered pairs; train, val and test are the
    edges of the graph; the same seed gives the same split.

    Args:
        edge_index: Edges without self-loops, each once, shape ``(2, E)``.
        num_nodes: Number of nodes.
        val: Share of the edges kept for validation.
        test: Share of the edges kept for the test.
        reverses: Share of the negatives that are reverses; fewer where too many edges have both directions.
        seed: Fixes the split.

    Returns:
        ``train``, ``val``, ``test``, ``val_negative`` and ``test_negative``, ordered pairs of shape ``(2, P)``.

    Raises:
        ValueError: Impossible shares, or a graph too small or too dense for them.

    Example:
        >>> path = torch.stack((torch.arange(40), torch.arange(1, 41)))
        >>> {name: pairs.shape[1] for name, pairs in split_directed(path, 41).items()}
        {'train': 32, 'val': 2, 'test': 6, 'val_negative': 2, 'test_negative': 6}
    """
    if not (val > 0 and test > 0 and val + test < 1):
        raise ValueError(f"val and test must be positive shares with val + test < 1, got val={val} and test={test}")
    if not 0 <= reverses <= 1:
        raise ValueError(f"reverses must be a share from 0 to 1, got {reverses}")
    rng = np.random.default_rng(seed)
    keys = np.sort(_keys(edge_index.long().cpu().numpy(), num_nodes))
    sizes = [int(len(keys) * share) for share in (val, test)]
    if min(sizes) < 1 or sum(sizes) >= len(keys):
        needed = int(np.ceil(1 / min(val, test)))
        raise ValueError(f"val={val} and test={test} need at least {needed} edges, got {len(keys)}")
    order = rng.permutation(keys)
    held = dict(zip(("val", "test", "train"), np.split(order, np.cumsum(sizes)), strict=True))
    turned = {part: _reverses(held[part], keys, num_nodes, reverses, rng) for part in ("val", "test")}
    # neither edges, nor loops, nor what is drawn already
    loops = np.arange(num_nodes, dtype=np.int64) * (num_nodes + 1)
    taken = np.unique(np.concatenate((keys, loops, *turned.values())))
    missing = [len(held[part]) - len(turned[part]) for part in ("val", "test")]
    too_few = ValueError(
        f"{sum(sizes)} held-out edges need as many ordered pairs that are none, and training two nodes that neither an edge "
        f"nor such a pair joins: {num_nodes} nodes with {len(keys)} edges leave too few"
    )
    if num_nodes * num_nodes - len(taken) < sum(missing):
        raise too_few
    others = np.split(draw_other_keys(taken, num_nodes * num_nodes, sum(missing), rng), missing[:1])
    for part, drawn in zip(("val", "test"), others, strict=True):
        held[f"{part}_negative"] = np.concatenate((turned[part], drawn))
    total, pairs = num_nodes * (num_nodes - 1) // 2, np.concatenate(list(held.values()))
    # negatives of training are drawn from pairs of nodes that have none of these
    if len(pairs) >= total and len(np.unique(keys_of(np.stack(np.divmod(pairs, num_nodes)), num_nodes))) == total:
        raise too_few
    return {part: torch.from_numpy(np.stack(np.divmod(held[part], num_nodes))) for part in ORDERED_PARTS}


def _keys(pairs: Ints, num_nodes: int) -> Ints:
    return np.asarray(pairs[0] * num_nodes + pairs[1])


def _reverses(held: Ints, edges: Ints, num_nodes: int, share: float, rng: np.random.Generator) -> Ints:
    """Return reverses of some held-out edges that are no edges, at most such a share of as many as there are edges."""
    source, target = np.divmod(held, num_nodes)
    free = np.setdiff1d(target * num_nodes + source, edges)
    return np.asarray(rng.permutation(free)[: round(share * len(held))])
