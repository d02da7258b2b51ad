"""Attention: how much a node listens to each of its neighbours."""

from typing import Literal, get_args

import torch
from torch import Tensor

__all__ = ["ATTENTIONS", "AttentionKind", "weighted_softmax"]

AttentionKind = Literal["gat", "gatv2"]
ATTENTIONS = get_args(AttentionKind)


def weighted_softmax(score: Tensor, weight: Tensor, target: Tensor, num_targets: int) -> Tensor:
    r"""Turn the scores of edges into shares of their targets.

    .. math:: a_{ij} = \frac{w_{ij}\, e^{s_{ij}}}{\sum_k w_{ik}\, e^{s_{ik}}}

    Laws: an edge of weight 2 counts as two edges, one of weight 0 as none; the shares of a target that has edges sum to 1;
    where all scores are equal, the shares are those of a weighted mean.

    Args:
        score: Scores :math:`s`, shape ``(..., E, 1)``.
        weight: Weights :math:`w`, not negative, shape ``(E,)``.
        target: Targets of the edges, shape ``(E,)``.
        num_targets: Number of targets ``N``.

    Returns:
        Shares, shape ``(..., E, 1)``.
    """
    present = (weight != 0).unsqueeze(-1)
    index = target.long()
    lowest = torch.finfo(score.dtype).min
    score = torch.where(present, score, lowest)
    batch = score.shape[:-2]
    top = score.detach().new_full((*batch, num_targets, 1), lowest)
    top = top.scatter_reduce(-2, index.unsqueeze(-1).expand(*batch, -1, -1), score.detach(), "amax")
    share = weight.unsqueeze(-1) * (score - top.index_select(-2, index)).exp()
    total = share.new_zeros(*batch, num_targets, 1).index_add(-2, index, share)
    return share / torch.where(total > 0, total, 1).index_select(-2, index)
