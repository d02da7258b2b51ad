"""What a page shows of a large graph: a connected part, told from all of its nodes."""

import numpy as np
import pytest
import torch

from qgcn import metrics, parse_space
from qgcn.data import read_graph, tree
from qgcn.viz.report import embed, subject
from qgcn.viz.report.shown import Shown, part_of
from reports import points_of

SPACE = parse_space("Q3,2")


@pytest.fixture
def data():
    graph = read_graph(tree(3, 4))  # 121 nodes
    graph.y = torch.arange(121) % 3
    graph.class_names = ["a", "b", "c"]
    return graph


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(subject, "MOST_NODES", 100)
    monkeypatch.setattr(subject, "PART", 40)


def test_a_part_is_what_a_search_meets_first(data):
    whole = Shown.of(points_of(SPACE, 121), data.node_ids, [], data)
    mask = part_of(whole, 4, start=0)
    assert np.flatnonzero(mask).tolist() == [0, 1, 2, 3]  # the root and its children
    kept = whole.keep(mask)
    assert kept.edges.tolist() == [[0, 0, 0], [1, 2, 3]]
    assert kept.degree.tolist() == [3, 4, 4, 4]
    assert kept.ids.tolist() == [0, 1, 2, 3]
    assert kept.y.tolist() == [0, 1, 2, 0]
    assert part_of(whole, 30).sum() == 30
    assert part_of(whole, 500).all()
    assert np.array_equal(part_of(whole, 30), part_of(whole, 30))


def test_without_a_graph_nodes_are_drawn():
    whole = Shown.of(points_of(SPACE, 50), np.arange(50), [], None)
    mask = part_of(whole, 7)
    assert mask.sum() == 7
    assert whole.keep(mask).ids.tolist() == np.flatnonzero(mask).tolist()


@pytest.mark.usefixtures("small")
def test_of_a_large_graph_a_part_is_shown_and_measured_among_all_nodes(data):
    points, space = points_of(SPACE, 121), SPACE
    embedded, notices = embed(points, space, data, data.node_ids, umap=False, around=0)
    assert len(notices) == 1
    assert notices[0].startswith("Views show 40 of 121 nodes, a connected part;")
    places = [int(name) for name in embedded.names]
    assert places == list(range(40))
    assert embedded.points.shape == (40, 5)
    assert [column.name for column in embedded.columns] == ["class", "community", "degree"]
    assert all(len(column.values) == 40 for column in embedded.columns)
    assert embedded.columns[-1].values.tolist() == [3.0] + [4.0] * 39  # in the whole graph
    assert embedded.edges.max() == 39
    every = metrics.node_precision(points, data.edge_index, space)
    torch.testing.assert_close(embedded.precision, every[:40])
    assert [quality.title for quality in embedded.quality] == ["Neighbours found, by degree", "Neighbours found, by class"]


@pytest.mark.usefixtures("small")
def test_a_graph_that_is_not_large_is_shown_whole():
    graph = read_graph(tree(2, 5))  # 63 nodes
    embedded, notices = embed(points_of(SPACE, 63), SPACE, graph, graph.node_ids, umap=False)
    assert (len(embedded.names), notices) == (63, [])
