"""Dropout whose randomness is a function of a key instead of a state.

A run that is resumed draws what it would have drawn; a batch of models draws what each would have drawn alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

from qgcn.kernels.mask import draw_masks, keyed_mask
from qgcn.kernels.part import Part
from qgcn.kernels.product import SparseMatrix

__all__ = ["Dropout", "MaskDraws", "dropout_keys", "mixed_key"]

_Coordinates = TypeVar("_Coordinates", Tensor, SparseMatrix)


@dataclass(frozen=True)
class _Seen:
    """Coordinates that a layer dropped some of: all that a mask for others like them depends on."""

    shape: torch.Size
    dtype: torch.dtype
    device: torch.device
    part: Part | None


class Dropout(nn.Module):
    """Set coordinates to zero with probability ``p`` in training and scale the others by ``1 / (1 - p)``.

    Like ``torch.nn.Dropout`` it draws from PyTorch's global generator, unless it was given a key (:func:`dropout_keys`), or a
    mask (:class:`MaskDraws`).

    Args:
        p: Probability, ``0 <= p < 1``.
    """

    key: Tensor | None
    mask: Tensor | None

    def __init__(self, p: float = 0.0) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"dropout must be in [0, 1), got {p}")
        self.p = float(p)
        self.register_buffer("key", None, persistent=False)
        self.register_buffer("mask", None, persistent=False)
        self.seen: _Seen | None = None

    @property
    def drops(self) -> bool:
        """Whether anything is dropped: in training, with a probability that is not zero."""
        return self.training and self.p > 0

    def forward(self, u: _Coordinates, part: Part | None = None) -> _Coordinates:
        """Return ``u`` with some coordinates dropped; any shape.

        Args:
            u: The coordinates; of a sparse matrix, only entries are dropped.
            part: Rows of a larger tensor that ``u`` holds: with a key, those are dropped that would be dropped there. A sparse
                matrix knows its own.
        """
        if not self.drops:
            return u
        if isinstance(u, SparseMatrix):  # dropping the zeros too would change nothing but the time
            return u.with_values(self._dropped(u.values, u.part))
        return self._dropped(u, part)

    def _dropped(self, u: Tensor, part: Part | None) -> Tensor:
        if self.mask is not None:
            return u * self.mask
        if self.key is None:
            return nn.functional.dropout(u, self.p)
        self.seen = _Seen(u.shape, u.dtype, u.device, part)
        mask = keyed_mask(self.key, u, 1 - self.p, 1 / (1 - self.p), part)  # scaling the mask costs no pass of the gradient
        if u.requires_grad or torch.compiler.is_compiling():
            return u * mask
        return mask.mul_(u)  # features of many nodes: the memory of the mask is enough

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


class MaskDraws:
    """Masks of every dropout of a model, drawn in advance into tensors that stay the same, for steps that are recorded.

    They are what the same seeds and step draw by :func:`dropout_keys`. Every layer must have dropped something by key before.

    Args:
        model: Any module.
        seeds: The seed of the model, or one for each of a batch of models.
    """

    def __init__(self, model: nn.Module, seeds: int | Sequence[int]) -> None:
        self._model, self._seeds = model, seeds
        count = 1 if isinstance(seeds, int) else len(seeds)
        layers = {name: module for name, module in model.named_modules() if isinstance(module, Dropout)}
        self._layers = {name: (each, each.seen) for name, each in layers.items() if each.seen is not None and each.drops}
        self._masks = {
            name: torch.empty(count, *seen.shape, dtype=seen.dtype, device=seen.device)
            for name, (_, seen) in self._layers.items()
        }

    def draw(self, step: int) -> None:
        """Draw the masks of a training step."""
        keys = dropout_keys(self._model, self._seeds, step)
        for name, (layer, seen) in self._layers.items():
            drawn = keys[f"{name}.key"].reshape(-1).tolist()
            draw_masks(drawn, self._masks[name], 1 - layer.p, 1 / (1 - layer.p), seen.part)

    @property
    def buffers(self) -> dict[str, Tensor]:
        """Buffers that hold the masks, for ``torch.func.functional_call``; of a batch of models, stacked."""
        single = isinstance(self._seeds, int)
        return {f"{name}.mask": mask[0] if single else mask for name, mask in self._masks.items()}
