"""A summary of a run in plain words: setup, outcome, interpretation."""

import math
from pathlib import Path
from typing import Any

from qgcn.manifolds import Space, parse_space
from qgcn.training.metrics_log import Curve
from qgcn.training.run import Run

__all__ = ["sentences"]

LATE = 0.95
"""A best epoch beyond this share of all epochs is called late."""


def sentences(run: Run, results: dict[str, Any] | None, curves: list[Curve], space: Space | None = None) -> list[str]:
    """Return sentences on the setup of a run, its outcome and its interpretation.

    Args:
        run: The run.
        results: Its results; none if it is unfinished.
        curves: Learning curves.
        space: The space of the embedding, if there is one, with the curvature that was learned.
    """
    config, task = run.config, run.task
    edges = task.data.num_edges if task.directed else task.data.num_edges // 2
    graph = config.data if "/" not in config.data else Path(config.data).name
    where = (space or parse_space(config.space)).describe()
    aim = f", {task.aim}" if task.aim else ""
    told = [
        f"The model {config.model} placed the graph {graph}, {task.num_nodes:,} nodes and {edges:,} edges, "
        f"in {config.space}, {where}{aim}."
    ]
    if results is None:
        return [*told, _unfinished(run, curves)]
    told += [_course(run, results), task.outcome(_value(run, results))]
    score = results["summary"][results["metric"]]
    if (verdict := task.verdict((score["mean"], score["std"]), results.get("yardsticks", {}))) is not None:
        told.append(verdict.sentence)
    if any(each.get("best_epoch", 0) > LATE * config.epochs for each in results["seeds"]):
        told.append("The best model came near the last epoch: more epochs may still do better.")
    return told


def _unfinished(run: Run, curves: list[Curve]) -> str:
    config = run.config
    reached = max((curve.epoch[-1] for curve in curves if curve.epoch), default=0)
    of = f", seed {len(curves)} of {config.seeds}" if config.seeds > 1 and curves else ""
    return f"The run is not finished: it has got to epoch {reached} of {config.epochs}{of}; this is what it had by then."


def _course(run: Run, results: dict[str, Any]) -> str:
    config = run.config
    seeds = "one seed" if config.seeds == 1 else f"{config.seeds} seeds"
    epochs = [each["best_epoch"] for each in results["seeds"] if "best_epoch" in each]
    best = "" if not epochs else f"; the best model came at epoch {_span(epochs)}"
    return f"It was trained with {seeds} for up to {config.epochs} epochs{best}."


def _span(epochs: list[int]) -> str:
    return str(epochs[0]) if min(epochs) == max(epochs) else f"{min(epochs)} to {max(epochs)}"


def _value(run: Run, results: dict[str, Any]) -> str:
    """Return the main score as text."""
    score = results["summary"][results["metric"]]
    spread = f" (± {100 * score['std']:.1f} over seeds)" if run.config.seeds > 1 and math.isfinite(score["std"]) else ""
    return f"{100 * score['mean']:.1f} %{spread}"
