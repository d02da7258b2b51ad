"""Sums over edges in plain PyTorch: any type, any device, differentiable in everything."""

import torch
from torch import Tensor

__all__ = ["coefficients", "gathered", "last_loops"]


def coefficients(
    edge_index: Tensor, weight: Tensor, size: tuple[int, int], kind: str, same: bool, loops: bool
) -> tuple[Tensor, Tensor | None]:
    """Normalise as :func:`qgcn.kernels.edges.coefficients` does, in the type of the weights."""
    source, target = edge_index[0], edge_index[1]
    own = None
    if loops:
        own = weight.new_ones(size[1])
        if same:
            own = last_loops(edge_index, weight, own)
            weight = torch.where(source == target, 0, weight)
    if kind == "sum":
        return weight, own
    degree = weight.new_zeros(size[1]).index_add(0, target, weight)
    into = _inverse(degree if own is None else degree + own)
    if kind == "mean":
        return weight * into[target], None if own is None else own * into
    from_source = into if same else _inverse(weight.new_full((size[0],), float(loops)).index_add(0, source, weight))
    return weight * (into[target] * from_source[source]).sqrt(), None if own is None else own * into


def last_loops(edge_index: Tensor, weight: Tensor, otherwise: Tensor) -> Tensor:
    """Return the weight of each node's loop: of several the last one counts; without one, the number given, ``(N,)``."""
    source, target = edge_index[0], edge_index[1]
    place = torch.arange(1, source.shape[0] + 1, device=source.device)
    place = torch.where(source == target, place, 0)
    last = place.new_zeros(otherwise.shape[0]).scatter_reduce(0, target.long(), place, "amax")
    known = torch.cat((weight.new_ones(1), weight))  # with no edge at all there is something to look at, too
    return torch.where(last > 0, known[last], otherwise)


def gathered(v: Tensor, edge_index: Tensor, coefficient: Tensor, rows: int, loops: Tensor | None = None) -> Tensor:
    """Add up as :func:`qgcn.kernels.edges.gathered` does."""
    messages = coefficient.unsqueeze(-1) * v.index_select(-2, edge_index[0])
    total = v.new_zeros(*v.shape[:-2], rows, v.shape[-1]).index_add(-2, edge_index[1], messages)
    return total if loops is None else total + loops.unsqueeze(-1) * v


def _inverse(degree: Tensor) -> Tensor:
    inverse: Tensor = torch.where(degree > 0, degree, 1).reciprocal()  # without neighbours nothing comes, whatever divides it
    return inverse
