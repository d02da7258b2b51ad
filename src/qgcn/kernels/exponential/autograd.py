"""The gradient of the exponential at the pole, and which implementation computes it."""

from typing import Any, Final

import torch
from torch import Tensor

from qgcn import geometry
from qgcn.kernels.backends import assumed_constant, forced
from qgcn.kernels.exponential import cpu

__all__ = ["expmap0"]


def expmap0(u: Tensor, *, beta: Tensor | float, time_dim: int) -> Tensor:
    """Map tangent vectors at the pole to points; arguments and result are those of :func:`qgcn.geometry.expmap0`.

    Laws: equal to :func:`qgcn.geometry.expmap0`, up to rounding.
    """
    if not (torch.compiler.is_compiling() and _traced(u, beta)):
        return geometry.expmap0(u, beta=beta, time_dim=time_dim)
    geometry.check(time_dim, u=u)
    x: Tensor = torch.ops.qgcn.exponential(u, geometry.magnitude(beta, u), time_dim)
    return x


def _traced(u: Tensor, beta: Tensor | float) -> bool:
    """Tell whether a compiler is to call the C++ as it is: float32 and one beta; never in what is exported."""
    if torch.compiler.is_exporting() or u.device.type != "cpu" or u.dtype != torch.float32:
        return False
    return not (isinstance(beta, Tensor) and beta.ndim) and u.shape[-1] <= cpu.MOST_COORDINATES and _available()


@assumed_constant
def _available() -> bool:
    return forced() in (None, "native") and cpu.obstacle() is None


# --- operations of PyTorch, which a compiler can trace -----------------------------------------------------------------------

_LIBRARY: Final = torch.library.Library("qgcn", "FRAGMENT")
_LIBRARY.define("exponential(Tensor u, Tensor size, int time_dim) -> Tensor")
_LIBRARY.define("exponential_gradient(Tensor u, Tensor grad, Tensor size, int time_dim) -> (Tensor, Tensor)")


def _exponential(u: Tensor, size: Tensor, time_dim: int) -> Tensor:
    return cpu.exponential(u.contiguous(), size, time_dim) if u.numel() else torch.empty_like(u)


def _gradient(u: Tensor, grad: Tensor, size: Tensor, time_dim: int) -> tuple[Tensor, Tensor]:
    if u.numel() == 0:
        return torch.zeros_like(u), torch.zeros_like(size)
    return cpu.exponential_gradient(u.contiguous(), grad.contiguous(), size, time_dim)


def _exponential_batch(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Tensor, int]:
    """Take a batch of vectors as vectors; sizes that differ within it are taken one after the other."""
    u, size, time_dim = arguments
    u = u.expand(info.batch_size, *u.shape) if in_dims[0] is None else u.movedim(in_dims[0], 0)
    if in_dims[1] is None:
        return torch.ops.qgcn.exponential(u, size, time_dim), 0
    return torch.stack([torch.ops.qgcn.exponential(*both, time_dim) for both in zip(u, size, strict=True)]), 0


_LIBRARY.impl("exponential", _exponential, "CPU")
torch.library.register_vmap("qgcn::exponential", _exponential_batch, lib=_LIBRARY)
_LIBRARY.impl("exponential_gradient", _gradient, "CPU")


@torch.library.register_fake("qgcn::exponential", lib=_LIBRARY)  # type: ignore[untyped-decorator]
def _(u: Tensor, _size: Tensor, _time_dim: int) -> Tensor:
    return u.new_empty(u.shape)


@torch.library.register_fake("qgcn::exponential_gradient", lib=_LIBRARY)  # type: ignore[untyped-decorator]
def _(u: Tensor, _grad: Tensor, size: Tensor, _time_dim: int) -> tuple[Tensor, Tensor]:
    return u.new_empty(u.shape), size.new_empty(size.shape)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG001
    ctx.save_for_backward(*inputs[:2])
    ctx.time_dim = inputs[2]


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    u, size = ctx.saved_tensors
    return *torch.ops.qgcn.exponential_gradient(u, grad, size, ctx.time_dim), None


torch.library.register_autograd("qgcn::exponential", _backward, setup_context=_remember, lib=_LIBRARY)
