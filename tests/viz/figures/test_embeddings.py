"""Figures are compared by what is in them, never pixel by pixel."""

import numpy as np
import pytest

from qgcn.manifolds import parse_space
from qgcn.tasks.insights import Column
from qgcn.viz import figures
from qgcn.viz.projections import disk_of, exact_view
from reports import points_of, subject_of


@pytest.fixture(scope="module")
def embedded():
    return subject_of(count=40).embedded


def offsets(axis):
    return np.concatenate([drawn.get_offsets() for drawn in axis.collections if len(drawn.get_offsets()) > 1])


def test_submanifolds_are_the_three_of_the_paper():
    figure = figures.submanifolds()
    titles = [axis.get_title() for axis in figure.axes]
    assert [title.split("\n")[0] for title in titles] == ["one-sheet hyperboloid", "double cone", "two-sheet hyperboloid"]
    assert [axis.get_zlabel() for axis in figure.axes] == ["$x_1$"] * 3
    surfaces = [sum("Poly3D" in type(drawn).__name__ for drawn in axis.collections) for axis in figure.axes]
    assert surfaces == [1, 2, 2]
    with pytest.raises(ValueError, match="beta must be negative"):
        figures.submanifolds(1.0)


def test_sphere_shows_each_node_on_one_side(embedded):
    column = embedded.columns[0]
    figure = figures.sphere(embedded.layouts["sphere"], column)
    front, back = figure.axes
    assert (front.get_title(), back.get_title()) == ("front", "back")
    assert len(offsets(front)) + len(offsets(back)) == 40
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(column.labels)
    assert figure.legends[0].get_title().get_text() == column.name


def test_disk_shows_points_and_geodesics(embedded):
    layout = embedded.layouts["hyperboloid"]
    figure = figures.disk(layout, embedded.columns[-1], embedded.edges)
    axis, bar = figure.axes
    np.testing.assert_allclose(offsets(axis), disk_of(layout))
    (lines,) = [drawn for drawn in axis.collections if hasattr(drawn, "get_segments")]
    assert len(lines.get_segments()) == embedded.edges.shape[1]
    ends = np.array([[path[0], path[-1]] for path in lines.get_segments()])
    np.testing.assert_allclose(ends, disk_of(layout)[embedded.edges.T], atol=1e-9)
    assert max(np.linalg.norm(path, axis=1).max() for path in lines.get_segments()) < 1
    assert bar.get_ylabel() == "degree"


def test_hyperboloid_has_named_axes(embedded):
    axis = figures.hyperboloid(embedded.layouts["hyperboloid"]).axes[0]
    assert (axis.get_xlabel(), axis.get_ylabel(), axis.get_zlabel()) == ("$u$", "$v$", "$w$")


@pytest.mark.parametrize("name", ["Q4,1", "Q3,2", "Q3,3", "H3"])
def test_exact_has_all_points_and_named_axes(name):
    space = parse_space(name)
    view = exact_view(points_of(space, 25), space)
    axis = figures.exact(view).axes[0]
    assert axis.get_xlabel()
    assert axis.get_ylabel()
    if view.shape == "plane":
        np.testing.assert_allclose(offsets(axis), view.coordinates)
        assert axis.get_xlabel() == view.axes[0]


def test_many_categories_share_a_colour():
    column = Column.of_categories("community", np.repeat(range(12), range(12, 0, -1)), [str(k) for k in range(12)])
    layout = np.column_stack((np.zeros((78, 2)), np.ones(78)))
    figure = figures.disk(layout, column)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [*map(str, range(8)), "others"]


def test_a_column_of_other_length_is_refused(embedded):
    with pytest.raises(ValueError, match="'degree' must have a value for each of the 40 points, got 2"):
        figures.disk(embedded.layouts["hyperboloid"], Column("degree", np.zeros(2)))
