"""The end of a training: the network weighed with cheap predictors, scored and calibrated."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from qgcn.blending import blend, fit_weights
from qgcn.calibration import calibration_error
from qgcn.manifolds import Space, parse_space
from qgcn.progress import Progress, silent
from qgcn.tasks import Task
from qgcn.tasks.task import Scores, Split
from qgcn.training.machine import signals_raise

__all__ = ["final_scores", "yardstick_scores"]

WITHOUT_NETWORK = "blend without the network"
"""Name of the cheap predictors together, among the yardsticks."""


@torch.no_grad()
def final_scores(task: Task[Any], predictions: dict[Split, Tensor], space: Space) -> dict[str, Any]:
    """Return the scores of a trained model on each split, and how it is weighed.

    Weights of the network and the task's cheap predictors are fitted on validation, if there is one: of the network alone, that
    is a temperature.

    Args:
        task: The problem.
        predictions: Predictions of the network, by split.
        space: The space of its embedding.

    Returns:
        Scores by split; with probabilities ``blend`` (names and weights), ``calibration`` (expected calibration error on test,
        before and after), and ``network``, the scores of the network alone, if it is not alone.
    """
    alone: dict[str, Any] = {split: task.score(prediction, split, space) for split, prediction in predictions.items()}
    logits, right = dict[Split, Tensor](), dict[Split, Tensor]()
    for split, prediction in predictions.items():
        outcomes = task.outcomes(prediction, split)
        if outcomes is not None:
            logits[split], right[split] = outcomes
    if "val" not in logits:
        return alone
    terms = {split: _with_terms(task, each, split) for split, each in logits.items()}
    weights = fit_weights(terms["val"], right["val"], task.prior)
    if len(weights) == 1:  # a temperature; of a network that is worse than chance it would turn the ranking around
        weights = torch.where(weights > 0, weights, 1.0)
    blended = {split: blend(each, weights) for split, each in terms.items()}
    names = ("network", *task.term_names)
    about: dict[str, Any] = {"blend": dict(zip(names, weights.tolist(), strict=True))}
    if "test" in blended:
        error, before = (calibration_error(each["test"], right["test"]) for each in (blended, logits))
        about["calibration"] = {"error": error, "uncalibrated": before}
    if len(names) == 1:  # a temperature changes no ranking
        return alone | about
    scores = {split: task.score(task.from_outcomes(each), split, space) for split, each in blended.items()}
    return scores | about | {"network": alone}


def yardstick_scores(task: Task[Any], progress: Progress = silent) -> dict[str, Scores]:
    """Return the test scores of the task's yardsticks, by name.

    Where a network is weighed with several cheap predictors, these weighed without it are a yardstick, too. All seeds are
    written when this is called: a signal to stop is obeyed at once, by ``KeyboardInterrupt``.

    Args:
        task: The problem.
        progress: Progress callback.
    """
    found = {}
    with signals_raise():
        methods = task.yardsticks()
        if len(task.term_names) > 1:  # one alone is a yardstick already
            methods[WITHOUT_NETWORK] = partial(_without_network, task)
        for done, (name, score) in enumerate(methods.items()):
            progress("yardsticks", done, len(methods), name)
            found[name] = score()
    return found


@torch.no_grad()
def _without_network(task: Task[Any]) -> Scores:
    """Return the test scores of the cheap predictors, weighed by validation."""
    known, asked = task.terms("val"), task.terms("test")
    outcomes = None if known is None else task.outcomes(task.from_outcomes(known[..., 0]), "val")
    if known is None or asked is None or outcomes is None:
        raise ValueError(f"{task!r} names cheap predictors, but has none")
    logits = blend(asked, fit_weights(known, outcomes[1], task.prior.without_first()))
    return task.score(task.from_outcomes(logits), "test", parse_space(task.config.space))


def _with_terms(task: Task[Any], logits: Tensor, split: Split) -> Tensor:
    """Return the logits of the network and of the task's cheap predictors, shape ``(n, C, K)``."""
    own, others = logits.unsqueeze(-1).double(), task.terms(split)
    return own if others is None else torch.cat((own, others.to(own)), dim=-1)
