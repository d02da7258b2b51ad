"""The direction of edges in numbers."""

import json

import networkx as nx
import numpy as np
import pytest
import scipy.sparse.linalg

from qgcn.analysis import Shape, measure, measure_arrows
from qgcn.analysis.arrows import trophic_levels
from qgcn.data import read_graph


def drawn(seed=0, nodes=40, edges=120):
    return nx.gnm_random_graph(nodes, edges, seed=seed, directed=True)


def test_numbers_are_those_of_networkx():
    graph = drawn()
    found = measure_arrows(read_graph(graph))
    parts = [len(part) for part in nx.strongly_connected_components(graph)]
    assert (found.edges, found.strong, found.largest) == (120, len(parts), max(parts))
    assert found.reciprocity == pytest.approx(nx.overall_reciprocity(graph))
    assert 0 < found.reciprocity < 1
    assert found.sources == sum(graph.in_degree(k) == 0 < graph.out_degree(k) for k in graph)
    assert found.sinks == sum(graph.out_degree(k) == 0 < graph.in_degree(k) for k in graph)
    assert not found.acyclic


def test_a_graph_without_cycles_is_recognised():
    assert measure_arrows(read_graph([(0, 1), (1, 2), (0, 2)])).acyclic
    assert not measure_arrows(read_graph([(0, 1), (1, 2), (2, 0)])).acyclic


def test_levels_are_the_least_squares():
    graph = drawn(1)
    source, target = np.array(graph.edges).T
    levels = trophic_levels(source, target, 40)
    rise = np.zeros((120, 40))
    rise[np.arange(120), target] += 1
    rise[np.arange(120), source] -= 1
    best = np.linalg.lstsq(rise, np.ones(120), rcond=None)[0]
    np.testing.assert_allclose(rise @ levels, rise @ best, atol=1e-6)
    assert levels.min() == 0
    assert measure_arrows(read_graph(graph)).incoherence == pytest.approx(np.square(rise @ best - 1).mean())


def test_levels_of_each_part_begin_at_zero():
    levels = trophic_levels(np.array([0, 1, 4]), np.array([1, 2, 3]), 6)
    np.testing.assert_allclose(levels, [0, 1, 2, 1, 0, 0], atol=1e-8)


@pytest.mark.parametrize("kind", ["path", "tree", "comb", "cycle"])
def test_levels_of_forests_and_cycles_need_no_iteration(kind, monkeypatch):
    """One step of the iteration reaches no farther than an edge: a long path would take as many as it has nodes."""
    steps, nodes = [], np.arange(1, 3001)
    above = {"path": nodes - 1, "tree": nodes // 7, "comb": np.where(nodes % 2, nodes - 1, np.maximum(nodes - 2, 0))}
    source, target = (np.arange(3001), np.roll(np.arange(3001), -1)) if kind == "cycle" else (above[kind], nodes)
    turned = np.zeros(len(source), bool) if kind == "cycle" else np.random.default_rng(0).random(len(source)) < 0.3
    source, target = np.where(turned, target, source), np.where(turned, source, target)
    own = scipy.sparse.linalg.cg
    monkeypatch.setattr(scipy.sparse.linalg, "cg", lambda *given, **more: own(*given, **more, callback=steps.append))
    levels = trophic_levels(source, target, 3002)
    assert len(steps) <= 1
    assert levels.min() == levels[-1] == 0
    np.testing.assert_allclose(levels[target] - levels[source], 0 if kind == "cycle" else 1, atol=1e-9)


def test_coherence_is_perfect_on_a_path_and_none_on_a_cycle():
    path = measure_arrows(read_graph([(k, k + 1) for k in range(9)]))
    assert path.incoherence == pytest.approx(0, abs=1e-9)
    assert path.levels.max() == pytest.approx(9)
    assert measure_arrows(read_graph([(k, (k + 1) % 9) for k in range(9)])).incoherence == pytest.approx(1)


def test_an_undirected_graph_has_no_arrows():
    assert measure_arrows(read_graph(np.array([[0, 1, 1, 2], [1, 0, 2, 1]]))) is None


def test_measure_tells_of_arrows():
    found = measure(drawn(), 4, samples=100)
    assert found.arrows.edges == 120
    told = json.loads(json.dumps(found.as_dict(), allow_nan=False))["arrows"]
    assert told["strongly_connected_parts"] == found.arrows.strong
    assert told["acyclic"] is False
    assert measure(Shape.of(drawn()), 4, samples=100).arrows is None
    assert measure("cycle", 4, samples=100).as_dict()["arrows"] is None
