"""Samples of neighbours, the same from every path that computes them."""

from typing import NamedTuple

import torch
from torch import Tensor

from qgcn.kernels.sampling import cpu, reference

__all__ = ["Drawn", "draw_neighbours", "number_nodes"]


class Drawn(NamedTuple):
    """Entries drawn of some rows.

    Attributes:
        begin: Where the rows begin, then the number of entries, int64, shape ``(n + 1,)``.
        entries: Places of the entries in the whole matrix, ascending in each row, int64, shape ``(e,)``.
        sources: Their columns, int64, shape ``(e,)``.
    """

    begin: Tensor
    entries: Tensor
    sources: Tensor


def draw_neighbours(
    crow: Tensor,
    col: Tensor,
    nodes: Tensor,
    fanout: int,
    key: int,
    *,
    replace: bool = False,
    loops: Tensor | None = None,
) -> Drawn:
    r"""Draw some neighbours of some nodes, uniformly, as a function of the key and of each node alone.

    Of :math:`d` neighbours, :math:`\min(d, k)` different ones are drawn by Floyd's method, in time that does not depend on
    :math:`d`. Each set has the same chance, but for a relative error of :math:`d / 2^{32}`.

    Laws: the same key and node give the same neighbours, whatever other nodes are asked about, on every device.

    Args:
        crow: Where the rows of the matrix begin, one row for each target, int32, shape ``(N + 1,)``.
        col: Sources, int32, shape ``(E,)``.
        nodes: Targets, int64, shape ``(n,)``.
        fanout: Number of neighbours ``k`` of each; all if negative.
        key: Key, an integer of 63 bits.
        replace: Draw with replacement, ``k`` of every node that has neighbours (default: no).
        loops: Entry of each node's loop, or -1, int32, shape ``(N,)``: it is always taken, and not counted (default: loops are
            entries like others).

    Raises:
        ValueError: There are to be no neighbours; a tensor is of another type or length; or, on the CPU, a node is not there.
    """
    if fanout == 0:
        raise ValueError("fanout must be at least 1, or negative for all neighbours, got 0")
    _check(crow, col, nodes, loops)
    crow, col, nodes = crow.contiguous(), col.contiguous(), nodes.contiguous()
    loops = None if loops is None else loops.contiguous()
    tensors = (crow, col, nodes) if loops is None else (crow, col, nodes, loops)
    path = cpu if cpu.takes(*tensors) else reference
    return Drawn(*path.drawn(crow, col, nodes, fanout, key, replace, loops))


def number_nodes(known: Tensor, found: Tensor) -> tuple[Tensor, Tensor]:
    """Number nodes in the order in which they first appear, after those that have numbers.

    Args:
        known: Different nodes that have the numbers 0, 1, ..., int64, shape ``(n,)``.
        found: Nodes that need numbers, int64, shape ``(m,)``.

    Returns:
        The number of each node found, shape ``(m,)``, and the nodes that were not known, in their order.
    """
    known, found = known.contiguous(), found.contiguous()
    return cpu.numbered(known, found) if cpu.takes(known, found) else reference.numbered(known, found)


def _check(crow: Tensor, col: Tensor, nodes: Tensor, loops: Tensor | None) -> None:
    """Raise ``ValueError`` unless the tensors are such as C++ may read by their addresses; a GPU is not waited for."""
    given = {"crow": (crow, torch.int32), "col": (col, torch.int32), "nodes": (nodes, torch.int64)}
    given |= {} if loops is None else {"loops": (loops, torch.int32)}
    for name, (tensor, dtype) in given.items():
        if tensor.dtype != dtype or tensor.ndim != 1:
            raise ValueError(f"{name} must be {dtype} with one axis, got {tensor.dtype} of shape {tuple(tensor.shape)}")
    count = len(crow) - 1
    if count < 0 or (loops is not None and len(loops) != count):
        raise ValueError(f"crow must have one entry more than there are nodes, got {len(crow)}")
    if nodes.device.type != "cpu":
        return
    if int(crow[-1]) != len(col):
        raise ValueError(f"crow must end with the number of entries of col, {len(col)}, got {int(crow[-1])}")
    if len(nodes) and not 0 <= int(nodes.min()) <= int(nodes.max()) < count:
        raise ValueError(f"nodes must lie in [0, {count}), got {int(nodes.min())} to {int(nodes.max())}")
