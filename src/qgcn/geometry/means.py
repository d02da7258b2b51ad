r"""Weighted means of points."""

import torch
from torch import Tensor

from qgcn.geometry.ambient import check, magnitude, square

__all__ = ["centroid"]


def centroid(x: Tensor, weights: Tensor | None = None, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Return the weighted sum of points, scaled back onto the manifold.

    .. math:: \bar x = \sqrt{|\beta|}\,\frac{m}{\sqrt{-\langle m, m\rangle}}, \qquad m = \sum_i w_i x_i

    It is where :math:`\sum_i w_i \langle x_i - y, x_i - y\rangle` is stationary in ``y``: the minimum for one time dimension,
    the maximum on the sphere with the sign of its metric reversed, a saddle point in between. If ``m`` is not time-like
    there is no such point, and the result is NaN: antipodes on a sphere, the two sheets of hyperbolic space, points further
    apart than a geodesic reaches.

    Laws: on the manifold; does not depend on the order of the points or the scale of the weights; equivariant under
    ``O(s, t)``; of two connected points with equal weights, the midpoint of their geodesic.

    Example:
        >>> import torch
        >>> from qgcn import geometry
        >>> corners = torch.eye(3)
        >>> geometry.centroid(corners, beta=-1.0, time_dim=3)
        tensor([0.5774, 0.5774, 0.5774])

    Args:
        x: Points, shape ``(..., N, d)``.
        weights: Not negative, shape ``(..., N)``; equal ones if not given.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.

    Returns:
        Shape ``(..., d)``.
    """
    check(time_dim, x=x)
    total = x.sum(-2) if weights is None else (weights.unsqueeze(-1) * x).sum(-2)
    length = -square(total, time_dim=time_dim)
    exists = length > 0
    scale = (magnitude(beta, x) / torch.where(exists, length, 1)).sqrt()
    return (scale * total).masked_fill(~exists, torch.nan)
