"""From the nodes of a graph to the graph: readout and pooling that stay in the space."""

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from qgcn.manifolds import Space, parse_space

__all__ = ["POOLINGS", "Pooling", "TangentPool"]

Pooling = Literal["mean", "sum", "max"]
POOLINGS = get_args(Pooling)


class TangentPool(nn.Module):
    r"""Combine the points of each group, such as a graph of a batch or a cluster of nodes, into one point.

    .. math:: y_g = \widehat\exp_o\bigl(\rho_{i \in g}\, \widehat\log_o(x_i)\bigr)

    where :math:`\rho` is the mean, the sum or the coordinatewise maximum. No Fréchet mean is searched for: in an indefinite
    metric there need be none, and it would be an iteration.

    Laws: stays in the space; does not depend on the order of the points; a group of one point is that point (up to whole turns
    in time); a group without points is the origin; in flat space it is PyG's ``global_mean_pool``, ``global_add_pool`` or
    ``global_max_pool``.

    Args:
        space: The space of the points, or its name; another layer owns it.
        reduce: ``mean``, ``sum`` or ``max`` (default: ``mean``).

    Shapes:
        - **input:** points ``(N, d)``; the group of each, integers ``(N,)``, such as PyG's ``batch`` (default: one group)
        - **output:** points ``(G, d)``
    """

    def __init__(self, space: Space | str, reduce: Pooling = "mean") -> None:
        super().__init__()
        if reduce not in POOLINGS:
            raise ValueError(f"reduce must be one of {', '.join(POOLINGS)}, got {reduce!r}")
        self._space = (parse_space(space) if isinstance(space, str) else space,)  # a tuple: the layer before owns it
        self.reduce: Pooling = reduce

    def forward(self, x: Tensor, batch: Tensor | None = None, size: int | None = None) -> Tensor:
        """Return one point for each group.

        Args:
            x: Points.
            batch: Group of each point (default: all in one).
            size: Number of groups ``G`` (default: the largest in ``batch``, plus 1).
        """
        space = self._space[0]
        return space.expmap0(self.from_tangent(space.logmap0(x), batch, size))

    def from_tangent(self, u: Tensor, batch: Tensor | None = None, size: int | None = None) -> Tensor:
        """Do the same from and to tangent coordinates."""
        if batch is None:
            batch, size = torch.zeros(u.shape[0], dtype=torch.int64, device=u.device), 1
        if batch.shape != u.shape[:1]:
            raise ValueError(f"batch must have shape ({u.shape[0]},), got {tuple(batch.shape)}")
        groups = (int(batch.max()) + 1 if batch.numel() else 0) if size is None else size
        index = batch.long().unsqueeze(-1).expand_as(u)
        pooled: Tensor = u.new_zeros(groups, u.shape[-1])
        pooled = pooled.scatter_reduce(0, index, u, {"max": "amax"}.get(self.reduce, self.reduce), include_self=False)
        return self._space[0].fold0(pooled)

    def extra_repr(self) -> str:
        """Show the space and how points are combined."""
        return f"{self._space[0]}, {self.reduce}"
