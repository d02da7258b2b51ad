r"""Geodesics of the manifold: where they lead, what joins two points, how long it is.

Notation: :math:`c = -\langle x, y\rangle/|\beta|`, :math:`q = 2(c-1)`, :math:`z = \langle v, v\rangle/|\beta|`; the functions
:math:`C, S, A, F` are those of :mod:`qgcn.numerics`. Points with :math:`c \le -1` are joined by no geodesic.
"""

import math

import torch
from torch import Tensor

from qgcn.geometry.ambient import check, magnitude, square
from qgcn.geometry.chord import Chord, chord, chord_between_all, separation
from qgcn.numerics import arc, arc_over_sine, arc_squared, cosh_sinhc_root

__all__ = [
    "dist",
    "expmap",
    "geodesic",
    "geodesic_dist",
    "is_connected",
    "logmap",
    "pairwise_dist",
    "signed_sqdist",
    "sqdist",
    "squared_chord",
]


def expmap(x: Tensor, v: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Follow the geodesic that leaves ``x`` with velocity ``v`` for unit time.

    .. math:: \exp_x(v) = C(z)\,x + S(z)\,v

    Laws: stays on the manifold; ``expmap(x, 0) == x``; inverse of :func:`logmap` where that is defined.

    Args:
        x: Points, shape ``(..., d)``.
        v: Tangent vectors at ``x``, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, x=x, v=v)
    z = square(v, time_dim=time_dim) / magnitude(beta, x)
    ahead, along = cosh_sinhc_root(z)
    return torch.addcmul(ahead * x, along, v)


def geodesic(x: Tensor, v: Tensor, tau: Tensor | float, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return the point :math:`\gamma(\tau) = \exp_x(\tau v)` of the geodesic that leaves ``x`` with velocity ``v``.

    Laws: ``geodesic(x, v, 0) == x``; constant :math:`\langle\dot\gamma, \dot\gamma\rangle`; stays on the manifold.

    Args:
        x: Points, shape ``(..., d)``.
        v: Tangent vectors at ``x``, shape ``(..., d)``.
        tau: Times; a number, or a shape that broadcasts against ``(..., 1)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    return expmap(x, tau * v, beta=beta, time_dim=time_dim)


def is_connected(x: Tensor, y: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Tell where a geodesic joins ``x`` and ``y``: :math:`c > -1`, that is :math:`\langle x, y\rangle < |\beta|`.

    Laws: symmetric; one of ``(x, y)`` and ``(x, -y)`` is always connected (Theorem 4); always true for ``s = 0`` but
    for antipodes.

    Returns:
        ``bool`` tensor of shape ``(...)``.
    """
    check(time_dim, x=x, y=y)
    return chord(x, y, magnitude(beta, x), time_dim=time_dim).connected.squeeze(-1)


def logmap(x: Tensor, y: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return the velocity with which a geodesic leaves ``x`` to reach ``y`` after unit time.

    .. math:: \log_x(y) = A(c)\,(y - c\,x), \qquad c > -1

    For disconnected points there is no such vector: the result is NaN, never a wrong vector, and the gradient of those
    rows is zero. Ask :func:`is_connected`, or use the diffeomorphic logarithm, which is defined everywhere.

    Laws: tangent at ``x``; ``logmap(x, x) == 0``; inverse of :func:`expmap`;
    :math:`\langle\log,\log\rangle` is :func:`signed_sqdist`.

    Far out it is ill-conditioned: a vector at a right angle to the direction outwards is short, but its ends are far away. Its
    error, relative to its Euclidean length, is at most four times the rounding unit times :math:`1 + |x||x-y|/|\beta|`, for
    :math:`c > -1/2`. Rounding the points themselves moves it by more.

    Args:
        x: Points, shape ``(..., d)``.
        y: Points, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, x=x, y=y)
    found, c = separation(x, y, magnitude(beta, x), time_dim=time_dim)
    toward, across, far, apart = _one_sided(c)
    scale = arc_over_sine(toward)
    if across is not None:
        # pi - angle over its sine; the sine is half the geometric mean of both chords
        scale = torch.where(far, (math.pi + arc(across)) / ((-across * (4 + across)).sqrt() / 2), scale)
    # of y - c x, with side * y = (1 - drop) x - lever * residual, nothing but the residual and a part of x are left
    scale = -found.side * scale
    velocity = torch.addcmul(scale * (found.drop + found.raw / 2) * x, scale * found.lever, found.residual)
    return velocity.masked_fill(apart, torch.nan)


def signed_sqdist(x: Tensor, y: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return :math:`\langle\log_x y, \log_x y\rangle`: positive for space-like, negative for time-like separation.

    .. math:: |\beta|\,F(q) = |\beta| \operatorname{arcosh}(c)^2 \;(c \ge 1), \quad -|\beta| \arccos(c)^2 \;(-1 < c \le 1)

    One analytic function through the null cone. NaN, with zero gradient, for disconnected points.

    Returns:
        Shape ``(...)``.
    """
    check(time_dim, x=x, y=y)
    size = magnitude(beta, x)
    c = chord(x, y, size, time_dim=time_dim)
    toward, across, far, apart = _one_sided(c)
    value = arc_squared(toward)
    if across is not None:
        value = torch.where(far, -(math.pi + arc(across)).square(), value)
    return torch.where(apart, torch.nan, size * value).squeeze(-1)


def squared_chord(x: Tensor, y: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return :math:`\langle x - y, x - y\rangle`, without cancellation: the squared chord, negative where it is time-like.

    .. math:: \langle x - y, x - y\rangle = |\beta|\,q = 2|\beta|(c - 1)

    Laws: symmetric; 0 for coincident points; defined and analytic for any two points, joined by a geodesic or not; near
    coincidence :func:`signed_sqdist`.

    Returns:
        Shape ``(...)``.

    Example:
        >>> x, y = torch.tensor([0.0, 1.0, 0.0]), torch.tensor([1.0, 0.0, 0.0])
        >>> squared_chord(x, y, beta=-1.0, time_dim=2)
        tensor(-2.)
    """
    check(time_dim, x=x, y=y)
    size = magnitude(beta, x)
    c = chord(x, y, size, time_dim=time_dim)
    return (size * torch.where(c.across, -4 - c.raw, c.raw)).squeeze(-1)


def dist(x: Tensor, y: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return the distance between any two points, along a broken geodesic where no smooth one exists.

    .. math:: d(x, y) = \sqrt{|\beta|}\begin{cases}
        \operatorname{arcosh}(c) & c \ge 1\\ \arccos(c) & -1 \le c \le 1\\ \pi + \operatorname{arcosh}(-c) & c \le -1
        \end{cases}

    Laws: symmetric; continuous; zero for coincident and for null-separated points (distinct points can be at distance
    zero: that is the geometry); grows as :math:`\sqrt{|\beta|}`; invariant under ``O(s, t)``. The slope at distance zero
    and at :math:`c = -1` is infinite; there the gradient is set to zero.

    Args:
        x: Points, shape ``(..., d)``.
        y: Points, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.

    Returns:
        Shape ``(...)``.
    """
    check(time_dim, x=x, y=y)
    size = magnitude(beta, x)
    return (size.sqrt() * _length(chord(x, y, size, time_dim=time_dim))).squeeze(-1)


def sqdist(x: Tensor, y: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return the square of :func:`dist`, smooth at coincidence; at null separation, where it has a kink, one side's slope.

    Returns:
        Shape ``(...)``.
    """
    check(time_dim, x=x, y=y)
    size = magnitude(beta, x)
    c = chord(x, y, size, time_dim=time_dim)
    square, far = c.nearer
    toward = torch.where(far, 0, square)
    # the sign that makes F positive; known in advance where only one occurs, so that the slope at 0 is right there
    sign = 1 if time_dim == 1 else -1 if time_dim == x.shape[-1] else torch.where(toward < 0, -1, 1)
    value = torch.where(far, (math.pi + arc(square)).square(), sign * arc_squared(toward))
    return (size * value).squeeze(-1)


def geodesic_dist(x: Tensor, y: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    """Return the length of the geodesic between ``x`` and ``y``: :func:`dist` where connected, NaN elsewhere.

    Returns:
        Shape ``(...)``.
    """
    check(time_dim, x=x, y=y)
    size = magnitude(beta, x)
    c = chord(x, y, size, time_dim=time_dim)
    return torch.where(c.connected, size.sqrt() * _length(c), torch.nan).squeeze(-1)


def pairwise_dist(x: Tensor, y: Tensor | None = None, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return :func:`dist` from every ``x`` to every ``y`` (to every ``x`` if none is given).

    Memory grows as ``N M``, never as ``N M d``. Differentiable once.

    Args:
        x: Points, shape ``(..., N, d)``.
        y: Points, shape ``(..., M, d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.

    Returns:
        Shape ``(..., N, M)``.
    """
    y = x if y is None else y
    for name, points in (("x", x), ("y", y)):
        if points.ndim < 2:
            raise ValueError(f"{name} must have shape (..., N, d), got {tuple(points.shape)}")
    check(time_dim, x=x.unsqueeze(-2), y=y.unsqueeze(-3))
    size = magnitude(beta, x)
    return size.sqrt() * _length(chord_between_all(x, y, size, time_dim=time_dim))


def _length(c: Chord) -> Tensor:
    """Return the length, in units of ``sqrt|beta|``, of the possibly broken geodesic that a chord belongs to."""
    square, far = c.nearer
    length = arc(square, space_like=c.space_like)
    return torch.where(far, math.pi + length, length if c.space_like else length.abs())


def _one_sided(c: Chord) -> tuple[Tensor, Tensor | None, Tensor, Tensor]:
    """Return the chord's square for the near formula and for the connected far one, harmless where not meant.

    With them come where the chord is far, and where it joins nothing. With one time dimension no far chord is connected.
    """
    square, far = c.nearer
    apart = c.disconnected(square, far)
    return torch.where(far, 0, square), None if c.space_like else torch.where(far & ~apart, square, -1), far, apart
