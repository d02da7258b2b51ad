r"""The flat space around the manifold: its indefinite inner product, and how arguments are checked.

A point has :math:`d = s + t` coordinates; the first ``time_dim`` (:math:`t`) count negatively:

.. math:: \langle x, y\rangle = -\sum_{i<t} x_i y_i + \sum_{i\ge t} x_i y_i .
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from qgcn.numerics import FLOAT_TYPES, apply, limits, positive_or_nan, safe_norm

__all__ = ["beta_shape", "causal_type", "check", "flip_time", "inner", "magnitude", "pole", "signs", "square"]


def check(time_dim: int, **tensors: Tensor) -> None:
    """Raise if the arguments of a map do not fit together; the names given are the names in the message.

    Raises:
        TypeError: A tensor is not float32 or float64, or types or devices differ.
        ValueError: Last axes differ in size, shapes do not broadcast, or ``time_dim`` is outside ``[1, d]``.
    """
    given = list(tensors.values())
    _check_each(tensors)
    _check_alike(tensors)
    first = given[0]
    d = first.shape[-1]
    if isinstance(time_dim, bool) or not isinstance(time_dim, int):
        raise TypeError(f"time_dim must be an int, got {type(time_dim).__name__}")
    if not 1 <= time_dim <= d:
        raise ValueError(f"time_dim must be in [1, {d}], got {time_dim}")
    if all(tensor.ndim == first.ndim and tensor.shape == first.shape for tensor in given):
        return  # asking PyTorch takes as long as all the rest
    try:
        torch.broadcast_shapes(*(tensor.shape for tensor in given))
    except RuntimeError:
        shapes = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in tensors.items())
        raise ValueError(f"shapes do not broadcast: {shapes}") from None


def _check_each(tensors: dict[str, Tensor]) -> None:
    """Raise unless each is a tensor of points or vectors, of a type the geometry is defined for."""
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}")
        if tensor.dtype not in FLOAT_TYPES:
            raise TypeError(f"{name} must be float32 or float64, got {tensor.dtype}")
        if tensor.ndim == 0:
            raise ValueError(f"{name} must have shape (..., d), got a scalar")


def _check_alike(tensors: dict[str, Tensor]) -> None:
    """Raise unless all have the type, the device and the number of coordinates of the first."""
    (start, first), *others = tensors.items()
    d = first.shape[-1]
    for name, tensor in others:
        if tensor.dtype != first.dtype:
            raise TypeError(f"{start} is {first.dtype} but {name} is {tensor.dtype}: expected one type")
        if tensor.device != first.device:
            raise TypeError(f"{start} is on {first.device} but {name} is on {tensor.device}: expected one device")
        if tensor.shape[-1] != d:
            raise ValueError(f"{start} has {d} coordinates but {name} has {tensor.shape[-1]}: expected one size")


def magnitude(beta: Tensor | float, like: Tensor) -> Tensor:
    """Return ``B = |beta|`` in the type and on the device of ``like``.

    A number that is not negative raises. A tensor is not read (that would stall a GPU): where it is not negative the
    magnitude, and with it every result, is NaN.

    Args:
        beta: Negative; a number, shape ``()``, or a shape that broadcasts against ``(..., 1)``.
        like: The tensor whose type and device are taken.
    """
    beta_shape(beta)
    if isinstance(beta, Tensor):
        return positive_or_nan(-beta.to(dtype=like.dtype, device=like.device))
    return torch.full((), -beta, dtype=like.dtype, device=like.device)


def beta_shape(beta: Tensor | float) -> torch.Size:
    """Return the shape of beta, for maps that need nothing else of it.

    Raises:
        ValueError: A number is not negative and finite, or a tensor does not broadcast against ``(..., 1)``.
    """
    if isinstance(beta, Tensor):
        if beta.ndim and beta.shape[-1] != 1:
            raise ValueError(f"beta must be a scalar or have shape (..., 1), got {tuple(beta.shape)}")
        return beta.shape
    if not -float("inf") < beta < 0:
        raise ValueError(f"beta must be negative and finite, got {beta}")
    return torch.Size()


def flip_time(v: Tensor, *, time_dim: int) -> Tensor:
    """Apply ``J``: change the sign of the time coordinates. Law: its own inverse."""
    check(time_dim, v=v)
    return v * signs(v, time_dim)


def inner(u: Tensor, v: Tensor, *, time_dim: int, keepdim: bool = False) -> Tensor:
    r"""Return :math:`\langle u, v\rangle`.

    Laws: symmetric; bilinear; invariant under ``O(s, t)``.

    Example:
        >>> import torch
        >>> from qgcn import geometry
        >>> geometry.inner(torch.ones(5), torch.ones(5), time_dim=2)
        tensor(1.)

    Args:
        u: Vectors, shape ``(..., d)``.
        v: Vectors, shape ``(..., d)``.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
        keepdim: Return shape ``(..., 1)`` instead of ``(...)``.
    """
    check(time_dim, u=u, v=v)
    # one sum in the order of memory, the signs multiplied in: faster than two sums, and no less exact
    return (u * v * signs(v, time_dim)).sum(-1, keepdim=keepdim)


def signs(like: Tensor, time_dim: int) -> Tensor:
    """Return the diagonal of ``J``, shape ``(d,)``: -1 for time, 1 for space."""
    diagonal = torch.ones(like.shape[-1], dtype=like.dtype, device=like.device)
    diagonal[:time_dim].fill_(-1)
    return diagonal


class _Square(Function):
    """``<v, v>`` with its gradient ``2 J v``; saves only ``v``."""

    generate_vmap_rule = True

    @staticmethod
    def forward(v: Tensor, time_dim: int) -> Tensor:
        return (v * v).mul_(signs(v, time_dim)).sum(-1, keepdim=True)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, int], output: Tensor) -> None:
        v, ctx.time_dim = inputs
        ctx.save_for_backward(v)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (v,) = ctx.saved_tensors
        return flip_time(2 * grad * v, time_dim=ctx.time_dim), None


def square(v: Tensor, *, time_dim: int) -> Tensor:
    r"""Return :math:`\langle v, v\rangle`, shape ``(..., 1)``."""
    result: Tensor = apply(_Square, v, time_dim)
    return result


def causal_type(v: Tensor, *, time_dim: int) -> Tensor:
    r"""Tell the sign of :math:`\langle v, v\rangle`: -1 for time-like, 0 for null, 1 for space-like vectors.

    A vector counts as null when :math:`|\langle v, v\rangle|` is within rounding of zero, measured against
    :math:`|v|^2`. Laws: unchanged by scaling and by ``O(s, t)``.

    Example:
        >>> import torch
        >>> from qgcn import geometry
        >>> geometry.causal_type(torch.tensor([[1.0, 2.0], [1.0, 1.0], [2.0, 1.0]]), time_dim=1)
        tensor([ 1,  0, -1], dtype=torch.int8)

    Args:
        v: Vectors, shape ``(..., d)``; for the type of a pair of points give ``x - y``.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.

    Returns:
        ``int8`` tensor of shape ``(...)``.
    """
    check(time_dim, v=v)
    value = square(v, time_dim=time_dim).squeeze(-1)
    null = value.abs() <= limits(v.dtype).null * safe_norm(v).squeeze(-1).square()
    return torch.where(null, 0, value.sign()).to(torch.int8)


def pole(d: int, *, beta: Tensor | float, like: Tensor) -> Tensor:
    r"""Return the south pole :math:`o = (\sqrt{|\beta|}, 0, \dots, 0)`, shape ``(d,)`` (or beta's shape and ``d``)."""
    radius = magnitude(beta, like).sqrt()
    radius = radius if radius.ndim else radius.unsqueeze(0)
    return torch.nn.functional.pad(radius, (0, d - 1))
