"""Dropout whose randomness is a function of a key instead of a state.

A run that is resumed draws what it would have drawn; a batch of models draws what each would have drawn alone.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

from qgcn.nn.field import Part

__all__ = ["Dropout", "dropout_keys", "keyed_mask", "mixed_key"]


def _decisions(key: int, count: int, keep: float, device: torch.device) -> Tensor:
    """Draw ``count`` booleans, true with probability ``keep``."""
    generator = torch.Generator(device).manual_seed(key)
    # four decisions from each 64 random bits: drawing them is what dropout spends its time on
    words = torch.empty((count + 3) // 4, dtype=torch.int64, device=device)
    bits = words.random_(-(2**63), None, generator=generator).view(torch.int16)[:count]
    most = max(round(keep * 2**16), 1) - 1 - 2**15  # the largest number kept: one beyond need not fit 16 bits
    return bits <= most


def _mask(key: int, out: Tensor, keep: float, part: Part | None) -> Tensor:
    """Fill a tensor with a mask."""
    if part is None:
        return out.copy_(_decisions(key, out.numel(), keep, out.device).view(out.shape))
    whole = (part.total, *out.shape[1:])
    return out.copy_(_decisions(key, math.prod(whole), keep, out.device).view(whole).index_select(0, part.rows))


class _KeyedMask(Function):
    @staticmethod
    def forward(key: Tensor, like: Tensor, keep: float, part: Part | None) -> Tensor:
        return _mask(int(key), torch.empty_like(like), keep, part)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, None, None]:
        return None, None, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], key: Tensor, like: Tensor, keep: float, part: Part | None
    ) -> tuple[Tensor, int]:
        place = in_dims[1] or 0
        # as like lies in memory, so that what is multiplied with it is read in order
        masks = torch.empty_like(like) if in_dims[1] is not None else like.new_empty(info.batch_size, *like.shape)
        keys = key.expand(info.batch_size) if in_dims[0] is None else key
        for mask, each in zip(masks.unbind(place), keys.tolist(), strict=True):
            _mask(each, mask, keep, part)
        return masks, place


def keyed_mask(key: Tensor, like: Tensor, keep: float, part: Part | None = None) -> Tensor:
    """Draw ones with probability ``keep`` and zeros else, as many as ``like`` has entries, from nothing but the key.

    Args:
        key: int64, shape ``()``, on the CPU, so that reading it stalls nothing.
        like: Any tensor; the result has its shape, type and device.
        keep: Probability of a one.
        part: Which rows of a larger tensor ``like`` holds: they get what they would get there.
    """
    drawn: Tensor = _KeyedMask.apply(key, like.detach(), keep, part)  # type: ignore[no-untyped-call]
    return drawn


class Dropout(nn.Module):
    """Set coordinates to zero with probability ``p`` in training and scale the others by ``1 / (1 - p)``.

    Like ``torch.nn.Dropout`` it draws from PyTorch's global generator, unless it was given a key (:func:`dropout_keys`).

    Args:
        p: Probability, ``0 <= p < 1``.
    """

    key: Tensor | None

    def __init__(self, p: float = 0.0) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"dropout must be in [0, 1), got {p}")
        self.p = float(p)
        self.register_buffer("key", None, persistent=False)

    def forward(self, u: Tensor, part: Part | None = None) -> Tensor:
        """Return ``u`` with some coordinates dropped; any shape.

        Args:
            u: The coordinates.
            part: Which rows of a larger tensor ``u`` holds: with a key, those are dropped that would be dropped there.
        """
        if not self.training or self.p == 0:
            return u
        if self.key is None:
            return nn.functional.dropout(u, self.p)
        return u * keyed_mask(self.key, u, 1 - self.p, part).div_(1 - self.p)  # scaling the mask costs no pass of the gradient

    def extra_repr(self) -> str:
        """Show the probability."""
        return f"p={self.p:g}"


def mixed_key(*parts: int) -> int:
    """Mix whole numbers into one key of 63 bits, as SplitMix64 does, so that neighbouring seeds have nothing in common."""
    mixed = 0
    for part in parts:
        mixed = (mixed + part + 0x9E3779B97F4A7C15) % 2**64
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> shift)) * factor % 2**64
        mixed ^= mixed >> 31
    return mixed >> 1


def dropout_keys(model: nn.Module, seeds: int | Sequence[int], step: int) -> dict[str, Tensor]:
    """Return the buffers that key every dropout of a model, for ``torch.func.functional_call``.

    Equal seeds and steps give equal draws; every layer draws differently.

    Args:
        model: Any module.
        seeds: The seed of the model, or one for each of a batch of models.
        step: Number of the training step.
    """
    layers = [name for name, module in model.named_modules() if isinstance(module, Dropout)]
    many = [seeds] if isinstance(seeds, int) else seeds
    keys = torch.tensor([[mixed_key(seed, step, salt) for seed in many] for salt in range(len(layers))])
    return {f"{name}.key": row[0] if isinstance(seeds, int) else row for name, row in zip(layers, keys, strict=True)}
