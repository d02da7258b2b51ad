r"""A positive metric on the manifold, for whatever needs a length: descent, adaptive steps, bounded steps.

A point :math:`x = (r n, s)` with :math:`|n| = 1` and :math:`r = \sqrt{|\beta| + |s|^2}` moves in two ways: ``s`` and ``r``
change together, as on a hyperboloid, or ``n`` turns, as on a sphere of radius ``r``. Both are orthogonal, and the metric is
their difference. Their sum is positive:

.. math:: \langle dx, dx\rangle = (|ds|^2 - dr^2) - r^2 |dn|^2, \qquad g_x(dx, dx) = (|ds|^2 - dr^2) + r^2 |dn|^2 .

It is the metric of hyperbolic space for ``t = 1`` and of the sphere for ``s = 0``. It is invariant under
:math:`O(t)\times O(s)`. More cannot be had: for ``s >= 1`` and ``t >= 2`` the isometries that fix a point are a non-compact
group :math:`O(s, t-1)`, which leaves no positive form on its tangent space invariant.
"""

from typing import Final

import torch
from torch import Tensor

from qgcn.geometry.ambient import check, magnitude
from qgcn.numerics import at_least_tiny, safe_sqrt, unit_or_axis

__all__ = ["definite_inner", "descent_direction", "step_share"]

LONGEST_STEP: Final = 0.5
"""Longest step of a retraction in units of ``sqrt|beta|``. Losses that grow exponentially with the distance make longer steps
overshoot; the exponential map is needed from about there on anyway."""


def descent_direction(x: Tensor, g: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return the gradient, under the positive metric, of a function with Euclidean gradient ``g``.

    .. math:: \chi = \bigl(g_t - 2 (n\cdot g_t)\,n,\; g_s\bigr) + \frac{g\cdot x}{|\beta|}\,x

    Laws: tangent at ``x``; :math:`g\cdot v = g_x(\chi, v)` for every tangent ``v``, so :math:`-\chi` descends unless ``g`` is
    normal to the manifold; the Riemannian gradient of hyperbolic space for ``t = 1`` and of the sphere for ``s = 0``;
    equivariant under :math:`O(t)\times O(s)`.

    Args:
        x: Points, shape ``(..., d)``.
        g: Euclidean gradients there, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, x=x, g=g)
    unit = unit_or_axis(x[..., :time_dim])
    time = g[..., :time_dim]
    reflected = time - 2 * (unit * time).sum(-1, keepdim=True) * unit
    along = (g * x).sum(-1, keepdim=True) / magnitude(beta, x)
    flipped = torch.cat((reflected, g[..., time_dim:].expand(*reflected.shape[:-1], -1)), dim=-1)
    return torch.addcmul(flipped, along, x)


def definite_inner(x: Tensor, u: Tensor, v: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return the positive inner product of tangent vectors, shape ``(..., 1)``.

    With :math:`e = s/|s|`, :math:`u_n = u_t - (n\cdot u_t)\,n` and :math:`a = e\cdot u_s`

    .. math:: g_x(u, u) = |u_n|^2 + |u_s - a e|^2 + a^2\,\frac{|\beta|}{|\beta| + |s|^2} :

    squares only, so that no rounding makes it negative. The part of ``u`` along ``n`` is not read: it follows from the rest.

    Laws: symmetric; bilinear; positive; :math:`|\langle u, u\rangle| \le g_x(u, u)`, and equal for ``t = 1`` and ``s = 0``;
    invariant under :math:`O(t)\times O(s)`.

    Args:
        x: Points, shape ``(..., d)``.
        u: Tangent vectors at ``x``, shape ``(..., d)``.
        v: Tangent vectors at ``x``, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, x=x, u=u, v=v)
    total: Tensor | int = 0
    if time_dim > 1:
        turns = [_without(unit_or_axis(x[..., :time_dim]), w[..., :time_dim])[0] for w in (u, v)]
        total = (turns[0] * turns[1]).sum(-1, keepdim=True)
    if time_dim < x.shape[-1]:
        space, size = x[..., time_dim:], magnitude(beta, x)
        (across, along), (across_v, along_v) = (_without(unit_or_axis(space), w[..., time_dim:]) for w in (u, v))
        shrunk = size / (size + (space * space).sum(-1, keepdim=True))
        total = total + (across * across_v).sum(-1, keepdim=True) + along * along_v * shrunk
    if isinstance(total, int):  # a space of two points, whose tangent vectors are zero
        return torch.zeros_like((x * u * v)[..., :1])
    return total


def step_share(x: Tensor, u: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return the share of a step ``u`` that a retraction takes, shape ``(..., 1)``: 1 up to half the radius of curvature.

    .. math:: \min\Bigl(1, \tfrac12\sqrt{|\beta| / g_x(u, u)}\Bigr)

    Laws: in ``(0, 1]``; finite for every finite ``u``.
    """
    largest = at_least_tiny(u.abs().amax(-1, keepdim=True))
    scaled = u / largest  # so that no square overflows
    length = safe_sqrt(definite_inner(x, scaled, scaled, beta=beta, time_dim=time_dim))
    allowed = LONGEST_STEP * magnitude(beta, x).sqrt() / largest
    too_long = length > allowed
    return torch.where(too_long, allowed / torch.where(too_long, length, 1), 1)


def _without(unit: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Return ``w`` without its part along a unit vector, and the length of that part."""
    along = (unit * w).sum(-1, keepdim=True)
    return torch.addcmul(w, along, unit, value=-1), along
