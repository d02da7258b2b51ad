"""Reconstruction of graphs too large for all pairs: how many negatives are drawn, and of how many nodes a score is."""

from typing import Any, Final

import torch
from torch import Tensor

from qgcn import metrics
from qgcn.kernels import Neighbourhoods
from qgcn.manifolds import Space
from qgcn.tasks.config import Config
from qgcn.tasks.precision import estimate_mean_average_precision

__all__ = [
    "AUTO",
    "BLOCKS",
    "CHOOSERS",
    "EXACT",
    "JUDGES",
    "LEAST",
    "check",
    "draw",
    "draw_by_kind",
    "drawn_of",
    "parse",
    "precision",
    "remarks",
    "selection",
]

AUTO: Final = "auto"
EXACT: Final = 2**17
"""Nodes up to which all pairs take part if not asked otherwise: 2^34 pairs a step, a fraction of a second on a large GPU."""
DRAWN: Final = 2048
"""Negatives of a step beyond that, if not asked otherwise."""
LEAST: Final = 32
"""Fewest negatives of a step that can be asked for, and fewest nodes of a block, which they are drawn from."""
BLOCKS: Final = 256
"""Most blocks: an epoch visits every pair of them, and edges are sorted by pairs of their eighths."""
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


def draw_by_kind(graph: Neighbourhoods, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw distinct nodes, as many of those that are a neighbour of some node as of those that are of none.

    In a hierarchy few nodes are an ancestor of any other; these are what an ancestor is hard to tell from.

    Args:
        graph: The graph.
        count: How many, ``n``, fewer than there are nodes.
        generator: Source of randomness.

    Returns:
        The nodes, and how many of its kind each stands for, shapes ``(n,)``.
    """
    kinds = graph.turned.compact[0].tensor_split((len(graph.turned.joined),))
    few = min(len(kinds[1]), count // 2)
    sizes = (min(len(kinds[0]), count - few), count - min(len(kinds[0]), count - few))
    found = [kind[draw(len(kind), size, generator)] for kind, size in zip(kinds, sizes, strict=True)]
    each = [torch.full((size,), len(kind) / max(size, 1)) for kind, size in zip(kinds, sizes, strict=True)]
    return torch.cat(found), torch.cat(each).to(found[0].device)


def selection(points: Tensor, graph: Neighbourhoods, space: Space, lead: Tensor | None = None, *, drawn: int | None) -> Tensor:
    """Return the mAP that a model is chosen by: of :data:`CHOOSERS` nodes where negatives are drawn, float64, shape ``()``.

    Args:
        points: Shape ``(N, d)``.
        graph: The graph.
        space: The space.
        lead: As for :func:`~qgcn.metrics.mean_average_precision`.
        drawn: Number of negatives drawn; ``None`` if all pairs take part.
    """
    if drawn is not None and graph.num_nodes > CHOOSERS:
        return estimate_mean_average_precision(points, graph, space, CHOOSERS, lead=lead).mean
    return metrics.mean_average_precision(points, graph.to(points.device), space, lead=lead).double()


def precision(
    points: Tensor, graph: Neighbourhoods, space: Space, lead: Tensor | None = None, *, name: str = "map"
) -> dict[str, float]:
    """Return the mAP; on a large graph that of :data:`JUDGES` nodes, and half the width of its 95 % confidence interval.

    Args:
        points: As for :func:`selection`, as are the next three.
        graph: ...
        space: ...
        lead: ...
        name: Name of the score.
    """
    if graph.num_nodes <= EXACT:
        return {name: float(metrics.mean_average_precision(points, graph.to(points.device), space, lead=lead))}
    found = estimate_mean_average_precision(points, graph, space, JUDGES, lead=lead)
    return {name: float(found.mean), f"{name}_margin": float(found.margin)}


def remarks(drawn: int | None, num_nodes: int, blocks: int = 1) -> list[str]:
    """Say what is drawn, and how to have it otherwise."""
    said = []
    if drawn is not None and blocks > 1:
        each = min(drawn, num_nodes // blocks)
        said.append(f"{blocks:,} blocks of nodes: {each:,} negatives are drawn from each of two blocks each step")
    elif drawn is not None:
        said.append(f"negatives are drawn: {drawn:,} of {num_nodes:,} nodes each step (all: --negatives exact)")
    if num_nodes > EXACT:
        said.append(f"mAP is that of {JUDGES:,} nodes drawn, each against all others, with its 95 % margin")
    return said
