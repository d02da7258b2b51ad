"""Decoders of pairs that learn what they read off two points: small networks of tangent coordinates and distances."""

from typing import Final

import torch
from torch import Tensor, nn

from qgcn.manifolds import Space
from qgcn.nn.dropout import Dropout
from qgcn.nn.neighbours import SharedNeighbours
from qgcn.nn.pair_decoders import BilinearForm, Distance, InnerProduct, PairDecoder, SquaredDistance

__all__ = ["PAIR_DECODERS", "NeighbourNetwork", "PairNetwork", "pair_decoder", "rows_of_pairs", "small_network"]

PAIR_DECODERS: Final = ("squared-distance", "distance", "product", "bilinear", "network", "neighbours")
"""Names of the decoders of pairs."""
LEAST_WIDTH = 16
"""Hidden units of a network, at least."""
BLOCK = 2**17
"""Pairs that rows are computed from at once."""


class PairNetwork(PairDecoder):
    r"""A network of one hidden layer, of the products of tangent coordinates at the origin and of the squared distance.

    .. math:: \operatorname{logit} P(u \sim v) = f\bigl(\log_o x_u \odot \log_o x_v,\; \log(1 + d(x_u, x_v)^2)\bigr)

    Inner product and distance are special cases. Both inputs are symmetric in the two points, and so is the logit.

    Args:
        space: The space of the points.
        dropout: Share of hidden units dropped, in training.
    """

    def __init__(self, space: Space, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.network = small_network(space.ambient_dim + 1, dropout)

    def pairs(self, x: Tensor, y: Tensor, space: Space) -> Tensor:
        """Return the logits of edges between ``x`` and ``y``, row by row."""
        return self._read(space.logmap0(x) * space.logmap0(y), space.dist2(x, y))

    def decode(self, points: Tensor, pairs: Tensor, space: Space) -> Tensor:
        """Return the logits of pairs of nodes, shape ``(P,)``."""
        u, (a, b) = space.logmap0(points), pairs
        return self._read(u[a] * u[b], space.dist2(points[a], points[b]))

    @torch.no_grad()
    def rows(self, points: Tensor, nodes: Tensor, space: Space) -> Tensor:
        """Return the logits of some points with all of them."""
        return rows_of_pairs(self, points, nodes, space)

    def _read(self, products: Tensor, squares: Tensor) -> Tensor:
        inputs = torch.cat((products, squares.log1p().unsqueeze(-1)), dim=-1)
        logits: Tensor = self.network(inputs)
        return logits.squeeze(-1)


class NeighbourNetwork(PairNetwork):
    r"""A :class:`PairNetwork` that sees the neighbours which two nodes share, too.

    .. math:: \operatorname{logit} P(u \sim v) = f(u, v) + g\Bigl(\sum_{w \in N(u) \cap N(v)} \log_o x_w\Bigr)

    It decodes pairs of nodes, :meth:`decode`; two points alone have no neighbours.

    Args:
        space: The space of the points.
        neighbours: Neighbours of the nodes along the edges that may be known.
        dropout: Share of hidden units dropped, in training.
    """

    def __init__(self, space: Space, neighbours: SharedNeighbours, *, dropout: float = 0.0) -> None:
        super().__init__(space, dropout=dropout)
        self.neighbours = neighbours
        self.shared = small_network(space.ambient_dim, dropout)

    def decode(self, points: Tensor, pairs: Tensor, space: Space) -> Tensor:
        """Return the logits of pairs of nodes, shape ``(P,)``."""
        self.neighbours = self.neighbours.to(points.device)
        place, node = self.neighbours.of_pairs(pairs)
        u = space.logmap0(points)
        sums = u.new_zeros(pairs.shape[1], u.shape[1]).index_add(0, place, u[node])
        shared: Tensor = self.shared(sums)
        return super().decode(points, pairs, space) + shared.squeeze(-1)


def pair_decoder(
    name: str, space: Space, *, learnable: bool = True, dropout: float = 0.0, neighbours: SharedNeighbours | None = None
) -> PairDecoder:
    """Build a decoder of pairs by its name.

    Args:
        name: One of :data:`PAIR_DECODERS`.
        space: The space of the points.
        learnable: Whether the boundary of a decoder of distances is learned (default: true).
        dropout: Share of hidden units that a network drops.
        neighbours: Neighbours of the nodes, for ``neighbours``.

    Raises:
        ValueError: Unknown name, or neighbours are needed.
    """
    if name in ("squared-distance", "distance"):
        return (SquaredDistance if name == "squared-distance" else Distance)(learnable=learnable)
    if name in ("product", "bilinear"):
        return (InnerProduct if name == "product" else BilinearForm)(space)
    if name == "network":
        return PairNetwork(space, dropout=dropout)
    if name == "neighbours":
        if neighbours is None:
            raise ValueError("the decoder neighbours needs the neighbours of the nodes, got none")
        return NeighbourNetwork(space, neighbours, dropout=dropout)
    raise ValueError(f"unknown decoder {name!r}: expected one of {', '.join(PAIR_DECODERS)}")


@torch.no_grad()
def rows_of_pairs(decoder: PairDecoder, points: Tensor, nodes: Tensor, space: Space) -> Tensor:
    """Return the logits of some points with all of them, shape ``(n, N)``, pair by pair, in blocks of :data:`BLOCK`."""
    count = len(points)
    others = torch.arange(count, device=points.device)
    rows = []
    for some in nodes.split(max(1, BLOCK // max(count, 1))):
        pairs = torch.stack((some.repeat_interleave(count), others.repeat(len(some))))
        rows.append(decoder.decode(points, pairs, space).reshape(len(some), count))
    return torch.cat(rows) if rows else points.new_empty(0, count)


def small_network(inputs: int, dropout: float) -> nn.Sequential:
    """Return a network of one hidden layer, about as wide as its input, with one output."""
    width = max(LEAST_WIDTH, inputs - 1)
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), Dropout(dropout), nn.Linear(width, 1))
