"""Splits: which links and which nodes a model may learn from, and the non-edges it learns against."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from qgcn.data.hard_negatives import HardNegatives
from qgcn.data.pairs import Ints, draw_other_keys, keys_to_pairs, pairs_to_keys

__all__ = [
    "PROTOCOLS",
    "LinkSplit",
    "NegativeSampler",
    "hard_negatives",
    "link_parts",
    "split_classes",
    "split_links",
    "split_nodes",
]

PROTOCOLS = ("leak-free", "hgcn", "hard")
_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
PARTS = ("train", "val", "test", "val_negative", "test_negative")


class NegativeSampler:
    r"""Draw ordered pairs :math:`(i, j)`, :math:`i \ne j`, uniformly among those that are not forbidden.

    Pair :math:`(i, j)` has the key :math:`iN + j`. With the forbidden keys sorted, :math:`f_0 < f_1 < \dots`, the allowed key
    of rank :math:`r` is :math:`r + \#\{k : f_k - k \le r\}`: one binary search instead of rejection, so that a draw takes the
    same time however dense the graph is, and never waits for the device.

    Laws: no pair is forbidden in either direction; each allowed ordered pair has the same chance, but for a relative error of
    ``num_allowed / 2**62``.

    Args:
        num_nodes: Number of nodes :math:`N`.
        forbidden_edges: Pairs never to be drawn, in either direction, shape ``(2, F)``; draws happen on their device.

    Raises:
        ValueError: Every pair is forbidden, or an index lies outside ``[0, num_nodes)``.
    """

    def __init__(self, num_nodes: int, forbidden_edges: Tensor) -> None:
        _check_edges(forbidden_edges, num_nodes, "forbidden_edges")
        i, j = forbidden_edges.long()
        keys = i.new_empty(2 * len(i) + num_nodes)  # filled in place: of a large graph they are among the largest tensors
        there, back, diagonal = keys.split((len(i), len(i), num_nodes))
        torch.mul(i, num_nodes, out=there).add_(j)
        torch.mul(j, num_nodes, out=back).add_(i)
        torch.arange(num_nodes, out=diagonal).mul_(num_nodes + 1)
        forbidden = _sorted_distinct(keys)
        self.num_nodes = num_nodes
        self.num_allowed = num_nodes * num_nodes - len(forbidden)
        """Number of ordered pairs that may be drawn."""
        if self.num_allowed < 1:
            raise ValueError(f"no pair of {num_nodes} nodes is left to draw: all {num_nodes * (num_nodes - 1)} are forbidden")
        self._gaps = forbidden.sub_(torch.arange(len(forbidden), device=i.device))
        self._forbidden: Tensor | None = None

    @property
    def device(self) -> torch.device:
        """Device on which pairs are drawn."""
        return torch.device(self._gaps.device)

    def sample(self, count: int, generator: torch.Generator | None = None) -> Tensor:
        """Draw with replacement.

        Args:
            count: Number of pairs.
            generator: Source of randomness, on the sampler's device; PyTorch's own by default.

        Returns:
            Pairs of shape ``(2, count)``, int64.
        """
        # torch takes a remainder of 28 or 32 random bits for small ranges, which favours low numbers by up to a few per cent
        rank = torch.randint(1 << 62, (count,), generator=generator, device=self.device).remainder_(self.num_allowed)
        key = rank + torch.searchsorted(self._gaps, rank, right=True)
        return torch.stack((key.div(self.num_nodes, rounding_mode="floor"), key.remainder(self.num_nodes)))

    def forbids(self, pairs: Tensor) -> Tensor:
        """Tell which pairs, shape ``(2, P)``, are never drawn; shape ``(P,)``."""
        if self._forbidden is None:
            self._forbidden = self._gaps + torch.arange(len(self._gaps), device=self.device)
        key = pairs[0] * self.num_nodes + pairs[1]
        place = torch.searchsorted(self._forbidden, key)
        found: Tensor = torch.cat((self._forbidden, key.new_full((1,), -1)))[place] == key
        return found

    def to(self, device: torch.device | str) -> "NegativeSampler":
        """Return the same sampler on another device."""
        moved = object.__new__(NegativeSampler)
        moved.num_nodes, moved.num_allowed, moved._gaps = self.num_nodes, self.num_allowed, self._gaps.to(device)
        moved._forbidden = None
        return moved

    def __repr__(self) -> str:
        return f"NegativeSampler(num_nodes={self.num_nodes}, num_allowed={self.num_allowed})"


@dataclass(frozen=True)
class LinkSplit:
    """Links to learn from, to choose by, and to be judged by. All tensors are int64.

    Attributes:
        message: Edges that messages may pass along: the training edges in both directions, shape ``(2, M)``.
        train: Training edges, each once, shape ``(2, *)``.
        val: Validation edges, each once, shape ``(2, *)``.
        test: Test edges, each once, shape ``(2, *)``.
        val_negative: Non-edges for validation; as many as validation edges, unless a file lists others. If they are hard, so
            many for each edge, in the order of the edges.
        test_negative: Non-edges for the test, likewise.
        negatives: Draws fresh training negatives.
        protocol: What the training negatives may be, see :func:`split_links`.
    """

    message: Tensor
    train: Tensor
    val: Tensor
    test: Tensor
    val_negative: Tensor
    test_negative: Tensor
    negatives: NegativeSampler
    protocol: str

    @classmethod
    def of(cls, parts: Mapping[str, Tensor], num_nodes: int, protocol: str) -> "LinkSplit":
        """Build a split from its parts: ``train``, ``val``, ``test``, ``val_negative`` and ``test_negative``.

        Raises:
            ValueError: A part is missing, or names a node that is not there.
        """
        missing = [name for name in PARTS if name not in parts]
        if missing:
            raise ValueError(f"a split of links needs {', '.join(PARTS)}, but {missing[0]} is missing")
        held = {name: parts[name] for name in PARTS}
        for name, pairs in held.items():
            _check_edges(pairs, num_nodes, name)
        held = {name: pairs.long() for name, pairs in held.items()}
        train = held["train"]
        forbidden = torch.cat(tuple(held.values()), dim=1) if protocol != "hgcn" else train
        message = torch.cat((train, train.flip(0)), dim=1)
        return cls(message=message, negatives=NegativeSampler(num_nodes, forbidden), protocol=protocol, **held)

    def parts(self) -> dict[str, Tensor]:
        """Return the tensors that :meth:`of` builds the split from."""
        return {name: getattr(self, name) for name in PARTS}

    def to(self, device: torch.device | str) -> "LinkSplit":
        """Return the same split on another device."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        moved: dict[str, Any] = {name: value.to(device) for name, value in values.items() if name != "protocol"}
        return replace(self, **moved)


def split_links(
    edge_index: Tensor,
    num_nodes: int,
    *,
    val: float = 0.05,
    test: float = 0.10,
    protocol: str = "leak-free",
    negatives: int = 100,
    x: Tensor | None = None,
    seed: int = 0,
) -> LinkSplit:
    """Split the edges of a graph for link prediction.

    Edges count as undirected: direction, repetition and self-loops are ignored. Validation and test negatives are drawn
    without replacement from the pairs that are no edge of the whole graph, uniformly.

    ``protocol="leak-free"``: a training negative is never an edge, nor a validation or test negative. Held-out edges and
    held-out non-edges are excluded alike, so that exclusion tells a model nothing about which of the two a pair is.

    ``protocol="hgcn"``: the split of the hyperbolic literature. Training negatives come from every pair that is not a training
    edge, which includes the validation and test edges. (That code also draws self-pairs, which are left out here.)

    ``protocol="hard"``: as leak-free, but each held-out edge has non-edges of its own, which share an end with it and look like
    edges by training edges and features, see :class:`~qgcn.data.hard_negatives.HardNegatives`. Two edges may share some.

    Laws: train, val, test, val_negative and test_negative are pairwise disjoint as undirected pairs; together train, val and
    test are the edges of the graph; the same seed gives the same split on every device.

    Args:
        edge_index: Edges, shape ``(2, E)``.
        num_nodes: Number of nodes.
        val: Share of the edges kept for validation; 0 for none.
        test: Share of the edges kept for the test; 0 for none.
        protocol: ``"leak-free"``, ``"hgcn"`` or ``"hard"``.
        negatives: Non-edges of each held-out edge, if they are hard.
        x: Features, shape ``(N, F)``, which hard non-edges may be alike in (default: none).
        seed: Fixes the split.

    Raises:
        ValueError: Unknown protocol, impossible shares, indices out of range, or a graph too small or too dense for the shares.
    """
    parts = link_parts(edge_index, num_nodes, (val, test), protocol, negatives, x, seed)
    return LinkSplit.of(parts, num_nodes, protocol)


def link_parts(
    edge_index: Tensor, num_nodes: int, shares: tuple[float, float], protocol: str, negatives: int, x: Tensor | None, seed: int
) -> dict[str, Tensor]:
    """Return what :func:`split_links` builds a split from, see :meth:`LinkSplit.of`; shares are of validation and test."""
    val, test = shares
    _check_split(protocol, val, test, negatives)
    _check_edges(edge_index, num_nodes, "edge_index")
    rng = np.random.default_rng(seed)
    edges = pairs_to_keys(edge_index.long().cpu().numpy(), num_nodes)
    num_val, num_test = int(len(edges) * val), int(len(edges) * test)
    if len(edges) < 1 or (val > 0 and num_val < 1) or (test > 0 and num_test < 1):
        needed = max(_enough_for(val), _enough_for(test))
        raise ValueError(f"val={val} and test={test} need at least {needed} edges, got {len(edges)}")
    num_pairs = num_nodes * (num_nodes - 1) // 2
    non_edges = num_pairs - len(edges)
    held_out = num_val + num_test
    if non_edges < held_out + 1:
        raise ValueError(
            f"{held_out} held-out edges need as many non-edges and one more for training, got {non_edges}: "
            f"{num_nodes} nodes with {len(edges)} edges leave no others"
        )
    keys = np.split(rng.permutation(edges), (num_val, held_out))
    held = {name: keys_to_pairs(part, num_nodes) for name, part in zip(("val", "test", "train"), keys, strict=True)}
    if protocol == "hard":
        held |= hard_negatives(held, num_nodes, ("val", "test"), negatives=negatives, x=x, seed=seed)
    else:
        others = np.split(draw_other_keys(edges, num_pairs, held_out, rng), (num_val,))
        named = zip(("val_negative", "test_negative"), others, strict=True)
        held |= {name: keys_to_pairs(part, num_nodes) for name, part in named}
    return {name: torch.from_numpy(pairs).to(edge_index.device) for name, pairs in held.items()}


def _sorted_distinct(keys: Tensor) -> Tensor:
    """Return keys sorted and each once; those given are overwritten."""
    if keys.device.type != "cpu":
        every: Tensor = keys.unique()
        return every
    array = keys.numpy()
    array.sort()  # in place, which PyTorch cannot
    fresh = np.ones(len(array), dtype=bool)
    np.not_equal(array[1:], array[:-1], out=fresh[1:])
    distinct: Tensor = torch.from_numpy(array[fresh])
    return distinct


def hard_negatives(
    held: Mapping[str, Ints], num_nodes: int, needed: Sequence[str], *, negatives: int, x: Tensor | None, seed: int
) -> dict[str, Ints]:
    """Return hard non-edges for the held-out edges of some parts, ``val`` or ``test``.

    Args:
        held: Edges by part, ``train``, ``val`` and ``test``, shapes ``(2, *)``.
        num_nodes: Number of nodes.
        needed: Parts that need non-edges.
        negatives: Non-edges of each edge.
        x: Features, if hard non-edges may be alike in them.
        seed: Fixes the non-edges.
    """
    edges = np.concatenate([held[name] for name in ("train", "val", "test")], axis=1)
    chooser = HardNegatives(held["train"], edges, num_nodes, x, seed)
    return {f"{name}_negative": chooser.of(held[name], negatives, ("val", "test").index(name)) for name in needed}


def split_nodes(y: Tensor, *, train: float = 0.7, val: float = 0.15, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Split the labelled nodes by a plain shuffle; what ``train`` and ``val`` leave is the test.

    The shuffle is not stratified: a rare class may be missing from a part, as it may in a fresh sample. Each part whose share
    is not zero gets at least one node.

    Laws: the masks are disjoint; together they are the nodes with a label; the same seed gives the same masks.

    Args:
        y: Classes, shape ``(N,)``, integers; negative where there is no label.
        train: Share of the labelled nodes to learn from.
        val: Share to choose by.
        seed: Fixes the split.

    Returns:
        Three boolean masks of shape ``(N,)``: train, validation, test.

    Raises:
        ValueError: Impossible shares, or fewer labelled nodes than parts.
    """
    test = round(1 - train - val, 12)  # 1 - 0.7 - 0.3 is not 0 in floating point
    if not (train > 0 and val >= 0 and test >= 0):
        raise ValueError(f"train and val must be shares with 0 < train and train + val <= 1, got train={train} and val={val}")
    _check_labels(y)
    labelled = np.flatnonzero(y.cpu().numpy() >= 0)
    num_val, num_test = (max(1, round(share * len(labelled))) if share > 0 else 0 for share in (val, test))
    parts = 1 + (val > 0) + (test > 0)
    if len(labelled) < parts:
        raise ValueError(f"a split in {parts} parts needs at least {parts} labelled nodes, got {len(labelled)}")
    order = np.random.default_rng(seed).permutation(labelled)
    held_out = num_val + num_test
    return _masks(y, order[held_out:], order[:num_val], order[num_val:held_out])


def split_classes(
    y: Tensor, *, per_class: int = 20, val: int = 500, test: int = 1000, seed: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw as many training nodes of each class, and then nodes of any class for validation and test.

    The form of the public split of citation graphs. Where fewer nodes are left than ``val + test``, they are shared out in that
    ratio. What is in no part is not used.

    Laws: the masks are disjoint and of labelled nodes; the same seed gives the same masks.

    Args:
        y: Classes, shape ``(N,)``, integers; negative where there is no label.
        per_class: Training nodes of each class.
        val: Nodes to choose by.
        test: Nodes for the test.
        seed: Fixes the split.

    Returns:
        Three boolean masks of shape ``(N,)``: train, validation, test.

    Raises:
        ValueError: A class has fewer nodes, or not two are left for validation and test.
    """
    _check_labels(y)
    if min(per_class, val, test) < 1:
        raise ValueError(f"per_class, val and test must be at least 1, got {per_class}, {val} and {test}")
    classes = y.cpu().numpy()
    order = np.random.default_rng(seed).permutation(np.flatnonzero(classes >= 0))
    by_class = order[np.argsort(classes[order], kind="stable")]
    names, first, sizes = np.unique(classes[by_class], return_index=True, return_counts=True)
    if len(names) and sizes.min() < per_class:
        raise ValueError(f"class {names[sizes.argmin()]} has {sizes.min()} labelled nodes, but per_class is {per_class}")
    train = by_class[(first[:, None] + np.arange(per_class)).ravel()]
    rest = order[~np.isin(order, train)]
    if len(rest) < 2:
        raise ValueError(f"{per_class} training nodes of each class leave {len(rest)} for validation and test: give fewer")
    if len(rest) < val + test:
        val = max(1, len(rest) * val // (val + test))
        test = len(rest) - val
    return _masks(y, train, rest[:val], rest[val : val + test])


def _check_labels(y: Tensor) -> None:
    if y.ndim != 1 or y.is_floating_point():
        raise ValueError(f"y must hold integers in shape (N,), got {str(y.dtype).removeprefix('torch.')} in {tuple(y.shape)}")


def _masks(y: Tensor, *parts: Ints) -> tuple[Tensor, Tensor, Tensor]:
    masks = np.zeros((3, len(y)), dtype=bool)
    for mask, part in zip(masks, parts, strict=True):
        mask[part] = True
    train_mask, val_mask, test_mask = torch.from_numpy(masks).to(y.device)
    return train_mask, val_mask, test_mask


def _check_split(protocol: str, val: float, test: float, negatives: int) -> None:
    if protocol not in PROTOCOLS:
        raise ValueError(f"unknown protocol {protocol!r}: expected one of {', '.join(map(repr, PROTOCOLS))}")
    if not (val >= 0 and test >= 0 and val + test < 1):
        raise ValueError(f"val and test must be shares with val + test < 1, got val={val} and test={test}")
    if negatives < 1:
        raise ValueError(f"negatives must be at least 1, got {negatives}")


def _check_edges(edges: Tensor, num_nodes: int, what: str) -> None:
    if num_nodes < 1:
        raise ValueError(f"num_nodes must be at least 1, got {num_nodes}")
    if edges.ndim != 2 or len(edges) != 2 or edges.dtype not in _INTEGERS:
        kind = str(edges.dtype).removeprefix("torch.")
        raise ValueError(f"{what} must hold integers in shape (2, E), got {kind} in {tuple(edges.shape)}")
    if edges.numel() == 0:
        return
    low, high = int(edges.min()), int(edges.max())
    if low < 0 or high >= num_nodes:
        raise ValueError(f"{what} must lie in [0, {num_nodes}), got {low if low < 0 else high}")


def _enough_for(share: float) -> int:
    """Return the least number of edges of which ``share`` is at least one."""
    if share <= 0:
        return 1
    needed = math.ceil(1 / share)
    return needed if int(needed * share) >= 1 else needed + 1
