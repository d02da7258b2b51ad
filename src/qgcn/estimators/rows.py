"""Rows of a table as nodes of a graph: each is linked to its nearest neighbours."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.sparse import coo_array, issparse
from sklearn.neighbors import NearestNeighbors

from qgcn.data import as_data

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["RowGraph", "grown"]

Array = np.ndarray[Any, Any]


class RowGraph:
    """The graph of the nearest neighbours among the rows of a table; the rows are the features of its nodes.

    Args:
        rows: The table, an array or a sparse matrix, shape ``(N, F)``, at least two rows.
        n_neighbors: Number of neighbours that each row is linked to; all others if there are fewer.

    Example:
        >>> graph = RowGraph(np.array([[0.0], [1.0], [5.0], [6.0]]), n_neighbors=1)
        >>> graph.data.edge_index.tolist()
        [[0, 1, 2, 3], [1, 0, 3, 2]]
    """

    def __init__(self, rows: Any, n_neighbors: int) -> None:
        if isinstance(n_neighbors, bool) or n_neighbors < 1:
            raise ValueError(f"n_neighbors must be a positive number, got {n_neighbors!r}")
        self._rows = rows
        self._index = NearestNeighbors(n_neighbors=min(n_neighbors, rows.shape[0] - 1)).fit(rows)
        others = self._index.kneighbors(return_distance=False)
        links = _links(others, len(others))
        self.data = as_data(links + links.T != 0, features=rows)
        """The graph, with its features."""

    def answer(self, rows: Any, question: "Callable[[Data | None], Array]") -> Array:
        """Answer a question about rows.

        A row that is one of the table's is that node. Other rows join the graph as new nodes, all at once, each linked to its
        nearest neighbours in the table.

        Args:
            rows: Other rows or some of the table's, shape ``(M, F)``.
            question: Answers for all nodes of a graph, of this one if there is none given.

        Returns:
            The answer for each row, shape ``(M, ...)``.
        """
        if rows.shape == self._rows.shape and not _differ(rows, self._rows).any():
            return question(None)
        others = self._index.kneighbors(rows, return_distance=False)
        new = _differ(rows, self._rows[others[:, 0]])
        found: Array = question(None)[others[:, 0]]
        if new.any():
            size = self._rows.shape[0]
            found[new] = question(grown(self.data, _links(others[new], size), rows[new]))[size:]
        return found


def _differ(rows: Any, others: Any) -> Array:
    """Tell which rows of two tables differ."""
    different: Array = np.asarray((rows != others).sum(axis=1)).reshape(-1) > 0
    return different


def _links(others: Array, num_nodes: int) -> Any:
    """Return the links of rows to others as a sparse matrix, shape ``(len(others), num_nodes)``."""
    row = np.repeat(np.arange(len(others)), others.shape[1])
    return coo_array((np.ones(others.size), (row, others.ravel())), shape=(len(others), num_nodes))


def grown(data: "Data", links: Any, features: Any = None) -> "Data":
    """Return a graph with new nodes after its own, which must be numbered.

    Args:
        data: The graph.
        links: Weights of the links of the new nodes to its own, sparse, shape ``(M, N)``.
        features: Features of the new nodes, an array or sparse matrix, shape ``(M, F)``.
    """
    from torch_geometric.data import Data

    links, size = links.tocoo(), int(data.num_nodes or 0)
    forth = torch.from_numpy(np.stack((size + links.row, links.col)).astype(np.int64))
    made = Data(edge_index=torch.cat((data.edge_index, forth, forth.flip(0)), dim=1), num_nodes=size + links.shape[0])
    weights, more = data.get("edge_weight"), torch.from_numpy(links.data).float()
    if weights is not None or bool((more != 1).any()):
        made.edge_weight = torch.cat((torch.ones(data.edge_index.shape[1]) if weights is None else weights, more, more))
    if features is not None:
        x = torch.from_numpy(np.asarray(features.toarray() if issparse(features) else features, dtype=np.float32))
        made.x = x if data.get("x") is None else torch.cat((data.x, x))
    return as_data(made)
