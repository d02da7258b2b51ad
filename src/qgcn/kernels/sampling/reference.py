"""Samples of neighbours in plain PyTorch: any device; no loop over nodes."""

import torch
from torch import Tensor

from qgcn.kernels.hashing import GOLDEN, STEP, scrambled, shifted, signed

__all__ = ["drawn", "numbered"]

_HALF = 32


def drawn(
    crow: Tensor, col: Tensor, nodes: Tensor, fanout: int, key: int, replace: bool, loops: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw as :func:`qgcn.kernels.sampling.operation.draw_neighbours` does; return where rows begin, entries and sources."""
    start, degree = crow[nodes].long(), (crow[nodes + 1] - crow[nodes]).long()
    own = torch.full_like(nodes, -1) if loops is None else loops[nodes].long()
    has = (own >= 0).long()
    others = degree - has
    taken = others if fanout < 0 else torch.where(others > (0 if replace else fanout), fanout, others)
    count = taken + has
    begin = torch.cat((count.new_zeros(1), count.cumsum(0)))
    row = torch.repeat_interleave(torch.arange(len(nodes), device=nodes.device), count)
    entries = start[row] + torch.arange(len(row), device=nodes.device) - begin[row]  # right where all are taken
    some = torch.ones_like(has, dtype=torch.bool) if replace else others > fanout
    if fanout >= 0 and bool((some := some & (taken > 0)).any()):
        which = some.nonzero().squeeze(1)
        chosen = _chosen(nodes[which], others[which], fanout, key, replace)
        place = own[which].unsqueeze(1) - start[which].unsqueeze(1)
        at = chosen + ((place >= 0) & (chosen >= place))  # as if the loop were not there
        if loops is not None:
            at = torch.cat((at, place), dim=1)
            at = torch.where(at < 0, degree.max() + 1, at)  # no loop: to the end, and out of the row
        at = at.sort(dim=1).values + start[which].unsqueeze(1)
        valid = torch.arange(at.shape[1], device=at.device) < count[which].unsqueeze(1)
        entries[(begin[which].unsqueeze(1) + torch.arange(at.shape[1], device=at.device))[valid]] = at[valid]
    return begin, entries, col[entries].long()


def _chosen(nodes: Tensor, others: Tensor, fanout: int, key: int, replace: bool) -> Tensor:
    """Draw places below ``others``, shape ``(n, fanout)``; different ones unless replaced, by Floyd's method."""
    base = scrambled(nodes * GOLDEN + key)
    chosen = torch.empty(len(nodes), fanout, dtype=torch.int64, device=nodes.device)
    for draw in range(fanout):
        last = others - 1 if replace else others - fanout + draw
        word = shifted(scrambled(base + signed(draw * STEP)), _HALF)
        place = shifted(word * (last + 1), _HALF)
        if not replace:
            place = torch.where((chosen[:, :draw] == place.unsqueeze(1)).any(1), last, place)
        chosen[:, draw] = place
    return chosen


def numbered(known: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:
    """Number as :func:`qgcn.kernels.sampling.operation.number_nodes` does."""
    both = torch.cat((known, found))
    distinct, place = torch.unique(both, return_inverse=True)
    first = torch.full_like(distinct, len(both)).scatter_reduce_(0, place, torch.arange(len(both), device=both.device), "amin")
    order = first.argsort()
    rank = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
    return rank[place[len(known) :]], distinct[order][len(known) :]
