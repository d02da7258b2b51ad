r"""Parallel transport, and the translation by a bias that is built on it."""

from typing import NamedTuple

import torch
from torch import Tensor

from qgcn.geometry.ambient import check, inner, magnitude, pole, square
from qgcn.geometry.chord import separation
from qgcn.geometry.projections import project
from qgcn.numerics import cosh_sinhc_root, safe_norm

__all__ = ["translate", "transport"]


def transport(x: Tensor, y: Tensor, u: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Transport a tangent vector from ``x`` to ``y`` along the geodesic, or towards ``-y`` where there is none.

    .. math:: P_{x\to y}(u) = u + \frac{\langle u, y\rangle}{|\beta| - \langle x, y\rangle}\,(x + y)

    One formula for all three causal types and every beta. For disconnected points it is taken towards ``-y``, whose
    tangent space is that of ``y`` (Theorem 4).

    Laws: the result is tangent at ``y``; an isometry; ``transport(x, x, u) == u``; carries a geodesic's velocity to
    its velocity; inverse of ``transport(y, x, .)``.

    Args:
        x: Points, shape ``(..., d)``.
        y: Points, shape ``(..., d)``.
        u: Tangent vectors at ``x``, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, x=x, y=y, u=u)
    return _transport(x, y, u, magnitude(beta, x), time_dim).vector


def translate(x: Tensor, b: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Translate a point by a bias, a tangent vector at the south pole (Eq. 8).

    .. math:: x \oplus b = \begin{cases} \exp_x(P_{o\to x}(b)) & \langle o, x\rangle < |\beta|\\
        -\exp_{-x}(P_{o\to -x}(b)) & \text{otherwise}\end{cases}

    Transport is an isometry, so both cases are :math:`C(z)\,x \pm S(z)\,P(b)` with ``z`` of the bias alone.

    Towards the cone :math:`\langle o, x\rangle = |\beta|`, where the first case ends, transport lengthens a vector without
    bound. Therefore its denominator, :math:`|\beta| \mp \langle o, x\rangle`, is at least
    :math:`\sqrt{|\beta|}\,(|x_t| - \sqrt{|\beta|})`, where :math:`|x_t|` is the length of the time part; where that counts, the
    result is projected to the manifold. It never does with one time dimension or on a sphere.

    Laws: stays on the manifold; ``translate(x, 0) == x``; ``translate(o, b) == expmap(o, b)``; for a given bias, coordinates
    move by at most a multiple of :math:`1 + |x_t|/\sqrt{|\beta|}`.

    Args:
        x: Points, shape ``(..., d)``.
        b: Tangent vectors at the pole, shape ``(..., d)``; the first coordinate is not read.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, x=x, b=b)
    size = magnitude(beta, x)
    o = pole(x.shape[-1], beta=beta, like=x)
    b = torch.cat((torch.zeros_like(b[..., :1]), b[..., 1:]), dim=-1)  # into the tangent space
    indefinite = 1 < time_dim < x.shape[-1]
    carried = _transport(o, x, b, size, time_dim, _least_room(x, size, time_dim) if indefinite else None)
    z = square(b, time_dim=time_dim) / size
    ahead, along = cosh_sinhc_root(z)
    result = torch.addcmul(ahead * x, carried.sign * along, carried.vector)
    if carried.bounded is None:
        return result
    return torch.where(carried.bounded, project(result, beta=beta, time_dim=time_dim), result)


class _Carried(NamedTuple):
    """A vector that was transported."""

    vector: Tensor
    sign: Tensor
    """1, or -1 where no geodesic joins the points and it was transported towards ``-y``."""
    bounded: Tensor | None
    """Where it was kept from growing without bound; ``None`` if that was not asked for."""


def _least_room(x: Tensor, size: Tensor, time_dim: int) -> Tensor:
    """Return the least denominator of a translation, in units of ``|beta|``."""
    root, length = size.sqrt(), safe_norm(x[..., time_dim:])
    return length * (length / (torch.hypot(root, length) + root)) / root


def _transport(x: Tensor, y: Tensor, u: Tensor, size: Tensor, time_dim: int, least: Tensor | None = None) -> _Carried:
    r"""Transport a vector; the denominator is at least ``least``, in units of ``|beta|``.

    ``<u, x> = 0``, so of ``y`` its residual ``w`` alone counts: see :class:`~qgcn.geometry.chord.Separation`. Far out ``u`` is
    nearly a multiple of ``x``, whose product with ``w`` is known: that multiple is taken off before the products are summed.
    A disconnected ``y`` is replaced by ``-y``.
    """
    found, c = separation(x, y, size, time_dim=time_dim)
    if time_dim == x.shape[-1]:  # on a sphere nothing of u is along x
        overlap = inner(u, found.residual, time_dim=time_dim, keepdim=True)
    else:
        part = _part_along(x, u, time_dim)
        rest = inner(torch.addcmul(u, part, x, value=-1), found.residual, time_dim=time_dim, keepdim=True)
        overlap = torch.addcmul(found.lever * rest, part * size, found.drop + found.raw / 2)
    if c.space_like:  # the target is on the sheet of x
        sign, room = found.side, (4 + found.raw) / 2
    else:
        side = torch.where(c.disconnected(*c.nearer), -found.side, found.side)
        # of -<u, target>, and of |beta| - <x, target> in units of |beta|
        sign, overlap, room = side * found.side, side * overlap, torch.where(side > 0, 4 + found.raw, -found.raw) / 2
    bounded = None if least is None else room < least
    if least is not None and bounded is not None:
        room = torch.where(bounded, least, room)
    # x + target: products with 1 and -1 are exact
    return _Carried(torch.addcmul(u, overlap / (size * room), torch.addcmul(x, sign, y), value=-1), sign, bounded)


@torch.no_grad()
def _part_along(x: Tensor, u: Tensor, time_dim: int) -> Tensor:
    """Return the multiple of ``x`` whose time part is that of ``u`` along ``x``; a constant, on which no result depends."""
    time = x[..., :time_dim]
    if time_dim == 1:
        return u[..., :1] / time
    inverse = time / time.square().sum(-1, keepdim=True)  # first: the product of the two could overflow
    return (u[..., :time_dim] * inverse).sum(-1, keepdim=True)
