"""Figures hold what they were given, and are written as what their name says."""

import numpy as np
import pytest

from qgcn.viz.geometry import plot_curvature, plot_deltas, plot_signatures, plot_spectrum, save_figure


def test_deltas_are_bars_and_the_worst_a_line():
    figure = plot_deltas({0.0: 0.7, 0.5: 0.3}, {0.0: (0.69, 0.71), 0.5: (0.29, 0.31)}, "cora", worst=2.0)
    (axes,) = figure.axes
    assert [bar.get_height() for bar in axes.patches] == [0.7, 0.3]
    assert [bar.get_center()[0] for bar in axes.patches] == pytest.approx([0.0, 0.5])
    assert axes.get_legend().get_texts()[0].get_text() == "worst: 2"
    assert "cora" in axes.get_title()


def test_curvature_shows_only_bins_that_are_filled():
    bins = np.linspace(-1, 1, 5)
    figure = plot_curvature(bins, np.array([0, 0.5, 0.5, 0]), np.array([0, 1.0, 0, 0]), 0.1, -0.2, "power")
    assert figure.axes[0].get_xlim() == (-0.5, 0.5)


def test_spectrum_tells_signs_by_colour():
    figure = plot_spectrum(np.array([0.5, -0.3, 0.2]), 2, "web-edu")
    colours = [bar.get_facecolor() for bar in figure.axes[0].patches]
    assert colours[0] == colours[2] != colours[1]


def test_signatures_hold_every_space():
    figure = plot_signatures([1, 2, 3], [0.9, 0.8, 0.7], {"E3": 0.85, "H2": 0.9}, "map", "H2", "tree")
    assert figure.axes[0].lines[0].get_ydata().tolist() == [0.9, 0.8, 0.7]
    assert {text.get_text() for text in figure.axes[0].get_legend().get_texts()} == {"Q, by t", "E3", "H2"}


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_figures_are_written_the_same_each_time(tmp_path, name, start):
    contents = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        save_figure(plot_spectrum(np.array([0.5, -0.5]), 1, "graph"), tmp_path / folder / name)
        contents.append((tmp_path / folder / name).read_bytes())
    assert contents[0] == contents[1]
    assert contents[0].startswith(start)


def test_other_kinds_of_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"\.png or \.svg, got 'a\.pdf'"):
        save_figure(plot_spectrum(np.array([1.0]), 1, "graph"), tmp_path / "a.pdf")
