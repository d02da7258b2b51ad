"""All measurements at once are those made one by one."""

import json

import networkx as nx
import numpy as np
import pytest

from qgcn.analysis import Shape, distance_spectrum, forman_curvature, gromov_hyperbolicity, measure, sectional_curvature
from qgcn.analysis import hyperbolicity as module


def test_measure_returns_what_each_function_measures():
    shape = Shape.of("ring-of-trees")
    found = measure(shape, 4, samples=1000, seed=3)
    assert found.shape is shape
    assert found.hyperbolicity == gromov_hyperbolicity(shape, samples=1000, seed=3)
    np.testing.assert_array_equal(found.curvature.nodes, sectional_curvature(shape, seed=3).nodes)
    np.testing.assert_array_equal(found.spectrum.eigenvalues, distance_spectrum(shape, 4, seed=3).eigenvalues)
    np.testing.assert_array_equal(found.forman, forman_curvature(shape))
    assert found.hyperbolicity.worst is None


def test_exact_finds_the_worst_delta():
    assert measure("ring-of-trees", exact=True).hyperbolicity.worst == 3


def test_exact_is_refused_before_anything_is_measured(monkeypatch):
    monkeypatch.setattr(module, "MOST_MEMORY", 1000)
    told = []
    with pytest.raises(ValueError, match="too large for the exact worst delta"):
        measure("cycle", exact=True, progress=lambda *stage: told.append(stage))
    assert told == []


def test_as_dict_is_plain_data():
    found = measure("ring-of-trees", 4).as_dict()
    assert json.loads(json.dumps(found, allow_nan=False))["graph"] == "ring-of-trees"
    assert (found["nodes"], found["edges"], found["components"]) == (180, 180, 1)
    assert found["forman_curvature"]["negative"] == (forman_curvature("ring-of-trees") < 0).mean()


def test_a_graph_without_planes_has_no_sectional_curvature():
    found = measure(nx.Graph([(0, 1), (2, 3)]))
    assert found.curvature is None
    assert found.as_dict()["sectional_curvature"] is None


def test_progress_names_the_stages():
    told = []
    measure("ring-of-trees", exact=True, progress=lambda *stage: told.append(stage))
    names = [stage[0] for stage in told]
    assert sorted(set(names), key=names.index) == ["spectrum", "sectional curvature", "delta", "worst delta"]
    assert told[-1][1] == told[-1][2]


def test_what_is_no_graph_is_refused():
    with pytest.raises(ValueError, match="corra"):
        measure("corra")
