"""The worst delta of a connected graph, exactly: a search over pairs of far-apart pairs that skips what cannot be worse."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qgcn.data.hops import Component
from qgcn.progress import Progress, silent

__all__ = ["Worst", "search_memory", "search_seconds", "worst_delta"]

Short = NDArray[np.int16]

_BATCH = 128
"""Pairs that are screened together."""
_NANOSECONDS = 1.0
"""Time of the search over the cube of the number of nodes: 0.03 on pubmed, 0.2 on cora, 0.6 on power, 1 on bio-wormnet."""
_BYTES = 6
"""Memory of the search over the square of the number of nodes: distances, far-apart pairs, and passing copies of both."""
_STARTS, _ROUNDS = 256, 4


@dataclass(frozen=True)
class Worst:
    """Bounds of twice the worst delta, and four nodes that attain the lower one, as the whole graph numbers them."""

    lower: int
    upper: int
    nodes: tuple[int, int, int, int] | None


def search_memory(nodes: int) -> int:
    """Return about how many bytes the search takes in a block of so many nodes."""
    return _BYTES * nodes * nodes


def search_seconds(nodes: int) -> float:
    """Return about how many seconds the search takes in a block of so many nodes, on one core.

    Graphs with a hierarchy take much less, dense ones of small diameter can take more.
    """
    return _NANOSECONDS * nodes**3 / 10**9


def worst_delta(component: Component, lower: int = 0, seconds: float | None = None, progress: Progress = silent) -> Worst:
    r"""Find :math:`2\delta` of a connected graph.

    .. math:: 2\delta = \max_{x,y,v,w} \; S_1 - \max(S_2, S_3), \qquad
        S_1 = d_{xy} + d_{vw},\; S_2 = d_{xv} + d_{yw},\; S_3 = d_{xw} + d_{yv}

    - The worst delta of a graph is that of one of its blocks (biconnected components).
    - In some worst quadruple both pairs of the largest sum are *far apart*: no neighbour of either end is further from the
      other end. Those pairs :math:`xy` are taken by decreasing distance :math:`k`, and :math:`d_{vw} \ge k` suffices. As
      :math:`2\delta \le k`, the search ends when the bound is reached.
    - With :math:`p_v = d_{xv} + d_{yv} - k` and :math:`e_v` the largest distance of a far-apart pair of :math:`v`, a quadruple
      of :math:`2\delta \ge L` has, of both :math:`v` and :math:`w`: :math:`2\min(d_{xv}, d_{yv}) \ge L`,
      :math:`2 e_v - p_v \ge 2L`, :math:`2(e_v + k - \max(d_{xv}, d_{yv})) \ge 3L`; and of one of them
      :math:`2 d_{cv} - p_v \ge L` for any node :math:`c`. Only such pairs are looked at.

    After N. Cohen, D. Coudert, A. Lancin, *On computing the Gromov hyperbolicity* (2015), and M. Borassi, D. Coudert,
    P. Crescenzi, A. Marino, *On computing the hyperbolicity of real-world graphs* (2015). A climb from random quadruples gives
    the first bound, which is often the last.

    Args:
        component: The graph.
        lower: A bound that is known already; nothing that does not exceed it is looked for.
        seconds: Time after which the search ends with what it knows; as long as it takes if not given.
        progress: Progress callback, in pairs.
    """
    blocks = component.blocks()
    until = None if seconds is None else time.monotonic() + seconds
    best = Worst(lower, lower, None)
    for block in blocks:
        found = _search(block, best.lower, until, progress)
        nodes = best.nodes if found.nodes is None else _named(block, found.nodes)
        best = Worst(found.lower, max(best.upper, found.upper), nodes)
    return Worst(best.lower, max(best.lower, best.upper), best.nodes)


def _named(block: Component, nodes: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    a, b, c, d = (int(block.nodes[node]) for node in nodes)
    return a, b, c, d


def _search(block: Component, lower: int, until: float | None, progress: Progress) -> Worst:
    hops = block.hops()
    if int(hops.max()) <= lower:
        return Worst(lower, lower, None)
    start, witness = _climb(hops)
    best, nodes = (start, witness) if start > lower else (lower, None)
    apart = _far_apart(block, hops)
    reach = np.where(apart, hops, 0).max(axis=0).astype(np.int16)
    apart &= np.tri(block.size, k=-1, dtype=bool)
    total = int(apart.sum())
    to_centre = 2 * hops[int(np.argmin(hops.sum(axis=0, dtype=np.int64)))].astype(np.int16)
    done = 0
    for level in range(int(hops.max()), 0, -1):
        if level <= best:
            break
        x, y = np.nonzero(apart & (hops == level))
        for first in range(0, len(x), _BATCH):
            if until is not None and time.monotonic() > until:
                return Worst(best, level, nodes)
            pairs = x[first : first + _BATCH], y[first : first + _BATCH]
            found = _screen(hops, pairs, level, best, reach, to_centre)
            if found is not None:
                best, nodes = found
                if level <= best:
                    break
            progress("worst delta", done + first, total)
        done += len(x)
    progress("worst delta", total, total)
    return Worst(best, best, nodes)


Found = tuple[int, tuple[int, int, int, int]]


def _screen(
    hops: NDArray[np.uint8],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    level: int,
    best: int,
    reach: Short,
    to_centre: Short,
) -> Found | None:
    """Look for a quadruple worse than ``best`` with one of the pairs; return twice its delta and its nodes."""
    x, y = pairs
    to_x, to_y = hops[x].astype(np.int16), hops[y].astype(np.int16)  # (pairs, n)
    far = np.maximum(to_x, to_y)
    excess = to_x + to_y - level
    goal = best + 1
    fits = reach >= level
    fits = fits & (2 * (excess + level - far) >= goal)
    fits &= 2 * reach - excess >= 2 * goal
    fits &= 2 * (reach + level - far) >= 3 * goal
    leads = fits & (to_centre - excess >= goal)
    found = None
    for row in np.flatnonzero(leads.any(axis=1)):
        v, w = np.flatnonzero(leads[row]), np.flatnonzero(fits[row])
        a, b = to_x[row], to_y[row]
        gap = hops[v][:, w] - np.maximum(a[v][:, None] + b[w], b[v][:, None] + a[w])
        value = int(gap.max()) + level
        if value > best:
            best = value
            i, j = divmod(int(gap.argmax()), len(w))
            found = value, (int(x[row]), int(y[row]), int(v[i]), int(w[j]))
    return found


def _far_apart(block: Component, hops: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which pairs are far apart, shape ``(n, n)``: no neighbour of either node is further from the other one."""
    apart = np.empty(hops.shape, dtype=bool)
    for node in range(block.size):
        around = block.neighbours[block.start[node] : block.start[node + 1]]
        apart[node] = hops[around].max(axis=0) <= hops[node]
    apart &= apart.T.copy()
    return apart


def _climb(hops: NDArray[np.uint8]) -> Found:
    """Exchange one node at a time of random quadruples for the one that makes delta largest."""
    rng = np.random.default_rng(0)
    size = len(hops)
    quads = rng.integers(size, size=(64 * _STARTS, 4))
    quads = quads[np.argsort(-_gaps(hops, quads), kind="stable")[:_STARTS]]
    for turn in range(4 * _ROUNDS):
        a, b, c = (quads[:, (turn + k) % 4] for k in (1, 2, 3))

        def to(node: NDArray[np.int64], other: NDArray[np.int64]) -> Short:
            return hops[node, other].astype(np.int16)[:, None]

        sums = [hops[a] + to(b, c), hops[b] + to(a, c), hops[c] + to(a, b)]
        largest = np.maximum(np.maximum(sums[0], sums[1]), sums[2])
        smallest = np.minimum(np.minimum(sums[0], sums[1]), sums[2])
        gap = 2 * largest + smallest - sums[0] - sums[1] - sums[2]
        # among equals any will do, but not always the same
        quads[:, turn % 4] = (gap + rng.random(size, dtype=np.float32)).argmax(axis=1)
    gaps = _gaps(hops, quads)
    best = int(gaps.argmax())
    p, q, r, s = (int(node) for node in quads[best])
    return int(gaps[best]), (p, q, r, s)


def _gaps(hops: NDArray[np.uint8], quads: NDArray[np.int64]) -> Short:
    """Return twice the delta of quadruples, shape ``(k, 4)`` to ``(k,)``."""
    a, b, c, d = quads.T
    sums = np.stack([hops[i, j].astype(np.int16) + hops[k, m] for i, j, k, m in ((a, b, c, d), (a, c, b, d), (a, d, b, c))])
    sums.sort(axis=0)
    gaps: Short = sums[2] - sums[1]
    return gaps
