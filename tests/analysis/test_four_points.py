"""The exact search itself: its bounds, and what it says of time and memory."""

import itertools

import networkx as nx
import pytest

from qgcn.analysis import four_points
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


def _brute_force(graph):
    """Twice the largest delta over all quadruples, from the definition."""
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    worst = 0
    for a, b, c, d in itertools.combinations(graph, 4):
        sums = sorted((hops[a][b] + hops[c][d], hops[a][c] + hops[b][d], hops[a][d] + hops[b][c]))
        worst = max(worst, sums[2] - sums[1])
    return worst


@pytest.mark.parametrize("climbs", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_the_search_finds_the_worst_of_all_quadruples_with_and_without_a_good_start(monkeypatch, seed, climbs):
    if not climbs:  # then the bounds that pass over pairs and nodes must leave the worst quadruple in
        monkeypatch.setattr(four_points, "_climb", lambda hops: (0, (0, 0, 0, 0)))
    graph = nx.connected_watts_strogatz_graph(14 + seed, 2 + 2 * (seed % 2), 0.25, seed=seed)
    component = Shape.of(graph).components[0]
    found = worst_delta(component)
    assert found.lower == found.upper == _brute_force(graph)
    if found.nodes is not None:
        assert _brute_force_of(graph, [int(component.nodes[node]) for node in found.nodes]) == found.lower


def _brute_force_of(graph, nodes):
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    a, b, c, d = nodes
    sums = sorted((hops[a][b] + hops[c][d], hops[a][c] + hops[b][d], hops[a][d] + hops[b][c]))
    return sums[2] - sums[1]
