"""Dropout whose randomness is a function of a key instead of a state.

A run that is resumed draws what it would have drawn; a batch of models draws what each would have drawn alone.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function

from qgcn.kernels import network
from qgcn.nn.field import Part

__all__ = ["Dropout", "dropout_keys", "keyed_mask", "mixed_key"]


def _most(keep: float) -> int:
    """Return the largest of 16 bits that are kept; one beyond need not fit them."""
    return max(round(keep * 2**16), 1) - 1 - 2**15


def _decisions(key: int, count: int, keep: float, device: torch.device) -> Tensor:
    """Draw ``count`` booleans, true with probability ``keep``."""
    generator = torch.Generator(device).manual_seed(key)
    # four decisions from each 64 random bits: drawing them is what dropout spends its time on
    words = torch.empty((count + 3) // 4, dtype=torch.int64, device=device)
    bits = words.random_(-(2**63), None, generator=generator).view(torch.int16)[:count]
    return bits <= _most(keep)


def _draw(keys: list[int], masks: Tensor, keep: float, value: float, part: Part | None) -> Tensor:
    """Fill masks, one for each key, shape ``(K, ...)``."""
    if masks.is_contiguous() and network.usable(masks):
        rows, total = (None, None) if part is None else (part.rows, part.total)
        return network.masks(keys, masks, _most(keep), value, rows, total)
    for mask, key in zip(masks, keys, strict=True):
        whole = mask.shape if part is None else (part.total, *mask.shape[1:])
        drawn = _decisions(key, math.prod(whole), keep, mask.device).view(whole)
        mask.copy_(drawn if part is None else drawn.index_select(0, part.rows))
    return masks if value == 1 else masks.mul_(value)


class _KeyedMask(Function):
    @staticmethod
    def forward(key: Tensor, like: Tensor, keep: float, value: float, part: Part | None) -> Tensor:
        return _draw([int(key)], torch.empty_like(like).unsqueeze(0), keep, value, part).squeeze(0)

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
        _draw(keys.tolist(), masks.movedim(place, 0), keep, value, part)
        return masks, place


def keyed_mask(key: Tensor, like: Tensor, keep: float, value: float = 1.0, part: Part | None = None) -> Tensor:
    """Draw ones with probability ``keep`` and zeros else, as many as ``like`` has entries, from nothing but the key.

    Args:
        key: int64, shape ``()``, on the CPU, so that reading it stalls nothing.
        like: Any tensor; the result has its shape, type and device.
        keep: Probability of a one.
        value: What to return for a one.
        part: Which rows of a larger tensor ``like`` holds: they get what they would get there.
    """
    drawn: Tensor = _KeyedMask.apply(key, like.detach(), keep, value, part)  # type: ignore[no-untyped-call]
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

    @property
    def drops(self) -> bool:
        """Whether anything is dropped: in training, with a probability that is not zero."""
        return self.training and self.p > 0

    def forward(self, u: Tensor, part: Part | None = None) -> Tensor:
        """Return ``u`` with some coordinates dropped; any shape.

        Args:
            u: The coordinates.
            part: Which rows of a larger tensor ``u`` holds: with a key, those are dropped that would be dropped there.
        """
        if not self.drops:
            return u
        if self.key is None:
            return nn.functional.dropout(u, self.p)
        return u * keyed_mask(self.key, u, 1 - self.p, 1 / (1 - self.p), part)  # scaling the mask costs no pass of the gradient

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
