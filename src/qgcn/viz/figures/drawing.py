"""Common parts of figures: style, points, legends, and the file."""

from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from qgcn.files import check_writable, create_folder, write_atomically
from qgcn.tasks.insights import Column
from qgcn.viz import style
from qgcn.viz.projections import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["bare", "check_layout", "check_matplotlib", "circle", "legend", "new_figure", "save", "scatter", "styled"]

FORMATS = (".png", ".pdf", ".svg")
_Draw = TypeVar("_Draw", bound=Callable[..., "Figure"])


def check_matplotlib() -> None:
    """Raise unless Matplotlib is installed, without importing it."""
    if find_spec("matplotlib") is None:
        raise ValueError("figures need Matplotlib: pip install 'qgcn[viz]'")


def styled(draw: _Draw) -> _Draw:
    """Draw a figure in the project's style, whatever the user's own settings are."""

    @wraps(draw)
    def drawn(*arguments: Any, **options: Any) -> "Figure":
        check_matplotlib()
        from matplotlib import rc_context

        with rc_context(style.RC):
            return draw(*arguments, **options)

    return drawn  # type: ignore[return-value]


def save(figure: "Figure", path: str | Path) -> Path:
    """Write a figure, atomically, in the format of the suffix: ``.png``, ``.pdf`` or ``.svg``.

    Raises:
        ValueError: Unknown suffix.
        OSError: The file cannot be written.
    """
    from matplotlib import rc_context

    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"a figure is written as one of {', '.join(FORMATS)}, got {path.name!r}")
    check_writable(path.parent)
    create_folder(path.parent)
    kind = path.suffix.lower()[1:]
    # no date in the file: the same figure is the same file
    about = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)

    def write(temporary: Path) -> None:
        with rc_context(style.RC):
            figure.savefig(temporary, format=kind, metadata=about)

    write_atomically(path, write)
    return path


def new_figure(width: float, height: float, columns: int = 1, **options: Any) -> "tuple[Figure, list[Any]]":
    """Return an empty figure of a width and height in inches, and its axes in one row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, columns, squeeze=False, **options)
    return figure, list(axes[0])


def check_layout(points: Floats, size: int, column: Column | None) -> None:
    """Raise unless there are points of ``size`` coordinates, and a value of the column for each of them."""
    if points.ndim != 2 or points.shape[1] != size or len(points) == 0:
        raise ValueError(f"points must have shape (N, {size}) with N at least 1, got {points.shape}")
    if column is not None and len(column.values) != len(points):
        raise ValueError(
            f"the column {column.name!r} must have a value for each of the {len(points)} points, got {len(column.values)}"
        )


def circle(radius: float = 1.0, **options: Any) -> Any:
    """Return a circle about the origin, to be added to axes."""
    from matplotlib.patches import Circle

    return Circle((0, 0), radius, **({"edgecolor": "#aab1b8", "linewidth": 0.8, "zorder": 0} | options))


def _shades(column: Column) -> tuple[list[str], list[str]]:
    """Return the colour of each category and the name for it: the largest get their own if there are too many."""
    room = len(style.CATEGORIES["light"])
    count = len(column.labels)
    if count <= room:
        return style.categories(count), list(column.labels)
    size = np.bincount(column.values[column.values >= 0], minlength=count)
    colours = [style.OTHER["light"]] * count
    for place, label in enumerate(np.argsort(-size, kind="stable")[:room]):
        colours[label] = style.CATEGORIES["light"][place]
    return colours, list(column.labels)


def scatter(axis: Any, x: Floats, y: Floats, column: Column | None, kept: Any = None, z: Floats | None = None) -> None:
    """Draw points, coloured by a column; ``kept`` says which of the column's nodes they are, if not all."""
    from matplotlib.colors import LinearSegmentedColormap, LogNorm, Normalize

    size = float(np.interp(np.log10(max(len(x), 1)), [2, 4.3], [16, 1.6]))
    look: dict[str, Any] = {"s": size, "linewidths": 0, "zorder": 3, "alpha": 0.9, "rasterized": len(x) > 4000}
    places = (x, y) if z is None else (x, y, z)
    if column is None:
        axis.scatter(*places, color=style.ACCENT, **look)
        return
    values = column.values if kept is None else column.values[kept]
    if column.labels:
        colours = np.array([*_shades(column)[0], style.OTHER["light"]])  # the last is for -1, none
        axis.scatter(*places, c=colours[values], **look)
        return
    known = column.values[np.isfinite(column.values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    scale = LogNorm(low, high) if low > 0 and high > 20 * low else Normalize(low, high)
    ramp = LinearSegmentedColormap.from_list("ramp", list(style.SEQUENCE["light"]), N=256)
    marks = axis.scatter(*places, c=values, cmap=ramp, norm=scale, **look)
    if not any(getattr(other, "is_colour_bar", False) for other in axis.figure.axes):
        bar = axis.figure.colorbar(marks, ax=axis.figure.axes, shrink=0.6, label=column.name)
        bar.ax.is_colour_bar = True


def legend(figure: "Figure", column: Column | None) -> None:
    """Name the categories below the figure."""
    from matplotlib.lines import Line2D

    if column is None or not column.labels:
        return
    colours, labels = _shades(column)
    named = [(colour, label) for colour, label in zip(colours, labels, strict=True) if colour != style.OTHER["light"]]
    handles = [
        Line2D([], [], marker="o", linestyle="", color=colour, markersize=4.5, label=label[:24]) for colour, label in named
    ]
    if len(named) < len(labels):
        handles.append(Line2D([], [], marker="o", linestyle="", color=style.OTHER["light"], markersize=4.5, label="others"))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 9), title=column.name, title_fontsize=8)


def bare(axis: Any, title: str = "") -> None:
    """Show the unit disk without axes."""
    axis.set_aspect("equal")
    axis.set_xlim(-1.03, 1.03)
    axis.set_ylim(-1.03, 1.03)
    axis.axis("off")
    if title:
        axis.set_title(title, loc="center", fontweight="normal")
