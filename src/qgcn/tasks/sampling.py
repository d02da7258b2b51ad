"""Reconstruction of graphs too large for all pairs: how many negatives are drawn, and of how many nodes a score is."""

from typing import Final

import torch
from torch import Tensor

from qgcn import metrics
from qgcn.kernels import Neighbourhoods
from qgcn.manifolds import Space

__all__ = ["AUTO", "CHOOSERS", "EXACT", "JUDGES", "draw", "drawn_of", "parse", "remarks", "score"]

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


def drawn_of(negatives: str, num_nodes: int) -> int | None:
    """Return the number of negatives drawn for a step; ``None`` if all pairs take part.

    Args:
        negatives: The setting.
        num_nodes: Number of nodes.
    """
    drawn = DRAWN if negatives == AUTO and num_nodes > EXACT else parse(negatives)
    return None if drawn is None or drawn >= num_nodes else drawn


def draw(num_nodes: int, count: int, generator: torch.Generator) -> Tensor:
    """Draw distinct nodes, shape ``(count,)``, on the device of the generator."""
    return torch.randperm(num_nodes, generator=generator, device=generator.device)[:count]


def score(prediction: Tensor, graph: Neighbourhoods, space: Space) -> dict[str, float]:
    """Return the mAP of :data:`JUDGES` nodes, each against all others, and half the width of its 95 % confidence interval."""
    found = metrics.estimate_mean_average_precision(prediction, graph, space, JUDGES)
    return {"map": float(found.mean), "map_margin": float(found.margin)}


def remarks(drawn: int | None, num_nodes: int) -> list[str]:
    """Say what is drawn, and how to have it otherwise."""
    said = []
    if drawn is not None:
        said.append(f"negatives are drawn: {drawn:,} of {num_nodes:,} nodes each step (all: --negatives exact)")
    if num_nodes > EXACT:
        said.append(f"mAP is that of {JUDGES:,} nodes drawn, each against all others, with its 95 % margin; no distortion")
    return said
