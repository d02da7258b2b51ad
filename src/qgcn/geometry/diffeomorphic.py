r"""Exponential and logarithm through the diffeomorphism with a sphere times a flat space.

They are defined for every point, connected to the reference or not. The reference must have a zero space part: there the
tangent spaces of the manifold and of the product coincide (Theorem 3), and the flat factor's maps are the identity.
"""

import math

import torch
from torch import Tensor

from qgcn.geometry.ambient import beta_shape, check, magnitude
from qgcn.geometry.geodesic import expmap, is_connected, logmap
from qgcn.geometry.projections import project_tangent, sphere_inverse, sphere_projection
from qgcn.numerics import arc_over_sine, circle_root, safe_norm, safe_sqrt, unit_or_axis

__all__ = ["expmap0", "expmap_flat", "logmap0", "logmap_flat"]


def expmap0(u: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Map a tangent vector at the south pole to the manifold: rotate on the sphere, then stretch time.

    .. math:: \widehat\exp_o(0, u_t, s) = \bigl(\rho\,(\cos\theta,\; \tfrac{\sin\theta}{\theta}\tfrac{u_t}{\sqrt{|\beta|}}),\;
        s\bigr), \qquad \theta = |u_t|/\sqrt{|\beta|}, \quad \rho = \sqrt{|\beta| + |s|^2}

    The first coordinate of ``u`` is not read: a vector is thereby put back into the tangent space.

    Laws: stays on the manifold; ``expmap0(0) == o``; inverse of :func:`logmap0` for :math:`|u_t| < \pi\sqrt{|\beta|}`;
    keeps the space part.

    Example:
        >>> import torch
        >>> from qgcn import geometry
        >>> geometry.expmap0(torch.tensor([0.0, 0.0, 0.75]), beta=-1.0, time_dim=2)
        tensor([1.2500, 0.0000, 0.7500])

    Args:
        u: Tangent vectors at the pole, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, u=u)
    size = magnitude(beta, u)
    turn, space = u[..., 1:time_dim], u[..., time_dim:]
    radius = (size + (space * space).sum(-1, keepdim=True)).sqrt()
    if time_dim == 1:
        return torch.cat((radius, space.expand(*radius.shape[:-1], -1)), dim=-1)
    cosine, sine = circle_root(-(turn * turn).sum(-1, keepdim=True) / size)
    ahead = radius * cosine
    aside = radius * sine / size.sqrt() * turn
    return torch.cat((ahead, aside, space.expand(*radius.shape[:-1], -1)), dim=-1)


def logmap0(x: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Map a point to the tangent space at the south pole.

    .. math:: \widehat\log_o(t, s) = (0,\; \sqrt{|\beta|}\,\theta\,e,\; s),
        \qquad \theta = \angle(t, (1, 0, \dots)), \quad e = t_{1:}/|t_{1:}|

    Where the time part is opposite to the pole's, ``e`` is the second time axis, with zero gradient. With one time
    dimension there is no ``e``: both sheets map to ``(0, s)``, and only the pole's sheet comes back.

    Laws: tangent at the pole; :math:`|u_t| \le \pi\sqrt{|\beta|}`; inverse of :func:`expmap0`; keeps the space part.

    Example:
        >>> import torch
        >>> from qgcn import geometry
        >>> geometry.logmap0(torch.tensor([0.0, 1.25, 0.75]), beta=-1.0, time_dim=2)
        tensor([0.0000, 1.5708, 0.7500])

    Args:
        x: Points, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, x=x)
    if time_dim == 1:
        logarithm = torch.cat((torch.zeros_like(x[..., :1]), x[..., 1:]), dim=-1)
        return logarithm.expand(torch.broadcast_shapes(logarithm.shape, beta_shape(beta)))
    size = magnitude(beta, x)
    ahead, rest = x[..., :1], x[..., 1:time_dim]
    across = (rest * rest).sum(-1, keepdim=True)
    length = safe_norm(x[..., :time_dim])
    behind = ahead < 0
    # in front: the angle over its sine is analytic in the squared chord to the pole, -2 (1 - cos theta)
    front = torch.where(behind, length, ahead)
    square = -2 * across / (length * (length + front))
    forward = arc_over_sine(torch.where(behind, 0, square)) / length * rest
    # behind: the angle itself is, and the direction is that of the rest
    backward = torch.atan2(safe_sqrt(across), torch.where(behind, ahead, -1)) * unit_or_axis(rest)
    time = size.sqrt() * torch.where(behind, backward, forward)
    return torch.cat((torch.zeros_like(time[..., :1]), time, x[..., time_dim:].expand(*time.shape[:-1], -1)), dim=-1)


def expmap_flat(x: Tensor, v: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Generalise :func:`expmap0` to any reference point whose space part is zero.

    .. math:: \widehat\exp_x(v) = \psi^{-1}\bigl(\exp^{\mathbb S}_{x_t}(v_t),\; v_s\bigr)

    Laws: stays on the manifold; ``expmap_flat(x, 0) == x``; inverse of :func:`logmap_flat`; equal to :func:`expmap0` at
    the pole.

    Args:
        x: Reference points :math:`(x_t, 0)`, shape ``(..., d)``; the space part is not read.
        v: Tangent vectors at ``x``, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, x=x, v=v)
    time = expmap(x[..., :time_dim], v[..., :time_dim], beta=beta, time_dim=time_dim)
    flat = torch.cat((time, v[..., time_dim:].expand(*time.shape[:-1], -1)), dim=-1)
    return sphere_inverse(flat, beta=beta, time_dim=time_dim)


def logmap_flat(x: Tensor, y: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Generalise :func:`logmap0` to any reference point whose space part is zero.

    .. math:: \widehat\log_x(y) = \bigl(\log^{\mathbb S}_{x_t}(\psi(y)_t),\; y_s\bigr)

    Where the time parts are opposite, the direction is fixed (the coordinate axis least along ``x``, made tangent) and
    its gradient is zero.

    Laws: tangent at ``x``; inverse of :func:`expmap_flat`; equal to :func:`logmap0` at the pole.

    Args:
        x: Reference points :math:`(x_t, 0)`, shape ``(..., d)``; the space part is not read.
        y: Points, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``2 <= time_dim <= d``.
    """
    check(time_dim, x=x, y=y)
    if time_dim == 1:
        raise ValueError("time_dim must be at least 2 for a reference other than the pole, got 1")
    size = magnitude(beta, x)
    flat = sphere_projection(y, beta=beta, time_dim=time_dim)
    reference, target = x[..., :time_dim], flat[..., :time_dim]
    reached = is_connected(reference, target, beta=beta, time_dim=time_dim).unsqueeze(-1)
    axis = torch.nn.functional.one_hot(reference.abs().argmin(-1), time_dim).to(x.dtype)
    aside = project_tangent(reference, axis, beta=beta, time_dim=time_dim)
    opposite = math.pi * size.sqrt() * unit_or_axis(aside.detach())
    time = torch.where(reached, logmap(reference, target, beta=beta, time_dim=time_dim), opposite)
    return torch.cat((time, flat[..., time_dim:].expand(*time.shape[:-1], -1)), dim=-1)
