"""Blending: a few predictions of the same thing, weighed so that validation comes out most likely."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

__all__ = ["Prior", "blend", "fit_weights"]

STEPS: Final = 50
"""Newton steps at most; a handful usually do."""
HALVINGS: Final = 30
"""Times that a step is halved until it descends, at most."""


@dataclass(frozen=True)
class Prior:
    """Assumption about weights: what they are where validation is too small to tell.

    Attributes:
        weights: The weights that are assumed; 0 if not given.
        strength: Strength of the assumption: one of 3 counts about as much as three outcomes in doubt.
        least: Deviation that a term is taken to have at least: one that hardly varies on validation may vary elsewhere.
    """

    weights: Sequence[float] | None = None
    strength: float = 1.0
    least: float = 0.25

    def without_first(self) -> "Prior":
        """Return the same without the first predictor."""
        return Prior(None if self.weights is None else self.weights[1:], self.strength, self.least)


def blend(terms: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted sum of terms, shape ``(n, C)``: logits of the outcomes, float64.

    Args:
        terms: Logits of the outcomes by each predictor, shape ``(n, C, K)``.
        weights: One for each predictor, shape ``(K,)``.
    """
    # not a product of matrices: the sum of a row must not depend on how many rows there are
    return (terms.double() * weights.to(terms.device, torch.float64)).sum(-1)


@torch.no_grad()
def fit_weights(terms: Tensor, outcomes: Tensor, prior: Prior = Prior()) -> Tensor:  # noqa: B008 (frozen)
    r"""Return the weights that make outcomes most likely, under a mild preference for those of a prior.

    .. math:: \min_w \; \sum_i -\log \operatorname{softmax}\Bigl(\sum_k w_k z_{ik}\Bigr)_{y_i}
        + \tfrac\lambda2 \sum_k \bigl((w_k - m_k) \sigma_k\bigr)^2

    where :math:`m_k` and :math:`\lambda` are the weights and the strength of the prior, and :math:`\sigma_k` is the standard
    deviation of term :math:`k`, or the least that the prior allows. Convex, and solved by Newton's method; the penalty keeps
    weights finite where a term is always right. With one term this is temperature scaling, :math:`w = 1/T`.

    Laws: without weights in the prior, scaling a term by :math:`c > 0` divides its weight by :math:`c`, as long as it varies
    enough; a term that is constant keeps the weight of the prior.

    Args:
        terms: Logits of the outcomes by each predictor, shape ``(n, C, K)``.
        outcomes: Which came true, integers in ``[0, C)``, shape ``(n,)``.
        prior: Assumption about the weights.

    Returns:
        Float64, shape ``(K,)``.
    """
    z = terms.double()
    z = z - z.mean(1, keepdim=True)
    deviation = z.flatten(0, 1).std(0, correction=0)
    scale = deviation.maximum(torch.tensor(prior.least, dtype=z.dtype, device=z.device))
    assumed = torch.tensor(prior.weights or [0.0] * z.shape[2], dtype=z.dtype, device=z.device)
    base, z = z @ assumed, z / scale
    right = z.gather(1, outcomes.long()[:, None, None].expand(-1, 1, z.shape[2])).squeeze(1)
    ridge = prior.strength * torch.eye(z.shape[2], dtype=z.dtype, device=z.device)

    def loss(v: Tensor) -> Tensor:
        return (base + z @ v).logsumexp(1).sum() - (right @ v).sum() + v @ ridge @ v / 2

    v = torch.zeros(z.shape[2], dtype=torch.float64, device=z.device)
    for _ in range(STEPS):
        p = (base + z @ v).softmax(1)
        mean = torch.einsum("nc,nck->nk", p, z)
        gradient = (mean - right).sum(0) + ridge @ v
        centred = z - mean.unsqueeze(1)
        curvature = torch.einsum("nc,nck,ncl->kl", p, centred, centred) + ridge
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
    return assumed + torch.where(deviation > 0, v / scale, 0)
