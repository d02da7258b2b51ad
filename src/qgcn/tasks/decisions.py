"""Decisions by a threshold: the one with the best F1, and what another set of pairs scores by it."""

import torch
from torch import Tensor

__all__ = ["best_f1", "decided"]


def best_f1(positive: Tensor, negative: Tensor) -> tuple[Tensor, Tensor]:
    """Return the highest F1 that a threshold reaches, and the threshold: what scores as much or more is taken as positive.

    The threshold is half-way between the least score that is taken and the next one: where pairs are few, others that score
    about as much as the least are more likely positive than not.

    Laws: no other threshold has a higher F1; of equal scores all are taken or none.

    Args:
        positive: Scores of positives, shape ``(P,)``, at least one.
        negative: Scores of negatives, shape ``(Q,)``.

    Returns:
        Float64 and the type of the scores, shape ``()`` each.
    """
    scores, order = torch.cat((positive, negative)).sort(descending=True)
    right = (order < len(positive)).double().cumsum(0)
    taken = torch.arange(1, len(scores) + 1, device=scores.device)
    last = torch.cat((scores[1:] != scores[:-1], torch.ones(1, dtype=torch.bool, device=scores.device)))
    found = torch.where(last, 2 * right / (taken + len(positive)), 0)
    best = found.argmax()
    least, below = scores[best], torch.cat((scores[1:], scores[-1:]))[best]
    middle = below + (least - below) / 2
    return found[best], torch.where(middle > below, middle, least)  # between neighbouring floats there is no middle


def decided(positive: Tensor, negative: Tensor, threshold: Tensor) -> dict[str, Tensor]:
    """Return ``f1``, ``precision`` and ``recall`` of scores by a threshold; precision is 1 where nothing is taken.

    Args:
        positive: Scores of positives, shape ``(P,)``.
        negative: Scores of negatives, shape ``(Q,)``.
        threshold: Least score that is taken as positive.
    """
    right, wrong = ((scores >= threshold).double().sum() for scores in (positive, negative))
    taken = right + wrong
    precision = torch.where(taken > 0, right / taken, 1)
    return {"f1": 2 * right / (taken + len(positive)), "precision": precision, "recall": right / len(positive)}
