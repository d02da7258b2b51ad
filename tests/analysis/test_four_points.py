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


def test_a_quadruple_no_worse_than_the_bound_is_no_witness():
    component = Shape.of(nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 7))).components[0]
    assert worst_delta(component, lower=5).nodes is not None
    assert worst_delta(component, lower=6).nodes is None  # 2 * 3, and the diameter, 9, is larger


@pytest.mark.parametrize(
    ("graph", "worst"), [(nx.cycle_graph(101), 49), (nx.cycle_graph(240), 120), (nx.grid_2d_graph(15, 15), 28)]
)
def test_a_climb_alone_finds_the_worst_of_cycles_and_grids(graph, worst):
    hops = Shape.of(nx.convert_node_labels_to_integers(graph)).components[0].hops()
    value, nodes = four_points._climb(hops)
    a, b, c, d = nodes
    sums = sorted(int(hops[i, j]) + int(hops[k, m]) for i, j, k, m in ((a, b, c, d), (a, c, b, d), (a, d, b, c)))
    assert value == sums[2] - sums[1] == worst


def test_estimates_are_a_nanosecond_for_the_cube_and_six_bytes_for_the_square():
    assert search_seconds(1000) == pytest.approx(1.0)
    assert search_memory(1000) == 6_000_000


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


@pytest.mark.parametrize("batch", [1, 128])
@pytest.mark.parametrize("seed", range(40))
def test_what_is_skipped_holds_no_worse_quadruple(monkeypatch, seed, batch):
    monkeypatch.setattr(four_points, "_climb", lambda hops: (0, (0, 0, 0, 0)))
    monkeypatch.setattr(four_points, "_BATCH", batch)
    graph = nx.gnm_random_graph(6 + seed % 6, 9 + seed % 9, seed=seed)
    graph = nx.convert_node_labels_to_integers(graph.subgraph(max(nx.connected_components(graph), key=len)))
    assert worst_delta(Shape.of(graph).components[0]).lower == _brute_force(graph)


@pytest.mark.parametrize(
    ("edges", "worst"),
    [
        ("01 02 03 04 12 13 14 24 34", 1),  # the wheel of four spokes without one: every bound is met with equality
        ("01 03 04 12 14 24 35 46 56", 2),
        ("01 02 03 04 14 23 24", 1),
    ],
)
def test_bounds_that_are_met_with_equality_skip_nothing(monkeypatch, edges, worst):
    monkeypatch.setattr(four_points, "_climb", lambda hops: (0, (0, 0, 0, 0)))
    graph = nx.Graph((int(a), int(b)) for a, b in edges.split())
    assert worst_delta(Shape.of(graph).components[0]).lower == _brute_force(graph) == worst
