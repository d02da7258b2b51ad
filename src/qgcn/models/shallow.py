"""Coordinates of nodes, learned as they are."""

import torch
from torch import Tensor, nn

from qgcn.manifolds import Product, PseudoHyperboloid, Space, parse_space
from qgcn.nn.sparse import matmul

__all__ = ["Coordinates"]

SPREAD = 0.1
"""Standard deviation of the coordinates at the start."""
RELEASED = 0.01
"""The same of coordinates that join later: small beside what has been learned by then."""


class Coordinates(nn.Module):
    r"""A point for every node and nothing else: tangent coordinates at the pole, at first smoothed over the graph.

    .. math:: x = \widehat\exp_o\bigl((1 - \sigma)\, u + \sigma A u\bigr)

    With one time dimension :math:`\exp_o` reaches every point and takes the place of the diffeomorphic map: ``Qs,1`` is ``Hs``,
    and far points are a few steps away.

    Two things make the optimum of an indefinite space easier to reach, and change as training goes on, see :meth:`advance`:

    - A convolution, :math:`\sigma = 1`, moves neighbours together; later :math:`\sigma = 0` and every node is free.
    - A space with space and several time dimensions is first confined to its larger Riemannian part: hyperbolic space, all time
      coordinates but one being 0; or, with more time than space dimensions, the sphere, all space coordinates being 0.

    Args:
        num_nodes: Number of nodes, ``N``.
        space: The space, or its name.
        beta: Where the curvature ``1 / beta`` starts.
        learnable: Learn the curvature.
        confine: Share of the training for which the space is confined.
        convolve: Share of the training for which coordinates are smoothed.

    Shapes:
        - **input:** anything, and a sparse CSR adjacency ``(N, N)``
        - **output:** points ``(N, d)``
    """

    convolve = True
    """As for :class:`~qgcn.models.TangentNetwork`: it looks at the graph."""

    def __init__(
        self,
        num_nodes: int,
        space: Space | str,
        *,
        beta: float = -1.0,
        learnable: bool = True,
        confine: float = 0.2,
        convolve: float = 0.1,
    ) -> None:
        super().__init__()
        self.space = space if isinstance(space, Space) else parse_space(space, beta=beta, learnable=learnable)
        self._confine, self._convolve = confine, convolve
        confined = _confined(self.space) if confine > 0 else torch.zeros(self.space.ambient_dim, dtype=torch.bool)
        start = torch.randn(num_nodes, self.space.ambient_dim) * torch.where(confined, RELEASED, SPREAD)
        self.coordinates = nn.Parameter(self.space.proju(self.space.origin(self.space.ambient_dim), start).as_subclass(Tensor))
        # not learned, but part of what a model is
        self.free = nn.Parameter((~confined).float(), requires_grad=False)
        self.smoothing = nn.Parameter(torch.tensor(float(convolve > 0)), requires_grad=False)
        hyperbolic = _hyperbolic(self.space)
        self.diffeomorphic: Tensor | None
        self.register_buffer("diffeomorphic", (~hyperbolic).float() if hyperbolic.any() else None, persistent=False)

    def forward(self, x: Tensor | None, adjacency: Tensor) -> Tensor:
        """Return the points; ``x`` is not used."""
        u = self.tangent(x, adjacency)
        if self.diffeomorphic is None:
            return self.space.expmap0(u)
        first = u * self.diffeomorphic
        points: Tensor = self.space.expmap(self.space.expmap0(first), u - first)
        return points

    def tangent(self, x: Tensor | None, adjacency: Tensor) -> Tensor:
        """Return tangent coordinates at the pole, shape ``(N, d)``."""
        u = self.coordinates * self.free
        return torch.lerp(u, matmul(adjacency, u), self.smoothing)

    @torch.no_grad()
    def advance(self, epoch: int, epochs: int, adjacency: Tensor) -> None:
        """Let go of what this epoch is the first to be without.

        The points stay where they are, but for the small coordinates that join.
        """
        if epoch == int(self._confine * epochs):
            self.free.fill_(1)
        if epoch == int(self._convolve * epochs) and bool(self.smoothing > 0):
            u = self.coordinates  # those still confined, too: they are not 0, only hidden
            u.copy_(torch.lerp(u, matmul(adjacency, u), self.smoothing))
            self.smoothing.zero_()

    def settled(self, epochs: int) -> int:
        """Return the epoch from which nothing changes any more."""
        return max([0, *(int(share * epochs) for share in (self._confine, self._convolve) if share < 1)])

    def extra_repr(self) -> str:
        """Show the number of nodes and the space."""
        return f"{len(self.coordinates)} nodes -> {self.space}"


def _hyperbolic(space: Space) -> Tensor:
    """Tell which coordinates are of pseudo-hyperboloids with one time dimension."""
    parts = space.manifolds if isinstance(space, Product) else [space]
    return torch.cat(
        [torch.full((part.ambient_dim,), isinstance(part, PseudoHyperboloid) and part.time_dim == 1) for part in parts]
    )


def _confined(space: Space) -> Tensor:
    """Tell which coordinates are 0 at first: of each indefinite factor, time's but one, or space's if there are fewer."""
    confined = []
    for factor in space.factors or ():
        space_dim, time_dim = factor.size - factor.time_dim, factor.time_dim
        indefinite = time_dim >= 2 and space_dim >= 1
        time = [False, *[indefinite and time_dim <= space_dim] * (time_dim - 1)] if time_dim else []
        confined += time + [indefinite and time_dim > space_dim] * space_dim
    return torch.tensor(confined or [False] * space.ambient_dim)
