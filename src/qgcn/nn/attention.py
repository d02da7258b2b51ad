"""Attention: how much a node listens to each of its neighbours."""

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from qgcn.kernels.attention import pair_energies
from qgcn.manifolds import Space

__all__ = ["ATTENTIONS", "AttentionKind", "DistanceScore", "weighted_softmax"]

AttentionKind = Literal["gat", "gatv2", "distance"]
ATTENTIONS = get_args(AttentionKind)


class DistanceScore(nn.Module):
    r"""Score edges by the signed squared distance of their ends, one score for each head.

    .. math:: s^h_{ij} = -\,E\bigl(\widehat\exp_o(W_h v_i), \widehat\exp_o(W_h v_j)\bigr) / \tau_h + \ell_h \delta_{ij}

    where the energy :math:`E` is that of :func:`qgcn.kernels.attention.pair_energies`; the temperatures :math:`\tau_h`, the
    term :math:`\ell_h` of a node's own loop and, with more than one head, the maps :math:`W_h` are learned.

    Args:
        space: The space of the points, which another module owns.
        heads: Number of heads (default: 1).
        features: Number of coordinates of an edge's features, each of which then adds to the score (default: none).
    """

    def __init__(self, space: Space, heads: int = 1, features: int = 0) -> None:
        super().__init__()
        if heads < 1:
            raise ValueError(f"heads must be at least 1, got {heads}")
        self._space = (space,)  # a tuple: the layer owns it
        dim = space.ambient_dim
        self.maps = nn.Parameter(torch.empty(heads, dim, dim)) if heads > 1 else None
        self.temperature = nn.Parameter(torch.empty(heads))  # its logarithm
        self.loop = nn.Parameter(torch.empty(heads))
        self.edge_direction = nn.Parameter(torch.empty(features, heads)) if features else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the maps of the heads; temperatures are 1, and loops count as edges."""
        nn.init.zeros_(self.temperature)
        nn.init.zeros_(self.loop)
        if self.maps is not None:
            for each in self.maps:
                nn.init.xavier_uniform_(each)
        if self.edge_direction is not None:
            nn.init.xavier_uniform_(self.edge_direction)

    def points(self, v: Tensor) -> Tensor:
        """Return the points of nodes, ``(..., N, h d)``, heads side by side, from tangent vectors ``(..., N, d)``."""
        (space,) = self._space
        if self.maps is None:
            return space.expmap0(v)
        mapped = torch.einsum("...nd,hde->...nhe", v, self.maps.to(v.dtype)).to(v.dtype)  # autocast would halve it
        return space.expmap0(space.fold0(mapped)).flatten(-2)

    def forward(self, source: Tensor, target: Tensor, loops: Tensor, features: Tensor | None = None) -> Tensor:
        """Return scores, shape ``(..., E, h)``.

        Args:
            source: :meth:`points` at the source of each edge, shape ``(..., E, h d)``.
            target: Those at the target.
            loops: Whether an edge is a loop, shape ``(E,)``.
            features: Features of the edges, shape ``(..., E, n)``.
        """
        (space,), heads = self._space, len(self.temperature)
        begins, arrives = (each.unflatten(-1, (heads, space.ambient_dim)) for each in (source, target))
        energy = pair_energies(begins, arrives, space)
        rate, own = (-self.temperature).exp().to(energy.dtype), self.loop.to(energy.dtype)
        score = torch.where(loops.unsqueeze(-1), own, 0) - rate * energy
        if features is not None and self.edge_direction is not None:
            score = score + (features @ self.edge_direction.to(features.dtype)).to(score.dtype)
        return score

    def extra_repr(self) -> str:
        """Show the space and the number of heads."""
        return f"{self._space[0]}, heads={len(self.temperature)}"


def weighted_softmax(score: Tensor, weight: Tensor, target: Tensor, num_targets: int) -> Tensor:
    r"""Turn the scores of edges into shares of their targets.

    .. math:: a_{ij} = \frac{w_{ij}\, e^{s_{ij}}}{\sum_k w_{ik}\, e^{s_{ik}}}

    Laws: an edge of weight 2 counts as two edges, one of weight 0 as none; the shares of a target that has edges sum to 1;
    where all scores are equal, the shares are those of a weighted mean.

    Args:
        score: Scores :math:`s`, shape ``(..., E, h)``, of each head its own.
        weight: Weights :math:`w`, not negative, shape ``(E,)``.
        target: Targets of the edges, shape ``(E,)``.
        num_targets: Number of targets ``N``.

    Returns:
        Shares, shape ``(..., E, h)``.
    """
    present = (weight != 0).unsqueeze(-1)
    index = target.long()
    lowest = torch.finfo(score.dtype).min
    score = torch.where(present, score, lowest)
    batch, heads = score.shape[:-2], score.shape[-1]
    top = score.detach().new_full((*batch, num_targets, heads), lowest)
    top = top.scatter_reduce(-2, index.unsqueeze(-1).expand(*batch, -1, heads), score.detach(), "amax")
    share = weight.unsqueeze(-1) * (score - top.index_select(-2, index)).exp()
    total = share.new_zeros(*batch, num_targets, heads).index_add(-2, index, share)
    return share / torch.where(total > 0, total, 1).index_select(-2, index)
