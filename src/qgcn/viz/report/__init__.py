"""The HTML report: one file that explains a run, or several side by side."""

from qgcn.viz.report.columns import read_columns
from qgcn.viz.report.measured import graph_section
from qgcn.viz.report.page import render, write_report
from qgcn.viz.report.runs import read_run
from qgcn.viz.report.subject import Embedded, Score, Subject, embed

__all__ = ["Embedded", "Score", "Subject", "embed", "graph_section", "read_columns", "read_run", "render", "write_report"]
