"""What was run and how it ended, in plain words."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qgcn.manifolds import Space, parse_space
from qgcn.training.config import Config
from qgcn.viz.report.subject import Curve

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Facts", "sentences"]

LATE = 0.95
"""A best epoch beyond this share of all epochs is called late."""


@dataclass(frozen=True)
class Facts:
    """What the sentences are made of."""

    config: Config
    data: "Data | None"
    results: dict[str, Any] | None
    curves: list[Curve]
    space: Space | None


def sentences(facts: Facts) -> list[str]:
    """Return what was done, how it ended, and what to make of it."""
    config, data = facts.config, facts.data
    space = facts.space or parse_space(config.space)
    size = "" if data is None else f", {data.num_nodes:,} nodes and {data.num_edges // 2:,} edges,"
    graph = config.data if "/" not in config.data else Path(config.data).name
    aim = {
        "classification": "so that the class of a node can be read off its point",
        "links": "so that points of linked nodes are near each other",
        "reconstruction": "so that the neighbours of a node are its nearest points",
    }[config.task]
    told = [f"The model {config.model} placed the graph {graph}{size} in {config.space}, {space.describe()}, {aim}."]
    told.append(_course(facts))
    if facts.results is not None:
        told.append(_outcome(facts))
        late = [each for each in facts.results.get("seeds", []) if each.get("best_epoch", 0) > LATE * config.epochs]
        if late:
            told.append("The best model came near the last epoch: more epochs may still do better.")
    return told


def _course(facts: Facts) -> str:
    config = facts.config
    seeds = "one seed" if config.seeds == 1 else f"{config.seeds} seeds"
    if facts.results is None:
        reached = max((curve.epoch[-1] for curve in facts.curves if curve.epoch), default=0)
        begun = len(facts.curves)
        of = f", seed {begun} of {config.seeds}" if config.seeds > 1 and begun else ""
        return f"The run is not finished: it has got to epoch {reached} of {config.epochs}{of}; this is what it had by then."
    epochs = [each["best_epoch"] for each in facts.results["seeds"] if "best_epoch" in each]
    best = "" if not epochs else f"; the best model came at epoch {_span(epochs)}"
    return f"It was trained with {seeds} for up to {config.epochs} epochs{best}."


def _span(epochs: list[int]) -> str:
    return str(epochs[0]) if min(epochs) == max(epochs) else f"{min(epochs)} to {max(epochs)}"


def _outcome(facts: Facts) -> str:
    config, results = facts.config, facts.results or {}
    score = results["summary"][results["metric"]]
    spread = f" (± {100 * score['std']:.1f} over seeds)" if config.seeds > 1 and score["std"] is not None else ""
    value = f"{100 * score['mean']:.1f} %{spread}"
    if config.task == "links":
        split = (
            "the leak-free split" if config.protocol == "leak-free" else "the hgcn split, which leaks test pairs into training"
        )
        return (
            f"Shown a held-out edge and a pair that is none, it prefers the edge {value} of the time, "
            f"where guessing gives 50 % ({split})."
        )
    if config.task == "reconstruction":
        return (
            f"The mean average precision is {value}: 100 % means that every neighbour is nearer than every other node. "
            "Nothing is held out; the score is of the graph that was embedded."
        )
    chance = ""
    if facts.data is not None and getattr(facts.data, "test_mask", None) is not None:
        share = facts.data.y[facts.data.test_mask].bincount().max() / facts.data.test_mask.sum()
        chance = f", where always naming the most common class gives {100 * float(share):.1f} %"
    return f"It names the class of {value} of the test nodes correctly{chance}."
