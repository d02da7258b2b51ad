"""Delta-hyperbolicity: how far a graph is from a tree."""

import math
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qgcn.analysis.four_points import search_memory, search_seconds, worst_delta
from qgcn.data.hops import Component, Ints, Shape, plural
from qgcn.progress import Progress, silent

__all__ = ["Hyperbolicity", "gromov_hyperbolicity"]

SAMPLES = 50_000
SMALL = 8192
"""Nodes of a component up to which all its distances are kept."""
LARGE = 20_000
"""Nodes of a component beyond which not all of them are searched from."""
MOST_MEMORY = 8 * 2**30
MOST_SECONDS = 3600.0
"""Beyond either of them the exact mode is refused."""
TREE_LIKE, FAR = 0.05, 0.12
"""Mean relative delta below which a graph is called tree-like, and from which it is called far from a tree."""

_GROUPS, _GROUP_SIZE = 64, 64
_Z, _T63 = 1.959964, 1.998341  # two-sided 95 % of the normal distribution, and of Student's with 63 degrees of freedom


@dataclass(frozen=True)
class Hyperbolicity:
    """The four-point delta of a graph.

    Attributes:
        samples: Number of quadruples looked at.
        complete: Whether those are all there are.
        shares: Share of the quadruples with each delta 0, 0.5, 1, ...
        intervals: 95 % confidence interval of each share.
        mean: Mean delta.
        mean_interval: Its 95 % confidence interval.
        largest: The largest delta among the quadruples looked at.
        worst: The worst delta of all quadruples; ``None`` unless the exact mode was asked for.
        worst_at_most: An upper bound of it, the same number unless the search ran out of time.
        witness: Ids of four nodes with delta ``worst``; ``None`` if it is 0.
        diameter: The largest distance of two nodes of a component; a lower bound of it if ``sampled_diameter``.
        sampled_diameter: Whether not all nodes were searched from.
        relative: ``2 * delta / diameter``, of the worst delta if it is known and of the largest one otherwise; in [0, 1].
        components: Number of components of at least two nodes.
        remarks: What was done to the graph, in words.
    """

    samples: int
    complete: bool
    shares: dict[float, float]
    intervals: dict[float, tuple[float, float]]
    mean: float
    mean_interval: tuple[float, float]
    largest: float
    worst: float | None
    worst_at_most: float | None
    witness: tuple[Any, ...] | None
    diameter: int
    sampled_diameter: bool
    relative: float
    components: int
    remarks: tuple[str, ...]

    @property
    def mean_relative(self) -> float:
        """``2 * mean / diameter``: 0 for a tree, 1 at most."""
        return 2 * self.mean / self.diameter

    @property
    def likeness(self) -> str:
        """Say in words how far the graph is from a tree."""
        if self.largest == 0:
            return "a tree, or as good as one"
        if self.mean_relative < TREE_LIKE:
            return "mostly tree-like"
        return "in between tree and cycle" if self.mean_relative < FAR else "far from a tree"

    def as_dict(self) -> dict[str, Any]:
        """Return everything, as JSON can hold it."""
        return asdict(self) | {
            "shares": {str(delta): share for delta, share in self.shares.items()},
            "intervals": {str(delta): list(interval) for delta, interval in self.intervals.items()},
        }


def gromov_hyperbolicity(
    graph: Any,
    *,
    samples: int = SAMPLES,
    exact: bool = False,
    seconds: float | None = None,
    seed: int = 0,
    root: str | Path | None = None,
    progress: Progress = silent,
) -> Hyperbolicity:
    r"""Measure the four-point delta of a graph: its distribution over quadruples, and, if asked for, the worst one.

    .. math:: \delta(a, b, c, d) = \tfrac12 (S_1 - S_2), \qquad S_1 \ge S_2 \ge S_3 \text{ the sums }
        d_{ab} + d_{cd},\; d_{ac} + d_{bd},\; d_{ad} + d_{bc}

    Laws: 0 on trees and complete graphs; a multiple of 1/2; at most half the diameter; the worst is that of one of the blocks.
    On a cycle of ``n`` nodes the worst is ``n // 4``, or ``n // 4 - 1/2`` if ``n % 4 == 1``.

    Quadruples are drawn uniformly among those of four distinct nodes of one component; all of them are taken if there are no
    more than ``samples``. Distances count edges. In components of more than 20,000 nodes quadruples are drawn within 64 random
    groups of 64 nodes, and intervals come from the spread between groups.

    Args:
        graph: A PyG ``Data``, an ``edge_index``, a SciPy sparse matrix, a NetworkX graph, a path, or the name of a data set.
        samples: Number of quadruples.
        exact: Find the worst delta exactly, see :func:`qgcn.analysis.four_points.worst_delta`.
        seconds: Time after which the exact search gives up with an upper and a lower bound; as long as it takes if not given.
        seed: Fixes the quadruples.
        root: Folder of the data sets.
        progress: Progress callback.

    Raises:
        ValueError: The graph has no edges, or is too large for the exact mode; the message estimates time and memory.
        TypeError: It is no graph.
    """
    if samples < 1:
        raise ValueError(f"samples must be at least 1, got {samples}")
    if seconds is not None and not seconds > 0:
        raise ValueError(f"seconds must be positive, got {seconds}")
    shape = Shape.of(graph, root)
    if exact and seconds is None:
        check_exact(shape)
    number = sum(_quadruples(shape))
    gaps, groups, diameter = _sampled(shape, samples, np.random.default_rng(seed), progress)
    shares, intervals, mean, mean_interval = _summary(gaps, groups, number <= samples)
    worst, at_most, witness = _worst(shape, seconds, progress) if exact else (None, None, None)
    largest = float(gaps.max(initial=0)) / 2
    return Hyperbolicity(
        samples=len(gaps),
        complete=number <= samples,
        shares=shares,
        intervals=intervals,
        mean=mean,
        mean_interval=mean_interval,
        largest=largest,
        worst=worst,
        worst_at_most=at_most,
        witness=witness,
        diameter=diameter,
        sampled_diameter=any(component.size > LARGE for component in shape.components),
        relative=2 * (largest if worst is None else worst) / diameter,
        components=len(shape.components),
        remarks=tuple(shape.remarks),
    )


def _quadruples(shape: Shape) -> list[int]:
    """Return the number of quadruples of each component."""
    return [math.comb(component.size, 4) for component in shape.components]


def shared_out(samples: int, count: list[int], rng: np.random.Generator) -> list[int]:
    """Draw how many of the samples each component gets, by its number of quadruples: integers of any size."""
    total = sum(count)
    drawn: list[int] = rng.multinomial(samples, [each / total for each in count]).tolist()
    return drawn


def _sampled(shape: Shape, samples: int, rng: np.random.Generator, progress: Progress) -> tuple[NDArray[np.int64], Ints, int]:
    """Return twice the delta of quadruples of all components, their groups (-1 for none), and the largest distance met."""
    count = _quadruples(shape)
    complete = sum(count) <= samples
    drawn = count if complete else shared_out(samples, count, rng)
    values, groups, diameter = [], [], 0
    for component, number in zip(shape.components, drawn, strict=True):
        large = component.size > LARGE
        gaps, group, longest = _measure(component, number, complete, large, rng, progress)
        values.append(gaps)
        groups.append(group if large else np.full(len(gaps), -1))
        diameter = max(diameter, longest)
    return np.concatenate(values), np.concatenate(groups), diameter


def _worst(shape: Shape, seconds: float | None, progress: Progress) -> tuple[float, float, tuple[Any, ...] | None]:
    """Return the worst delta, what it is at most, and the names of four nodes that have it, if they were found."""
    lower, upper = 0, 0
    nodes: tuple[int, ...] | None = None
    for component in shape.components:
        found = worst_delta(component, lower, seconds, progress)
        lower, upper = found.lower, max(upper, found.upper)
        nodes = nodes if found.nodes is None else found.nodes
    witness = None if nodes is None else tuple(shape.data.node_ids[list(nodes)].tolist())
    return lower / 2, upper / 2, witness


def check_exact(shape: Shape) -> None:
    """Raise if the exact mode would take too long or too much memory, and say how much that is."""
    largest = max((block.size for component in shape.components for block in component.blocks()[:1]), default=0)
    memory, time = search_memory(largest), search_seconds(largest)
    if memory > MOST_MEMORY or time > MOST_SECONDS:
        raise ValueError(
            f"{shape.name} is too large for the exact worst delta: a block of {plural(largest, 'node')} would take "
            f"about {_duration(time)} and {memory / 2**30:.1f} GiB (at most {_duration(MOST_SECONDS)} and "
            f"{MOST_MEMORY / 2**30:.0f} GiB are allowed); sample it instead (without exact), or give it seconds"
        )


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} seconds"


def _measure(
    component: Component, number: int, complete: bool, large: bool, rng: np.random.Generator, progress: Progress
) -> tuple[NDArray[np.int64], Ints, int]:
    """Return twice the delta of ``number`` quadruples, the group of each, and the largest distance that was met."""
    group = np.zeros(number, dtype=np.int64)
    if complete:
        quads = np.array(list(combinations(range(component.size), 4)), dtype=np.int64).reshape(-1, 4)
        sources = np.arange(component.size)
    elif not large:
        quads = _distinct(component.size, number, rng)
        sources = np.arange(component.size)
    else:
        pool = rng.choice(component.size, _GROUPS * _GROUP_SIZE, replace=False)
        group = rng.integers(_GROUPS, size=number)
        quads = pool[group[:, None] * _GROUP_SIZE + _distinct(_GROUP_SIZE, number, rng)]
        sources = np.sort(pool)
    a, b, c, d = quads.T
    starts, ends = np.concatenate((a, c, a, b, a, b)), np.concatenate((b, d, c, d, d, c))
    if component.size <= SMALL:
        hops = component.hops(progress=progress, stage="delta")
        sums = np.sort(hops[starts, ends].astype(np.int32).reshape(3, 2, number).sum(axis=1), axis=0)
        return sums[2] - sums[1], group, int(hops.max())
    place = np.searchsorted(sources, starts)
    order = np.argsort(place, kind="stable")
    bounds = place[order]
    far = np.empty(len(starts), dtype=np.int64)
    longest = first = 0
    for part, hops in component.hops_in_parts(sources, progress, "delta"):
        mine = order[np.searchsorted(bounds, first) : np.searchsorted(bounds, first + len(part))]
        far[mine] = hops[place[mine] - first, ends[mine]]
        longest = max(longest, int(hops.max()))
        first += len(part)
    sums = np.sort(far.reshape(3, 2, number).sum(axis=1), axis=0)
    return sums[2] - sums[1], group, longest


def _distinct(size: int, number: int, rng: np.random.Generator) -> Ints:
    """Draw quadruples of distinct numbers below ``size``, uniformly, shape ``(number, 4)``."""
    quads = rng.integers(size, size=(number, 4))
    while len(again := np.flatnonzero((np.diff(np.sort(quads, axis=1), axis=1) == 0).any(axis=1))):
        quads[again] = rng.integers(size, size=(len(again), 4))
    return quads


def _summary(
    gaps: NDArray[np.int64], groups: Ints, complete: bool
) -> tuple[dict[float, float], dict[float, tuple[float, float]], float, tuple[float, float]]:
    """Return shares, their intervals, the mean and its interval."""
    if len(gaps) == 0:  # of fewer than four connected nodes two coincide, and delta is 0
        return {0.0: 1.0}, {0.0: (1.0, 1.0)}, 0.0, (0.0, 0.0)
    counts = np.bincount(gaps)
    number = len(gaps)
    shares = {k / 2: int(c) / number for k, c in enumerate(counts)}
    mean = float(gaps.mean()) / 2
    if complete:
        return shares, {delta: (share, share) for delta, share in shares.items()}, mean, (mean, mean)
    if (groups >= 0).any():
        # quadruples of a group share their nodes: groups, not quadruples, are independent
        inside = groups >= 0
        sizes = np.bincount(groups[inside], minlength=_GROUPS)

        def spread(value: NDArray[np.float64]) -> float:
            means = np.bincount(groups[inside], weights=value[inside], minlength=_GROUPS) / np.maximum(sizes, 1)
            return _T63 * float(means[sizes > 0].std(ddof=1)) / math.sqrt(_GROUPS)

        intervals = {}
        for delta, share in shares.items():
            half = spread((gaps == 2 * delta).astype(np.float64))
            intervals[delta] = (max(0.0, share - half), min(1.0, share + half))
        half = spread(gaps / 2)
    else:
        intervals = {delta: _wilson(share, number) for delta, share in shares.items()}
        half = _Z * float(gaps.std()) / 2 / math.sqrt(number)
    return shares, intervals, mean, (max(0.0, mean - half), mean + half)


def _wilson(share: float, number: int) -> tuple[float, float]:
    """Return Wilson's interval of a share of so many."""
    z2 = _Z * _Z / number
    centre, half = (share + z2 / 2) / (1 + z2), math.sqrt(share * (1 - share) * z2 + z2 * z2 / 4) / (1 + z2)
    return max(0.0, centre - half), min(1.0, centre + half)
