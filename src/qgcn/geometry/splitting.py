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

from qgcn.geometry.ambient import check, flip_time, magnitude
from qgcn.geometry.projections import project_tangent

__all__ = ["carried_share", "definite_inner", "descent_direction", "step_share"]

LONGEST_STEP: Final = 0.5
"""Longest step of a retraction in units of ``sqrt|beta|``. Losses that grow exponentially with the distance make longer steps
overshoot; the exponential map is needed from about there on anyway."""

_SHRINK: Final = 2.0**-40
"""Power of two by which a step is multiplied before it is squared, so that in float32 steps up to 1e31 do not overflow."""


def descent_direction(x: Tensor, g: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return the gradient, under the positive metric, of a function with Euclidean gradient ``g``.

    .. math:: \chi = \bigl(g_t - 2 (n\cdot g_t)\,n,\; g_s\bigr) + \frac{g\cdot x}{|\beta|}\,x

    Laws: tangent at ``x``; :math:`g\cdot v = g_x(\chi, v)` for every tangent ``v``, so :math:`-\chi` descends unless ``g`` is
    normal to the manifold; the Riemannian gradient of hyperbolic space for ``t = 1`` and of the sphere for ``s = 0``;
    equivariant under :math:`O(t)\times O(s)`.

    Example:
        >>> import torch
        >>> from qgcn import geometry
        >>> x, g = torch.tensor([1.25, 0.0, 0.75]), torch.tensor([1.0, 2.0, 3.0])
        >>> geometry.descent_direction(x, g, beta=-1.0, time_dim=2)
        tensor([3.3750, 2.0000, 5.6250])

    Args:
        x: Points, shape ``(..., d)``.
        g: Euclidean gradients there, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, x=x, g=g)
    if time_dim == 1:  # the same with one sum less
        return project_tangent(x, flip_time(g, time_dim=1), beta=beta, time_dim=1)
    time, size = x[..., :time_dim], magnitude(beta, x)
    square = size + (x[..., time_dim:] * x[..., time_dim:]).sum(-1, keepdim=True)  # of the time part
    overlap = (g * x)[..., :time_dim].sum(-1, keepdim=True)
    reflected = torch.addcmul(g[..., :time_dim], overlap / square, time, value=-2)
    along = (g * x).sum(-1, keepdim=True) / size
    flipped = torch.cat((reflected, g[..., time_dim:].expand(*reflected.shape[:-1], -1)), dim=-1)
    return torch.addcmul(flipped, along, x)


def definite_inner(x: Tensor, u: Tensor, v: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return the positive inner product of tangent vectors, shape ``(..., 1)``.

    .. math:: g_x(u, v) = F u \cdot F v, \qquad
        F u = \Bigl(u_t - (n\cdot u_t)\,n,\; u_s - \frac{s\cdot u_s}{r\,(r + \sqrt{|\beta|})}\,s\Bigr) :

    coordinates in an orthonormal frame, so that no rounding makes a square negative. The part of ``u`` along ``n`` is not read:
    it follows from the rest.

    Laws: symmetric; bilinear; positive; :math:`|\langle u, u\rangle| \le g_x(u, u)`, and equal for ``t = 1`` and ``s = 0``;
    invariant under :math:`O(t)\times O(s)`.

    Example:
        >>> import torch
        >>> from qgcn import geometry
        >>> x, u = torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 3.0, 4.0])
        >>> geometry.inner(u, u, time_dim=2), geometry.definite_inner(x, u, u, beta=-1.0, time_dim=2)
        (tensor(7.), tensor([25.]))

    Args:
        x: Points, shape ``(..., d)``.
        u: Tangent vectors at ``x``, shape ``(..., d)``.
        v: Tangent vectors at ``x``, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, x=x, u=u, v=v)
    first = _framed(x, u, magnitude(beta, x), time_dim)
    second = first if v is u else _framed(x, v, magnitude(beta, x), time_dim)
    return (first * second).sum(-1, keepdim=True)


def step_share(x: Tensor, u: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return the share of a step ``u`` that a retraction takes, shape ``(..., 1)``: 1 up to half the radius of curvature.

    .. math:: \min\Bigl(1, \tfrac12\sqrt{|\beta| / g_x(u, u)}\Bigr)

    Laws: in ``[0, 1]``; finite for every finite ``u``.
    """
    size = magnitude(beta, x)
    return _share(_shrunk_length(x, u, size, time_dim), LONGEST_STEP * _SHRINK * size.sqrt())


def carried_share(x: Tensor, u: Tensor, y: Tensor, v: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return the share of ``v`` at ``y`` that is no longer than ``u`` at ``x``, shape ``(..., 1)``.

    .. math:: \min\Bigl(1, \sqrt{g_x(u, u) / g_y(v, v)}\Bigr)

    Parallel transport keeps :math:`\langle u, u\rangle`, but not :math:`g_x(u, u)` if the metric is indefinite: it is a boost,
    and can make a vector many times longer. Momentum that is carried from step to step grows without bound then.

    Laws: in ``[0, 1]``; 1 for a transported vector if ``t = 1`` or ``s = 0``, but for rounding.

    Args:
        x: Points, shape ``(..., d)``.
        u: Tangent vectors at ``x``, shape ``(..., d)``.
        y: Points, shape ``(..., d)``.
        v: Tangent vectors at ``y``, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, x=x, u=u, y=y, v=v)
    size = magnitude(beta, x)
    return _share(_shrunk_length(y, v, size, time_dim), _shrunk_length(x, u, size, time_dim))


def _share(length: Tensor, allowed: Tensor) -> Tensor:
    """Return what a length is to be multiplied by to be no more than allowed."""
    too_long = length > allowed
    return torch.where(too_long, allowed / torch.where(too_long, length, 1), 1)


def _shrunk_length(x: Tensor, u: Tensor, size: Tensor, time_dim: int) -> Tensor:
    """Return the length of tangent vectors under the positive metric, so small that no square overflows."""
    length: Tensor = torch.linalg.vector_norm(_framed(x, u * _SHRINK, size, time_dim), dim=-1, keepdim=True)
    return length


def _framed(x: Tensor, u: Tensor, size: Tensor, time_dim: int) -> Tensor:
    """Return the coordinates of tangent vectors in the orthonormal frame at ``x``, one more than there are dimensions."""
    time, space = x[..., :time_dim], x[..., time_dim:]
    square = size + (space * space).sum(-1, keepdim=True)
    products = x * u
    across = products[..., time_dim:].sum(-1, keepdim=True) / (square + (size * square).sqrt())
    rise = torch.addcmul(u[..., time_dim:], across, space, value=-1)
    if time_dim == 1:
        return rise
    ahead = products[..., :time_dim].sum(-1, keepdim=True) / square
    return torch.cat((torch.addcmul(u[..., :time_dim], ahead, time, value=-1), rise), dim=-1)
