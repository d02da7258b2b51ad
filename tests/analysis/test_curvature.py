"""Sectional curvature against the definition, graphs with known answers, and Forman's against NetworkX."""

import itertools
import json
import math

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import t

from qgcn.analysis import curvature as module
from qgcn.analysis import forman_curvature, sectional_curvature
from qgcn.data import cycle, grid, tree


def by_definition(graph):
    """Curvature of every pair of neighbours of every node, averaged over all reference nodes of its component."""
    far = dict(nx.all_pairs_shortest_path_length(graph))
    found = {}
    for m in graph:
        around = sorted(graph[m])
        for i, b in enumerate(around):
            for c in around[i + 1 :]:
                terms = [
                    (far[a][m] ** 2 + far[b][c] ** 2 / 4 - (far[a][b] ** 2 + far[a][c] ** 2) / 2) / (2 * far[a][m])
                    for a in far[m]
                    if a != m
                ]
                found[m, b, c] = np.mean(terms)
    return found


@pytest.mark.parametrize(
    "graph",
    [
        nx.connected_watts_strogatz_graph(40, 4, 0.3, seed=0),
        nx.barabasi_albert_graph(50, 3, seed=1),
        nx.disjoint_union(nx.gnm_random_graph(20, 40, seed=2), nx.path_graph(6)),
    ],
    ids=["small world", "hubs", "disconnected"],
)
def test_curvature_is_that_of_the_definition(graph):
    pairs = by_definition(graph)
    found = sectional_curvature(graph)
    for node in graph:
        own = [value for (m, _, _), value in pairs.items() if m == node]
        if own:
            assert found.nodes[node] == pytest.approx(np.mean(own), abs=1e-12)
        else:
            assert np.isnan(found.nodes[node])
    assert found.node_mean == pytest.approx(np.nanmean(found.nodes))
    assert found.mean == pytest.approx(np.mean(list(pairs.values())))
    expected = np.histogram(np.round(list(pairs.values()), 12), found.bins)[0] / len(pairs)
    np.testing.assert_allclose(found.pair_histogram, expected)
    assert found.interval == (found.mean, found.mean)
    assert found.node_interval == (found.node_mean, found.node_mean)
    assert found.exact


def test_a_path_is_flat():
    found = sectional_curvature(nx.path_graph(9))
    assert np.nanmax(np.abs(found.nodes)) < 1e-12
    assert (found.positive, found.negative) == (0, 0)


@pytest.mark.parametrize("nodes", [4, 5, 8, 9, 64])
def test_a_cycle_is_positive_because_it_closes(nodes):
    expected = 1 / (nodes - 1) if nodes % 2 == 0 else nodes / (nodes - 1) ** 2
    assert sectional_curvature(cycle(nodes)).mean == pytest.approx(expected)


@pytest.mark.parametrize("leaves", [2, 3, 7])
def test_a_star_is_negative_by_the_leaves_left_out(leaves):
    found = sectional_curvature(nx.star_graph(leaves))
    assert found.mean == pytest.approx(-(leaves - 2) / leaves)
    assert np.isnan(found.nodes[1:]).all()


def test_trees_are_negative_everywhere():
    found = sectional_curvature(tree(3, 4))
    assert np.nanmax(found.nodes) < 1e-12
    assert (found.positive, found.mean < -0.2) == (0, True)


@pytest.mark.parametrize("nodes", [3, 4, 9])
def test_a_complete_graph_is_positive(nodes):
    assert sectional_curvature(nx.complete_graph(nodes)).mean == pytest.approx((nodes + 3) / (8 * (nodes - 1)))


def test_curvature_lies_in_its_range():
    found = sectional_curvature(nx.barabasi_albert_graph(300, 2, seed=0))
    assert found.histogram.sum() == pytest.approx(1)
    assert found.pair_histogram.sum() == pytest.approx(1)
    assert np.nanmin(found.nodes) >= -11 / 8
    assert np.nanmax(found.nodes) <= 1


def test_sampled_references_come_with_an_interval_that_holds_the_truth():
    graph = nx.connected_watts_strogatz_graph(900, 6, 0.1, seed=0)
    truth = sectional_curvature(graph)
    inside = []
    for seed in range(30):
        found = sectional_curvature(graph, references=320, seed=seed)
        assert not found.exact
        assert found.references == 320
        for (low, high), mean in ((found.interval, truth.mean), (found.node_interval, truth.node_mean)):
            inside.append(low <= mean <= high)
            assert 0 < high - low < 0.05
    assert sum(inside) >= 50


def test_very_many_pairs_are_sampled_for_the_histogram(monkeypatch):
    graph = nx.barabasi_albert_graph(400, 6, seed=0)
    whole = sectional_curvature(graph)
    monkeypatch.setattr(module, "_PAIRS", 8000)
    some = sectional_curvature(graph)
    assert 0 < np.abs(whole.pair_histogram - some.pair_histogram).sum() < 0.3
    assert some.mean == whole.mean


def test_forman_counts_triangles():
    assert forman_curvature(cycle(6)).tolist() == [0.0] * 6
    assert forman_curvature(cycle(3)).tolist() == [3.0] * 3
    assert forman_curvature(nx.star_graph(5)).tolist() == [-2.0] * 5
    graph = nx.gnm_random_graph(30, 90, seed=0)
    expected = [
        4 - graph.degree[u] - graph.degree[v] + 3 * len(set(graph[u]) & set(graph[v]))
        for u, v in sorted(map(sorted, graph.edges))
    ]
    assert forman_curvature(graph).tolist() == expected


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.path_graph(2), "no node with two neighbours"),
        (nx.empty_graph(1), "has no edges"),
        (nx.empty_graph(4), "has no edges"),
        (csr_array(np.array([[0.0, -2.0], [-2.0, 0.0]])), "negative"),
    ],
)
def test_what_has_no_curvature_is_refused(graph, message):
    with pytest.raises(ValueError, match=message):
        sectional_curvature(graph)


def test_references_must_be_some():
    with pytest.raises(ValueError, match="references must be at least 2, got 1"):
        sectional_curvature(cycle(5), references=1)


def test_as_dict_is_json():
    found = json.loads(json.dumps(sectional_curvature(grid(4, 4)).as_dict()))
    assert len(found["histogram"]) == len(found["bins"]) - 1
    assert "nodes" not in found


@pytest.mark.parametrize("together", [5, module._PATHS])
@pytest.mark.parametrize("density", [0.05, 0.3, 0.9])
def test_triangles_are_those_of_networkx(monkeypatch, together, density):
    monkeypatch.setattr(module, "_PATHS", together)
    graph = nx.gnp_random_graph(40, density, seed=1)
    expected = sorted(
        4 - graph.degree[u] - graph.degree[v] + 3 * len(list(nx.common_neighbors(graph, u, v))) for u, v in graph.edges
    )
    assert sorted(forman_curvature(graph).tolist()) == expected


def test_a_hub_takes_no_memory_for_all_pairs_around_it():
    """Two hubs, joined, with 200,000 neighbours each: pairs around them would take hundreds of GiB."""
    leaves = np.arange(2, 200_002)
    hubs = np.repeat([0, 1], len(leaves))
    edges = np.stack((np.append(hubs, 0), np.append(np.tile(leaves, 2), 1)))
    found = forman_curvature(np.concatenate((edges, edges[::-1]), axis=1))
    assert len(found) == 400_001
    assert found.max() == 4 - 200_001 - 200_001 + 3 * 200_000
    assert (found == 4 - 2 - 200_001 + 3).sum() == 400_000


@pytest.mark.parametrize(
    "graph", [nx.connected_watts_strogatz_graph(230, 4, 0.2, seed=4), nx.barabasi_albert_graph(230, 2, seed=1)]
)
def test_the_interval_is_that_of_the_spread_between_groups_of_64_references(graph):
    references = np.random.default_rng(6).choice(230, 200, replace=False)
    far = np.asarray(nx.floyd_warshall_numpy(graph))
    by_pairs, by_nodes = np.zeros(230), np.zeros(230)  # sums of curvatures, as each reference sees them
    for m in graph:
        seen = []
        for b, c in itertools.combinations(graph[m], 2):
            own = far[:, m] ** 2 + far[b, c] ** 2 / 4 - (far[:, b] ** 2 + far[:, c] ** 2) / 2
            seen.append(np.where(far[:, m] > 0, own / np.maximum(2 * far[:, m], 1), 0))
        by_pairs += np.sum(seen, axis=0)
        by_nodes += np.mean(seen, axis=0)
    pairs = sum(math.comb(graph.degree[m], 2) for m in graph)
    found = sectional_curvature(graph, references=200, seed=6)
    for values, count, (low, high) in ((by_pairs, pairs, found.interval), (by_nodes, 230, found.node_interval)):
        groups = values[references[:192]].reshape(3, 64).mean(axis=1)  # what is left over is no group
        error = t.ppf(0.975, 2) * groups.std(ddof=1) / math.sqrt(3) * math.sqrt(1 - 200 / 230)
        assert (high - low) / 2 == pytest.approx(error / count)


def test_intervals_of_components_add_up_as_squares_and_a_complete_one_adds_nothing():
    graph = nx.connected_watts_strogatz_graph(230, 4, 0.2, seed=4)
    alone = sectional_curvature(graph, references=200, seed=6)
    both = sectional_curvature(nx.disjoint_union(graph, nx.cycle_graph(50)), references=200, seed=6)
    assert (both.references, both.exact) == (250, False)
    pairs = sum(math.comb(graph.degree[m], 2) for m in graph)
    ratio = (both.interval[1] - both.interval[0]) / (alone.interval[1] - alone.interval[0])
    assert ratio == pytest.approx(pairs / (pairs + 50))
    ratio = (both.node_interval[1] - both.node_interval[0]) / (alone.node_interval[1] - alone.node_interval[0])
    assert ratio == pytest.approx(230 / 280)


def test_fewer_than_two_groups_say_nothing_about_the_error():
    graph = nx.connected_watts_strogatz_graph(150, 4, 0.2, seed=4)
    assert sectional_curvature(graph, references=127).interval == (-math.inf, math.inf)
    low, high = sectional_curvature(graph, references=128).interval
    assert math.isfinite(high - low)


def test_references_are_sampled_beyond_a_number_of_nodes(monkeypatch):
    monkeypatch.setattr(module, "REFERENCES", 40)
    monkeypatch.setattr(module, "SAMPLED", 10)
    assert sectional_curvature(cycle(40)).references == 40
    assert sectional_curvature(cycle(41)).references == 10
    assert sectional_curvature(cycle(41), exact=True).references == 41
    assert sectional_curvature(cycle(41), references=41).exact
    assert sectional_curvature(cycle(41), references=2).references == 2
