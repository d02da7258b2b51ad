"""Features of nodes as a model takes them: checked, normalised, extended, dense or sparse."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from qgcn.data import degree_one_hot
from qgcn.nn import SparseMatrix

__all__ = ["as_scipy", "check_features", "extended", "laid_out", "normalize_rows"]

SPARSE_BELOW = 0.25
"""Share of entries that are not zero under which a matrix of features is multiplied faster as a sparse one."""
AT_ONCE = 1 << 24
"""Features that are looked at together."""
LARGEST_DENSE = 1 << 32
"""Bytes of a sparse matrix of features, one-hot ones above all, that is made dense for a model that takes no other, at most."""


def extended(
    x: Tensor | None,
    edges: Tensor,
    num_nodes: int,
    *,
    degree_features: bool = False,
    row_normalize: bool = False,
    one_hot: bool = False,
    extra: Tensor | None = None,
    places: Tensor | None = None,
    width: int = 0,
) -> Tensor:
    """Return the features of all nodes, dense or sparse COO, shape ``(N, n)``; a one-hot of each node if there are none.

    Args:
        x: Features, shape ``(N, F)``.
        edges: Edges that messages pass along, shape ``(2, E)``: a degree that counted held-out edges would tell of them.
        num_nodes: Number of nodes.
        degree_features: Append a one-hot of ``min(degree, 5)``.
        row_normalize: Divide each node's features by their sum of magnitudes.
        one_hot: Append a one-hot of each node, so that a node can be learned beyond what it shows.
        extra: Further features, appended as they are: an embedding learned elsewhere.
        places: Column of each node in its one-hot, -1 for a node that has none, shape ``(N,)`` (default: its own number).
        width: Number of those columns, if ``places`` are given.
    """
    if degree_features:
        columns = degree_one_hot(edges, num_nodes)
        x = columns if x is None else torch.cat((x, columns), dim=1)
    if x is not None:
        check_features(x)
        x = normalize_rows(x) if row_normalize else x
    if x is None or one_hot:
        identity = _one_hot(torch.arange(num_nodes), num_nodes) if places is None else _one_hot(places, width)
        x = identity if x is None else torch.cat((x.to_sparse(), identity), dim=1)
    if extra is not None:
        check_features(extra)
        x = torch.cat((x, extra), dim=1) if x.layout == torch.strided else torch.cat((x, extra.to_sparse()), dim=1)
    return x


def _one_hot(places: Tensor, width: int) -> Tensor:
    """Return a row for each place with a one there, of zeros for a negative one; sparse COO, shape ``(N, width)``."""
    rows = (places >= 0).nonzero().squeeze(1)
    entries = torch.stack((rows, places[rows]))
    with torch.sparse.check_sparse_tensor_invariants(enable=False):  # PyTorch 2.11 warns of what it does by default
        return torch.sparse_coo_tensor(entries, torch.ones(len(rows)), (len(places), width), is_coalesced=True)


def check_features(x: Tensor) -> None:
    """Raise if a feature is not finite, and name its node."""
    for first, part in _blocks(x):
        finite = torch.isfinite(part)
        if not bool(finite.all()):
            node, column = (~finite).nonzero()[0].tolist()
            value = part[node, column].item()
            raise ValueError(f"features must be finite, but feature {column} of node {first + node} is {value}")


def _blocks(x: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Yield runs of rows and where they begin, so that features mapped from a file are not copied; sparse ones at once."""
    if x.layout != torch.strided:
        yield 0, x
        return
    rows = max(1, AT_ONCE // max(1, x.shape[1]))
    for first in range(0, len(x), rows):
        yield first, x[first : first + rows]


def _is_sparse(x: Tensor) -> bool:
    """Tell whether most features are zero, of dense ones."""
    return sum(int(part.count_nonzero()) for _, part in _blocks(x)) < SPARSE_BELOW * x.numel()


def laid_out(x: Tensor, sparse: bool) -> Tensor | SparseMatrix:
    """Store features as a model multiplies them fastest: sparse if most are zero and the model takes that."""
    if not sparse:
        if x.layout != torch.strided and (needed := x.numel() * x.element_size()) > LARGEST_DENSE:
            raise ValueError(
                f"the model takes dense features, and those of shape {tuple(x.shape)} would take {needed / 2**30:,.0f} GiB: "
                "take a model such as qgcn, which takes sparse ones, or give the nodes features"
            )
        return x if x.layout == torch.strided else x.to_dense()
    if x.layout == torch.strided and not _is_sparse(x):
        return x
    return SparseMatrix.of(x)


def as_scipy(x: Tensor) -> Any:
    """Return features as a NumPy array, or as a SciPy sparse matrix if most are zero."""
    from scipy.sparse import coo_array

    x = x.cpu()
    if x.layout == torch.strided and not _is_sparse(x):
        return x.numpy()
    entries = x.to_sparse_coo().coalesce()
    return coo_array((entries.values().numpy(), tuple(entries.indices().numpy())), shape=tuple(x.shape)).tocsr()


def normalize_rows(x: Tensor) -> Tensor:
    """Divide each row by its sum of magnitudes; rows of zeros stay."""
    total = x.abs().sum(dim=1, keepdim=True)
    return x / torch.where(total > 0, total, 1)
