"""Figures of embeddings, and of the space itself."""

from typing import TYPE_CHECKING, Any

import numpy as np

from qgcn.tasks.insights import Column
from qgcn.viz import style
from qgcn.viz.figures.drawing import bare, check_layout, circle, legend, new_figure, scatter, styled
from qgcn.viz.projections import ExactView, Floats, disk_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["disk", "exact", "hyperboloid", "sphere", "submanifolds", "views"]


@styled
def submanifolds(beta: float = -1.0) -> "Figure":
    r"""Draw the paper's Figure 1: a pseudo-hyperboloid with two time dimensions, one of them held fixed.

    On :math:`\mathcal Q^{2,2}_\beta`, with the time coordinate :math:`x_0` held, the others satisfy

    .. math:: x_2^2 + x_3^2 - x_1^2 = x_0^2 - |\beta|

    a one-sheet hyperboloid for :math:`x_0^2 > |\beta|`, a double cone at equality, a two-sheet hyperboloid below.

    Args:
        beta: Negative.
    """
    if not beta < 0:
        raise ValueError(f"beta must be negative, got {beta}")
    figure, axes = new_figure(7.2, 2.9, 3, subplot_kw={"projection": "3d"})
    root = (-beta) ** 0.5
    angle = np.linspace(0, 2 * np.pi, 49)
    cases = [
        ("one-sheet hyperboloid", r"$x_0^2 > |\beta|$", 1.45 * root),
        ("double cone", r"$x_0^2 = |\beta|$", root),
        ("two-sheet hyperboloid", r"$x_0^2 < |\beta|$", 0.5 * root),
    ]
    for axis, (name, condition, fixed), colour in zip(axes, cases, style.categories(3), strict=True):
        level = fixed**2 + beta  # x2^2 + x3^2 - x1^2
        for sheet in (0,) if level > 0 else (-1, 1):
            if sheet == 0:
                height = np.linspace(-2 * root, 2 * root, 25)
            else:
                height = sheet * np.sqrt(np.linspace(0, (2 * root) ** 2 + min(level, 0), 25) - min(level, 0))
            radius = np.sqrt(np.maximum(level + height**2, 0))
            x, y = radius[:, None] * np.cos(angle), radius[:, None] * np.sin(angle)
            z = np.broadcast_to(height[:, None], x.shape)
            axis.plot_surface(x, y, z, color=colour, alpha=0.35, linewidth=0, shade=True)
            axis.plot_wireframe(x, y, z, color=colour, linewidth=0.4, rstride=4, cstride=4, alpha=0.8)
        axis.set_title(f"{name}\n{condition}", loc="center", fontweight="normal", fontsize=9)
        axis.set_xlabel("$x_2$", labelpad=-12)
        axis.set_ylabel("$x_3$", labelpad=-12)
        axis.set_zlabel("$x_1$", labelpad=-12)
        axis.set_xticks([])
        axis.set_yticks([])
        axis.set_zticks([])
        axis.view_init(elev=16, azim=-55)
        axis.set_box_aspect((1, 1, 1.05), zoom=1.12)
    return figure


@styled
def sphere(layout: Floats, column: Column | None = None) -> "Figure":
    """Draw a layout on the sphere, front and back.

    Args:
        layout: Points of the unit sphere, shape ``(N, 3)``, from :func:`qgcn.viz.projections.umap_sphere`.
        column: Values to colour by.
    """
    check_layout(layout, 3, column)
    figure, axes = new_figure(6.6, 3.4, 2)
    for axis, side, title in zip(axes, (1, -1), ("front", "back"), strict=True):
        _draw_side(axis, layout, column, side, title)
    legend(figure, column)
    return figure


@styled
def views(on_sphere: Floats, on_hyperboloid: Floats, column: Column | None = None) -> "Figure":
    """Draw the paper's three projections beside each other: sphere, hyperboloid, Poincaré disk.

    Args:
        on_sphere: Shape ``(N, 3)``, from :func:`qgcn.viz.projections.umap_sphere`.
        on_hyperboloid: Shape ``(N, 3)``, from :func:`qgcn.viz.projections.umap_hyperboloid`.
        column: Values to colour by.
    """
    from matplotlib.figure import Figure

    for layout in (on_sphere, on_hyperboloid):
        check_layout(layout, 3, column)
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    ball, bowl, flat = (figure.add_subplot(1, 3, k + 1, projection="3d" if k == 1 else None) for k in range(3))
    _draw_side(ball, on_sphere, column, 1, "sphere (front)")
    _draw_bowl(bowl, on_hyperboloid, column)
    bowl.set_title("hyperboloid", loc="center", fontweight="normal")
    _draw_disk(flat, on_hyperboloid, column)
    flat.set_title("Poincaré disk", loc="center", fontweight="normal")
    legend(figure, column)
    return figure


@styled
def hyperboloid(layout: Floats, column: Column | None = None) -> "Figure":
    """Draw a layout on the hyperboloid in three dimensions.

    Args:
        layout: Shape ``(N, 3)``, from :func:`qgcn.viz.projections.umap_hyperboloid`.
        column: Values to colour by.
    """
    check_layout(layout, 3, column)
    figure, axes = new_figure(4.6, 3.9, subplot_kw={"projection": "3d"})
    _draw_bowl(axes[0], layout, column)
    legend(figure, column)
    return figure


@styled
def disk(layout: Floats, column: Column | None = None, edges: np.ndarray[Any, Any] | None = None) -> "Figure":
    """Draw a layout in the Poincaré disk.

    Args:
        layout: On the hyperboloid, shape ``(N, 3)``, from :func:`qgcn.viz.projections.umap_hyperboloid`.
        column: Values to colour by.
        edges: Pairs of nodes to join by geodesics, shape ``(2, E)``.
    """
    check_layout(layout, 3, column)
    figure, axes = new_figure(4.4, 4.2)
    _draw_disk(axes[0], layout, column, edges)
    legend(figure, column)
    return figure


@styled
def exact(view: ExactView, column: Column | None = None) -> "Figure":
    """Draw the exact view: coordinates of the points themselves.

    Args:
        view: Result of :func:`qgcn.viz.projections.exact_view`.
        column: Values to colour by.
    """
    check_layout(view.coordinates, view.coordinates.shape[1], column)
    x = view.coordinates
    if view.shape == "shell":
        figure, axes = new_figure(4.6, 4.2, subplot_kw={"projection": "3d"})
        turn, rise = np.meshgrid(np.linspace(0, 2 * np.pi, 25), np.linspace(0, np.pi, 13))
        ball = np.sin(rise) * np.cos(turn), np.sin(rise) * np.sin(turn), np.cos(rise)
        axes[0].plot_wireframe(*ball, color="#cfd5da", linewidth=0.4)
        scatter(axes[0], x[:, 0], x[:, 1], column, None, x[:, 2])
        axes[0].set_box_aspect((1, 1, 1))
        axes[0].tick_params(labelsize=6, pad=-3)
        for name in "xyz":
            getattr(axes[0], f"set_{name}label")(f"time {'xyz'.index(name) + 1}", labelpad=-8)
    else:
        figure, axes = new_figure(4.8, 3.8)
        scatter(axes[0], x[:, 0], x[:, 1], column)
        if view.shape == "disk":
            axes[0].set_aspect("equal")
            axes[0].set_xlabel("first space axis")
            axes[0].set_ylabel("second space axis")
        elif view.shape == "ring":
            axes[0].add_patch(circle(facecolor="none"))
            axes[0].set_aspect("equal")
            axes[0].set_xlabel("first time axis")
            axes[0].set_ylabel("second time axis")
        else:
            axes[0].set_xlabel(view.axes[0])
            axes[0].set_ylabel(view.axes[1])
    if view.shape == "disk":
        axes[0].set_title(f"{view.axes[0]}, seen from above", fontweight="normal", fontsize=8, loc="center")
    elif view.shape != "plane":
        ground = "circle" if view.shape == "ring" else "sphere"
        title = f"{view.axes[0]}; height above the {ground}: {view.axes[1]}"
        axes[0].set_title(title, fontweight="normal", fontsize=8, loc="center")
    legend(figure, column)
    return figure


def _hyperbolic_paths(x: Floats, y: Floats, steps: int = 16) -> list[Floats]:
    """Return points along the geodesics of the hyperboloid, shape ``(steps + 1, 3)`` each."""
    form = np.array([-1.0, -1.0, 1.0])
    length = np.arccosh(np.maximum(1.0, (x * y * form).sum(axis=1)))[:, None, None]
    tau = np.linspace(0, 1, steps + 1)[None, :, None]
    scale = np.where(length > 0, np.sinh(length), 1)
    a = np.where(length > 0, np.sinh((1 - tau) * length) / scale, 1 - tau)
    b = np.where(length > 0, np.sinh(tau * length) / scale, tau)
    return list(a * x[:, None] + b * y[:, None])


def _draw_side(axis: Any, layout: Floats, column: Column | None, side: int, title: str) -> None:
    axis.add_patch(circle(facecolor="#f3f5f7"))
    for latitude in np.deg2rad([-60, -30, 0, 30, 60]):
        axis.plot([-np.cos(latitude), np.cos(latitude)], [np.sin(latitude)] * 2, color="#d5dade", linewidth=0.5, zorder=1)
    for longitude in np.deg2rad([-60, -30, 0, 30, 60]):
        line = np.linspace(-np.pi / 2, np.pi / 2, 60)
        axis.plot(np.sin(longitude) * np.cos(line), np.sin(line), color="#d5dade", linewidth=0.5, zorder=1)
    visible = layout[:, 0] * side >= 0
    scatter(axis, side * layout[visible, 1], layout[visible, 2], column, visible)
    bare(axis, title)


def _draw_bowl(axis: Any, layout: Floats, column: Column | None) -> None:
    reach = np.arccosh(np.linspace(1, max(1.5, float(layout[:, 2].max())), 12))
    angle = np.linspace(0, 2 * np.pi, 37)
    x, y = np.sinh(reach)[:, None] * np.cos(angle), np.sinh(reach)[:, None] * np.sin(angle)
    z = np.broadcast_to(np.cosh(reach)[:, None], x.shape)
    axis.plot_wireframe(x, y, z, color="#cfd5da", linewidth=0.4, rstride=2, cstride=3)
    scatter(axis, layout[:, 0], layout[:, 1], column, None, layout[:, 2])
    axis.set_xlabel("$u$", labelpad=-10)
    axis.set_ylabel("$v$", labelpad=-10)
    axis.set_zlabel("$w$", labelpad=-10)
    axis.tick_params(labelsize=6, pad=-3)
    axis.view_init(elev=28, azim=-60)


def _draw_disk(axis: Any, layout: Floats, column: Column | None, edges: np.ndarray[Any, Any] | None = None) -> None:
    from matplotlib.collections import LineCollection

    axis.add_patch(circle(facecolor="#f3f5f7"))
    for reach in (1, 2, 3, 4):
        axis.add_patch(circle(np.tanh(reach / 2), facecolor="none", edgecolor="#d5dade", linewidth=0.5))
    if edges is not None:
        paths = [disk_of(path) for path in _hyperbolic_paths(layout[edges[0]], layout[edges[1]])]
        axis.add_collection(LineCollection(paths, colors="#7d868f", linewidths=0.4, alpha=0.35, zorder=2))
    flat = disk_of(layout)
    scatter(axis, flat[:, 0], flat[:, 1], column)
    bare(axis)
