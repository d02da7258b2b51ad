"""The compiled separation as an operation of PyTorch, ``torch.ops.qgcn.separate``, which a compiler calls as it is."""

from typing import Any, Final

import torch
from torch import Tensor

from qgcn.kernels.backends import forced
from qgcn.kernels.separation import cpu

__all__ = ["most_coordinates_traced"]


def most_coordinates_traced() -> int:
    """Return how many coordinates a point may have for a compiler to call the operation; 0 if it is not available."""
    return cpu.MOST_COORDINATES if forced() in (None, "native") and cpu.obstacle() is None else 0


_LIBRARY: Final = torch.library.Library("qgcn", "FRAGMENT")
_LIBRARY.define(
    "separate(Tensor x, Tensor y, Tensor size, int time_dim, bool whole) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)"
)


def _separate(x: Tensor, y: Tensor, size: Tensor, time_dim: int, whole: bool) -> tuple[Tensor, ...]:
    return cpu.separate(x, y, size, time_dim, whole=whole)


def _separate_batch(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
    """Take a batch of pairs as pairs; sizes that differ within it are taken one after the other."""
    x, y, size, time_dim, whole = arguments
    x, y = (
        each.movedim(place, 0) if place is not None else each.unsqueeze(0).expand(info.batch_size, *each.shape)
        for each, place in zip((x, y), in_dims, strict=False)
    )
    if in_dims[2] is None:
        found = torch.ops.qgcn.separate(x, y, size, time_dim, whole)
    else:
        each = zip(x, y, size.movedim(in_dims[2], 0), strict=True)
        found = tuple(map(torch.stack, zip(*(torch.ops.qgcn.separate(*three, time_dim, whole) for three in each), strict=True)))
    if not whole:
        found = tuple(part if part.ndim > 1 else part.expand(info.batch_size, 0) for part in found)
    return found, (0,) * len(found)


_LIBRARY.impl("separate", _separate, "CPU")
torch.library.register_vmap("qgcn::separate", _separate_batch, lib=_LIBRARY)


@torch.library.register_fake("qgcn::separate", lib=_LIBRARY)  # type: ignore[untyped-decorator]
def _(x: Tensor, _y: Tensor, _size: Tensor, _time_dim: int, whole: bool) -> tuple[Tensor, ...]:
    one = (*x.shape[:-1], 1)
    shapes = (one, x.shape, one, one, one, one) if whole else (one, (0,), one, (0,), (0,), (0,))
    return tuple(x.new_empty(shape) for shape in shapes)
