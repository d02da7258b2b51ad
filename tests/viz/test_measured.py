import json

import networkx as nx
import pytest

from qgcn.analysis import Shape, distance_spectrum, forman_curvature, gromov_hyperbolicity, sectional_curvature
from qgcn.viz.measured import measure_graph


def words_of(graph):
    return " ".join(measure_graph(graph)["words"])


def test_measure_graph_returns_what_the_measurements_say():
    found = measure_graph("ring-of-trees", 6)
    delta, curvature = gromov_hyperbolicity("ring-of-trees"), sectional_curvature("ring-of-trees")
    spectrum, forman = distance_spectrum("ring-of-trees", 6), forman_curvature("ring-of-trees")
    facts, charts = found["facts"], {chart["title"]: chart for chart in found["charts"]}
    assert found["graph"] == "ring-of-trees"
    assert facts["nodes"] == "180"
    assert facts["diameter"] == "12"
    assert facts["mean delta"].startswith(f"{delta.mean:.3f} (")
    assert facts["sectional curvature, pairs"] == f"{curvature.mean:.2f}".replace("-", "\N{MINUS SIGN}")
    assert facts["Forman curvature, mean"] == f"{forman.mean():.2f}".replace("-", "\N{MINUS SIGN}")
    assert facts["split of 6 coordinates"].startswith(f"{spectrum.signature} (")
    assert charts["Delta of four nodes"]["x"] == list(delta.shares)
    assert charts["Delta of four nodes"]["y"] == pytest.approx([100 * share for share in delta.shares.values()])
    assert charts["Spectrum of the squared distances"]["y"] == pytest.approx(100 * spectrum.eigenvalues[:20])


def test_measure_graph_is_plain_data_and_charts_hold_all():
    found = measure_graph("ring-of-trees")
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for chart in found["charts"]:
        assert set(chart) == {"title", "about", "kind", "x_label", "y_label", "x", "y"}
        assert len(chart["x"]) == len(chart["y"]) > 0
    delta, curvature, forman, _ = found["charts"]
    for chart in (delta, curvature, forman):
        assert sum(chart["y"]) == pytest.approx(100)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (nx.balanced_tree(2, 4), ["is a tree, or as good as one", "the graph branches", "is negative"]),
        (nx.cycle_graph(30), ["far from a tree", "clusters and cycles prevail"]),
        (nx.path_graph(12), ["is a tree", "neither prevails", "no negative part"]),
        (nx.windmill_graph(8, 4), ["hubs branch like trees, while clusters and cycles prevail"]),
    ],
)
def test_words_say_what_a_graph_is_like(graph, expected):
    words = words_of(graph)
    for part in expected:
        assert part in words


def test_a_graph_without_planes_is_measured_without_sectional_curvature():
    found = measure_graph(nx.Graph([(0, 1), (2, 3)]))
    assert "Sectional curvature" not in [chart["title"] for chart in found["charts"]]
    assert "2 components" in found["words"][-1]
    assert not any("curvature, pairs" in name for name in found["facts"])


def test_hubs_do_not_stretch_the_chart_of_forman_curvature():
    graph = nx.disjoint_union(nx.cycle_graph(4000), nx.star_graph(100))
    chart = measure_graph(graph)["charts"][2]
    assert chart["title"] == "Forman curvature"
    assert chart["x"] == [0]
    assert "2.4\N{NO-BREAK SPACE}% of them, at hubs or in dense clusters, lie beyond" in chart["about"]


def test_progress_is_told_and_a_shape_is_taken_as_it_is():
    told = []
    measure_graph(Shape.of("ring-of-trees"), tell=told.append)
    assert told[0] == "the geometry of ring-of-trees: delta"
    assert told[-1] == "the geometry of ring-of-trees: spectrum, 100\N{NO-BREAK SPACE}%"


def test_measure_graph_refuses_what_is_no_graph():
    with pytest.raises(ValueError, match="corra"):
        measure_graph("corra")
