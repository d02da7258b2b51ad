"""Structural terms of links: what the graph alone says about two nodes, beside what a network learned."""

from functools import cached_property
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

__all__ = ["LinkTerms"]

Array = np.ndarray[Any, Any]
DIMENSIONS: Final = 64
"""Eigenvectors of the spectral terms, at most."""
FEW, LINKS = 0.9, 20_000
"""Share of the links whose spectral products make up their scale, and how many of them are looked at, about."""


class LinkTerms:
    r"""Structural terms of pairs of nodes.

    ===========================  ==================================================================================
    ``constant``                 1
    ``preferential attachment``  :math:`\log(1 + \deg u) + \log(1 + \deg v)`
    ``Adamic-Adar``              :math:`\log(1 + s)`, :math:`s` the shared neighbours, the rare ones counting more
    ``shared neighbour``         whether there is one
    ``spectral``                 inner product of eigenvectors of the normalised adjacency, between -1 and 1
    ``spectral angle``           the same of vectors of length 1
    ``truncated SVD``            inner product of eigenvectors of the adjacency, between -1 and 1
    ===========================  ==================================================================================

    Args:
        edges: Both directions of the edges that may be known, shape ``(2, E)``.
        num_nodes: Number of nodes, ``N``.
    """

    NAMES: Final = (
        "constant",
        "preferential attachment",
        "Adamic-Adar",
        "shared neighbour",
        "spectral",
        "spectral angle",
        "truncated SVD",
    )

    def __init__(self, edges: Tensor, num_nodes: int) -> None:
        self._edges, self.num_nodes = edges, num_nodes

    @cached_property
    def graph(self) -> Any:
        """Adjacency matrix, SciPy CSR, shape ``(N, N)``."""
        from qgcn.yardsticks import adjacency

        return adjacency(self._edges.cpu().numpy(), self.num_nodes)

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of the normalised adjacency, the largest first."""
        from qgcn.yardsticks import leading_eigenvectors, normalized

        return leading_eigenvectors(normalized(self.graph), DIMENSIONS, "largest")

    @cached_property
    def singular(self) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of the adjacency, those of the largest magnitude first."""
        from qgcn.yardsticks import leading_eigenvectors

        return leading_eigenvectors(self.graph, DIMENSIONS, "magnitude")

    @cached_property
    def _degree(self) -> Array:
        degree: Array = np.log1p(np.diff(self.graph.indptr)).astype(np.float32)
        return degree

    @cached_property
    def _factors(self) -> tuple[tuple[Array, Array], ...]:
        """Left and right vectors of each spectral term: its value for two nodes is their inner product."""
        values, vectors = self.spectrum
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        units = vectors / np.where(lengths > 0, lengths, 1)
        plain, svd = self.singular
        pairs = (
            (self._scaled(vectors * values, vectors), vectors),
            (units * values, units),
            (self._scaled(svd * plain, svd), svd),
        )
        return tuple((left.astype(np.float32), right.astype(np.float32)) for left, right in pairs)

    def _scaled(self, left: Array, right: Array) -> Array:
        """Return left vectors divided by the product that few links exceed, so that those of links are about 1 at most."""
        a, b = (end[:: max(1, len(end) // LINKS)] for end in self._edges.cpu().numpy())
        most = np.quantile(np.abs(np.einsum("pk,pk->p", left[a], right[b])), FEW) if len(a) else 0.0
        return left / most if most > 0 else left

    def of_pairs(self, pairs: Tensor) -> Tensor:
        """Return all terms of pairs, shape ``(P, K)``, float64.

        Args:
            pairs: Positions of both nodes, shape ``(2, P)``.
        """
        from qgcn.yardsticks import adamic_adar

        a, b = places = pairs.cpu().numpy()
        shared = adamic_adar(self.graph, places)
        spectral = [np.einsum("pk,pk->p", left[a], right[b]) for left, right in self._factors]
        columns = [
            np.ones(len(a)),
            self._degree[a] + self._degree[b],
            np.log1p(shared),
            shared > 0,
            np.tanh(spectral[0]),
            spectral[1],
            np.tanh(spectral[2]),
        ]
        return torch.from_numpy(np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)).to(pairs.device)

    def of_rows(self, nodes: Tensor, weights: Tensor) -> Tensor:
        """Return the weighted sum of the terms of nodes with all nodes, float32, shape ``(n, N)``.

        Args:
            nodes: Positions of the nodes, shape ``(n,)``.
            weights: One for each term, shape ``(K,)``.
        """
        constant, degree, adamic, shared, spectral, angle, svd = weights.tolist()
        at = nodes.cpu().numpy()
        total = torch.from_numpy(np.add.outer(constant + degree * self._degree[at], degree * self._degree).astype(np.float32))
        found = (self.graph[at] @ self._rare).tocoo()
        shares = torch.from_numpy((adamic * np.log1p(found.data) + shared).astype(np.float32))
        total[torch.from_numpy(found.row).long(), torch.from_numpy(found.col).long()] += shares
        for weight, (left, right), bent in zip((spectral, angle, svd), self._factors, (True, False, True), strict=True):
            if weight:  # in PyTorch, which has a fast tanh
                values = torch.from_numpy(left[at]) @ torch.from_numpy(right).T
                total.add_(values.tanh_() if bent else values, alpha=weight)
        return total

    @cached_property
    def _rare(self) -> Any:
        """Adjacency matrix whose rows are weighed by how rare a node is among neighbours, SciPy CSR."""
        from scipy.sparse import diags_array

        rare = 1 / np.log(np.maximum(np.diff(self.graph.indptr), 2))
        return (diags_array(rare.astype(np.float32)) @ self.graph).tocsr()
