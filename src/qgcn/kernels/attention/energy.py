r"""The energy of a pair of points, by which one listens to the other: the signed squared distance.

It is :math:`|\beta| F(q)`, the squared length of the geodesic that joins the points, negative for time-like separation. Past
the antipode (:math:`c \le -1`), where no geodesic leads, it goes on continuously: half a turn in time to the antipode of the
first point, then the space-like rest. Where the metric has one sign, on flat factors, in hyperbolic space and on spheres, the
square is positive.

.. math:: E(x, y) = |\beta|\begin{cases} \operatorname{arcosh}(c)^2 & c \ge 1 \\ -\arccos(c)^2 & |c| \le 1 \\
    \operatorname{arcosh}(-c)^2 - \pi^2 & c \le -1 \end{cases}
"""

import math
from typing import Literal, get_args

import torch
from torch import Tensor

from qgcn.geometry import magnitude
from qgcn.geometry.chord import Chord, chord, chord_between_all
from qgcn.kernels.metric import Factor, Metric, factors_of
from qgcn.numerics import arc, arc_squared

__all__ = ["ENERGIES", "EnergyKind", "all_energies", "pair_energies"]

EnergyKind = Literal["distance", "chord"]
"""``distance``: the signed squared distance. ``chord``: the squared chord, its flat counterpart, a dot product in disguise."""
ENERGIES = get_args(EnergyKind)


def pair_energies(x: Tensor, y: Tensor, manifold: Metric, kind: EnergyKind = "distance") -> Tensor:
    r"""Return the energy of pairs of points.

    Laws: symmetric; invariant under isometries; zero for coincident and null-separated points; the sum of those of the factors.

    Args:
        x: Points, shape ``(..., d)``.
        y: Points, shape ``(..., d)``.
        manifold: The space.
        kind: Signed squared distance, or squared chord :math:`\langle x-y, x-y\rangle`.

    Returns:
        Shape ``(...)``.
    """
    factors = _known_factors(manifold, kind)
    if factors is None:
        return manifold.dist2(x, y)
    total = x.new_zeros(())
    for factor, a, b in _shares(factors, x, y):
        if factor.beta is None:
            square = (a - b).square().sum(-1)
        else:
            size = magnitude(factor.beta, a)
            square = (size * _of_chord(chord(a, b, size, time_dim=factor.time_dim), factor, kind)).squeeze(-1)
        total = total + square
    return total


def all_energies(x: Tensor, y: Tensor, manifold: Metric, kind: EnergyKind = "distance") -> Tensor:
    """Return the energy of every ``x``, shape ``(N, d)``, with every ``y``, shape ``(M, d)``, as ``(N, M)``."""
    factors = _known_factors(manifold, kind)
    if factors is None:
        return manifold.pairwise_dist(x, y).square()
    total = x.new_zeros(())
    for factor, a, b in _shares(factors, x, y):
        if factor.beta is None:
            square = torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist").square()
        else:
            size = magnitude(factor.beta, a)
            square = size * _of_chord(chord_between_all(a, b, size, time_dim=factor.time_dim), factor, kind)
        total = total + square
    return total


def _known_factors(manifold: Metric, kind: EnergyKind) -> tuple[Factor, ...] | None:
    if kind not in ENERGIES:
        raise ValueError(f"energy must be one of {', '.join(ENERGIES)}, got {kind!r}")
    factors = factors_of(manifold)
    if factors is None and kind == "chord":
        raise ValueError(f"{manifold} has a factor without chords: expected flat factors and quadrics")
    return factors


def _shares(factors: tuple[Factor, ...], x: Tensor, y: Tensor) -> list[tuple[Factor, Tensor, Tensor]]:
    sizes = [factor.size for factor in factors]
    return list(zip(factors, x.split(sizes, -1), y.split(sizes, -1), strict=True))


def _of_chord(c: Chord, factor: Factor, kind: EnergyKind) -> Tensor:
    """Return the energy in units of ``|beta|``."""
    sign = -1 if factor.time_dim == factor.size else 1
    if kind == "chord":
        return sign * torch.where(c.across, -4 - c.raw, c.raw)
    toward = torch.where(c.far, 0, c.square)
    if not 1 < factor.time_dim < factor.size:
        around = torch.where(c.far, c.square, -1)
        return torch.where(c.far, (math.pi + arc(around)).square(), sign * arc_squared(toward))
    joined = c.square < 0
    back = torch.where(c.far & joined, c.square, -1)
    beyond = torch.where(c.far & ~joined, c.square, 0)
    past = torch.where(joined, -(math.pi + arc(back)).square(), arc_squared(beyond) - math.pi**2)
    return torch.where(c.far, past, arc_squared(toward))
