"""The exact search itself: its bounds, and what it says of time and memory."""

import networkx as nx
import pytest

from qgcn.analysis.four_points import search_memory, search_seconds, worst_delta
from qgcn.data.hops import Shape


def test_a_known_bound_is_not_looked_for_again():
    component = Shape.of(nx.cycle_graph(12)).components[0]
    assert worst_delta(component).lower == 6
    found = worst_delta(component, lower=6)
    assert (found.lower, found.upper, found.nodes) == (6, 6, None)


def test_the_worst_block_counts():
    graph = nx.disjoint_union(nx.cycle_graph(20), nx.cycle_graph(8))
    graph.add_edge(3, 22)
    found = worst_delta(Shape.of(graph).components[0])
    assert (found.lower, found.upper) == (10, 10)
    assert set(found.nodes) <= set(range(20))


def test_estimates_grow_with_the_square_and_the_cube():
    assert search_memory(2000) == 4 * search_memory(1000)
    assert search_seconds(2000) == pytest.approx(8 * search_seconds(1000))


def test_progress_ends_at_the_total():
    heard = []
    worst_delta(Shape.of(nx.cycle_graph(30)).components[0], progress=lambda *told: heard.append(told))
    stage, done, total = heard[-1]
    assert (stage, done) == ("worst delta", total)
