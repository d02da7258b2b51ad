"""Nodes drawn as negatives of many rows at once."""

from dataclasses import dataclass

import torch
from torch import Tensor

from qgcn.kernels.pairs.neighbourhoods import WORD

__all__ = ["Negatives"]


@dataclass(frozen=True)
class Negatives:
    """Points that stand for all non-neighbours of some consecutive points, the rows, but those that are none of a row's.

    Attributes:
        rows: Points that have edges, consecutive, ``R`` of them.
        columns: Points drawn, distinct, int64, shape ``(n,)``.
        left_out: Pairs that are left out: the row itself, its neighbours, and columns past the last, to a multiple of 32. Bit
            ``k % 32`` of ``left_out[k // 32, u]`` is that of column ``k`` and row ``u``; int32, shape ``(ceil(n / 32), R)``.
        log_weight: Logarithm of how many non-neighbours of each row each of its drawn ones stands for, shape ``(R,)``.
        of_columns: The same of each column, for all rows, shape ``(n,)``, if columns were drawn unequally.
    """

    rows: range
    columns: Tensor
    left_out: Tensor
    log_weight: Tensor
    of_columns: Tensor | None = None

    @classmethod
    def of(
        cls,
        columns: Tensor,
        edges: Tensor,
        rows: range,
        num_points: int,
        total: Tensor,
        weights: Tensor | None = None,
    ) -> "Negatives":
        """Find out which pairs are to be left out; waits for no device.

        Args:
            columns: Points drawn, shape ``(n,)``.
            edges: All edges that lead from a row to one of the points that columns are drawn from, each once, shape ``(2, E)``.
            rows: The rows.
            num_points: Number of points.
            total: Number of non-neighbours that each row has in the whole graph, shape ``(R,)``.
            weights: For how many points each column stands, shape ``(n,)``; in each row for equally many if not given.
        """
        count, n = len(rows), len(columns)
        words = -(-n // WORD)
        device = columns.device
        place = torch.full((num_points,), -1, dtype=torch.int32, device=device)
        place[columns] = torch.arange(n, dtype=torch.int32, device=device)
        source, target = edges
        bits = torch.zeros(words * count, dtype=torch.int32, device=device)
        missing = torch.zeros(count, dtype=torch.int32, device=device)
        itself = torch.arange(rows.start, rows.stop, device=device)
        for row, at in ((source - rows.start, place[target]), (itself - rows.start, place[rows.start : rows.stop])):
            hit = at >= 0
            if device.type == "cpu":  # few are hit
                row, at, hit = row[hit], at[hit], hit[hit]
            bit = torch.where(hit, torch.ones_like(at) << at % WORD, 0)
            bits.index_add_(0, torch.where(hit, at // WORD, 0).long() * count + row, bit)  # each bit once: a sum is a union
            missing.index_add_(0, row, hit.int())
        left_out = bits.view(words, count)
        if n % WORD:
            left_out[-1] |= -(1 << n % WORD)
        if weights is not None:
            return cls(rows, columns, left_out, torch.zeros_like(total), weights.to(total.dtype).log())
        drawn = (n - missing).to(total.dtype)
        weight = torch.where(drawn > 0, total / torch.where(drawn > 0, drawn, 1), 1)  # where none is drawn, the sum is nothing
        return cls(rows, columns, left_out, weight.log())
