r"""How exponential maps change volumes, and the tangent vectors that they take to the same point."""

import math
from typing import Final

import torch
from torch import Tensor

from qgcn.geometry.ambient import check, magnitude
from qgcn.numerics import safe_norm

__all__ = ["log_volume", "log_volume0", "preimages0"]

TURNS: Final = 8
"""Whole turns around a sphere, either way, that :func:`preimages0` lists: at a standard deviation of 5 radii, what lies
beyond, ten standard deviations away, is nothing."""


def log_volume(z: Tensor, dim: int) -> Tensor:
    r"""Return :math:`(n - 1)\log|S(z)|`: by how much the exponential map of a space of curvature -1 stretches volumes.

    Laws: zero at 0; finite however long the vector.

    Args:
        z: Squared length of the tangent vectors in units of the squared radius of curvature; negative on a sphere.
        dim: Intrinsic dimension ``n``.
    """
    if dim == 1:
        return torch.zeros_like(z)
    root = torch.where(z == 0, 1, z.abs()).sqrt()
    rise = root + torch.log(-torch.expm1(-2 * root) / (2 * root))
    turn = torch.log((torch.sin(root) / root).abs())
    return (dim - 1) * torch.where(z > 0, rise, torch.where(z < 0, turn, 0))


def log_volume0(u: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return the logarithm of how much :func:`qgcn.geometry.expmap0` stretches volumes at ``u``, shape ``(...)``.

    .. math:: (t - 2)\,\log\Bigl(\frac{\sqrt{|\beta| + |s|^2}}{\sqrt{|\beta|}}\,\Bigl|\frac{\sin\theta}{\theta}\Bigr|\Bigr)
        \quad (t \ge 2), \qquad \theta = |u_t|/\sqrt{|\beta|}

    and without the sine for ``t = 1``: the volume is :math:`\sqrt{|\beta|}\,r^{t-2}\,ds\,dn`.

    Args:
        u: Tangent vectors at the pole, shape ``(..., d)``; the first coordinate is not read.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, u=u)
    size = magnitude(beta, u)
    space, turn = u[..., time_dim:], u[..., 1:time_dim]
    stretch = torch.log1p((space * space).sum(-1, keepdim=True) / size) / 2
    total = (time_dim - 2) * stretch
    if time_dim > 2:
        total = total + log_volume(-(turn * turn).sum(-1, keepdim=True) / size, time_dim - 1)
    return total.squeeze(-1)


def preimages0(u: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return tangent vectors at the pole with the same image as ``u``: whole turns around the sphere of time added.

    With one time dimension there is none but ``u``.

    Returns:
        Shape ``(K, ..., d)``.
    """
    check(time_dim, u=u)
    if time_dim == 1:
        return u.unsqueeze(0)
    turn = u[..., 1:time_dim]
    length = safe_norm(turn)
    circle = 2 * math.pi * magnitude(beta, u).sqrt()
    counts = torch.arange(-TURNS, TURNS + 1, dtype=u.dtype, device=u.device).view(-1, *[1] * u.ndim)
    axis = torch.zeros_like(turn)
    axis[..., :1].fill_(1)
    ahead = torch.where(length > 0, turn / torch.where(length > 0, length, 1), axis)
    turned = (length + counts * circle) * ahead
    rest = u.expand(*turned.shape[:-1], -1)
    return torch.cat((rest[..., :1], turned, rest[..., time_dim:]), dim=-1)
