"""Figures hold what they were given."""

from dataclasses import replace

import numpy as np
import pytest

from qgcn.analysis import Suggestion, measure
from qgcn.analysis.signature import Trial
from qgcn.training.metrics_log import Curve
from qgcn.viz import figures


@pytest.fixture(scope="module")
def found():
    return measure("ring-of-trees", 4, exact=True)


def test_deltas_are_bars_and_the_worst_a_line(found):
    (axes,) = figures.delta(found.hyperbolicity, "cora").axes
    assert [bar.get_height() for bar in axes.patches] == list(found.hyperbolicity.shares.values())
    assert [bar.get_center()[0] for bar in axes.patches] == pytest.approx(list(found.hyperbolicity.shares))
    assert axes.get_legend().get_texts()[0].get_text() == "worst: 3"
    assert axes.get_title(loc="left") == "cora: delta-hyperbolicity"


def test_curvature_shows_only_bins_that_are_filled(found):
    nodes, pairs = np.zeros(61), np.zeros(61)
    nodes[[20, 30]], pairs[25] = 0.5, 1.0
    figure = figures.curvature(replace(found.curvature, histogram=nodes, pair_histogram=pairs), "power")
    assert figure.axes[0].get_xlim() == (found.curvature.bins[20], found.curvature.bins[31])


def test_spectrum_tells_signs_by_colour(found):
    figure = figures.spectrum(replace(found.spectrum, eigenvalues=np.array([0.5, -0.3, 0.2])), "web-edu")
    colours = [bar.get_facecolor() for bar in figure.axes[0].patches]
    assert colours[0] == colours[2] != colours[1]


def test_signatures_hold_every_space(found):
    scores = {"Q1,2": 0.8, "Q2,1": 0.9, "Q0,3": 0.7, "E3": 0.85, "H3": 0.9, "Q1,1xH1": 0.4}
    ranking = tuple(Trial(name, score, 0.0, 1, 5, 1, score) for name, score in scores.items())
    suggestion = Suggestion("H3", "H3", "H3", "r", "map", ranking, (), None, "", (), 0, 0, 0.0, 9, found)
    axes = figures.signatures(suggestion, "tree").axes[0]
    assert axes.lines[0].get_xdata().tolist() == [1, 2, 3]
    assert axes.lines[0].get_ydata().tolist() == [0.9, 0.8, 0.7]
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {"Q, by t", "E3", "H3", "Q1,1xH1"}


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
