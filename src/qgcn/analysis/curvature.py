"""Curvature of a graph: sectional, averaged over reference nodes, and Forman's, edge by edge."""

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qgcn.data.hops import Component, Ints, Shape
from qgcn.progress import Progress, silent

__all__ = ["Curvature", "forman_curvature", "sectional_curvature"]

Floats = NDArray[np.float64]

REFERENCES = 20_000
"""Nodes of a component beyond which not all of them serve as reference."""
SAMPLED = 2048
"""Reference nodes if they are sampled."""
_PAIRS = 1 << 23
"""Pairs of neighbours beyond which the histogram of pairs is of some of them."""
_PATHS = 1 << 22
"""Paths of two edges that are looked at together."""
_DIGITS = 12
"""Beyond these a curvature of 0 is not told from rounding."""
_BINS = np.linspace(-1.525, 1.525, 62)
"""Edges of the histogram's bins: 0 is in the middle of one; curvatures lie in [-11/8, 1]."""


@dataclass(frozen=True)
class Curvature:
    """The sectional curvature of a graph.

    Attributes:
        mean: Mean over all pairs of neighbours of all nodes, the graph's planes: hubs count with the square of their degree.
        interval: 95 % confidence interval of that mean; a point if all reference nodes were used.
        node_mean: Mean over nodes with at least two neighbours, of :attr:`nodes`: each counts once.
        node_interval: 95 % confidence interval of that mean.
        nodes: Curvature of each node, the mean over its pairs of neighbours, shape ``(N,)``; NaN with fewer than two.
        histogram: Share of the nodes in each bin, shape ``(61,)``.
        pair_histogram: Share of the pairs in each bin, shape ``(61,)``.
        bins: Edges of the bins, shape ``(62,)``.
        positive, negative: Share of the nodes with positive and with negative curvature.
        references: Number of reference nodes; all of them if ``exact``.
        exact: Whether all nodes served as reference.
        remarks: What was done to the graph, in words.
    """

    mean: float
    interval: tuple[float, float]
    node_mean: float
    node_interval: tuple[float, float]
    nodes: Floats = field(repr=False)
    histogram: Floats = field(repr=False)
    pair_histogram: Floats = field(repr=False)
    bins: Floats = field(repr=False)
    positive: float
    negative: float
    references: int
    exact: bool
    remarks: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the nodes, as JSON can hold it."""
        arrays = {name: getattr(self, name).tolist() for name in ("histogram", "pair_histogram", "bins")}
        return {name: value for name, value in asdict(self).items() if name != "nodes"} | arrays


def sectional_curvature(
    graph: Any,
    *,
    references: int | None = None,
    exact: bool = False,
    seed: int = 0,
    root: str | Path | None = None,
    progress: Progress = silent,
) -> Curvature:
    r"""Measure the sectional curvature of a graph (Gu, Sala, Gunel and Re, *Learning mixed-curvature representations*, 2019).

    For a node :math:`m`, two of its neighbours :math:`b, c` and a reference node :math:`a \ne m`

    .. math:: \xi(m; b, c; a) = \frac{1}{2 d_{am}} \Bigl(d_{am}^2 + \frac{d_{bc}^2}{4} - \frac{d_{ab}^2 + d_{ac}^2}{2}\Bigr)

    is averaged over all :math:`a` of the component. With :math:`d_{ab} = d_{am} + \beta` it falls apart,

    .. math:: \xi(m; b, c) = \frac{d_{bc}^2}{8} h_m - g_{mb} - g_{mc}, \qquad
        h_m = \overline{d_{am}^{-1}}, \quad g_{mb} = \overline{\tfrac12 \beta + \tfrac14 \beta^2 d_{am}^{-1}}

    so that all pairs of all nodes cost one pass over edges and reference nodes, and nothing has to be sampled but references.

    Laws: on a tree :math:`\xi(m; b, c)` is minus the share of the other nodes that are in neither branch; 0 on a path; on a
    cycle of :math:`n` nodes :math:`1/(n - 1)` if ``n`` is even, :math:`n/(n-1)^2` if it is odd; :math:`(n + 3)/(8(n - 1))` on a
    complete graph.

    Args:
        graph: A PyG ``Data``, an ``edge_index``, a SciPy sparse matrix, a NetworkX graph, a path, or the name of a data set.
        references: Number of reference nodes drawn of each component; all of them if it has no more than 20,000, else 2,000, if
            not given.
        exact: Use all of them.
        seed: Fixes the reference nodes.
        root: Folder of the data sets.
        progress: Progress callback.

    Raises:
        ValueError: The graph has no edges, or no node with two neighbours.
        TypeError: It is no graph.
    """
    if references is not None and references < 2:
        raise ValueError(f"references must be at least 2, got {references}")
    shape = Shape.of(graph, root)
    rng = np.random.default_rng(seed)
    values = np.full(shape.num_nodes, np.nan)
    number, histogram = np.zeros(shape.num_nodes), np.zeros(len(_BINS) - 1)
    used, complete, noise = 0, True, np.zeros(2)
    for component in shape.components:
        degree, own = component.degree, component.nodes
        has = degree >= 2
        drawn = _references(component, references, exact, rng)
        used, complete = used + len(drawn), complete and len(drawn) == component.size
        if not has.any():
            continue
        number[own] = degree * (degree - 1) / 2
        # how far apart two neighbours are on the average of their squared distances, 1 or 4
        spread = 4 - 3 * _triangles(component) / np.where(has, number[own], 1)
        inverse, bend, error = _bends(component, drawn, spread, np.stack((number[own], has)), progress)
        value = spread * inverse / 8 - 2 * np.add.reduceat(bend, component.start[:-1]) / degree
        values[own[has]] = value[has]
        histogram += _histogram_of_pairs(component, inverse, bend, rng)
        noise += error**2 * (1 - len(drawn) / component.size)
    has = ~np.isnan(values)
    if not has.any():
        raise ValueError(f"{shape.name} has no node with two neighbours: there is no curvature to measure")
    mean, node_mean = float((values * number)[has].sum() / number.sum()), float(values[has].mean())
    half, node_half = (np.sqrt(noise) / (number.sum(), int(has.sum()))).tolist()
    return Curvature(
        mean=mean,
        interval=(mean - half, mean + half),
        node_mean=node_mean,
        node_interval=(node_mean - node_half, node_mean + node_half),
        nodes=values,
        histogram=np.histogram(values[has].round(_DIGITS), _BINS)[0] / int(has.sum()),
        pair_histogram=histogram / histogram.sum(),
        bins=_BINS,
        positive=float((values[has].round(_DIGITS) > 0).mean()),
        negative=float((values[has].round(_DIGITS) < 0).mean()),
        references=used,
        exact=complete,
        remarks=tuple(shape.remarks),
    )


def _references(component: Component, wanted: int | None, exact: bool, rng: np.random.Generator) -> Ints:
    size = component.size
    if wanted is None:
        wanted = size if size <= REFERENCES and not component.is_deep() else SAMPLED
    if exact or wanted >= size:
        return np.arange(size)
    return rng.choice(size, wanted, replace=False)


def _bends(
    component: Component, references: Ints, spread: Floats, weights: Floats, progress: Progress
) -> tuple[Floats, Floats, Floats]:
    r"""Return :math:`h_m`, shape ``(n,)``, and :math:`g_{mb}` of each directed edge, shape ``(2m,)``.

    Third comes half the 95 % interval of the sum of curvatures with each row of ``weights``, shape ``(2,)``.

    The sum of :math:`\beta` over references is the difference of two sums of distances. :math:`\beta^2` is 1 but for references
    that are as far from :math:`m` as from :math:`b`, and those are counted 64 at a time, as bits.
    """
    source, target = component.source, component.neighbours
    once = source < target
    u, v = source[once], target[once]
    degree = component.degree
    share = weights / degree  # (2, n)
    around = np.stack([np.bincount(target, weights=row[source], minlength=component.size) for row in share]) - weights
    total, inverse, tied = np.zeros(component.size), np.zeros(component.size), np.zeros(len(u))
    groups = []  # the mean curvature as every 64 references see it
    for part in component.batches(references, progress, "sectional curvature"):
        seen = np.zeros((2, -(-len(part) // 64)))
        for level, fresh in component.levels(part):
            count = np.bitwise_count(fresh).astype(np.float64)  # (n, words)
            both = np.bitwise_count(fresh[u] & fresh[v])  # (m, words)
            here = count.sum(axis=1)
            total += level * here
            inverse += here / level
            tied += both.sum(axis=1) / level
            seen += (spread / 8 * weights) @ count / level - level * (around @ count)
            seen -= (weights @ count - (share[:, u] + share[:, v]) @ both) / (2 * level)
        seen += np.add.reduceat(weights[:, part], np.arange(0, len(part), 64), axis=1)  # a node sees its neighbours
        groups.append(seen[:, : len(part) // 64] / 64)
    others = np.full(component.size, float(len(references)))
    is_reference = np.zeros(component.size)
    is_reference[references] = 1
    others = np.maximum(others - is_reference, 1.0)  # a node is no reference of its own
    equal = np.empty(len(target))
    equal[once] = tied
    equal[np.lexsort((source, target))[once]] = tied  # the other direction of each edge
    bend = (total[target] - is_reference[source] - total[source]) / 2 + (inverse[source] - equal) / 4
    error = np.zeros(2)
    if len(references) < component.size:
        from scipy.stats import t

        sums = np.concatenate(groups, axis=1)
        count_of_groups = sums.shape[1]
        error[:] = math.inf  # of fewer than two groups
        if count_of_groups > 1:
            error = float(t.ppf(0.975, count_of_groups - 1)) * sums.std(axis=1, ddof=1) / math.sqrt(count_of_groups)
    return inverse / others, bend / others[source], error


def _triangles(component: Component) -> Floats:
    """Return how many pairs of neighbours of each node are adjacent, shape ``(n,)``."""
    source, target = component.source, component.neighbours
    once = source < target
    count = _triangles_on_edges(component)
    ends, weights = np.concatenate((source[once], target[once])), np.concatenate((count, count))
    return np.bincount(ends, weights=weights, minlength=component.size) / 2  # two edges of a triangle meet in each corner


def _triangles_on_edges(component: Component) -> Floats:
    r"""Return how many triangles each edge is in, shape ``(m,)``, edges ``(u, v)`` with ``u < v`` in ascending order.

    Edges are directed towards the end of larger degree, so that no node has more than about :math:`\sqrt{2m}` of them, hubs
    neither. Each triangle is then met once, as a path of two edges whose ends are joined; paths are looked at in parts, in
    bounded memory. The square of the adjacency would hold the square of the degree of a hub.
    """
    once = component.source < component.neighbours
    u, v = component.source[once], component.neighbours[once]
    size, number = component.size, len(u)
    rank = np.empty(size, dtype=np.int64)
    rank[np.argsort(component.degree, kind="stable")] = np.arange(size)
    low, high = np.minimum(rank[u], rank[v]), np.maximum(rank[u], rank[v])
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    keys = low * size + high
    out = np.bincount(low, minlength=size)
    first = np.cumsum(out) - out
    paths = out[high]  # that go on from each edge
    ends = np.cumsum(paths)
    count = np.zeros(number)
    begin = 0
    while begin < number:
        done = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + _PATHS, side="right")))
        here = np.repeat(np.arange(begin, end), paths[begin:end])
        on = first[high[here]] + np.arange(len(here)) - np.repeat(ends[begin:end] - paths[begin:end] - done, paths[begin:end])
        wanted = low[here] * size + high[on]
        across = np.minimum(np.searchsorted(keys, wanted), number - 1)
        closed = keys[across] == wanted
        for edge in (here, on, across):
            count += np.bincount(edge[closed], minlength=number)
        begin = end
    found = np.empty(number)
    found[order] = count
    return found


def _histogram_of_pairs(component: Component, inverse: Floats, bend: Floats, rng: np.random.Generator) -> Floats:
    """Count the pairs of neighbours by their curvature; of very many, those that begin with a random edge."""
    start, neighbours = component.start, component.neighbours
    pairs = float((component.degree * (component.degree - 1) / 2).sum())
    first = np.arange(len(neighbours))
    if pairs > _PAIRS:
        first = first[rng.random(len(first)) < _PAIRS / pairs]
    source = component.source
    counts = np.zeros(len(_BINS) - 1)
    mark = np.zeros(component.size, dtype=bool)
    waiting: list[Floats] = []
    for number, edge in enumerate(first):
        node, near = source[edge], neighbours[edge]
        rest = slice(edge + 1, start[node + 1])
        known = neighbours[start[near] : start[near + 1]]
        mark[known] = True
        apart = np.where(mark[neighbours[rest]], 1.0, 4.0)
        mark[known] = False
        waiting.append(apart * inverse[node] / 8 - bend[edge] - bend[rest])
        if len(waiting) == 4096 or number == len(first) - 1:
            counts += np.histogram(np.concatenate(waiting).round(_DIGITS), _BINS)[0]
            waiting.clear()
    return counts


def forman_curvature(graph: Any, *, root: str | Path | None = None) -> Floats:
    r"""Return the augmented Forman curvature of each edge: with triangles as faces, all weights 1.

    .. math:: F(u, v) = 4 - \deg u - \deg v + 3 \, |\{\text{triangles on } uv\}|

    Laws: 4 - 2 - 2 = 0 on cycles of more than 3 nodes; negative between nodes that branch.

    Args:
        graph: As for :func:`sectional_curvature`.
        root: Folder of the data sets.

    Returns:
        Shape ``(E,)``, one value for each undirected edge, component by component.
    """
    shape = Shape.of(graph, root)
    found = []
    for component in shape.components:
        source, target = component.source, component.neighbours
        once = source < target
        triangles = _triangles_on_edges(component)
        degree = component.degree
        found.append(4.0 - degree[source[once]] - degree[target[once]] + 3 * triangles)
    return np.concatenate(found)
