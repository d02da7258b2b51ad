"""Insights of a task into its nodes, beyond its scores: columns to colour them by, scores by groups, lists to look through."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from qgcn import metrics
from qgcn.answer import Answer

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = [
    "Column",
    "Group",
    "Listing",
    "Quality",
    "auc_by_degree",
    "by_class",
    "by_degree",
    "class_names",
    "degree_bands",
    "split_column",
]


@dataclass(frozen=True)
class Column:
    """One value for each node.

    Attributes:
        name: What it is called.
        values: Numbers, shape ``(N,)``, NaN for none; or, if there are labels, which of them, -1 for none.
        labels: Names of the categories; empty for numbers.
    """

    name: str
    values: np.ndarray[Any, Any]
    labels: tuple[str, ...] = ()

    @classmethod
    def of_categories(cls, name: str, values: np.ndarray[Any, Any], labels: "list[str] | tuple[str, ...]") -> "Column":
        """Build a column of categories, given as numbers of labels."""
        return cls(name, np.asarray(values, dtype=np.int32), tuple(labels))

    def select(self, kept: np.ndarray[Any, Any]) -> "Column":
        """Return the column of some of the nodes."""
        return Column(self.name, self.values[kept], self.labels)


@dataclass(frozen=True)
class Group:
    """A group of nodes and its score."""

    name: str
    count: int
    score: float


@dataclass(frozen=True)
class Quality:
    """One kind of score of nodes or edges, by groups."""

    title: str
    about: str
    groups: list[Group]


@dataclass(frozen=True)
class Listing:
    """Nodes or pairs of nodes to look through, the most telling first; a report shows them as a table and offers it as CSV.

    Attributes:
        name: Name of the file: lower-case letters, digits and hyphens.
        title: Heading of the table.
        about: Sentences on what is listed and how far to trust it.
        table: The rows.
        nodes: Columns that name nodes; the report marks these nodes in its views.
        shares: Columns of numbers from 0 to 1 that are shown in per cent.

    Raises:
        ValueError: The name does not fit a file, or a column is not there.
    """

    name: str
    title: str
    about: str
    table: Answer
    nodes: tuple[str, ...] = ("node",)
    shares: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-z0-9-]+", self.name):
            raise ValueError(f"the name of a listing must be of lower-case letters, digits and hyphens, got {self.name!r}")
        for column in (*self.nodes, *self.shares):
            if column not in self.table.columns:
                there = ", ".join(self.table.columns)
                raise ValueError(f"the listing {self.name} has no column {column!r} (there are: {there})")


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


def class_names(data: "Data") -> list[str]:
    """Return the names of the classes of a graph, numbers if they have none."""
    named = getattr(data, "classes", None)
    return [str(each) for each in named] if named is not None else [str(k) for k in range(int(data.y.max()) + 1)]


def split_column(data: "Data") -> Column:
    """Return which part of the split each node is in, by the graph's masks."""
    part = np.full(int(data.num_nodes or 0), -1)
    for k, name in enumerate(("train_mask", "val_mask", "test_mask")):
        if (mask := data.get(name)) is not None:
            part[mask.cpu().numpy()] = k
    return Column.of_categories("split", part, ["training", "validation", "test"])
