r"""The order of time: which points lie in the future of which, and how much time passes between them.

A metric with one time direction of its own splits the vectors of each tangent space into a future cone, a past cone and the
rest. The quadric :math:`\langle x, x\rangle = \beta` with ``t`` negative ambient coordinates has :math:`t - 1` time directions:

========= ==============================================================================================================
``t``     time
========= ==============================================================================================================
1         none: hyperbolic space. Its points have no order.
2         one: *anti-de Sitter space*. It can be oriented, but time runs in circles, so that each point is in its own
          future. On the universal cover, where the angle of time is a number of its own, there is an order.
3 or more several. The time-like vectors at a point are connected, so that past and future cannot be told apart, not even
          at one point: there is no order, and the functions here raise ``ValueError``.
========= ==============================================================================================================

With the sign of its metric reversed the quadric with *one* positive coordinate is *de Sitter space*: its time is that
coordinate, its space a sphere that grows. Flat spacetime is ordered by its light cones.

All of these are conformally flat: up to a factor, which light does not feel, the metric is :math:`-d\eta^2 + d\sigma^2`, so
that ``y`` is in the causal future of ``x`` if and only if

.. math:: D(x, y) \le \eta(y) - \eta(x)

with :math:`D` the distance in space as light travels it:

================ ================================= ==================================================================
spacetime        :math:`\eta`                      :math:`D`
================ ================================= ==================================================================
flat             time                              Euclidean distance
anti-de Sitter   angle of time, unrolled           angle of :math:`(\sqrt{|\beta|}, s)`, points of a hemisphere
de Sitter        :math:`\arctan(s/\sqrt{|\beta|})` angle of the other coordinates, points of a sphere
================ ================================= ==================================================================

Points of the universal cover of anti-de Sitter space are ``(time, s)``, with the angle of time as a length
:math:`\sqrt{|\beta|}\,T`; see :func:`unroll` and :func:`roll_up`.
"""

import math

import torch
from torch import Tensor

from qgcn.geometry.ambient import check, magnitude
from qgcn.geometry.geodesic import signed_sqdist
from qgcn.numerics import apart_or_zero, safe_norm, safe_sqrt

__all__ = [
    "angle_between",
    "anti_de_sitter_margin",
    "anti_de_sitter_sky",
    "anti_de_sitter_time",
    "ball_margin",
    "causal_order",
    "check_oriented",
    "de_sitter_ball",
    "de_sitter_margin",
    "de_sitter_time",
    "flat_margin",
    "flat_time",
    "future_field",
    "interval_time",
    "roll_up",
    "sky_margin",
    "time_sense",
    "unroll",
]


def check_oriented(time_dim: int) -> None:
    """Raise ``ValueError`` unless the quadric with so many negative coordinates has one direction of time."""
    if time_dim == 1:
        raise ValueError("a quadric with time_dim 1 is Riemannian and has no direction of time: expected time_dim 2")
    if time_dim != 2:
        raise ValueError(
            f"with time_dim {time_dim} a quadric has {time_dim - 1} directions of time, but no past and future: expected 2"
        )


def angle_between(u: Tensor, v: Tensor) -> Tensor:
    r"""Return the angle between unit vectors, :math:`2\operatorname{atan2}(|u - v|, |u + v|)`, shape ``(...)``.

    Laws: exact to rounding from 0 to :math:`\pi`; derivatives are finite everywhere, zero where the vectors are equal or
    opposite.

    Args:
        u: Shape ``(..., n)``.
        v: Shape ``(..., n)``.
    """
    return 2 * torch.atan2(safe_norm(u - v), safe_norm(u + v)).squeeze(-1)


def causal_order(forth: Tensor, back: Tensor, scale: Tensor | float = 1.0) -> Tensor:
    """Tell how pairs are ordered: 1 if the second point is in the causal future of the first, -1 in its past, 0 if neither.

    Light rays count as causal, and so does a margin that is not larger than rounding. A point is in its own future.

    Args:
        forth: Margins of the pairs.
        back: Margins of the same pairs the other way round.
        scale: Size of the numbers that the margins are differences of.

    Returns:
        ``int8`` tensor.
    """
    later, earlier = (apart_or_zero(margin, scale) <= 0 for margin in (forth, back))
    return torch.where(later, 1, torch.where(earlier, -1, 0)).to(torch.int8)


# --- flat spacetime ----------------------------------------------------------------------------------------------------


def flat_margin(x: Tensor, y: Tensor) -> Tensor:
    r"""Return :math:`|s_y - s_x| - (t_y - t_x)`, not positive where ``y`` is in the causal future of ``x``.

    Laws: unchanged by translations; scales with the points; the order is transitive and antisymmetric; derivatives are finite
    everywhere.

    Args:
        x: Events, time first, shape ``(..., d)``.
        y: Events, shape ``(..., d)``.

    Returns:
        Shape ``(...)``.
    """
    check(1, x=x, y=y)
    step = y - x
    return safe_norm(step[..., 1:]).squeeze(-1) - step[..., 0]


def flat_time(x: Tensor, y: Tensor) -> Tensor:
    r"""Return the time :math:`\sqrt{\Delta t^2 - |\Delta s|^2}` from ``x`` to ``y``; 0 where ``y`` is not in its future.

    Laws: the *reverse* triangle inequality along the order: a detour takes less time. Arguments as for :func:`flat_margin`.
    """
    check(1, x=x, y=y)
    step = y - x
    return interval_time(step[..., 0], safe_norm(step[..., 1:]).squeeze(-1))


def interval_time(time: Tensor, space: Tensor) -> Tensor:
    """Return the time of intervals whose parts in time and in space are given; 0 for those that do not lead to the future."""
    later = time > space
    return torch.where(later, safe_sqrt(torch.where(later, (time - space) * (time + space), 0)), 0)


# --- anti-de Sitter space ----------------------------------------------------------------------------------------------


def future_field(x: Tensor, *, time_dim: int = 2) -> Tensor:
    r"""Return the unit vectors :math:`(-x_1, x_0, 0, \dots)/\sqrt{x_0^2 + x_1^2}`: the direction of time at every point.

    It is tangent to the quadric and turns with time. Laws: tangent; of square -1; the flow of it is periodic.

    Args:
        x: Points, shape ``(..., d)``.
        time_dim: 2, see :func:`check_oriented`.
    """
    check_oriented(time_dim)
    check(time_dim, x=x)
    ahead = torch.stack((-x[..., 1], x[..., 0]), dim=-1)
    return torch.cat((ahead / safe_norm(ahead), torch.zeros_like(x[..., 2:])), dim=-1)


def time_sense(x: Tensor, v: Tensor, *, time_dim: int = 2) -> Tensor:
    """Tell where tangent vectors point: 1 to the future, -1 to the past, 0 if they are not time-like; int8, shape ``(...)``."""
    ahead = future_field(x, time_dim=time_dim)
    time, space = v[..., :2], v[..., 2:]
    timelike = (time * time).sum(-1) > (space * space).sum(-1)
    return torch.where(timelike, (ahead[..., :2] * time).sum(-1).sign(), 0).to(torch.int8)


def unroll(x: Tensor, *, beta: Tensor | float, turns: Tensor | int = 0) -> Tensor:
    r"""Return points of the universal cover, :math:`(\sqrt{|\beta|}(\operatorname{atan2}(x_1, x_0) + 2\pi k), s)`.

    Laws: ``roll_up(unroll(x)) == x``; one turn more is :math:`2\pi\sqrt{|\beta|}` later.

    Args:
        x: Points of the quadric with two time dimensions, shape ``(..., s + 2)``.
        beta: Negative.
        turns: Whole turns of time ``k``, a number or shape ``(...)``.

    Returns:
        Shape ``(..., s + 1)``.
    """
    check(2, x=x)
    angle = torch.atan2(x[..., 1], x[..., 0]) + 2 * math.pi * turns
    return torch.cat((magnitude(beta, x).sqrt() * angle.unsqueeze(-1), x[..., 2:]), dim=-1)


def roll_up(p: Tensor, *, beta: Tensor | float) -> Tensor:
    r"""Return points of the quadric, :math:`(r\cos T, r\sin T, s)` with :math:`r = \sqrt{|\beta| + |s|^2}`.

    Laws: on the quadric; the same for a whole turn more.

    Args:
        p: Points of the universal cover, shape ``(..., s + 1)``.
        beta: Negative.

    Returns:
        Shape ``(..., s + 2)``.
    """
    check(1, p=p)
    size = magnitude(beta, p)
    angle, space = p[..., :1] / size.sqrt(), p[..., 1:]
    length = (size + (space * space).sum(-1, keepdim=True)).sqrt()
    return torch.cat((length * angle.cos(), length * angle.sin(), space), dim=-1)


def anti_de_sitter_margin(p: Tensor, q: Tensor, *, beta: Tensor | float) -> Tensor:
    r"""Return :math:`\sqrt{|\beta|}\,(D - (T_q - T_p))`, not positive where ``q`` is in the causal future of ``p``.

    Laws: the order is that of light; transitive and antisymmetric; unchanged by shifts of time and rotations of space;
    close to :func:`flat_margin` near the axis; derivatives are finite everywhere.

    Args:
        p: Points of the universal cover, shape ``(..., s + 1)``.
        q: Points, shape ``(..., s + 1)``.
        beta: Negative.

    Returns:
        Shape ``(...)``.
    """
    check(1, p=p, q=q)
    seen = (anti_de_sitter_sky(each, beta=beta) for each in (p, q))
    return sky_margin(*seen, beta=beta)


def anti_de_sitter_sky(p: Tensor, *, beta: Tensor | float) -> Tensor:
    """Return the time of points and where light sees them, ``(time, unit vector)``, shape ``(..., s + 2)``.

    What :func:`sky_margin` needs of a point, whatever the pair. Arguments as for :func:`anti_de_sitter_margin`.
    """
    check(1, p=p)
    ends = torch.cat((magnitude(beta, p).sqrt().expand_as(p[..., :1]), p[..., 1:]), dim=-1)
    return torch.cat((p[..., :1], ends / safe_norm(ends)), dim=-1)


def sky_margin(a: Tensor, b: Tensor, *, beta: Tensor | float) -> Tensor:
    """Return the margin of light between points given by :func:`anti_de_sitter_sky`, shape ``(...)``."""
    root = magnitude(beta, a).sqrt()
    return (root * angle_between(a[..., 1:], b[..., 1:]).unsqueeze(-1)).squeeze(-1) - (b[..., 0] - a[..., 0])


def anti_de_sitter_time(p: Tensor, q: Tensor, *, beta: Tensor | float) -> Tensor:
    r"""Return the longest time that a traveller from ``p`` to ``q`` can see pass; 0 where ``q`` is not in the future of ``p``.

    All geodesics that leave ``p`` to the future meet again at its antipode :math:`\bar p`, half a turn later. Until there they
    are longest, :math:`\sqrt{|\beta|}\arccos c`, with :math:`\pi\sqrt{|\beta|}` at :math:`\bar p`. A point that is in the
    future of ``p`` but not in the past of :math:`\bar p` can be reached by way of far out, where clocks run as fast as one
    likes: the time is infinite. These are the pairs of the future that no geodesic joins, and all that lie behind
    :math:`\bar p`.

    Laws: the reverse triangle inequality along the order. Arguments as for :func:`anti_de_sitter_margin`.
    """
    check(1, p=p, q=q)
    root = magnitude(beta, p).sqrt()
    mirrored = torch.cat((p[..., :1] + math.pi * root, -p[..., 1:]), dim=-1)
    later = anti_de_sitter_margin(p, q, beta=beta) < 0
    beyond = anti_de_sitter_margin(q, mirrored, beta=beta) > 0
    square = -signed_sqdist(roll_up(p, beta=beta), roll_up(q, beta=beta), beta=beta, time_dim=2)
    time = safe_sqrt(torch.where(later & ~beyond & (square > 0), square, 0))
    half = later & ~beyond & square.isnan()  # at the antipode, or where light from it comes by: c is -1 up to rounding
    time = torch.where(half, math.pi * root.squeeze(-1), time)
    return torch.where(later & beyond, torch.inf, time)


# --- de Sitter space ---------------------------------------------------------------------------------------------------


def de_sitter_margin(x: Tensor, y: Tensor, *, beta: Tensor | float) -> Tensor:
    r"""Return :math:`\sqrt{|\beta|}\log\frac{D + \varrho_y}{\varrho_x}`, not positive where ``y`` is in the future of ``x``.

    :math:`\varrho = \pi/2 - \eta = \operatorname{atan2}(\sqrt{|\beta|}, s)` is how far light from a point still gets: the
    radius of a ball on the sphere of space. ``y`` is in the future of ``x`` if the ball of ``y`` lies in that of ``x``. The
    logarithm measures in the time of the one who waits: late balls shrink exponentially.

    Laws: the order is that of light; transitive and antisymmetric; derivatives are finite everywhere.

    Args:
        x: Points of the quadric with one space coordinate, that of time here, last; shape ``(..., d)``, ``d >= 2``.
        y: Points, shape ``(..., d)``.
        beta: Negative; the curvature is ``-1 / beta``.

    Returns:
        Shape ``(...)``.
    """
    check(1, x=x, y=y)
    return ball_margin(*(de_sitter_ball(each, beta=beta) for each in (x, y)), beta=beta)


def de_sitter_ball(x: Tensor, *, beta: Tensor | float) -> Tensor:
    r"""Return the radius :math:`\varrho` of balls and their centre on the sphere of space, ``(radius, unit vector)``.

    What :func:`ball_margin` needs of a point, whatever the pair; shape ``(..., d)``. Arguments as for :func:`de_sitter_margin`.
    """
    check(1, x=x)
    sphere, time = x[..., :-1], x[..., -1:]
    radius = torch.atan2(magnitude(beta, x).sqrt().expand_as(time), time)
    return torch.cat((radius, sphere / safe_norm(sphere)), dim=-1)


def ball_margin(a: Tensor, b: Tensor, *, beta: Tensor | float) -> Tensor:
    """Return the margin of light between points given by :func:`de_sitter_ball`, shape ``(...)``."""
    root = magnitude(beta, a).sqrt()
    ratio = (angle_between(a[..., 1:], b[..., 1:]).unsqueeze(-1) + b[..., :1]) / a[..., :1]
    return (root * ratio.log()).squeeze(-1)


def de_sitter_time(x: Tensor, y: Tensor, *, beta: Tensor | float) -> Tensor:
    r"""Return the time :math:`\sqrt{|\beta|}\operatorname{arcosh} c` from ``x`` to ``y``; 0 where ``y`` is not in its future.

    Laws: the reverse triangle inequality along the order. Arguments as for :func:`de_sitter_margin`.
    """
    later = (de_sitter_margin(x, y, beta=beta) < 0).unsqueeze(-1)
    square = signed_sqdist(x, y, beta=beta, time_dim=x.shape[-1] - 1).unsqueeze(-1)
    return safe_sqrt(torch.where(later & (square > 0), square, 0)).squeeze(-1)
