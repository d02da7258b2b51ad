"""Masks drawn from keys, for one model or, under ``torch.vmap``, for a batch."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from qgcn.kernels.mask import cpu, reference
from qgcn.kernels.part import Part

__all__ = ["draw_masks", "keyed_mask"]


def keyed_mask(key: Tensor, like: Tensor, keep: float, value: float = 1.0, part: Part | None = None) -> Tensor:
    """Draw ones with probability ``keep`` and zeros else, as many as ``like`` has entries, from nothing but the key.

    Args:
        key: int64, shape ``()``, on the CPU, so that reading it stalls nothing.
        like: Any tensor; the result has its shape, type and device.
        keep: Probability of a one.
        value: Returned in place of a one (default: 1).
        part: Rows of a larger tensor that ``like`` holds: they get what they would get there.
    """
    drawn: Tensor = _KeyedMask.apply(key, like.detach(), keep, value, part)  # type: ignore[no-untyped-call]
    return drawn


class _KeyedMask(Function):
    @staticmethod
    def forward(key: Tensor, like: Tensor, keep: float, value: float, part: Part | None) -> Tensor:
        return draw_masks([int(key)], torch.empty_like(like).unsqueeze(0), keep, value, part).squeeze(0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, ...]:
        return (None,) * 5

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], key: Tensor, like: Tensor, keep: float, value: float, part: Part | None
    ) -> tuple[Tensor, int]:
        place = in_dims[1] or 0
        # as like lies in memory, so that what is multiplied with it is read in order
        masks = torch.empty_like(like) if in_dims[1] is not None else like.new_empty(info.batch_size, *like.shape)
        keys = key.expand(info.batch_size) if in_dims[0] is None else key
        draw_masks(keys.tolist(), masks.movedim(place, 0), keep, value, part)
        return masks, place


def draw_masks(keys: list[int], masks: Tensor, keep: float, value: float = 1.0, part: Part | None = None) -> Tensor:
    """Fill masks in place with what :func:`keyed_mask` draws, one for each key, shape ``(K, ...)``; return them."""
    most = max(round(keep * 2**16), 1) - 1 - 2**15  # the largest of 16 bits that are kept; one beyond need not fit them
    if masks.is_contiguous() and cpu.takes(masks):
        return cpu.masks(keys, masks, most, value, part)
    return reference.masks(keys, masks, most, value, part)
