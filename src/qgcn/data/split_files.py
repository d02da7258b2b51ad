"""Splits from files: which nodes and which links are for training, validation and test."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from qgcn.data.assemble import Array, count
from qgcn.data.columns import Table
from qgcn.data.nodes import Nodes, quoted
from qgcn.data.pairs import Ints, draw_other_keys, keys_of, keys_to_pairs, pairs_to_keys
from qgcn.data.splits import PARTS, LinkSplit, hard_negatives
from qgcn.data.tables import TABLE_SUFFIXES, read_table, refuse_pickle, suffix_of
from qgcn.hints import nearest

__all__ = ["read_link_split", "read_node_split"]

_OF_NODES = ("train", "val", "test")


def read_node_split(path: Path, node_ids: Array, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Read which nodes are for training, validation and test.

    Laws: the masks are disjoint; a node that is not listed is in none; the order of the lines does not matter.

    Args:
        path: Table of two columns, the id of a node and its part: ``train``, ``val`` or ``test``.
        node_ids: Names of the nodes, shape ``(N,)``.
        y: Classes, shape ``(N,)``; negative where there is no label.

    Returns:
        Three boolean masks of shape ``(N,)``: train, validation, test.

    Raises:
        OSError: The file cannot be read.
        ValueError: A node is not in the graph, has no label or is listed twice; a part is unknown or has no nodes.
    """
    nodes = Nodes(node_ids, "all")
    table, parts = _read(path, nodes, 1, _OF_NODES)
    nodes.unique_ids_of(table)
    places = nodes.places_of(table)
    bare = y.cpu().numpy()[places] < 0
    if bare.any():
        row = int(bare.argmax())
        raise ValueError(f"{table.at(row)}: node {quoted(node_ids[places[row]])} has no label, and can be in no part")
    masks = np.zeros((3, len(node_ids)), dtype=bool)
    for mask, part in zip(masks, _OF_NODES, strict=True):
        mask[places[parts == part]] = True
        if not mask.any():
            raise ValueError(f"{path} has no {part} nodes: expected some of each part, {', '.join(_OF_NODES)}")
    train, val, test = torch.from_numpy(masks).to(y.device)
    return train, val, test


def read_link_split(
    path: Path,
    edge_index: Tensor,
    node_ids: Array,
    *,
    protocol: str,
    negatives: int = 100,
    x: Tensor | None = None,
    seed: int = 0,
) -> LinkSplit:
    """Read which edges are held out for validation and test, and perhaps the non-edges they are told from.

    Edges count as undirected. Those that are not listed are for training. If a part has no non-edges in the file, as many as it
    has edges are drawn, uniformly among the pairs that are no edge and not listed. Hard non-edges are
    chosen, and never read.

    Laws: those of :func:`qgcn.data.split_links`; the order of the lines does not matter.

    Args:
        path: Table of three columns: source, target, and the part: ``train``, ``val``, ``test``, ``val_negative`` or
            ``test_negative``.
        edge_index: Edges of the graph, shape ``(2, E)``.
        node_ids: Names of the nodes, shape ``(N,)``.
        protocol: What training negatives may be, see :func:`qgcn.data.split_links`.
        negatives: Non-edges of each held-out edge, if they are hard.
        x: Features, shape ``(N, F)``, which hard non-edges may be alike in (default: none).
        seed: Fixes the non-edges that are drawn.

    Raises:
        OSError: The file cannot be read.
        ValueError: A node is not in the graph, a pair is listed twice, a held-out edge is none or a non-edge is one; a part is
            unknown or has no edges.
    """
    nodes, size = Nodes(node_ids, "all"), len(node_ids)
    table, parts = _read(path, nodes, 2, PARTS)
    pairs = np.stack((nodes.places_of(table, 0), nodes.places_of(table, 1)))
    edges = pairs_to_keys(edge_index.long().cpu().numpy(), size)
    keys = _checked_keys(table, pairs, parts, edges, node_ids)
    held = {part: np.sort(keys[parts == part]) for part in PARTS}
    held["train"] = np.setdiff1d(edges, np.concatenate((held["val"], held["test"])), assume_unique=True)
    for part in _OF_NODES:
        if len(held[part]) == 0:
            raise ValueError(f"{path} leaves no {part} edges: expected some for train, val and test")
    if protocol == "hard":
        listed = next((part for part in PARTS[3:] if len(held[part])), None)
        if listed is not None:
            raise ValueError(f"{path} lists {listed}, but the protocol hard chooses non-edges itself: leave them out")
        found = {part: keys_to_pairs(each, size) for part, each in held.items()}
        found |= hard_negatives(found, size, ("val", "test"), negatives=negatives, x=x, seed=seed)
    else:
        held |= _drawn_negatives(held, edges, size, np.random.default_rng(seed))
        found = {part: keys_to_pairs(each, size) for part, each in held.items()}
    made = {part: torch.from_numpy(each).to(edge_index.device) for part, each in found.items()}
    return LinkSplit.of(made, size, protocol)


def _checked_keys(table: Table, pairs: Ints, parts: Array, edges: Ints, node_ids: Array) -> Ints:
    """Return the key of each pair; raise unless each is listed once, and is an edge or none as its part says."""

    def refuse(wrong: Array, problem: str) -> None:
        if wrong.any():
            row = int(wrong.argmax())
            a, b = (quoted(node_ids[place]) for place in pairs[:, row])
            raise ValueError(f"{table.at(row)}: {a} and {b} {problem.format(part=parts[row])}")

    refuse(pairs[0] == pairs[1], "are one node, and no pair")
    keys = keys_of(pairs, len(node_ids))
    first = np.unique(keys, return_index=True)[1]
    again = np.ones(len(keys), dtype=bool)
    again[first] = False
    refuse(again, "are listed a second time")
    is_edge, is_negative = np.isin(keys, edges), np.char.endswith(parts, "_negative")
    refuse(~is_edge & ~is_negative, "are not linked in the graph, but listed for {part}")
    refuse(is_edge & is_negative, "are linked in the graph, but listed for {part}")
    return keys


def _drawn_negatives(held: dict[str, Ints], edges: Ints, size: int, rng: np.random.Generator) -> dict[str, Ints]:
    """Draw as many non-edges for validation and test as they have edges, where the file lists none."""
    needed = {part: len(held[part]) for part in ("val", "test") if len(held[f"{part}_negative"]) == 0}
    taken = np.sort(np.concatenate((edges, held["val_negative"], held["test_negative"])))
    total, drawn = size * (size - 1) // 2, sum(needed.values())
    if total - len(taken) < drawn + 1:
        raise ValueError(
            f"{count(drawn, 'held-out edge')} need as many non-edges and one more for training, got {total - len(taken)}"
        )
    chosen = draw_other_keys(taken, total, drawn, rng)
    parts = np.split(chosen, np.cumsum([*needed.values()])[:-1]) if needed else []
    return {f"{part}_negative": each for part, each in zip(needed, parts, strict=True)}


def _read(path: Path, nodes: Nodes, ids: int, known: tuple[str, ...]) -> tuple[Table, Array]:
    """Read a table of so many ids and a part; return it without its header, and the parts as text."""
    refuse_pickle(path, "a split")
    if suffix_of(path) not in TABLE_SUFFIXES:
        raise ValueError(f"cannot read a split from {path}: expected one of {', '.join(TABLE_SUFFIXES)}")
    nodes.check_unique()
    table = read_table(path)
    if len(table.columns) != ids + 1:
        expected = "two, the id of a node and its part" if ids == 1 else "three, source, target and part"
        raise ValueError(f"{path} has {count(len(table.columns), 'column')}: expected {expected}")
    if table.head is None and len(table) > 1:
        first = table.row(0)
        if first.field(0, ids) not in known and not any(_names_node(first, nodes, column) for column in range(ids)):
            table = table.headed()
    parts = table.texts(ids)
    wrong = ~np.isin(parts, known)
    if wrong.any():
        row = int(wrong.argmax())
        listed = f"{', '.join(known[:-1])} or {known[-1]}"
        raise ValueError(f"{table.at(row)}: part must be {listed}, got {str(parts[row])!r}{nearest(parts[row], known)}")
    return table, parts


def _names_node(row: Table, nodes: Nodes, column: int) -> bool:
    """Tell whether a field of a row is a node."""
    try:
        return bool((nodes.locate(nodes.ids_of(row, column)) >= 0).all())
    except ValueError:  # no integer
        return False
