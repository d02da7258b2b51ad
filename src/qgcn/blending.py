"""Blending: a few predictions of the same thing, weighed so that validation comes out most likely."""

from typing import Final

import torch
from torch import Tensor

__all__ = ["blend", "fit_weights"]

STEPS: Final = 50
"""Newton steps at most; a handful usually do."""
LEAST: Final = 0.25
"""Deviation that a term is taken to have at least: one that hardly varies on validation may vary elsewhere."""
HALVINGS: Final = 30
"""Times that a step is halved until it descends, at most."""


def blend(terms: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted sum of terms, shape ``(n, C)``: logits of the outcomes, float64.

    Args:
        terms: Logits of the outcomes by each predictor, shape ``(n, C, K)``.
        weights: One for each predictor, shape ``(K,)``.
    """
    # not a product of matrices: the sum of a row must not depend on how many rows there are
    return (terms.double() * weights.to(terms.device, torch.float64)).sum(-1)


@torch.no_grad()
def fit_weights(terms: Tensor, outcomes: Tensor) -> Tensor:
    r"""Return the weights that make outcomes most likely, under a mild preference for small ones.

    .. math:: \min_w \; \sum_i -\log \operatorname{softmax}\Bigl(\sum_k w_k z_{ik}\Bigr)_{y_i}
        + \tfrac12 \sum_k (w_k \sigma_k)^2

    where :math:`\sigma_k` is the standard deviation of term :math:`k`, or 0.25 if that is more. Convex, and solved by Newton's
    method; the penalty keeps weights finite where a term is always right. With one term this is temperature scaling,
    :math:`w = 1/T`.

    Laws: scaling a term by :math:`c > 0` divides its weight by :math:`c`, as long as it varies by 0.25; a term that is constant
    has weight 0.

    Args:
        terms: Logits of the outcomes by each predictor, shape ``(n, C, K)``.
        outcomes: Which came true, integers in ``[0, C)``, shape ``(n,)``.

    Returns:
        Float64, shape ``(K,)``.
    """
    z = terms.double()
    z = z - z.mean(1, keepdim=True)
    deviation = z.flatten(0, 1).std(0, correction=0)
    scale = deviation.maximum(torch.tensor(LEAST, dtype=z.dtype, device=z.device))
    z = z / scale
    right = z.gather(1, outcomes.long()[:, None, None].expand(-1, 1, z.shape[2])).squeeze(1)

    def loss(v: Tensor) -> Tensor:
        return (z @ v).logsumexp(1).sum() - (right @ v).sum() + v @ v / 2

    v = torch.zeros(z.shape[2], dtype=torch.float64, device=z.device)
    for _ in range(STEPS):
        p = (z @ v).softmax(1)
        mean = torch.einsum("nc,nck->nk", p, z)
        gradient = (mean - right).sum(0) + v
        centred = z - mean.unsqueeze(1)
        curvature = torch.einsum("nc,nck,ncl->kl", p, centred, centred) + torch.eye(len(v), dtype=v.dtype, device=v.device)
        step = torch.linalg.solve(curvature, gradient)
        now, size = loss(v), 1.0
        for _ in range(HALVINGS):
            if loss(v - size * step) <= now:
                break
            size /= 2
        moved = v - size * step
        if torch.equal(moved, v) or loss(moved) >= now:
            break
        v = moved
    return torch.where(deviation > 0, v / scale, 0)
