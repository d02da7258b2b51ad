"""Attention of all points to all others in plain PyTorch, a run of rows at a time: any space, any type, any device."""

from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from qgcn.kernels.attention.energy import EnergyKind, all_energies
from qgcn.kernels.metric import Metric
from qgcn.kernels.pairs.neighbourhoods import CHUNK_ENTRIES

__all__ = ["attended"]


def attended(x: Tensor, y: Tensor, v: Tensor, manifold: Metric, rate: Tensor, kind: EnergyKind) -> tuple[Tensor, Tensor]:
    """Return means of the values and logarithms of the sums; see :func:`qgcn.kernels.attention.attend`.

    The energies of a run of rows are computed again for the gradient, so no more of them is held at a time.
    """

    def rows_of(rows: Tensor) -> tuple[Tensor, Tensor]:
        score = -rate * all_energies(rows, y, manifold, kind)
        return score.softmax(-1) @ v, score.logsumexp(-1)

    each = max(1, CHUNK_ENTRIES // (4 * max(1, len(y))))
    if each >= len(x):
        return rows_of(x)
    parts: list[Any] = [checkpoint(rows_of, rows, use_reentrant=False, preserve_rng_state=False) for rows in x.split(each)]
    means, logs = zip(*parts, strict=True)
    return torch.cat(means), torch.cat(logs)
