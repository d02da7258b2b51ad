"""Embeddings in two or three coordinates: by UMAP, and by exact coordinates of the points themselves.

UMAP lays out which points are near each other. It is given the nearest neighbours by the manifold's *own* distances, never by
Euclidean ones, and lays them out on a sphere or in the hyperbolic plane. The exact view reduces nothing: its axes are
functions of each point.
"""

import math
import warnings
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from qgcn.geometry import sphere_projection
from qgcn.kernels import nearest_neighbours
from qgcn.kernels.pairs import check_points
from qgcn.manifolds import Space

__all__ = ["ExactView", "Floats", "beside_time", "disk_of", "exact_view", "import_umap", "umap_hyperboloid", "umap_sphere"]

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Neighbours: TypeAlias = tuple[Tensor, Tensor]

NEIGHBOURS = 15
"""Number of neighbours that UMAP considers, its default."""


def import_umap() -> ModuleType:
    """Import umap-learn, which takes seconds.

    Raises:
        ImportError: It is not installed, or it cannot be imported; the message says how to install it.
    """
    try:
        import umap
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "umap"
        why = "is not installed" if missing else f"cannot be imported ({error})"
        raise ImportError(f"UMAP projections are missing because umap-learn {why}: pip install 'qgcn[viz]'") from None
    return umap  # type: ignore[no-any-return]


def umap_sphere(x: Tensor, manifold: Space, *, neighbours: Neighbours | None = None, seed: int = 0) -> Floats:
    """Lay out points on the unit sphere with UMAP, from the manifold's own distances to haversine distances.

    Args:
        x: Points, shape ``(N, d)``, at least 4 of them.
        manifold: Their space.
        neighbours: Result of :func:`nearest_neighbours`, if already computed.
        seed: Makes the layout repeatable.

    Returns:
        Points of the sphere, shape ``(N, 3)``.

    Raises:
        ImportError: umap-learn is not installed.
        ValueError: There are too few points, or points that are not finite.
    """
    polar, azimuth = _layout(x, manifold, "haversine", neighbours, seed).T
    return np.stack((np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)), axis=1)


def umap_hyperboloid(x: Tensor, manifold: Space, *, neighbours: Neighbours | None = None, seed: int = 0) -> Floats:
    r"""Lay out points on the hyperboloid in three dimensions with UMAP, their Lorentzian mean moved to its lowest point.

    Args:
        x: Points, shape ``(N, d)``, at least 4 of them.
        manifold: Their space.
        neighbours: Result of :func:`nearest_neighbours`, if already computed.
        seed: Makes the layout repeatable.

    Returns:
        Shape ``(N, 3)``, columns ``u, v, w`` with :math:`w = \sqrt{1 + u^2 + v^2}`; :func:`disk_of` makes a disk of them.

    Raises:
        ImportError: umap-learn is not installed.
        ValueError: There are too few points, or points that are not finite.
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
    umap = import_umap()
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
        coordinates: Shape ``(N, 2)``, or ``(N, 3)`` for a shell or a disk.
        shape: ``plane``: two axes; ``ring``: direction on a circle, distance from it the second number; ``shell``: the same
            about a sphere; ``disk``: a point of the Poincaré disk, and a height above it from -1 to 1.
        axes: The axes in words; for ring and shell the direction and the distance from it, for a disk the point and the height.
        mean: The direction that an angle to a mean is measured from; empty where there is none.
    """

    coordinates: Floats
    shape: Literal["plane", "ring", "shell", "disk"]
    axes: tuple[str, str]
    mean: Floats


@torch.no_grad()
def exact_view(x: Tensor, space: Space) -> ExactView:
    r"""Return the time factor of each point, a direction, against its space factor, a vector.

    A point of :math:`\mathcal Q^{s,t}` is a direction in time, :math:`t/|t| \in S^{t-1}`, and a vector in space of radius
    :math:`\rho = \operatorname{arsinh}(|s|/\sqrt{|\beta|})`.

    - With two space dimensions the vector is drawn as it is, in the Poincaré disk, and the angle of time to the pole above it:
      all of a point of ``Q2,2``, ``Q2,1`` or ``H2``.
    - With two or three time dimensions the direction is drawn as it is, on a circle or sphere, :math:`\rho` above it.
    - With more of them its angle to the pole stands for it; with one, where the direction is no more than a sign, the angle of
      the space factor to its mean does, and :math:`\rho` carries the sign.
    - Other spaces: the distance from the origin and the angle to the mean direction; products: the distances of two factors.

    Args:
        x: Points, shape ``(N, d)``.
        space: Their space.
    """
    check_points(x)
    x = x.double().cpu()
    if len(space.parts) > 1:
        first, second = space.parts[:2]
        coordinates = torch.split(x, [part.ambient_dim for part in space.parts], dim=1)
        radii = first.from_origin(coordinates[0]), second.from_origin(coordinates[1])
        return _plane(*radii, (f"distance from the origin in {first}", f"distance from the origin in {second}"))
    if space.kind in ("Q", "H") and space.ambient_dim == space.time_dim + 2:
        return _space_and_time(x, space.time_dim, math.sqrt(-1 / space.curvatures[0]))
    if space.kind != "Q":
        tangent = x[:, min(1, space.time_dim) :]
        words = ("angle to the mean direction", f"distance from the origin of {space}")
        return _plane(_angle(tangent, tangent.mean(0)), space.from_origin(x), words, tangent.mean(0))
    return _time_against_space(x, space.time_dim, math.sqrt(-1 / space.curvatures[0]))


def beside_time(x: Tensor, space: Space, time: Floats) -> Floats:
    """Return a place and the time of nodes, shape ``(N, 2)``.

    The place is where points differ most, apart from what goes with time: the first principal component of their coordinates in
    the tangent space at the origin, the linear part of time removed.

    Args:
        x: Points, shape ``(N, d)``.
        space: Their space.
        time: Times of the nodes, shape ``(N,)``.
    """
    check_points(x)
    with torch.no_grad():
        coordinates = space.logmap0(x.detach().cpu()).double()
    rest = coordinates - coordinates.mean(0)
    clock = torch.from_numpy(np.asarray(time, dtype=np.float64))
    clock = clock - clock.mean()
    if bool(clock.any()):
        rest = rest - clock.unsqueeze(1) * (clock @ rest) / (clock @ clock)
    place = rest @ torch.linalg.eigh(rest.T @ rest).eigenvectors[:, -1]
    return np.stack((place.numpy(), time), axis=1)


def _space_and_time(x: Tensor, t: int, size: float) -> ExactView:
    """Return the view of a space with two space dimensions and a radius of curvature."""
    outward = x[:, t:]
    disk = outward / (size + (size**2 + outward.square().sum(1, keepdim=True)).sqrt())  # tanh(rho / 2)
    height = _angle(x[:, :t], torch.eye(t, dtype=x.dtype)[0]) / math.pi
    if t == 2:
        height = torch.where(x[:, 1] < 0, -height, height)  # the two ways round the circle
    words = ("the space factor, in the Poincaré disk", "angle of the time factor to the pole")
    return ExactView(torch.cat((disk, height.unsqueeze(1)), dim=1).numpy(), "disk", words, np.empty(0))


def _time_against_space(x: Tensor, t: int, size: float) -> ExactView:
    """Return the view of a pseudo-hyperboloid with ``t`` time dimensions and a radius of curvature."""
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
    if t == x.shape[1]:
        rest = time[:, 1:]
        words = ("angle of time to the pole", "angle of the rest of time to its mean")
        return _plane(angle, _angle(rest, rest.mean(0)), words, rest.mean(0))
    return _plane(angle, radius, ("angle of the time factor to the pole", "radius of the space factor"))


def _plane(across: Tensor, up: Tensor, axes: tuple[str, str], mean: Tensor | None = None) -> ExactView:
    return ExactView(torch.stack((across, up), dim=1).numpy(), "plane", axes, np.empty(0) if mean is None else mean.numpy())


def _angle(v: Tensor, axis: Tensor) -> Tensor:
    """Return the angle between vectors and an axis, 0 where one of them has no direction, shape ``(N,)``."""
    length = torch.linalg.vector_norm(v, dim=1) * torch.linalg.vector_norm(axis)
    along = v @ axis
    across = (length.square() - along.square()).relu().sqrt()
    return torch.atan2(across, along)
