r"""The translation of hyperbolic space in the coordinates of its own exponential map at the pole.

Those are polar coordinates: a vector of length :math:`r` stands for a point whose coordinates grow like :math:`e^r`, which
float32 cannot hold beyond a radius of 88. The translation is therefore written without the point.
"""

import torch
from torch import Tensor

from qgcn.geometry.ambient import check, magnitude
from qgcn.numerics import SINE_RADIUS, decay_share, safe_norm

__all__ = ["hyperbolic_translate0"]


def hyperbolic_translate0(u: Tensor, b: Tensor, *, beta: Tensor | float) -> Tensor:
    r"""Translate by a bias in the tangent coordinates of hyperbolic space: :math:`\log_o(\exp_o(u) \oplus b)`.

    With radii :math:`\rho = |u|/\sqrt{|\beta|}`, :math:`\sigma = |b|/\sqrt{|\beta|}`, the space part of the translated point is
    :math:`\sqrt{|\beta|}\, e^{\rho+\sigma} y`, where

    .. math:: y = \Bigl(k\,\frac{e^{-2\sigma} + e^{-\rho}}2 + \frac{k^2 m \delta}2\Bigr) \frac u{\sqrt{|\beta|}}
        + m\, e^{-\rho} \frac b{\sqrt{|\beta|}}, \qquad
        k = \frac{1 - e^{-\rho}}\rho,\; m = \frac{1 - e^{-2\sigma}}{2\sigma},\;
        \delta = \rho\sigma + \frac{u \cdot b}{|\beta|}

    and its radius is :math:`\rho + \sigma + \log\bigl(|y| + \sqrt{|y|^2 + e^{-2(\rho + \sigma)}}\bigr)`. Every exponent is
    negative, and both terms before ``u`` are positive.

    Laws: equal to ``logmap0(translate(expmap0(u), b))`` with the ordinary maps of hyperbolic space; ``u`` if ``b`` is zero, and
    ``b`` if ``u`` is; finite with its gradient for radii of any size.

    Args:
        u: Tangent vectors at the pole, shape ``(..., d)``; the first coordinate is not read.
        b: Tangent vectors at the pole, shape ``(..., d)``; the first coordinate is not read.
        beta: The value of :math:`\langle x, x\rangle`; negative.
    """
    check(1, u=u, b=b)
    root = magnitude(beta, u).sqrt()
    v, w = u[..., 1:] / root, b[..., 1:] / root
    rho, sigma = safe_norm(v), safe_norm(w)
    shrunk, k, m = torch.exp(-rho), decay_share(rho), decay_share(2 * sigma)
    ahead = k * (torch.exp(-2 * sigma) + shrunk) / 2 + k.square() * m * _turned(v, w, rho, sigma) / 2
    y = ahead * v + m * shrunk * w
    size, both = safe_norm(y), rho + sigma
    far = both > SINE_RADIUS
    near = torch.where(far, 0, both).exp()
    # asinh(n) / n, where n is the space part's length: the space part itself at the pole
    length = torch.where(far | (size == 0), 1, size * near)
    close = torch.where(size == 0, 1, torch.asinh(length) / length) * near
    beyond = torch.where(far & (size > 0), size, 1)
    radius = both + torch.log(beyond + torch.sqrt(beyond.square() + torch.exp(-2 * both)))
    moved = root * torch.where(far, radius / beyond, close) * y
    return torch.cat((torch.zeros_like(moved[..., :1]), moved), dim=-1)


def _turned(v: Tensor, w: Tensor, rho: Tensor, sigma: Tensor) -> Tensor:
    """Return ``|v| |w| + <v, w>``, without cancellation where the vectors point opposite ways."""
    product, inner = rho * sigma, (v * w).sum(-1, keepdim=True)
    opposite = 2 * inner < -product
    sums = (sigma * v + rho * w).square().sum(-1, keepdim=True)
    return torch.where(opposite, sums / torch.where(opposite, 2 * product, 1), product + inner)
