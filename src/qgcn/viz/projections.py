"""Embeddings brought to two or three coordinates: by UMAP, and by exact coordinates of the points themselves.

UMAP lays out who is near whom. It is given the nearest neighbours by the manifold's *own* distances, never by Euclidean ones,
and lays them out on a sphere or in the hyperbolic plane. The exact view reduces nothing: its axes are functions of each point.
"""

import math
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from qgcn.geometry import sphere_projection
from qgcn.kernels import nearest_neighbours
from qgcn.kernels.pairs import check_points
from qgcn.manifolds import Hyperboloid, Product, PseudoHyperboloid, Space, Sphere, Stereographic
from qgcn.manifolds.quadric import Quadric

__all__ = ["ExactView", "Floats", "check_umap", "disk_of", "exact_view", "umap_hyperboloid", "umap_sphere"]

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Neighbours: TypeAlias = tuple[Tensor, Tensor]

NEIGHBOURS = 15
"""Neighbours that UMAP looks at, as is its default."""


def check_umap() -> None:
    """Raise unless umap-learn is installed, without importing it: that takes seconds."""
    if find_spec("umap") is None:
        raise ValueError("projections need umap-learn: pip install 'qgcn[viz]', or do without them (--no-umap)")


def umap_sphere(x: Tensor, manifold: Space, *, neighbours: Neighbours | None = None, seed: int = 0) -> Floats:
    """Lay out points on the unit sphere with UMAP, by haversine distances there and the manifold's own distances here.

    Args:
        x: Points, shape ``(N, d)``, at least 4 of them.
        manifold: Their space.
        neighbours: What :func:`nearest_neighbours` returned, if it is at hand.
        seed: Makes the layout repeatable.

    Returns:
        Points of the sphere, shape ``(N, 3)``.

    Raises:
        ValueError: umap-learn is not installed, or there are too few points.
    """
    polar, azimuth = _layout(x, manifold, "haversine", neighbours, seed).T
    return np.stack((np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)), axis=1)


def umap_hyperboloid(x: Tensor, manifold: Space, *, neighbours: Neighbours | None = None, seed: int = 0) -> Floats:
    r"""Lay out points on the hyperboloid in three dimensions with UMAP, their Lorentzian mean moved to its lowest point.

    Args:
        x: Points, shape ``(N, d)``, at least 4 of them.
        manifold: Their space.
        neighbours: What :func:`nearest_neighbours` returned, if it is at hand.
        seed: Makes the layout repeatable.

    Returns:
        Shape ``(N, 3)``, columns ``u, v, w`` with :math:`w = \sqrt{1 + u^2 + v^2}`; :func:`disk_of` makes a disk of them.

    Raises:
        ValueError: umap-learn is not installed, or there are too few points.
    """
    plane = _layout(x, manifold, "hyperboloid", neighbours, seed)
    return _centred(np.column_stack((plane, np.sqrt(1 + (plane**2).sum(axis=1)))))


def disk_of(hyperboloid: Floats) -> Floats:
    r"""Project points of the hyperboloid, shape ``(N, 3)``, to the Poincaré disk, shape ``(N, 2)``.

    .. math:: (u, v, w) \mapsto (u, v) / (1 + w)
    """
    return np.asarray(hyperboloid[:, :2] / (1 + hyperboloid[:, 2:]))


def _layout(
    x: Tensor, manifold: Space, metric: Literal["haversine", "hyperboloid"], neighbours: Neighbours | None, seed: int
) -> Floats:
    check_points(x)
    if len(x) < 4:
        raise ValueError(f"a layout needs at least 4 points, got {len(x)}")
    check_umap()
    import umap

    count = min(NEIGHBOURS, len(x) - 1)
    distance, index = nearest_neighbours(x, manifold, count) if neighbours is None else neighbours
    itself = torch.arange(len(x)).unsqueeze(1)  # UMAP counts a point as its own first neighbour
    index = torch.cat((itself, index[:, : count - 1].cpu()), dim=1)
    distance = torch.cat((torch.zeros(len(x), 1), distance[:, : count - 1].cpu().float()), dim=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells of things that were asked for: one thread for a seed, given neighbours
        layout = umap.UMAP(
            n_neighbors=count,
            output_metric=metric,
            precomputed_knn=(index.numpy(), distance.numpy()),
            random_state=seed,
            init="spectral" if len(x) > 2 * count else "random",
        ).fit_transform(manifold.logmap0(x).cpu().numpy())  # read for its shape, and to place components that nothing joins
    return np.asarray(layout, dtype=np.float64)


def _centred(x: Floats) -> Floats:
    """Reflect the hyperboloid so that the points' Lorentzian mean comes to ``(0, 0, 1)``: an isometry, no distance changes."""
    form = np.array([1.0, 1.0, -1.0])
    mean = (x / x[:, 2:]).mean(axis=0)  # directions, so that the few that are far out do not decide
    mean /= math.sqrt(-(mean * mean * form).sum())
    normal = mean - np.array([0.0, 0.0, 1.0])
    length = (normal * normal * form).sum()
    if length <= 0:
        return x
    moved = x - 2 * ((x * form) @ normal / length)[:, None] * normal
    moved[:, 2] = np.sqrt(1 + (moved[:, :2] ** 2).sum(axis=1))
    return np.asarray(moved)


# --- without reduction -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExactView:
    """Coordinates that are functions of each point alone.

    Attributes:
        coordinates: Shape ``(N, 2)``, or ``(N, 3)`` for a shell.
        shape: ``plane``: two axes; ``ring``: direction on a circle, distance from it the second number; ``shell``: the same
            about a sphere.
        axes: What the axes are, in words; for ring and shell what the direction and the distance from it are.
        mean: The direction that an angle to a mean is measured from; empty where there is none.
    """

    coordinates: Floats
    shape: Literal["plane", "ring", "shell"]
    axes: tuple[str, str]
    mean: Floats


@torch.no_grad()
def exact_view(x: Tensor, space: Space) -> ExactView:
    r"""Return the time factor of each point on its sphere, against the radius of its space factor.

    A point of :math:`\mathcal Q^{s,t}` is a direction in time, :math:`t/|t| \in S^{t-1}`, and a vector in space of radius
    :math:`\rho = \operatorname{arsinh}(|s|/\sqrt{|\beta|})`. With two or three time dimensions the direction is drawn as it is,
    on a circle or sphere, :math:`\rho` above it. With more of them its angle to the pole stands for it; with one, where the
    direction is no more than a sign, the angle of the space factor to its mean does, and :math:`\rho` carries the sign. Other
    spaces: the distance from the origin and the angle to the mean direction; products: the distances of two factors.

    Args:
        x: Points, shape ``(N, d)``.
        space: Their space.
    """
    check_points(x)
    x = x.double().cpu()
    if isinstance(space, Product):
        first, second = space.manifolds[0], space.manifolds[1]
        parts = torch.split(x, [factor.ambient_dim for factor in space.manifolds], dim=1)
        radii = _from_origin(parts[0], first), _from_origin(parts[1], second)
        return _plane(*radii, (f"distance from the origin in {first}", f"distance from the origin in {second}"))
    if not isinstance(space, PseudoHyperboloid):
        tangent = x[:, 1:] if isinstance(space, Quadric) else x
        words = ("angle to the mean direction", f"distance from the origin of {space}")
        return _plane(_angle(tangent, tangent.mean(0)), _from_origin(x, space), words, tangent.mean(0))
    t, size = space.time_dim, (-space.beta).double().sqrt().cpu()
    time, outward = x[:, :t], x[:, t:]
    radius = torch.asinh(torch.linalg.vector_norm(outward, dim=1) / size)
    direction = sphere_projection(x, beta=-1.0, time_dim=t)[:, :t]
    if t == 1:
        words = ("angle of the space factor to its mean", "radius of the space factor (negative: the other sheet)")
        return _plane(_angle(outward, outward.mean(0)), radius * direction[:, 0], words, outward.mean(0))
    if t <= 3:
        about = (direction * (1 + radius.unsqueeze(1))).numpy()
        words = ("direction of the time factor", "radius of the space factor")
        return ExactView(about, "ring" if t == 2 else "shell", words, np.empty(0))
    angle = _angle(time, torch.eye(t, dtype=x.dtype)[0])
    if space.space_dim == 0:
        rest = time[:, 1:]
        words = ("angle of time to the pole", "angle of the rest of time to its mean")
        return _plane(angle, _angle(rest, rest.mean(0)), words, rest.mean(0))
    return _plane(angle, radius, ("angle of the time factor to the pole", "radius of the space factor"))


def _plane(across: Tensor, up: Tensor, axes: tuple[str, str], mean: Tensor | None = None) -> ExactView:
    return ExactView(torch.stack((across, up), dim=1).numpy(), "plane", axes, np.empty(0) if mean is None else mean.numpy())


def _from_origin(x: Tensor, space: Space) -> Tensor:
    if isinstance(space, Quadric):
        pole = space.origin(space.ambient_dim, dtype=x.dtype).as_subclass(Tensor)
        if isinstance(space, (Hyperboloid, Sphere)):
            return space.dist(x, pole)
    elif isinstance(space, Stereographic):
        return space.dist(x, torch.zeros_like(x))
    length: Tensor = torch.linalg.vector_norm(space.logmap0(x), dim=1)
    return length


def _angle(v: Tensor, axis: Tensor) -> Tensor:
    """Return the angle between vectors and an axis, 0 where one of them has no direction, shape ``(N,)``."""
    length = torch.linalg.vector_norm(v, dim=1) * torch.linalg.vector_norm(axis)
    along = v @ axis
    across = (length.square() - along.square()).relu().sqrt()
    return torch.atan2(across, along)
