"""How long passes over all pairs take, from a few rows of each: known in a second where a pass takes hours."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from qgcn.kernels.metric import Metric, factors_of
from qgcn.kernels.pairs import cpu, reference
from qgcn.kernels.pairs.implementations import PairKernels, choose
from qgcn.kernels.pairs.nearest import distances_from
from qgcn.kernels.pairs.neighbourhoods import Chunk, Neighbourhoods, rows_at_once
from qgcn.kernels.pairs.points import Energy, Points, layout_of, sizes_of

__all__ = ["PassSeconds", "pass_seconds"]

_ENOUGH: Final = 0.2
"""Seconds of a measurement that is believed."""
_FIRST_ROWS: Final = 32


class PassSeconds(NamedTuple):
    """Estimated seconds of passes over all pairs."""

    loss: float
    """Of :func:`~qgcn.kernels.reconstruction_loss` with its gradient."""
    precision: float
    """Of :func:`~qgcn.kernels.average_precision`."""


@torch.no_grad()
def pass_seconds(x: Tensor, graph: Neighbourhoods, manifold: Metric, *, squared: bool = True) -> PassSeconds:
    """Estimate how long a loss with its gradient and the average precision of all nodes take.

    Some rows of each are computed, as many as take a fraction of a second; edges are computed all.

    Args:
        x: Points, shape ``(N, d)``.
        graph: The neighbours.
        manifold: The space.
        squared: Use squared distances.
    """
    x = x.as_subclass(Tensor).detach()
    factors = factors_of(manifold)
    implementation = choose(x, manifold, factors)
    kernels, energy = implementation.module(), Energy(x.new_ones(()), squared)
    if kernels is None or factors is None:
        return PassSeconds(_eager_loss(x, graph, manifold, energy), _precision(x, graph, manifold))
    points = Points.of(x, sizes_of(factors, x), layout_of(factors))
    loss = _fused_loss(points, graph, energy, kernels)
    if implementation.name != "native":
        return PassSeconds(loss, _precision(x, graph, manifold))
    return PassSeconds(loss, _scaled(lambda rows: cpu.average_precision(points, graph.start, graph.target, rows), x))


def _fused_loss(points: Points, graph: Neighbourhoods, energy: Energy, kernels: PairKernels) -> float:
    x, words = points.x, graph.itself_and_neighbours
    weight, ends = x.new_ones(len(x)), (graph.source, graph.target)
    given = points, energy, 0 * weight, weight, words
    if kernels.is_mutual(points):
        rounds = kernels.rounds_of(len(x))
        forth = _scaled(lambda some: kernels.mutual_log_sum(points, energy, words, some), x, rounds, rounds, 1)
        back = _scaled(lambda some: kernels.mutual_gradient(*given, some), x, rounds, rounds, 1)
    else:
        forth = _scaled(lambda rows: kernels.log_sum(points, energy, words[0], rows), x)
        back = _scaled(lambda rows: kernels.log_sum_gradient(*given, rows), x)
    of_edges = _seconds(lambda: kernels.edge_energy(points, *ends, energy.squared), x)
    of_edges += _seconds(lambda: kernels.edge_gradient(points, *ends, x.new_ones(graph.num_edges), energy.squared), x)
    return forth + back + of_edges


def _eager_loss(x: Tensor, graph: Neighbourhoods, manifold: Metric, energy: Energy) -> float:
    most = rows_at_once(len(x))  # more rows at once would take more memory than the loss does

    def some(rows: range) -> None:
        with torch.enable_grad():
            points = x.clone().requires_grad_()
            sums = reference.log_sum_of_rows(points, graph, manifold, _chunk(graph, rows), energy, others=False)
            torch.autograd.grad(sums.sum(), points)

    forth = _scaled(lambda rows: reference.log_sum_of_rows(x, graph, manifold, _chunk(graph, rows), energy, False), x, most)
    return forth + _scaled(some, x, most)  # rows are computed once without a gradient, then again with one


def _precision(x: Tensor, graph: Neighbourhoods, manifold: Metric) -> float:
    def some(rows: range) -> None:
        dist, chunk = distances_from(x, rows, manifold), _chunk(graph, rows)
        if chunk.edges.start < chunk.edges.stop:
            reference.average_precision(dist, graph, chunk)

    return _scaled(some, x, rows_at_once(len(x)))


def _chunk(graph: Neighbourhoods, rows: range) -> Chunk:
    return Chunk(rows.start, len(rows), slice(int(graph.start[rows.start]), int(graph.start[rows.stop])))


def _scaled(
    compute: Callable[[range], Any], x: Tensor, most: int | None = None, total: int | None = None, count: int = _FIRST_ROWS
) -> float:
    """Return the seconds of all rows, or of a ``total`` of rounds, from those of some: more until they take long enough."""
    total = len(x) if total is None else total
    most = min(most or total, total)
    count = min(count, most)
    compute(range(1))  # what is computed for the first time may have to be compiled
    while True:
        seconds = _seconds(partial(compute, range(count)), x)
        if seconds >= _ENOUGH or count == most:
            return seconds * total / count
        count = min(4 * count, most)


def _seconds(compute: Callable[[], Any], x: Tensor) -> float:
    _wait(x)
    began = time.perf_counter()
    compute()
    _wait(x)
    return time.perf_counter() - began


def _wait(x: Tensor) -> None:
    if x.is_cuda:
        torch.cuda.synchronize(x.device)
