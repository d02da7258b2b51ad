"""Colours and fonts of all figures: distinguishable for colour-blind readers, calm on paper, readable on dark screens."""

from typing import Any, Final

__all__ = ["ACCENT", "CATEGORIES", "INK", "OTHER", "RC", "SEQUENCE", "categories"]

CATEGORIES: Final = {
    "light": ("#0072b2", "#e08a00", "#009e73", "#cc5f9a", "#46a5dd", "#d04a00", "#a39000", "#4a4a55"),
    "dark": ("#4aa3df", "#f2b04a", "#35c79a", "#e596c0", "#9bd3f7", "#f27d45", "#f0e442", "#c9cdd6"),
}
"""The colours of Okabe and Ito, toned for each background; the first category takes the first."""
OTHER: Final = {"light": "#b9bcc2", "dark": "#555b63"}
"""Colour of nodes without a category, and of categories beyond the palette."""
SEQUENCE: Final = {
    "light": ("#bcd3ea", "#7fb0d8", "#3f88bf", "#1d5f9c", "#0a3360"),
    "dark": ("#2b4f73", "#3f77a8", "#6aa5d4", "#a5cfee", "#eef7ff"),
}
"""Numbers, from small to large: one hue whose lightness tells the value."""
INK: Final = "#22262b"
ACCENT: Final = "#0072b2"

RC: Final[Any] = {
    "figure.dpi": 150,
    "savefig.bbox": "tight",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a8f96",
    "axes.labelcolor": INK,
    "axes.grid": True,
    "grid.color": "#e4e6e9",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "xtick.color": "#5a6067",
    "ytick.color": "#5a6067",
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.fonttype": "none",
    "svg.hashsalt": "qgcn",
    "pdf.fonttype": 42,
}
"""Matplotlib's settings for a figure of a paper."""


def categories(count: int) -> list[str]:
    """Return a colour for each of ``count`` categories on a light background; those beyond the palette share one."""
    palette = CATEGORIES["light"]
    return [palette[k] if k < len(palette) else OTHER["light"] for k in range(count)]
