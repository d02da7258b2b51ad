r"""Projections onto the manifold and its tangent spaces, and the manifold as a sphere times a flat space.

Write a point as :math:`x = (t, s)`, its time and its space coordinates.
"""

import torch
from torch import Tensor

from qgcn.geometry.ambient import check, inner, magnitude
from qgcn.numerics import safe_norm, unit_or_axis

__all__ = [
    "project",
    "project_tangent",
    "pull_back_from_sphere",
    "push_to_sphere",
    "sphere_inverse",
    "sphere_projection",
]


def project(x: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Move any vector onto the manifold, keeping its space part and the direction of its time part.

    .. math:: \varphi(t, s) = \bigl(\sqrt{|\beta| + |s|^2}\; t / |t|,\; s\bigr)

    This is also the double projection :math:`\psi^{-1} \circ \psi` of Euclidean features (Algorithm 1). A zero time
    part has no direction: the first axis is taken, with zero gradient.

    Laws: the result is on the manifold; points of the manifold stay where they are.

    Example:
        >>> import torch
        >>> from qgcn import geometry
        >>> geometry.project(torch.tensor([3.0, 4.0, 0.0]), beta=-1.0, time_dim=2)
        tensor([0.6000, 0.8000, 0.0000])

    Args:
        x: Any vectors, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, x=x)
    space = x[..., time_dim:]
    radius = (magnitude(beta, x) + (space * space).sum(-1, keepdim=True)).sqrt()
    return torch.cat((radius * unit_or_axis(x[..., :time_dim]), space.expand(*radius.shape[:-1], -1)), dim=-1)


def project_tangent(x: Tensor, w: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Remove from ``w`` its component along the normal of the manifold at ``x``.

    .. math:: \Pi_x(w) = w - \frac{\langle w, x\rangle}{\langle x, x\rangle}\, x

    The denominator is taken as ``beta``, not summed: far out the sum is lost in rounding, ``beta`` is exact.

    Laws: the result is tangent at ``x``; tangent vectors stay as they are; ``Pi_x(x) = 0``; ``Pi_{-x} = Pi_x``.

    Example:
        >>> import torch
        >>> from qgcn import geometry
        >>> geometry.project_tangent(torch.tensor([1.0, 0.0, 0.0]), torch.ones(3), beta=-1.0, time_dim=2)
        tensor([0., 1., 1.])

    Args:
        x: Points, shape ``(..., d)``.
        w: Any vectors, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, x=x, w=w)
    along = inner(w, x, time_dim=time_dim, keepdim=True) / magnitude(beta, x)
    return torch.addcmul(w, along, x)


def sphere_projection(x: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Map a point to the sphere times the flat space (Theorem 2).

    .. math:: \psi(t, s) = \bigl(\sqrt{|\beta|}\; t / |t|,\; s\bigr)

    Laws: the time part has norm :math:`\sqrt{|\beta|}`; inverse of :func:`sphere_inverse`; the identity where ``s = 0``.

    Args:
        x: Points, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, x=x)
    time = magnitude(beta, x).sqrt() * unit_or_axis(x[..., :time_dim])
    return torch.cat((time, x[..., time_dim:].expand(*time.shape[:-1], -1)), dim=-1)


def sphere_inverse(z: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Map a point of the sphere times the flat space back to the manifold.

    .. math:: \psi^{-1}(u, v) = \bigl(\sqrt{(|\beta| + |v|^2)/|\beta|}\; u,\; v\bigr)

    Laws: inverse of :func:`sphere_projection`.

    Args:
        z: Points :math:`(u, v)` with :math:`|u|^2 = |\beta|`, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle` on the manifold; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, z=z)
    time, space = z[..., :time_dim], z[..., time_dim:]
    stretch = (1 + (space * space).sum(-1, keepdim=True) / magnitude(beta, z)).sqrt()
    return torch.cat((stretch * time, space.expand(*stretch.shape[:-1], -1)), dim=-1)


def push_to_sphere(x: Tensor, v: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Carry a tangent vector at ``x`` along :func:`sphere_projection` (its differential).

    .. math:: d\psi_x(v_t, v_s) = \Bigl(\frac{\sqrt{|\beta|}}{|t|}\bigl(v_t - \frac{t\cdot v_t}{|t|^2} t\bigr),\; v_s\Bigr)

    Laws: linear in ``v``; the identity where ``s = 0`` (Theorem 3); inverse of :func:`pull_back_from_sphere`.

    Args:
        x: Points, shape ``(..., d)``.
        v: Tangent vectors at ``x``, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, x=x, v=v)
    time, v_time = x[..., :time_dim], v[..., :time_dim]
    unit = unit_or_axis(time)
    scale = magnitude(beta, x).sqrt() / safe_norm(time)
    pushed = scale * (v_time - (unit * v_time).sum(-1, keepdim=True) * unit)
    return torch.cat((pushed, v[..., time_dim:].expand(*pushed.shape[:-1], -1)), dim=-1)


def pull_back_from_sphere(z: Tensor, v: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Carry a tangent vector at ``z`` along :func:`sphere_inverse` (its differential).

    .. math:: d\psi^{-1}_{(u, w)}(v_t, v_s)
        = \Bigl(\rho\, v_t + \frac{w\cdot v_s}{|\beta|\,\rho}\, u,\; v_s\Bigr), \qquad \rho = \sqrt{1 + |w|^2/|\beta|}

    Laws: linear in ``v``; inverse of :func:`push_to_sphere`.

    Args:
        z: Points :math:`(u, w)` of the sphere times the flat space, shape ``(..., d)``.
        v: Tangent vectors there, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle` on the manifold; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, z=z, v=v)
    size = magnitude(beta, z)
    space, v_space = z[..., time_dim:], v[..., time_dim:]
    stretch = (1 + (space * space).sum(-1, keepdim=True) / size).sqrt()
    along = (space * v_space).sum(-1, keepdim=True) / (size * stretch)
    pulled = stretch * v[..., :time_dim] + along * z[..., :time_dim]
    return torch.cat((pulled, v_space.expand(*pulled.shape[:-1], -1)), dim=-1)
