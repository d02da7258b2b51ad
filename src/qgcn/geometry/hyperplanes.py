r"""Totally geodesic hypersurfaces: the hyperplanes of the manifold."""

import math

import torch
from torch import Tensor

from qgcn.geometry.ambient import check, inner, magnitude, square
from qgcn.numerics import at_least_tiny, safe_sqrt

__all__ = ["plane_dist"]


def plane_dist(x: Tensor, a: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return the signed distance from ``x`` to the hyperplane :math:`\{y : \langle a, y\rangle = 0\}`.

    With :math:`w = \pm\langle a, x\rangle / \sqrt{|\beta|\,|\langle a, a\rangle|}`, the sign that of
    :math:`\langle a, a\rangle`, the geodesic through ``x`` that meets the hyperplane at a right angle has the length

    .. math:: \sqrt{|\beta|}\begin{cases} \operatorname{arsinh} w & \langle a, a\rangle > 0 \\
        \arcsin w & \langle a, a\rangle < 0,\; |w| \le 1 \\
        \operatorname{sign}(w)\,(\tfrac\pi2 + \operatorname{arcosh} |w|) & \langle a, a\rangle < 0,\; |w| > 1 .\end{cases}

    In the last case no geodesic does, and the way is broken at the hyperplane's own pole, as for :func:`qgcn.geometry.dist`.
    With one time dimension only the first case occurs, on a sphere only the second.

    Laws: zero on the hyperplane; positive on the side that ``a`` points to; odd in ``a``; does not depend on the length of
    ``a``; invariant under ``O(s, t)``; continuous in ``x``; its absolute value is the smallest distance to a point of the
    hyperplane where the metric is definite.

    Example:
        >>> import torch
        >>> from qgcn import geometry
        >>> pole = torch.tensor([1.0, 0.0, 0.0])
        >>> geometry.plane_dist(pole, pole, beta=-1.0, time_dim=3)  # of a sphere, to its equator
        tensor(1.5708)

    Args:
        x: Points, shape ``(..., d)``.
        a: Normals, shape ``(..., d)``; not null. A tangent vector at a point of the hyperplane is one.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.

    Returns:
        Shape ``(...)``.
    """
    check(time_dim, x=x, a=a)
    size = magnitude(beta, x)
    norm = square(a, time_dim=time_dim)
    ratio = norm.sign() * inner(a, x, time_dim=time_dim, keepdim=True) / at_least_tiny(size * norm.abs()).sqrt()
    space_like = norm > 0
    rise = torch.asinh(torch.where(space_like, ratio, 0))
    within = ratio.abs() <= 1
    turn = torch.atan2(torch.where(within, ratio, 0), safe_sqrt(1 - torch.where(within, ratio, 0).square()))
    beyond = ratio.sign() * (math.pi / 2 + torch.acosh(torch.where(within, 2, ratio.abs())))
    length = torch.where(space_like, rise, torch.where(within, turn, beyond))
    return (size.sqrt() * length).squeeze(-1)
