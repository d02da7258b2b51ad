"""Hierarchies: directed graphs without cycles, the pairs that they imply, and how these are split."""

from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from qgcn.data.pairs import Ints

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["depths", "find_cycle", "implied_pairs", "split_hierarchy", "transitive_closure"]

MOST_PAIRS = 50_000_000
"""Pairs of a closure at most: more do not fit into memory while they are found."""
ROUNDS = 50
"""Times that an end of a negative pair is drawn anew while the pair is implied."""


def _matrix(edges: Ints, num_nodes: int) -> "csr_array":
    from scipy.sparse import csr_array

    made = csr_array((np.ones(edges.shape[1], dtype=np.int8), (edges[0], edges[1])), shape=(num_nodes, num_nodes))
    made.data[:] = 1
    return made


def find_cycle(edge_index: Tensor, num_nodes: int) -> list[int]:
    """Return the nodes of a cycle in their order, the first not repeated; nothing if there is none. A self-loop is one.

    Args:
        edge_index: Directed edges, shape ``(2, E)``.
        num_nodes: Number of nodes.
    """
    from scipy.sparse.csgraph import connected_components

    source, target = edge_index.cpu().numpy()
    if len(loops := source[source == target]):
        return [int(loops[0])]
    graph = _matrix(np.stack((source, target)), num_nodes)
    _, part = connected_components(graph, connection="strong")
    large = np.flatnonzero(np.bincount(part, minlength=num_nodes)[part] > 1)
    if len(large) == 0:
        return []
    walk, at = {int(large[0]): 0}, int(large[0])
    while True:  # within a strong component each node has a successor there
        ahead = graph.indices[graph.indptr[at] : graph.indptr[at + 1]]
        at = int(ahead[part[ahead] == part[at]][0])
        if at in walk:
            return list(walk)[walk[at] :]
        walk[at] = len(walk)


def transitive_closure(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Return all pairs that a directed path joins, sorted by first node, then second, shape ``(2, C)``.

    Args:
        edge_index: Edges of a graph without cycles, shape ``(2, E)``.
        num_nodes: Number of nodes.

    Raises:
        ValueError: There is a cycle, or there are too many pairs.
    """
    _check_acyclic(edge_index, num_nodes)
    graph = _matrix(edge_index.cpu().numpy(), num_nodes)
    children = np.split(graph.indices, graph.indptr[1:-1])
    order = list(TopologicalSorter(dict(enumerate(each.tolist() for each in children))).static_order())  # children first
    place = np.empty(num_nodes, dtype=np.int64)
    place[order] = np.arange(num_nodes)
    below, size = [each[:0] for each in children], np.zeros(num_nodes, dtype=np.int64)
    seen, total = np.zeros(num_nodes, dtype=bool), 0
    for node in order:
        direct = children[node]
        if len(direct) == 0:
            continue
        new, inner = [], direct[size[direct] > 0]
        for child in inner[np.argsort(-place[inner])]:  # those first that may have others below them
            if not seen[child]:
                new.append(below[child][~seen[below[child]]])
                seen[new[-1]] = True
        below[node] = np.sort(np.concatenate((*new, direct[~seen[direct]])))
        seen[below[node]] = False
        size[node] = len(below[node])
        total += len(below[node])
        if total > MOST_PAIRS:
            raise ValueError(f"the closure of the hierarchy has too many pairs: expected at most {MOST_PAIRS:,}")
    firsts = np.repeat(np.arange(num_nodes), size)
    return torch.from_numpy(np.stack((firsts, np.concatenate(below).astype(np.int64))))


def _check_acyclic(edge_index: Tensor, num_nodes: int) -> None:
    if cycle := find_cycle(edge_index, num_nodes):
        size = f"{len(cycle)} node" + "s" * (len(cycle) > 1)
        raise ValueError(f"the graph has a cycle of {size}, {_path(cycle)}: expected a hierarchy, which has none")


def _path(nodes: list[int]) -> str:
    shown = nodes if len(nodes) <= 5 else nodes[:4]
    return " -> ".join([str(node) for node in shown] + (["..."] if len(shown) < len(nodes) else []) + [str(nodes[0])])


def implied_pairs(pairs: Tensor, edge_index: Tensor, num_nodes: int) -> Tensor:
    """Return those of sorted pairs that are no edges, shape ``(2, P)``."""
    keys, edges = (each[0] * num_nodes + each[1] for each in (pairs, edge_index))
    return pairs[:, torch.isin(keys, edges, invert=True)]


def depths(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Return the length of the longest path to each node, int64, shape ``(N,)``: 0 for roots.

    Args:
        edge_index: Edges of a graph without cycles, from parent to child, shape ``(2, E)``.
        num_nodes: Number of nodes.

    Raises:
        ValueError: There is a cycle.
    """
    _check_acyclic(edge_index, num_nodes)
    depth = torch.zeros(num_nodes, dtype=torch.long)
    above, below = edge_index.cpu()
    while True:
        deeper = depth.scatter_reduce(0, below, depth[above] + 1, "amax")
        if torch.equal(deeper, depth):
            return depth
        depth = deeper


def split_hierarchy(
    edge_index: Tensor,
    num_nodes: int,
    *,
    share: float = 0.0,
    val: float = 0.05,
    test: float = 0.05,
    negatives: int = 10,
    seed: int = 0,
) -> dict[str, Tensor]:
    """Hold out pairs that a hierarchy implies, and give each of them pairs that it does not imply.

    Training has all edges and a share of the implied pairs. Of the negatives of a held-out pair, one half has another
    descendant, the other half another ancestor, drawn uniformly.

    Args:
        edge_index: Edges from ancestor to descendant, shape ``(2, E)``, without cycles.
        num_nodes: Number of nodes.
        share: Share of the implied pairs that are trained on.
        val: Share of the implied pairs held out for validation.
        test: Share of the implied pairs held out for the test.
        negatives: Negatives of each held-out pair.
        seed: Source of randomness.

    Returns:
        ``train``, ``val``, ``test``, ``val_negative`` and ``test_negative``, ordered pairs of shape ``(2, P)``.

    Raises:
        ValueError: The shares are more than there is; there is a cycle; too few pairs are implied, or so many that
            no negatives are left.
    """
    if min(share, val, test) < 0 or val * test == 0 or share + val + test > 1:
        raise ValueError(f"share, val and test must be shares of one whole, got {share}, {val} and {test}")
    closure = transitive_closure(edge_index, num_nodes)
    implied = implied_pairs(closure, edge_index, num_nodes)
    total, rng = implied.shape[1], np.random.default_rng(seed)
    held = [max(1, round(part * total)) for part in (val, test)]
    if total < sum(held) + 1:
        raise ValueError(
            f"the hierarchy implies {total} pairs beyond its edges, too few to hold some out: expected deeper paths"
        )
    order = torch.from_numpy(rng.permutation(total))
    ends = np.cumsum([*held, round(share * total)])
    first, second, third = (implied[:, order[a:b]] for a, b in zip((0, *ends), ends, strict=False))
    keys = (closure[0] * num_nodes + closure[1]).numpy()
    parts = {"train": torch.cat((edge_index.cpu(), third), dim=1), "val": first, "test": second}
    for name in ("val", "test"):
        parts[f"{name}_negative"] = drawn = _negatives(parts[name], keys, num_nodes, negatives, rng)
        if drawn.shape[1] == 0:
            raise ValueError(
                f"no negatives were found for the implied pairs held out for {name}, whose ancestors are above nearly all "
                "nodes and whose descendants are below: expected a wider hierarchy"
            )
    return parts


def _negatives(pairs: Tensor, implied: Ints, num_nodes: int, count: int, rng: np.random.Generator) -> Tensor:
    """Draw pairs with one end in common with those given, none of which is implied or a loop; fewer if there are no others."""
    drawn = np.tile(pairs.numpy(), count)
    end = np.repeat(np.arange(count) < count // 2, pairs.shape[1]).astype(np.int64)  # the descendant first, as published
    wrong = np.arange(drawn.shape[1])
    for _ in range(ROUNDS):
        drawn[end[wrong], wrong] = rng.integers(num_nodes, size=len(wrong))
        keys = drawn[0, wrong] * num_nodes + drawn[1, wrong]
        place = np.minimum(np.searchsorted(implied, keys), len(implied) - 1)
        wrong = wrong[(implied[place] == keys) | (drawn[0, wrong] == drawn[1, wrong])]
        if len(wrong) == 0:
            break
    return torch.from_numpy(np.delete(drawn, wrong, axis=1))


def published_arrays(tables: dict[str, bytes]) -> dict[str, Any]:
    """Return the arrays that published tables hold, as one file of arrays would.

    Args:
        tables: Lines of a number and a name, ``vocab``, and of two numbers, the parts of the split; divided by tabs.
    """
    arrays: dict[str, Any] = {
        name: np.fromstring(table, np.int32, sep=" ").reshape(-1, 2) for name, table in tables.items() if name != "vocab"
    }
    named = [line.split("\t") for line in tables["vocab"].decode().splitlines()]
    return arrays | {"names": np.array([name for _, name in sorted(named, key=lambda each: int(each[0]))])}


def published_split(arrays: dict[str, Any], share: float, source: str) -> dict[str, Tensor]:
    """Return the split that a file of arrays holds, for the share of implied pairs that is trained on.

    Raises:
        ValueError: The file has no such share, or arrays of another shape.
    """
    shares = sorted(int(name[6:-7]) for name in arrays if name.startswith("train_") and name.endswith("percent"))
    percent = round(100 * share)
    if percent not in shares or share != percent / 100:
        known = ", ".join(str(each / 100) for each in shares)
        raise ValueError(f"share must be one of {known} for {source}, got {share}")
    names = {"train": f"train_{percent}percent", "val": "valid", "test": "test"}
    names |= {"val_negative": "valid_neg", "test_negative": "test_neg"}
    for name in names.values():
        if name not in arrays or arrays[name].ndim != 2 or arrays[name].shape[1] != 2:
            raise ValueError(f"{source} must hold the array {name!r} (P, 2)")
    return {part: torch.from_numpy(arrays[name].T.astype(np.int64)) for part, name in names.items()}
