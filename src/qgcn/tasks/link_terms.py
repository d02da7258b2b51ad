"""Structural terms of links: what the graph alone says about two nodes, beside what a network learned."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

__all__ = ["Choice", "LinkTerms"]

Array = np.ndarray[Any, Any]
Choice = tuple[int, int]
"""Number of eigenvectors, and power of their eigenvalues."""
DIMENSIONS: Final = 64
"""Eigenvectors of the spectral terms, at most."""
SMALL, LARGE, LINKS = 0.1, 0.9, 20_000
"""Quantiles of the spectral products of links that are their scale, and how many links are looked at, about."""


class LinkTerms:
    r"""Structural terms of pairs of nodes.

    ===========================  ==================================================================================
    ``constant``                 1
    ``preferential attachment``  :math:`\log(1 + \deg u) + \log(1 + \deg v)`
    ``Adamic-Adar``              :math:`\log(1 + s)`, :math:`s` the shared neighbours, the rare ones counting more
    ``shared neighbour``         whether there is one
    ``spectral embedding``       inner product :math:`s` of some eigenvectors of the normalised adjacency, as
                                 :math:`\pm\log(1 + |s|)`
    ``spectral angle``           inner product of all of them, scaled to vectors of length 1
    ``truncated SVD``            inner product of eigenvectors of the adjacency, between -1 and 1
    ===========================  ==================================================================================

    Args:
        edges: Both directions of the edges that may be known, shape ``(2, E)``.
        num_nodes: Number of nodes, ``N``.
        choose: Chooses from eigenvalues, shape ``(k,)``, and eigenvectors, shape ``(N, k)``, how many of them the spectral
            embedding has, and the power of their eigenvalues (default: all, and 1).
    """

    NAMES: Final = (
        "constant",
        "preferential attachment",
        "Adamic-Adar",
        "shared neighbour",
        "spectral embedding",
        "spectral angle",
        "truncated SVD",
    )

    PRIOR: Final = (0.4, -1.5, 0.2, 2.0, 0.4, 0.7, 0.4, 0.4)
    """Weights of a network and of these terms that are about right for many graphs."""

    def __init__(self, edges: Tensor, num_nodes: int, choose: Callable[[Array, Array], Choice] | None = None) -> None:
        self._edges, self.num_nodes, self._choose = edges, num_nodes, choose

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
    def choice(self) -> Choice:
        """Number of eigenvectors of the spectral embedding, and the power of their eigenvalues."""
        return (DIMENSIONS, 1) if self._choose is None else self._choose(*self.spectrum)

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
        count, power = self.choice
        chosen = vectors[:, :count]
        pairs = (
            (self._scaled(chosen * values[:count] ** power, chosen, SMALL), chosen),
            (units * values, units),
            (self._scaled(svd * plain, svd, LARGE), svd),
        )
        return tuple((_single(left), _single(right)) for left, right in pairs)

    def _scaled(self, left: Array, right: Array, share: float) -> Array:
        """Return left vectors divided by a number, so that such a share of the links have products below 1."""
        a, b = (end[:: max(1, len(end) // LINKS)] for end in self._edges.cpu().numpy())
        most = np.quantile(np.abs(np.einsum("pk,pk->p", left[a], right[b])), share) if len(a) else 0.0
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
            np.copysign(np.log1p(np.abs(spectral[0])), spectral[0]),
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
        for weight, (left, right), bend in zip((spectral, angle, svd), self._factors, BENDS, strict=True):
            if weight:  # in PyTorch, which has fast functions
                total.add_(bend(torch.from_numpy(left[at]) @ torch.from_numpy(right).T), alpha=weight)
        return total

    @cached_property
    def _rare(self) -> Any:
        """Adjacency matrix whose rows are weighed by how rare a node is among neighbours, SciPy CSR."""
        from scipy.sparse import diags_array

        rare = 1 / np.log(np.maximum(np.diff(self.graph.indptr), 2))
        return (diags_array(rare.astype(np.float32)) @ self.graph).tocsr()


def _single(values: Array) -> Array:
    """Return numbers in float32, themselves if they are."""
    made: Array = values.astype(np.float32, copy=False)
    return made


def _logarithmic(x: Tensor) -> Tensor:
    """Return the logarithm of one more than a product, with its sign."""
    return x.abs().log1p_().copysign_(x)


BENDS: Final[tuple[Callable[[Tensor], Tensor], ...]] = (_logarithmic, lambda x: x, torch.tanh_)
"""Functions of the products of each spectral term."""
