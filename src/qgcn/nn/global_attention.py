"""Attention of every node to all nodes, by the distances of points in a space for each head."""

import math
from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor, nn

from qgcn.kernels.attention import ENERGIES, EnergyKind, attend_with_edges
from qgcn.kernels.product import SparseMatrix
from qgcn.manifolds import Space, parse_space
from qgcn.nn.adjacency import Adjacency
from qgcn.nn.linear import QLinear

__all__ = ["GlobalAttention"]

_EXTRA: Final = math.log(100.0)  # neighbours are a few among thousands: counted once, they would not be heard


class GlobalAttention(nn.Module):
    r"""Let every node listen to all nodes, neighbours above all, in several heads with a space each.

    .. math:: z_i = O \Bigl[\sum_j p^h_{ij} V_h u_j\Bigr]_h, \qquad
        p^h_{ij} \propto (1 + w_h a_{ij}) \exp\bigl(-E_h(x^h_i, y^h_j) / \tau_h\bigr), \qquad
        x^h_i = \widehat\exp_o(W_h u_i) \oplus b_h

    where :math:`E_h` is the signed squared distance in the space of the head, negative for time-like separation (see
    :func:`qgcn.kernels.attention.pair_energies`), and :math:`a_{ij}` is 1 for neighbours, 0 elsewhere. The points
    :math:`y` that nodes are heard at are those they listen from, or points of their own (``two_points``). Temperatures
    :math:`\tau_h` and weights :math:`w_h` are learned.

    All pairs are computed exactly; memory grows with nodes and edges, never with pairs.

    Args:
        features: Number of tangent coordinates of the inputs and outputs.
        spaces: The spaces of the heads, or their names.
        energy: ``distance``, or ``chord``: the squared chord, which makes it dot-product attention with an indefinite product.
        two_points: Give nodes points of their own to be heard at (default: false).
        bias: Translate the points by a learned bias (default: true).
        beta: Where the curvatures ``1 / beta`` of spaces given by name start (default: each space's own).
        learnable: Learn the curvatures of spaces given by name (default: true).

    Shapes:
        - **input:** tangent vectors ``(N, features)``; the graph, an :class:`~qgcn.nn.Adjacency` or its matrix
        - **output:** ``(N, features)``
    """

    def __init__(
        self,
        features: int,
        spaces: Sequence[Space | str],
        *,
        energy: EnergyKind = "distance",
        two_points: bool = False,
        bias: bool = True,
        beta: float | None = None,
        learnable: bool = True,
    ) -> None:
        super().__init__()
        if not spaces:
            raise ValueError("attention needs the space of at least one head, got none")
        if energy not in ENERGIES:
            raise ValueError(f"energy must be one of {', '.join(ENERGIES)}, got {energy!r}")
        self.energy: EnergyKind = energy
        found = [parse_space(each, beta=beta, learnable=learnable) if isinstance(each, str) else each for each in spaces]
        self.queries = nn.ModuleList(QLinear(features, space, bias=bias) for space in found)
        self.keys = nn.ParameterList(torch.empty(features, space.ambient_dim) for space in found) if two_points else None
        width = -(-features // len(found))
        self.values = nn.Parameter(torch.empty(len(found), features, width))
        self.mix = nn.Linear(len(found) * width, features, bias=False)
        self.temperature = nn.Parameter(torch.zeros(len(found)))  # its logarithm, as of the next
        self.extra = nn.Parameter(torch.full((len(found),), _EXTRA))
        for each in (*self.values, *(self.keys or ())):
            nn.init.xavier_uniform_(each)

    @property
    def spaces(self) -> list[Space]:
        """The spaces of the heads."""
        return [head.space for head in self.queries if isinstance(head, QLinear)]

    def forward(self, u: Tensor, graph: Adjacency | SparseMatrix) -> Tensor:
        """Return what every node hears.

        Args:
            u: Tangent vectors.
            graph: The neighbours.
        """
        matrix = graph.hop(0).matrix if isinstance(graph, Adjacency) else graph
        target, source = matrix.coordinates
        edges, joined = torch.stack((source, target)).long(), (matrix.values != 0).to(u.dtype)  # dropped edges are zeros
        heard = []
        for index, (space, query) in enumerate(zip(self.spaces, self.queries, strict=True)):
            x = space.expmap0(query.from_tangent(u))  # type: ignore[operator]
            y = x if self.keys is None else space.expmap0(space.fold0(u @ self.keys[index].to(u.dtype)))
            values, scale = u @ self.values[index].to(u.dtype), self.temperature[index].exp().to(u.dtype)
            extra = self.extra[index].exp().to(u.dtype) * joined
            heard.append(attend_with_edges(x, y, values, space, scale, edges, extra, energy=self.energy))
        mixed: Tensor = self.mix(torch.cat(heard, dim=-1))
        return mixed

    def extra_repr(self) -> str:
        """Show the spaces of the heads."""
        return f"{' '.join(map(str, self.spaces))}, energy={self.energy}"
