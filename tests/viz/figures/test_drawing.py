"""How figures are written, and what happens without Matplotlib."""

import sys

import matplotlib
import pytest

from qgcn.training.metrics_log import Curve
from qgcn.viz import figures


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


def test_figures_without_matplotlib_are_refused_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ValueError, match=r"figures need Matplotlib: pip install 'qgcn\[viz\]'"):
        figures.check_matplotlib()
    with pytest.raises(ValueError, match="figures need Matplotlib"):
        figures.submanifolds()
