"""The spectral view: how much of the squared distances needs negative eigenvalues, and the split of dimensions that follows."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qgcn.data.hops import Shape
from qgcn.progress import Progress, silent

__all__ = ["Spectrum", "distance_spectrum"]

Floats = NDArray[np.float64]

NODES = 1500
"""Nodes whose distances are decomposed; more are sampled."""
REPEATS = 5
LARGE = 200_000
"""Nodes beyond which there are fewer samples: each is a search of the whole graph from all of its nodes."""
REPEATS_OF_LARGE = 2
MOST_NODES = 12_000
_NANOSECONDS = 6.0
"""Time of a decomposition over the cube of the number of nodes, one core."""
_BYTES = 24
"""Memory of a decomposition over the square of the number of nodes."""


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of the doubly centred squared distances of a graph's largest component.

    Attributes:
        eigenvalues: By decreasing magnitude, as shares of the sum of all magnitudes, shape ``(k,)``; of the first sample.
        negative: Share of the negative eigenvalues in the sum of magnitudes: 0 if distances are Euclidean.
        negative_range: The least and the largest such share among the samples.
        dim: Number of dimensions that were asked for.
        space_dim, time_dim: Of the ``dim`` eigenvalues of largest magnitude, how many are positive and how many negative; mean
            of the samples, rounded.
        explained: Share of the squared eigenvalues that those ``dim`` hold.
        signature: The pseudo-hyperboloid of ``dim`` free dimensions that follows, such as ``Q7,4`` for 10: one of its time
            coordinates is the radius, the others are the negative eigenvalues.
        nodes: Number of nodes of a sample.
        samples: Number of samples; 1 if all nodes were used.
        exact: Whether all nodes of the component were used.
        remarks: What was done to the graph, in words.
    """

    eigenvalues: Floats = field(repr=False)
    negative: float
    negative_range: tuple[float, float]
    dim: int
    space_dim: int
    time_dim: int
    explained: float
    signature: str
    nodes: int
    samples: int
    exact: bool
    remarks: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything, as JSON can hold it; of the eigenvalues the first hundred."""
        return asdict(self) | {"eigenvalues": self.eigenvalues[:100].tolist()}


def distance_spectrum(
    graph: Any,
    dim: int = 10,
    *,
    exact: bool = False,
    seed: int = 0,
    root: str | Path | None = None,
    progress: Progress = silent,
) -> Spectrum:
    r"""Decompose the squared distances of a graph as those of points in a flat space of some signature.

    .. math:: B = -\tfrac12 J D^{\circ 2} J, \qquad J = I - \tfrac1n \mathbf 1 \mathbf 1^\top

    is a Gram matrix: :math:`B_{ij} = \langle x_i, x_j\rangle` with one coordinate for each eigenvalue, space-like if it is
    positive and time-like if it is negative. The ``dim`` largest magnitudes are the best approximation of :math:`B` of that
    rank, so their signs say how a flat space of ``dim`` dimensions would best be split: cheap evidence for ``(s, t)``, no more,
    as the spaces of the models are curved.

    Laws: nothing is negative for a path, whose distances are those of a line, or a complete graph, a simplex.

    Args:
        graph: A PyG ``Data``, an ``edge_index``, a SciPy sparse matrix, a NetworkX graph, a path, or the name of a data set.
            Only its largest component is looked at.
        dim: Number of free dimensions of the space that is sought.
        exact: Use all nodes; otherwise, of more than 1,500, five random samples of 1,500, of more
            than 200,000 two.
        seed: Fixes the samples.
        root: Folder of the data sets.
        progress: Progress callback.

    Raises:
        ValueError: The graph has no edges, or is too large for ``exact``; the message holds the estimate of time and memory.
    """
    if dim < 1:
        raise ValueError(f"dim must be at least 1, got {dim}")
    shape = Shape.of(graph, root)
    component = shape.components[0]
    size = component.size
    if exact and size > MOST_NODES:
        time, memory = _NANOSECONDS * size**3 / 10**9, _BYTES * size**2
        raise ValueError(
            f"{shape.name} is too large for the exact spectrum: {size:,} nodes would take about {time / 60:,.0f} minutes and "
            f"{memory / 2**30:.1f} GiB (at most {MOST_NODES:,} nodes are allowed); sample it instead"
        )
    exact = exact or size <= NODES
    rng = np.random.default_rng(seed)
    first, shares, positive, explained = np.empty(0), [], [], []
    repeats = 1 if exact else REPEATS if size <= LARGE else REPEATS_OF_LARGE
    for k in range(repeats):
        nodes = np.arange(size) if exact else np.sort(rng.choice(size, NODES, replace=False))
        squares = component.hops(nodes, ends=nodes).astype(np.float64) ** 2
        row = squares.mean(axis=0)
        values = np.linalg.eigvalsh(-(squares - row - row[:, None] + row.mean()) / 2)
        values = values[np.argsort(-np.abs(values), kind="stable")]
        # what is lost in rounding counts as zero
        values[np.abs(values) <= len(nodes) * np.finfo(np.float64).eps * np.abs(values[0])] = 0
        magnitude = np.abs(values).sum()
        kept = values[:dim]
        shares.append(float(np.where(values < 0, -values, 0).sum() / magnitude))
        positive.append((kept > 0).sum())
        explained.append(float((kept**2).sum() / (values**2).sum()))
        if k == 0:
            first = values / magnitude
        progress("spectrum", k + 1, repeats)
    used = min(dim, int((first != 0).sum()))
    space = min(used, round(float(np.mean(positive))))
    time_like = used - space
    return Spectrum(
        eigenvalues=first,
        negative=float(np.mean(shares)),
        negative_range=(min(shares), max(shares)),
        dim=dim,
        space_dim=space,
        time_dim=time_like,
        explained=float(np.mean(explained)),
        signature=f"Q{dim - time_like},{time_like + 1}",
        nodes=len(first),
        samples=repeats,
        exact=exact,
        remarks=tuple(shape.remarks),
    )
