"""Static figures fit for a paper, one function each; :func:`save` writes PNG, PDF or SVG.

Every function returns a ``matplotlib.figure.Figure`` and touches no global state of Matplotlib, which is imported when a figure
is first drawn.
"""

from qgcn.viz.figures.drawing import check_matplotlib, save, styled
from qgcn.viz.figures.embeddings import disk, exact, hyperboloid, sphere, submanifolds, views
from qgcn.viz.figures.measurements import (
    curvature,
    curvature_histogram,
    delta,
    delta_distribution,
    map_against_time,
    signatures,
    spectrum,
    training_curves,
)

__all__ = [
    "check_matplotlib",
    "curvature",
    "curvature_histogram",
    "delta",
    "delta_distribution",
    "disk",
    "exact",
    "hyperboloid",
    "map_against_time",
    "save",
    "signatures",
    "spectrum",
    "sphere",
    "styled",
    "submanifolds",
    "training_curves",
    "views",
]
