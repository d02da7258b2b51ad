"""Reconstruction of graphs too large for all pairs: how many negatives are drawn, and of how many nodes a score is."""

from typing import Any, Final

import torch
from torch import Tensor

from qgcn.kernels import Neighbourhoods
from qgcn.manifolds import Space
from qgcn.tasks.config import Config
from qgcn.tasks.precision import estimate_mean_average_precision

__all__ = ["AUTO", "CHOOSERS", "EXACT", "JUDGES", "check", "draw", "drawn_of", "parse", "remarks", "score"]

AUTO: Final = "auto"
EXACT: Final = 2**17
"""Nodes up to which all pairs take part if not asked otherwise: 2^34 pairs a step, a fraction of a second on a large GPU."""
DRAWN: Final = 2048
"""Negatives of a step beyond that, if not asked otherwise."""
LEAST: Final = 32
CHOOSERS: Final = 2048
"""Nodes whose precision chooses the best epoch where negatives are drawn."""
JUDGES: Final = 10_000
"""Nodes whose precision is the score of a graph with more nodes than :data:`EXACT`."""


def parse(negatives: str) -> int | None:
    """Return the number of negatives that a setting asks for; ``None`` for ``auto`` and ``exact``.

    Raises:
        ValueError: It is none of these.
    """
    if negatives in (AUTO, "exact"):
        return None
    if not (negatives.isascii() and negatives.isdigit() and int(negatives) >= LEAST):
        raise ValueError(f"negatives must be auto, exact or a number of at least {LEAST}, got {negatives!r}")
    return int(negatives)


def check(config: Config) -> None:
    """Raise ``ValueError`` if settings of negatives and blocks do not go together."""
    given: dict[str, Any] = {"negatives": AUTO, "objective": "neighbours", "blocks": 1, "store": "memory"}
    negatives, objective, blocks, store = (getattr(config, name, usual) for name, usual in given.items())
    drawn = parse(negatives)
    if objective != "neighbours" and (drawn is not None or blocks > 1):
        what = "blocks are" if blocks > 1 else "negatives are drawn"
        raise ValueError(f"{what} for the objective neighbours alone, got {objective}")
    if blocks > 1 and not config.capabilities.learns_nodes:
        raise ValueError(f"blocks are for models that learn coordinates of nodes, such as shallow, got {config.model}")
    if blocks > 1 and negatives == "exact":
        raise ValueError("blocks draw their negatives: give negatives a number, or leave it out")
    if blocks == 1 and store == "disk":
        raise ValueError("store has no effect without blocks: ask for more than one, such as blocks 8")


def drawn_of(negatives: str, num_nodes: int, blocks: int = 1) -> int | None:
    """Return the number of negatives drawn for a step; ``None`` if all pairs take part.

    Args:
        negatives: The setting.
        num_nodes: Number of nodes.
        blocks: Number of blocks, each of which negatives are drawn from.
    """
    if blocks > 1:
        return parse(negatives) or DRAWN
    drawn = DRAWN if negatives == AUTO and num_nodes > EXACT else parse(negatives)
    return None if drawn is None or drawn >= num_nodes else drawn


def draw(num_nodes: int, count: int, generator: torch.Generator) -> Tensor:
    """Draw distinct nodes, shape ``(count,)``, on the device of the generator."""
    return torch.randperm(num_nodes, generator=generator, device=generator.device)[:count]


def score(prediction: Tensor, graph: Neighbourhoods, space: Space) -> dict[str, float]:
    """Return the mAP of :data:`JUDGES` nodes, each against all others, and half the width of its 95 % confidence interval."""
    found = estimate_mean_average_precision(prediction, graph, space, JUDGES)
    return {"map": float(found.mean), "map_margin": float(found.margin)}


def remarks(drawn: int | None, num_nodes: int, blocks: int = 1) -> list[str]:
    """Say what is drawn, and how to have it otherwise."""
    said = []
    if drawn is not None and blocks > 1:
        said.append(f"{blocks:,} blocks of nodes: {drawn:,} negatives are drawn from each of two blocks each step")
    elif drawn is not None:
        said.append(f"negatives are drawn: {drawn:,} of {num_nodes:,} nodes each step (all: --negatives exact)")
    if num_nodes > EXACT:
        said.append(f"mAP is that of {JUDGES:,} nodes drawn, each against all others, with its 95 % margin; no distortion")
    return said
