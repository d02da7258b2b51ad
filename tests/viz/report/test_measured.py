import json

import networkx as nx
import pytest

from qgcn.analysis import measure
from qgcn.viz.report import graph_section


def section_of(graph, dim=10):
    return graph_section(measure(graph, dim))


def test_graph_section_returns_the_measurements():
    measured = measure("ring-of-trees", 6)
    found = graph_section(measured)
    delta, curvature, spectrum, forman = measured.hyperbolicity, measured.curvature, measured.spectrum, measured.forman
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


def test_graph_section_is_plain_data_and_charts_hold_all():
    found = section_of("ring-of-trees")
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
    words = " ".join(section_of(graph)["words"])
    for part in expected:
        assert part in words


def test_a_graph_without_planes_is_measured_without_sectional_curvature():
    found = section_of(nx.Graph([(0, 1), (2, 3)]))
    assert "Sectional curvature" not in [chart["title"] for chart in found["charts"]]
    assert "2 components" in found["words"][-1]
    assert not any("curvature, pairs" in name for name in found["facts"])


def test_hubs_do_not_stretch_the_chart_of_forman_curvature():
    graph = nx.disjoint_union(nx.cycle_graph(4000), nx.star_graph(100))
    chart = section_of(graph)["charts"][2]
    assert chart["title"] == "Forman curvature"
    assert chart["x"] == [0]
    assert "2.4\N{NO-BREAK SPACE}% of them, at hubs or in dense clusters, lie beyond" in chart["about"]
