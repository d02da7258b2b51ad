import sys

import numpy as np
import pytest
import torch

from qgcn import metrics, parse_space
from qgcn.data import read_graph, ring_of_trees
from qgcn.viz.report import Subject, embed
from reports import points_of


@pytest.fixture(scope="module")
def data():
    return read_graph(ring_of_trees(4, 2, 1))


def test_embed_gathers_columns_views_and_precision(data):
    space = parse_space("Q3,2")
    points = points_of(space, 12)
    embedded, notices = embed(points, space, data, data.node_ids, umap=False)
    assert notices == []
    assert [column.name for column in embedded.columns] == ["community", "degree"]
    assert embedded.columns[1].values.tolist() == [4.0] * 4 + [1.0] * 8
    assert embedded.edges.shape == (2, 12)
    assert (embedded.edges[0] < embedded.edges[1]).all()
    assert embedded.exact.shape == "ring"
    torch.testing.assert_close(embedded.precision.nanmean(), metrics.mean_average_precision(points, data.edge_index, space))
    assert [quality.title for quality in embedded.quality] == ["Neighbours found, by degree"]


def test_points_without_a_graph_are_shown_alone():
    space = parse_space("H2")
    embedded, _ = embed(points_of(space, 5), space, None, np.array(list("abcde")), umap=False)
    assert (embedded.edges, embedded.columns, embedded.precision) == (None, [], None)
    assert embedded.names == list("abcde")


def test_progress_names_what_is_done(data):
    told = []
    embed(
        points_of(parse_space("E2"), 12), parse_space("E2"), data, data.node_ids, umap=False, progress=lambda *s: told.append(s)
    )
    assert told == [("communities",), ("how well neighbours are nearest points",)]


def test_a_missing_umap_is_a_notice(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    space = parse_space("E2")
    embedded, notices = embed(points_of(space, 12), space, data, data.node_ids)
    assert embedded.layouts == {}
    assert embedded.exact.coordinates.shape == (12, 2)
    assert len(notices) == 1
    assert "umap-learn is not installed" in notices[0]


def test_nothing_is_left_if_no_point_is_finite():
    embedded, notices = embed(torch.full((3, 2), torch.nan), parse_space("E2"), None, np.arange(3), umap=False)
    assert embedded is None
    assert notices == ["3 of 3 points are not finite, the first that of node 0: they are left out of the views."]


def test_a_subject_needs_a_name_settings_and_words_only():
    subject = Subject("mine", {}, ["Made up."])
    assert (subject.titles, subject.errors, subject.held_out, subject.curve_metric) == ({}, (), False, "")


def test_edges_know_which_way_they_lead_if_that_matters():
    space = parse_space("E2")
    data = read_graph(np.array([[0, 2, 1, 2, 3], [1, 1, 2, 0, 2]]))
    embedded, _ = embed(points_of(space, 4), space, data, data.node_ids, umap=False, directed=True)
    assert embedded.edges.tolist() == [[0, 0, 1, 2], [1, 2, 2, 3]]
    assert embedded.ways.tolist() == [1, 2, 3, 2]
    assert embed(points_of(space, 4), space, data, data.node_ids, umap=False)[0].ways is None


def test_ways_of_edges_go_with_them_when_points_are_left_out():
    space, points = parse_space("E2"), points_of(parse_space("E2"), 4)
    points[0] = torch.nan
    data = read_graph(np.array([[0, 2, 1, 2, 3], [1, 1, 2, 0, 2]]))
    embedded, _ = embed(points, space, data, data.node_ids, umap=False, directed=True)
    assert embedded.edges.tolist() == [[0, 1], [1, 2]]
    assert embedded.ways.tolist() == [3, 2]
