"""Spectral embeddings of a graph: eigenvectors of its adjacency matrix, plain or normalised."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array

from qgcn.yardsticks.threads import one_thread

__all__ = ["adjacency", "laplacian_eigenmap", "leading_eigenvectors", "normalized", "pair_scores", "spectral_features"]

Floats = NDArray[Any]
Ints = NDArray[np.int64]

TOLERANCE = 0.001
"""Relative error of an eigenvalue: scores do not change below it."""
SMALL, LARGE, FEW = 400, 100_000, 16
"""Nodes up to which all eigenvectors are computed at once; beyond which a few must do, and how many."""
NODES_VISITED = 500_000
"""Bound on nodes times restarts of the Lanczos iteration: what has not converged by then is left out."""


def adjacency(edges: Ints, num_nodes: int, weights: Floats | None = None) -> csr_array:
    """Return the adjacency matrix of directed edges, SciPy CSR, float32, shape ``(N, N)``.

    Args:
        edges: Edges, shape ``(2, E)``; both directions for an undirected graph.
        num_nodes: Number of nodes.
        weights: Weights of the edges, shape ``(E,)``; 1 if not given.
    """
    values = np.ones(edges.shape[1], dtype=np.float32) if weights is None else weights.astype(np.float32)
    matrix = csr_array((values, (edges[0], edges[1])), shape=(num_nodes, num_nodes))
    matrix.sum_duplicates()
    matrix.sort_indices()
    return matrix


def normalized(matrix: csr_array, *, loops: bool = False) -> csr_array:
    r"""Return :math:`D^{-1/2} A D^{-1/2}`; with ``loops`` of :math:`A + I`. Nodes without edges have rows of zeros.

    Args:
        matrix: Symmetric adjacency matrix :math:`A`, shape ``(N, N)``.
        loops: Add a loop to each node first.
    """
    own = (matrix + eye_array(matrix.shape[0], dtype=matrix.dtype)).tocsr() if loops else matrix
    degree = np.abs(own).sum(axis=1)
    scale = diags_array(np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0).astype(np.float32))
    return csr_array(scale @ own @ scale)


def leading_eigenvectors(
    matrix: csr_array, count: int, which: Literal["largest", "magnitude"] = "largest"
) -> tuple[Floats, Floats]:
    """Return the first eigenvalues of a symmetric matrix and their eigenvectors, the most important first.

    Always the same ones for the same matrix. On large graphs, and where the iteration converges slowly, they are fewer than
    asked for.

    Args:
        matrix: Symmetric, sparse, shape ``(N, N)``.
        count: Number of eigenvectors, at least 1.
        which: ``"largest"`` eigenvalues, or those of the largest ``"magnitude"``.

    Returns:
        Eigenvalues, shape ``(k,)``, and eigenvectors of length 1, shape ``(N, k)``; ``1 <= k <= count``.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    nodes = matrix.shape[0]
    count = min(count, nodes if nodes <= LARGE else FEW)
    with one_thread():
        if nodes <= SMALL or count >= nodes - 1:
            values, vectors = np.linalg.eigh(matrix.toarray())
        else:
            start = np.random.default_rng(0).standard_normal(nodes).astype(matrix.dtype)
            asked = {"which": "LA" if which == "largest" else "LM", "tol": TOLERANCE, "v0": start}
            try:
                values, vectors = eigsh(matrix, k=count, maxiter=max(5, NODES_VISITED // nodes), **asked)
            except ArpackNoConvergence as stopped:
                values, vectors = stopped.eigenvalues, stopped.eigenvectors
            if len(values) == 0:
                values, vectors = eigsh(matrix, k=1, **asked)
    order = np.argsort(-(values if which == "largest" else np.abs(values)), kind="stable")[:count]
    return values[order], vectors[:, order]


def pair_scores(values: Floats, vectors: Floats, pairs: Ints, power: int = 1) -> Floats:
    r"""Return :math:`\sum_k \lambda_k^p\, u_{ik} u_{jk}` of each pair :math:`(i, j)`, shape ``(P,)``.

    With ``power=1`` that is the matrix's best approximation of its rank; with ``power=2`` the inner product of the rows of
    :math:`U \Lambda`, the embedding that a truncated SVD gives.

    Args:
        values: Eigenvalues, shape ``(k,)``.
        vectors: Eigenvectors, shape ``(N, k)``.
        pairs: Nodes, shape ``(2, P)``.
        power: Power of the eigenvalues.
    """
    scaled = vectors * values**power
    scores: Floats = np.einsum("pk,pk->p", scaled[pairs[0]], vectors[pairs[1]]).astype(np.float64)
    return scores


def laplacian_eigenmap(matrix: csr_array, dim: int) -> Floats:
    r"""Return points of the nodes in flat space, those of neighbours near each other.

    The coordinates are the eigenvectors of the random walk :math:`D^{-1} A` of the largest eigenvalues :math:`\lambda` but the
    first, divided by :math:`\sqrt{1 - \lambda}`, which makes their distances those of commute times. A tenth of the largest
    :math:`1 - \lambda` is added to each, so that a component of the graph does not outweigh everything within it.

    Args:
        matrix: Symmetric adjacency matrix, shape ``(N, N)``.
        dim: Number of coordinates.

    Returns:
        Shape ``(N, k)``, ``1 <= k <= dim``.
    """
    values, vectors = leading_eigenvectors(normalized(matrix), dim + 1)
    if len(values) > 1:
        values, vectors = values[1:], vectors[:, 1:]
    gap = np.maximum(1 - values, 0)
    weight = 1 / np.sqrt(gap + gap.max() / 10) if gap.max() > 0 else np.ones(len(gap))
    points: Floats = vectors * weight / np.sqrt(np.maximum(np.diff(matrix.indptr), 1))[:, None]
    return points


def spectral_features(matrix: csr_array, count: int) -> Floats:
    """Return features of nodes that have none: eigenvectors of the normalised adjacency and the logarithm of the degree.

    Args:
        matrix: Symmetric adjacency matrix, shape ``(N, N)``.
        count: Number of eigenvectors.

    Returns:
        Shape ``(N, k + 1)``, ``k <= count``.
    """
    _, vectors = leading_eigenvectors(normalized(matrix), count)
    features: Floats = np.column_stack((vectors, np.log1p(np.diff(matrix.indptr))))
    return features
