"""Coordinates of nodes, learned as they are."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from qgcn.manifolds import Space, parse_space
from qgcn.models.encoder import Capabilities, Encoder, Options

__all__ = ["CoordinateOptions", "Coordinates"]

RELEASED = 0.01
"""The same of coordinates that join later: small beside what has been learned by then."""


class CoordinateOptions(Options):
    """Options of free coordinates."""

    beta: float = Field(-1.0, lt=0, description="Initial beta; the curvature is 1/beta.")
    learnable: bool = Field(True, description="Learn the curvature.")
    spread: float = Field(0.1, gt=0, description="Standard deviation of the coordinates at the start.")
    confine: float = Field(
        0.2, ge=0, le=1, description="Share of the epochs for which the model stays in the larger Riemannian part of its space."
    )


class Coordinates(Encoder):
    r"""A point for every node and nothing else, learned by its tangent coordinates at the pole.

    .. math:: x = \exp_o(u) \;\text{ with one time dimension},\qquad x = \widehat\exp_o(u) \;\text{ with several}

    With one time dimension the exponential map reaches every point, and far ones in fewer steps than the diffeomorphic map:
    ``Qs,1`` is ``Hs``.

    The optimum of an indefinite space is easier to reach from a Riemannian one. So a space with space and several time
    dimensions is confined to its larger Riemannian part at first: hyperbolic space, all time coordinates but one being 0; or,
    with more time than space dimensions, the sphere, all space coordinates being 0. See :meth:`advance`.

    Args:
        num_nodes: Number of nodes, ``N``.
        space: The space, or its name.
        beta: Where the curvature ``1 / beta`` starts.
        learnable: Learn the curvature.
        spread: Standard deviation of the coordinates at the start.
        confine: Share of the training for which the space is confined.

    Shapes:
        - **input:** anything: neither features nor graph are looked at
        - **output:** points ``(N, d)``
    """

    options_type: ClassVar[type[Options]] = CoordinateOptions

    def __init__(
        self,
        num_nodes: int,
        space: Space | str,
        *,
        beta: float = -1.0,
        learnable: bool = True,
        spread: float = 0.1,
        confine: float = 0.2,
    ) -> None:
        super().__init__()
        self.space = space if isinstance(space, Space) else parse_space(space, beta=beta, learnable=learnable)
        self._confine = confine
        with torch.device("cpu"):  # also where a model without numbers is built, on the device "meta"
            confined = self.space.confined() if confine > 0 else torch.zeros(self.space.ambient_dim, dtype=torch.bool)
            straight = self.space.straight()
        self._confines = bool(confined.any())
        start = torch.randn(num_nodes, self.space.ambient_dim)
        start = start * torch.where(confined, RELEASED, spread).to(start.device)
        self.coordinates = nn.Parameter(self.space.proju(self.space.origin(self.space.ambient_dim), start).as_subclass(Tensor))
        # not learned, but part of what a model is
        self.free = nn.Parameter((~confined).float(), requires_grad=False)
        self.turning: Tensor | None
        self.register_buffer("turning", (~straight).float() if straight.any() else None, persistent=False)

    @classmethod
    def capabilities(cls, space: Space, options: Mapping[str, Any]) -> Capabilities:
        """Return what it can do: it reads neither features nor a graph."""
        return Capabilities(graph="none", batchable=False, recordable=space.traceable, learns_nodes=True)

    def forward(self, *_: object) -> Tensor:
        """Return the points."""
        u = self.tangent()
        if self.turning is None:
            return self.space.expmap0(u)
        turn = u * self.turning
        points: Tensor = self.space.expmap(self.space.expmap0(turn), u - turn)
        return points

    def tangent(self, *_: object) -> Tensor:
        """Return tangent coordinates at the pole, shape ``(N, d)``."""
        return self.coordinates * self.free

    @torch.no_grad()
    def advance(self, epoch: int, epochs: int) -> None:
        """Let all coordinates go if this epoch is the first to be without confinement; those that join are small."""
        if epoch == int(self._confine * epochs):
            self.free.fill_(1)

    def settled(self, epochs: int) -> int:
        """Return the epoch from which nothing changes any more."""
        return int(self._confine * epochs) if self._confines and self._confine < 1 else 0

    def extra_repr(self) -> str:
        """Show the number of nodes and the space."""
        return f"{len(self.coordinates)} nodes -> {self.space}"
