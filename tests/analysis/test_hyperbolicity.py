"""Graphs with known delta, brute force on small ones, and what cannot be measured."""

import itertools
import math
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from scipy.stats import binomtest, t
from torch_geometric.data import Data

from qgcn.analysis import gromov_hyperbolicity, hyperbolicity
from qgcn.data import cycle, grid, tree
from qgcn.data.hops import Shape


def brute_force(graph):
    """Every delta, from all quadruples of nodes that paths join."""
    far = dict(nx.all_pairs_shortest_path_length(graph))
    deltas = []
    for a, b, c, d in itertools.combinations(graph, 4):
        if all(other in far[a] for other in (b, c, d)):
            sums = sorted((far[a][b] + far[c][d], far[a][c] + far[b][d], far[a][d] + far[b][c]))
            deltas.append((sums[2] - sums[1]) / 2)
    return deltas


@pytest.mark.parametrize("graph", [tree(2, 5), tree(5, 2), nx.path_graph(40), nx.star_graph(9)])
def test_delta_of_a_tree_is_zero(graph):
    found = gromov_hyperbolicity(graph, exact=True)
    assert (found.worst, found.largest, found.mean, found.relative) == (0, 0, 0, 0)
    assert found.shares == {0.0: 1.0}
    assert found.witness is None


@pytest.mark.parametrize("nodes", [*range(3, 26), 64, 65, 66, 67])
def test_delta_of_a_cycle_is_a_quarter_of_it(nodes):
    expected = nodes // 4 - (0.5 if nodes % 4 == 1 else 0)
    assert gromov_hyperbolicity(cycle(nodes), exact=True).worst == expected


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (2, 7), (4, 4), (5, 9), (8, 12)])
def test_delta_of_a_grid_is_its_shorter_side(rows, columns):
    assert gromov_hyperbolicity(grid(rows, columns), exact=True).worst == min(rows, columns) - 1


@pytest.mark.parametrize("nodes", [2, 3, 4, 12])
def test_delta_of_a_complete_graph_is_zero(nodes):
    assert gromov_hyperbolicity(nx.complete_graph(nodes), exact=True).worst == 0


@pytest.mark.parametrize("seed", range(25))
def test_worst_delta_is_that_of_brute_force(seed):
    graph = nx.gnm_random_graph(13, 12 + seed % 14, seed=seed)
    deltas = brute_force(graph)
    found = gromov_hyperbolicity(graph, exact=True)
    assert found.worst == found.worst_at_most == max(deltas, default=0)
    assert found.complete
    assert found.mean == pytest.approx(np.mean(deltas) if deltas else 0)
    assert found.shares == {k: pytest.approx(deltas.count(k) / len(deltas)) for k in found.shares} or not deltas


@pytest.mark.parametrize("seed", range(4))
def test_worst_delta_of_larger_graphs_has_a_witness(seed):
    graph = nx.connected_watts_strogatz_graph(160, 4, 0.15, seed=seed)
    found = gromov_hyperbolicity(nx.relabel_nodes(graph, {node: f"n{node}" for node in graph}), exact=True)
    nodes = [int(name[1:]) for name in found.witness]
    assert max(brute_force_of(graph, nodes)) == found.worst >= found.largest
    assert found.worst <= nx.diameter(graph) / 2
    assert found.diameter == nx.diameter(graph)
    assert found.relative == 2 * found.worst / found.diameter


def brute_force_of(graph, nodes):
    far = dict(nx.all_pairs_shortest_path_length(graph))
    a, b, c, d = nodes
    sums = sorted((far[a][b] + far[c][d], far[a][c] + far[b][d], far[a][d] + far[b][c]))
    return [(sums[2] - sums[1]) / 2]


def test_intervals_hold_the_truth():
    graph = nx.connected_watts_strogatz_graph(40, 4, 0.2, seed=1)
    deltas = brute_force(graph)
    inside = total = 0
    for seed in range(40):
        found = gromov_hyperbolicity(graph, samples=2000, seed=seed)
        assert not found.complete
        for delta, (low, high) in found.intervals.items():
            total += 1
            inside += low <= deltas.count(delta) / len(deltas) <= high
        total += 1
        inside += found.mean_interval[0] <= np.mean(deltas) <= found.mean_interval[1]
    assert 0.90 < inside / total <= 1


def test_large_components_are_sampled_in_groups(monkeypatch):
    monkeypatch.setattr(hyperbolicity, "LARGE", 4200)
    graph = grid(65, 65)
    found = gromov_hyperbolicity(graph, samples=20_000)
    plain = gromov_hyperbolicity(grid(64, 64), samples=20_000)
    assert found.sampled_diameter
    assert not plain.sampled_diameter
    low, high = found.mean_interval
    assert high - low > plain.mean_interval[1] - plain.mean_interval[0]
    assert low / 64 < plain.mean / 63 < high / 64


def test_samples_are_shared_out_among_components_of_any_size():
    """A component of a million nodes has 4e22 quadruples: more than an integer of 64 bits holds."""
    large = math.comb(1_000_000, 4)
    drawn = hyperbolicity.shared_out(1000, [large, 0, large], np.random.default_rng(0))
    assert sum(drawn) == 1000
    assert drawn[1] == 0
    assert 400 < drawn[0] < 600
    assert hyperbolicity.shared_out(1000, [large, 1], np.random.default_rng(0)) == [1000, 0]


def test_disconnected_graphs_are_measured_by_component():
    graph = nx.disjoint_union_all([nx.cycle_graph(12), nx.path_graph(50), nx.empty_graph(3)])
    found = gromov_hyperbolicity(graph, exact=True)
    assert (found.worst, found.diameter, found.components) == (3, 49, 2)
    assert any(remark.startswith("5 components") for remark in found.remarks)
    weights = math.comb(12, 4), math.comb(50, 4)
    assert 1 - found.shares[0.0] == pytest.approx(weights[0] * 0.5 / sum(weights), abs=0.01)


def test_same_seed_same_numbers():
    first, second, third = (gromov_hyperbolicity("torus", samples=500, seed=seed) for seed in (3, 3, 4))
    assert first == second != third


def test_every_kind_of_graph_is_taken(tmp_path):
    edges = cycle(8)
    (tmp_path / "ring.csv").write_text("".join(f"{a},{b}\n" for a, b in edges.T.tolist()))
    matrix = csr_array((np.ones(16), edges.numpy()), shape=(8, 8))
    for graph in (edges, edges.numpy(), Data(edge_index=edges, num_nodes=8), matrix, nx.cycle_graph(8), tmp_path / "ring.csv"):
        assert gromov_hyperbolicity(graph, exact=True).worst == 2


def test_direction_does_not_matter():
    assert gromov_hyperbolicity(nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 0)]), exact=True).worst == 1


def test_time_limit_gives_bounds():
    graph = nx.connected_watts_strogatz_graph(300, 6, 0.1, seed=0)
    found, truth = (gromov_hyperbolicity(graph, exact=True, seconds=limit) for limit in (1 / 10**9, None))
    assert found.worst <= truth.worst <= found.worst_at_most <= truth.diameter / 2
    assert found.worst < found.worst_at_most


def test_too_large_for_the_exact_mode_is_refused_with_an_estimate(monkeypatch):
    monkeypatch.setattr(hyperbolicity, "MOST_SECONDS", 1 / 10**6)
    with pytest.raises(ValueError, match=r"too large .* a block of 400 nodes would take about 0 seconds and 0\.0 GiB"):
        gromov_hyperbolicity(grid(20, 20), exact=True)
    assert gromov_hyperbolicity(tree(3, 5), exact=True).worst == 0  # its blocks are edges


def test_a_cycle_of_a_hundred_thousand_nodes_is_refused():
    with pytest.raises(ValueError, match=r"100,000 nodes would take about 12 days and 55\.9 GiB"):
        gromov_hyperbolicity(cycle(100_000), exact=True)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.empty_graph(1), "has no edges"),
        (nx.empty_graph(5), "has no edges"),
        (torch.empty(2, 0, dtype=torch.long), "has no edges"),
        (nx.Graph([(0, 0)]), "has no edges"),
        (csr_array(np.array([[0.0, -1.0], [-1.0, 0.0]])), "negative"),
        ("corra", "did you mean 'cora'"),
    ],
)
def test_what_is_no_graph_is_refused(graph, message):
    with pytest.raises(ValueError, match=message):
        gromov_hyperbolicity(graph)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="samples must be at least 1, got 0"):
        gromov_hyperbolicity(cycle(5), samples=0)
    with pytest.raises(ValueError, match="seconds must be positive"):
        gromov_hyperbolicity(cycle(5), exact=True, seconds=0)
    with pytest.raises(TypeError, match="graph must be"):
        gromov_hyperbolicity(7)


def test_as_dict_is_json():
    import json

    found = gromov_hyperbolicity(cycle(12), exact=True)
    assert json.loads(json.dumps(found.as_dict()))["worst"] == 3


def test_a_graph_of_three_nodes_is_a_tree_for_certain():
    found = gromov_hyperbolicity(nx.path_graph(3))
    assert (found.shares, found.intervals) == ({0.0: 1.0}, {0.0: (1.0, 1.0)})
    assert (found.mean, found.mean_interval, found.largest) == (0.0, (0.0, 0.0), 0.0)


def test_likeness_changes_at_its_bounds():
    found = replace(gromov_hyperbolicity(cycle(12)), diameter=10, largest=1.0)
    assert replace(found, mean=0.24).likeness == "mostly tree-like"
    assert replace(found, mean=0.25).likeness == "in between tree and cycle"
    assert replace(found, mean=0.59).likeness == "in between tree and cycle"
    assert replace(found, mean=0.6).likeness == "far from a tree"
    assert replace(found, mean=0.0, largest=0.0).likeness == "a tree, or as good as one"


def test_the_exact_mode_is_refused_beyond_8_gib_and_an_hour(monkeypatch):
    hyperbolicity.check_exact(Shape.of(cycle(15_326)))  # 15,326 cubed nanoseconds are 3,599.8 s
    with pytest.raises(ValueError, match="15,327 nodes would take about 60 minutes"):
        hyperbolicity.check_exact(Shape.of(cycle(15_327)))
    monkeypatch.setattr(hyperbolicity, "MOST_SECONDS", math.inf)
    hyperbolicity.check_exact(Shape.of(cycle(37_837)))  # 6 times 37,837 squared are 8 GiB less 103,178 bytes
    monkeypatch.setattr(hyperbolicity, "_duration", str)  # which cannot tell infinity
    with pytest.raises(ValueError, match=r"37,838 nodes .* 8\.0 GiB \(at most"):
        hyperbolicity.check_exact(Shape.of(cycle(37_838)))


def test_just_the_time_and_memory_that_are_allowed_will_do(monkeypatch):
    monkeypatch.setattr(hyperbolicity, "MOST_SECONDS", hyperbolicity.search_seconds(40))
    monkeypatch.setattr(hyperbolicity, "MOST_MEMORY", hyperbolicity.search_memory(40))
    assert gromov_hyperbolicity(cycle(40), exact=True).worst == 10


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (119, "119 seconds"),
        (120, "2 minutes"),
        (7199, "120 minutes"),
        (7200, "2 hours"),
        (172_800, "2 days"),
        (864_000, "10 days"),
    ],
)
def test_durations_are_told_in_the_largest_unit_of_which_there_are_two(seconds, words):
    assert hyperbolicity._duration(seconds) == words


@pytest.mark.parametrize(("hits", "number"), [(0, 5), (2, 4), (3, 50), (49, 50), (7, 7)])
def test_wilson_is_that_of_scipy(hits, number):
    expected = binomtest(hits, number).proportion_ci(method="wilson")
    assert hyperbolicity._wilson(hits / number, number) == pytest.approx(tuple(expected), abs=1e-6)


def test_the_interval_of_the_mean_is_1_96_standard_errors():
    none = np.full(4, -1)
    assert hyperbolicity._summary(np.array([0, 0, 2, 2]), none, False)[2:] == (0.5, pytest.approx((0.010009, 0.989991)))
    # deltas 0, 0, 0, 1: deviation sqrt(3)/4, and no delta is below 0
    assert hyperbolicity._summary(np.array([0, 0, 0, 2]), none, False)[2:] == (0.25, pytest.approx((0, 0.674345), abs=1e-6))


def test_intervals_of_groups_come_from_the_spread_between_them():
    rng = np.random.default_rng(0)
    groups = np.concatenate((rng.integers(63, size=150), [63, -1, -1, -1]))  # the last one has a single quadruple
    groups[groups == 5] = 6  # and one has none
    gaps = rng.choice(4, p=(0.02, 0.9, 0.05, 0.03), size=len(groups))
    shares, intervals, mean, interval = hyperbolicity._summary(gaps, groups, False)

    def half(values):
        means = [values[groups == group].mean() for group in range(64) if (groups == group).any()]
        return t.ppf(0.975, 63) * np.std(means, ddof=1) / 8

    assert mean == pytest.approx(gaps.mean() / 2)
    assert interval == pytest.approx((mean - half(gaps / 2), mean + half(gaps / 2)), abs=1e-6)
    for delta, share in shares.items():
        assert share == pytest.approx((gaps == 2 * delta).mean())
        width = half((gaps == 2 * delta).astype(float))
        assert intervals[delta] == pytest.approx((max(0, share - width), min(1, share + width)), abs=1e-6)
    few = hyperbolicity._summary(np.where(np.arange(154) < 150, 2, 0), groups, False)[1]
    assert (few[0.0][0], few[1.0][1]) == (0, 1)


def test_distances_in_parts_give_the_same_as_all_at_once(monkeypatch):
    graph = nx.disjoint_union(nx.connected_watts_strogatz_graph(700, 4, 0.05, seed=3), nx.cycle_graph(9))
    whole = [gromov_hyperbolicity(graph, samples=samples, seed=1) for samples in (1, 3000)]
    small = gromov_hyperbolicity(nx.cycle_graph(9), samples=126)
    assert small.complete
    monkeypatch.setattr(hyperbolicity, "SMALL", 0)
    assert [gromov_hyperbolicity(graph, samples=samples, seed=1) for samples in (1, 3000)] == whole
    assert gromov_hyperbolicity(nx.cycle_graph(9), samples=126) == small
    assert not gromov_hyperbolicity(nx.cycle_graph(9), samples=125).complete


def test_groups_of_large_components_are_of_nodes_that_stay_apart(monkeypatch):
    monkeypatch.setattr(hyperbolicity, "LARGE", 4096)
    component = Shape.of(cycle(4097)).components[0]
    gaps, groups, longest = hyperbolicity._measure(
        component, 3000, False, True, np.random.default_rng(2), lambda *_, **__: None
    )
    rng = np.random.default_rng(2)
    pool = rng.choice(4097, 4096, replace=False).reshape(64, 64)
    expected = rng.integers(64, size=3000)
    quads = pool[expected[:, None], hyperbolicity._distinct(64, 3000, rng)]
    far = abs(quads[:, :, None] - quads[:, None])
    far = np.minimum(far, 4097 - far)
    sums = np.sort([far[:, 0, 1] + far[:, 2, 3], far[:, 0, 2] + far[:, 1, 3], far[:, 0, 3] + far[:, 1, 2]], axis=0)
    # a cycle numbers its nodes in order, so that distances are those of numbers
    assert (groups == expected).all()
    assert (gaps == sums[2] - sums[1]).all()
    assert longest == 2048
    monkeypatch.setattr(hyperbolicity, "LARGE", 4097)
    assert not gromov_hyperbolicity(cycle(4097), samples=5).sampled_diameter
