"""How well a run does, node by node: by class, by degree, where it is worst."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from qgcn import metrics

__all__ = ["Group", "auc_by_degree", "by_class", "by_degree", "communities", "degree_bands"]


@dataclass(frozen=True)
class Group:
    """A group of nodes and its score."""

    name: str
    count: int
    score: float


def degree_bands(degree: Tensor) -> list[tuple[str, Tensor]]:
    """Cut nodes into bands of degree that double: 0, 1, 2, 3-4, 5-8, ...; a name and a mask each, empty bands left out.

    Args:
        degree: Shape ``(N,)``.
    """
    bands, low, high = [("0", degree == 0)], 1, 1
    while low <= int(degree.max()):
        bands.append((str(low) if low == high else f"{low}\N{EN DASH}{high}", (degree >= low) & (degree <= high)))
        low, high = high + 1, 2 * high
    return [(name, mask) for name, mask in bands if bool(mask.any())]


def _groups(bands: list[tuple[str, Tensor]], known: Tensor, score: Callable[[Tensor], Tensor]) -> list[Group]:
    """Score each group of nodes, of those that have something to score; groups without any are left out."""
    found = [(name, mask & known) for name, mask in bands]
    return [Group(name, int(mask.sum()), float(score(mask))) for name, mask in found if bool(mask.any())]


def by_degree(values: Tensor, degree: Tensor) -> list[Group]:
    """Return the mean of a score of nodes for each band of degree.

    Args:
        values: A score of each node, NaN where there is none, shape ``(N,)``.
        degree: Shape ``(N,)``.
    """
    return _groups(degree_bands(degree), ~values.isnan(), lambda mask: values[mask].mean())


def by_class(values: Tensor, y: Tensor, classes: list[str]) -> list[Group]:
    """Return the mean of a score of nodes for each class.

    Args:
        values: A score of each node, NaN where there is none, shape ``(N,)``.
        y: Class of each node, -1 for none, shape ``(N,)``.
        classes: Names of the classes.
    """
    bands = [(name, y == k) for k, name in enumerate(classes)]
    return _groups(bands, ~values.isnan(), lambda mask: values[mask].mean())


def auc_by_degree(pairs: Tensor, logits: Tensor, positives: int, degree: Tensor) -> list[Group]:
    """Return the area under the ROC curve of edges whose end of lower degree is in a band, against all non-edges.

    Args:
        pairs: Edges, then non-edges, shape ``(2, P)``.
        logits: Their scores, shape ``(P,)``.
        positives: How many of them are edges.
        degree: Of each node, shape ``(N,)``.
    """
    lower = degree[pairs[:, :positives]].amin(0)
    everything = torch.ones(positives, dtype=torch.bool)
    return _groups(degree_bands(lower), everything, lambda mask: metrics.roc_auc(logits[:positives][mask], logits[positives:]))


def communities(edges: np.ndarray[Any, Any], num_nodes: int) -> np.ndarray[Any, Any]:
    """Return the Louvain community of each node, the largest first; int64, shape ``(N,)``.

    Args:
        edges: Shape ``(2, E)``.
        num_nodes: Number of nodes.
    """
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(num_nodes))
    graph.add_edges_from(edges.T.tolist())
    found = sorted(nx.community.louvain_communities(graph, seed=0), key=len, reverse=True)
    label = np.zeros(num_nodes, dtype=np.int64)
    for k, members in enumerate(found):
        label[list(members)] = k
    return label
