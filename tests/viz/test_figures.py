"""Figures are compared by what is in them, never pixel by pixel."""

import matplotlib
import numpy as np
import pytest

from qgcn.manifolds import parse_space
from qgcn.tasks.insights import Column
from qgcn.viz import figures, style
from qgcn.viz.projections import disk_of, exact_view
from qgcn.viz.subject import Curve
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


def test_map_against_time_shows_mean_and_deviation():
    axis = figures.map_against_time({"ring": {1: [0.8, 0.9], 2: [1.0, 1.0]}, "tree": {1: [1.0], 2: [0.5]}}, dim=10).axes[0]
    first, second = axis.get_lines()
    np.testing.assert_allclose(first.get_ydata(), [85, 100])
    np.testing.assert_allclose(second.get_ydata(), [100, 50])
    assert axis.get_xlabel() == "time dimensions $t$ of 10"
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["ring", "tree"]
    assert len(axis.collections) == 2


def test_curvature_histogram_shares_sum_to_one():
    values = {"tree": [-1.0, -0.5, -0.5], "cycle": [0.0, 0.0, 0.5]}
    axes = figures.curvature_histogram(values, bins=6).axes
    assert [axis.get_title(loc="left") for axis in axes] == ["tree (mean -0.67)", "cycle (mean 0.17)"]
    for axis in axes:
        assert sum(bar.get_height() for bar in axis.patches) == pytest.approx(1)


def test_delta_distribution_has_a_bar_for_each_graph_and_delta():
    axis = figures.delta_distribution({"tree": {0: 1.0}, "ring": {0: 0.5, 0.5: 0.3, 1.0: 0.2}}).axes[0]
    assert [bar.get_height() for bar in axis.patches] == [1, 0, 0, 0.5, 0.3, 0.2]
    assert list(axis.get_xticks()) == [0, 0.5, 1]


def test_training_curves_have_a_line_for_each_seed():
    curves = [Curve(seed, [1, 2], [1.0, 0.5], [0.1, 0.9]) for seed in range(3)]
    loss, score = figures.training_curves(curves, "accuracy").axes
    assert [len(axis.get_lines()) for axis in (loss, score)] == [3, 3]
    assert score.get_ylabel() == "validation accuracy"


@pytest.mark.parametrize("draw", [figures.map_against_time, figures.curvature_histogram, figures.delta_distribution])
def test_nothing_to_draw_is_refused(draw):
    with pytest.raises(ValueError, match="at least one graph, got none"):
        draw({})
    with pytest.raises(ValueError, match="at least one seed, got none"):
        figures.training_curves([])


def test_a_column_of_other_length_is_refused(embedded):
    with pytest.raises(ValueError, match="'degree' must have a value for each of the 40 points, got 2"):
        figures.disk(embedded.layouts["hyperboloid"], Column("degree", np.zeros(2)))


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")])
def test_figures_are_written_in_three_formats(tmp_path, suffix, start):
    before = dict(matplotlib.rcParams)
    curves = [Curve(0, [1, 2], [1.0, 0.5], [0.1, 0.9])]
    paths = [figures.save(figures.training_curves(curves), tmp_path / f"{k}{suffix}") for k in range(2)]
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(start)
    assert first == second
    assert dict(matplotlib.rcParams) == before
    with pytest.raises(ValueError, match=r"one of .png, .pdf, .svg"):
        figures.save(figures.training_curves(curves), tmp_path / "figure.bmp")


def test_colours_are_told_apart_by_the_colour_blind():
    """Toned, they must stay apart when red and green are seen as one (deuteranopia, Machado et al. 2009)."""
    blind = np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]])
    for theme in ("light", "dark"):
        rgb = np.array([[int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)] for colour in style.CATEGORIES[theme]])
        seen = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ blind.T
        apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1) + 9 * np.eye(8)
        assert apart.min() > 0.06, (theme, np.unravel_index(apart.argmin(), apart.shape), apart.min())
