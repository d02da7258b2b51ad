"""Signs of eigenvalues of known metrics."""

import json

import networkx as nx
import numpy as np
import pytest

from qgcn.analysis import distance_spectrum, spectrum
from qgcn.data import cycle, grid, tree


def test_a_path_is_a_line():
    found = distance_spectrum(nx.path_graph(30), 5)
    assert (found.negative, found.space_dim, found.time_dim) == (0, 1, 0)
    assert found.explained == pytest.approx(1)
    assert found.signature == "Q5,1"


def test_a_complete_graph_is_a_simplex():
    found = distance_spectrum(nx.complete_graph(7), 6)
    assert (found.negative, found.space_dim, found.time_dim) == (0, 6, 0)
    assert found.eigenvalues[:6] == pytest.approx(1 / 6)


def test_a_square_needs_two_dimensions_and_one_of_time():
    # squared distances 1, 4, 1: eigenvalues 2, 2 and -1 of the Gram matrix, besides 0
    found = distance_spectrum(cycle(4), 4)
    assert found.eigenvalues == pytest.approx(np.array([0.4, 0.4, -0.2, 0]))
    assert found.negative == pytest.approx(0.2)
    assert (found.space_dim, found.time_dim, found.signature) == (2, 1, "Q3,2")


def test_cycles_need_more_negative_eigenvalues_than_trees():
    assert distance_spectrum(tree(2, 6)).negative < 0.1 < 0.2 < distance_spectrum(cycle(64)).negative


def test_samples_agree_with_the_whole(monkeypatch):
    whole = distance_spectrum(grid(20, 20))
    monkeypatch.setattr(spectrum, "NODES", 200)
    some = distance_spectrum(grid(20, 20))
    assert (some.exact, some.samples, some.nodes) == (False, 5, 200)
    assert some.negative == pytest.approx(whole.negative, abs=0.02)
    assert some.negative_range[0] <= some.negative <= some.negative_range[1]
    assert distance_spectrum(grid(20, 20), exact=True).negative == whole.negative
    monkeypatch.setattr(spectrum, "LARGE", 399)
    fewer = distance_spectrum(grid(20, 20))
    assert (fewer.exact, fewer.samples) == (False, 2)
    assert fewer.negative == pytest.approx(whole.negative, abs=0.02)


def test_only_the_largest_component_counts():
    graph = nx.disjoint_union(nx.path_graph(9), nx.cycle_graph(4))
    found = distance_spectrum(graph, 3)
    assert (found.nodes, found.negative) == (9, 0)
    assert any("2 components" in remark for remark in found.remarks)


def test_too_large_is_refused_with_an_estimate(monkeypatch):
    monkeypatch.setattr(spectrum, "MOST_NODES", 100)
    with pytest.raises(ValueError, match=r"144 nodes would take about 0 minutes and 0\.0 GiB"):
        distance_spectrum(grid(12, 12), exact=True)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="dim must be at least 1, got 0"):
        distance_spectrum(cycle(5), 0)
    with pytest.raises(ValueError, match="has no edges"):
        distance_spectrum(nx.empty_graph(3))


def test_as_dict_is_json():
    assert len(json.loads(json.dumps(distance_spectrum(grid(12, 12)).as_dict()))["eigenvalues"]) == 100


def test_the_share_explained_is_that_of_the_squares_of_doubly_centred_distances():
    graph = nx.lollipop_graph(5, 6)
    hops = np.asarray(nx.floyd_warshall_numpy(graph)) ** 2
    centre = np.eye(11) - 1 / 11
    values = np.linalg.eigvalsh(-centre @ hops @ centre / 2)
    values = values[np.argsort(-np.abs(values))]
    found = distance_spectrum(graph, 3, exact=True)
    assert found.explained == pytest.approx((values[:3] ** 2).sum() / (values**2).sum())
    assert found.eigenvalues == pytest.approx(values / np.abs(values).sum(), abs=1e-12)
    assert found.negative == pytest.approx(-values[values < 0].sum() / np.abs(values).sum())


def test_one_dimension_is_enough_and_none_is_not():
    assert distance_spectrum(nx.cycle_graph(5), 1, exact=True).dim == 1
    with pytest.raises(ValueError, match="dim"):
        distance_spectrum(nx.cycle_graph(5), 0)


def test_the_estimate_grows_with_the_cube_and_the_square():
    # 6 ns times 30,000 cubed are 2,700 minutes, 24 bytes times 30,000 squared 20.1 GiB
    with pytest.raises(ValueError, match=r"30,000 nodes would take about 2,700 minutes and 20\.1 GiB \(at most 12,000 nodes"):
        distance_spectrum(cycle(30_000), exact=True)
