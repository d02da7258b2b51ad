r"""Maps between manifolds of the family: isometries of one, and the change of curvature from one to another."""

import torch
from torch import Tensor

from qgcn.geometry.ambient import check, inner, magnitude

__all__ = ["apply_isometry", "random_isometry", "rescale", "transvection"]


def random_isometry(
    space_dim: int,
    time_dim: int,
    *,
    max_rapidity: float = 1.0,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""Draw an element of ``O(s, t)``: rotate time and space, boost, rotate again.

    .. math:: L = K_1\,\exp(D)\,K_2, \qquad K_i \in O(t)\times O(s)

    where ``D`` mixes the i-th time with the i-th space axis by a rapidity drawn from ``[-max_rapidity, max_rapidity]``.
    Every element of ``O(s, t)`` has this form.

    Laws: :math:`L^\top J L = J`.

    Example:
        >>> from qgcn import geometry
        >>> geometry.random_isometry(3, 2).shape
        torch.Size([5, 5])

    Returns:
        Shape ``(d, d)``.
    """
    if space_dim < 0 or time_dim < 1:
        raise ValueError(f"expected space_dim >= 0 and time_dim >= 1, got {space_dim} and {time_dim}")

    def rotation() -> Tensor:
        blocks = []
        for size in (time_dim, space_dim):
            matrix = torch.randn(size, size, dtype=dtype, device=device, generator=generator)
            blocks.append(torch.linalg.qr(matrix).Q)
        joined: Tensor = torch.block_diag(*blocks)
        return joined

    planes = min(space_dim, time_dim)
    rapidity = max_rapidity * (2 * torch.rand(planes, dtype=dtype, device=device, generator=generator) - 1)
    boost = torch.eye(space_dim + time_dim, dtype=dtype, device=device)
    time_axis = torch.arange(planes, device=device)
    space_axis = time_axis + time_dim
    boost[time_axis, time_axis] = boost[space_axis, space_axis] = rapidity.cosh()
    boost[time_axis, space_axis] = boost[space_axis, time_axis] = rapidity.sinh()
    return rotation() @ boost @ rotation()


def apply_isometry(isometry: Tensor, x: Tensor, *, time_dim: int) -> Tensor:
    """Apply an element of ``O(s, t)``, shape ``(d, d)``, to points or tangent vectors, shape ``(..., d)``.

    Laws: keeps :func:`~qgcn.geometry.inner`, hence distances; maps geodesics to geodesics; carries tangent spaces along.
    """
    check(time_dim, x=x, isometry=isometry[0])
    if isometry.shape[-2] != isometry.shape[-1]:
        raise ValueError(f"isometry must be square, got shape {tuple(isometry.shape)}")
    return (isometry @ x.unsqueeze(-1)).squeeze(-1)


def transvection(x: Tensor, y: Tensor, w: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    r"""Apply the isometry that carries ``x`` to ``y`` along their geodesic to points or tangent vectors ``w``.

    .. math:: T = R_{x+y} R_x, \qquad R_a(w) = 2\,\frac{\langle w, a\rangle}{\langle a, a\rangle}\,a - w

    Laws: ``T(x) == y``; keeps :func:`~qgcn.geometry.inner`; on tangent vectors at ``x`` it is parallel transport; inverse of
    the one from ``y`` to ``x``. Defined for disconnected points too, except where :math:`\langle x, y\rangle = |\beta|`.

    Example:
        >>> import torch
        >>> from qgcn import geometry
        >>> x, y = torch.tensor([1.0, 0.0, 0.0]), torch.tensor([1.25, 0.0, 0.75])
        >>> geometry.transvection(x, y, x, beta=-1.0, time_dim=2)
        tensor([1.2500, 0.0000, 0.7500])

    Args:
        x: Points, shape ``(..., d)``.
        y: Points, shape ``(..., d)``.
        w: Any vectors, shape ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
    """
    check(time_dim, x=x, y=y, w=w)
    size, middle = magnitude(beta, x), x + y
    turned = torch.addcmul(w, 2 * inner(w, x, time_dim=time_dim, keepdim=True) / size, x).neg()
    room = size - inner(x, y, time_dim=time_dim, keepdim=True)  # minus half of <x + y, x + y>
    return torch.addcmul(turned, inner(turned, middle, time_dim=time_dim, keepdim=True) / room, middle).neg()


def rescale(x: Tensor, *, beta: Tensor | float, new_beta: Tensor | float) -> Tensor:
    r"""Carry points (or tangent vectors) from one curvature to another: :math:`x \sqrt{\beta'/\beta}` (Corollary 1).

    Laws: lands on the other manifold; scales distances by :math:`\sqrt{\beta'/\beta}`; ``rescale`` there and back is the
    identity.
    """
    check(1, x=x)
    return x * (magnitude(new_beta, x) / magnitude(beta, x)).sqrt()
