"""A graph as its source gives it, before features and labels join it and it is cleaned."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from torch import Tensor

from qgcn.content import NODES
from qgcn.data.assemble import Array, Floats
from qgcn.data.nodes import Nodes
from qgcn.data.pairs import Ints

__all__ = ["Draft", "bad_weights", "check_size", "from_index", "weight_array", "weight_problem"]

_MOST_NODES = 1 << 31  # a pair of nodes is numbered in 64 bits


@dataclass(frozen=True)
class Draft:
    """A graph as its source gives it, before it is cleaned.

    Attributes:
        edges: From source to target, shape ``(2, E)``.
        nodes: The nodes.
        name: Name of the graph.
        weights: Weights of the edges, shape ``(E,)``.
        x: Features, as the source gives them.
        y: Labels, as the source gives them.
        classes: Names of the classes, if ``y`` numbers them.
        masks: Train, validation and test masks.
        remarks: Remarks on how it was read.
    """

    edges: Ints
    nodes: Nodes
    name: str
    weights: Floats | None = None
    x: Any = None
    y: Any = None
    classes: list[str] | None = None
    masks: tuple[Tensor, Tensor, Tensor] | None = None
    remarks: tuple[str, ...] = ()

    def check_weights(self) -> None:
        """Raise unless weights are finite and not negative."""
        if self.weights is None:
            return
        bad = bad_weights(self.weights)
        if bad.any():
            k = int(bad.argmax())
            a, b = (self.nodes.ids[node].item() for node in self.edges[:, k])
            raise ValueError(f"{weight_problem(self.weights[k])} between {a!r} and {b!r}")


def bad_weights(weights: Floats) -> Array:
    """Tell which weights are negative, not finite, or not a normal number in float32, which graphs are kept in."""
    limits = np.finfo(np.float32)
    return np.asarray(~((weights == 0) | ((weights >= limits.tiny) & (weights <= limits.max))))


def weight_problem(weight: float) -> str:
    """Say what is wrong with a bad weight, for an error."""
    rule = "fit float32" if np.isfinite(weight) and weight > 0 else "be finite and not negative"
    return f"a weight must {rule}, got {weight:g}"


def from_index(array: Array, what: str, name: str, num_nodes: int | None, **more: Any) -> Draft:
    """Read an ``edge_index`` of shape ``(2, E)``; ``what`` names it in an error, ``more`` are fields of the draft."""
    whole, shape = array.dtype.kind in "iu", array.shape
    if not whole or len(shape) != 2 or shape[0] != 2:
        hint = "; transpose it" if whole and len(shape) == 2 and shape[1] == 2 else ""
        raise ValueError(f"{what} must hold integers in shape (2, E), got {array.dtype} in {array.shape}{hint}")
    if array.size == 0:
        raise ValueError(f"{name} has no edges")
    size = int(array.max()) + 1 if num_nodes is None else num_nodes
    _check_range(array, size, what)
    if num_nodes is None and size > NODES.of(array.size):
        raise ValueError(
            f"{what} numbers nodes up to {size - 1}, too many for {array.shape[1]} edges: "
            f"give num_nodes = {size} if all of them are nodes, or number nodes without gaps"
        )
    known: Literal["all", "index"] = "index" if num_nodes is None else "all"
    more.setdefault("nodes", Nodes(np.arange(size), known))
    return Draft(array.astype(np.int64, copy=False), name=name, **more)


def _check_range(array: Array, size: int, what: str) -> None:
    """Raise unless all entries lie in ``[0, size)``, and so many nodes are possible."""
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= size:
        raise ValueError(f"{what} must lie in [0, {size}), got {low if low < 0 else high}")
    if size > _MOST_NODES:
        raise ValueError(f"{what} numbers nodes up to {high}, but at most {_MOST_NODES} are possible")


def weight_array(weights: Array, edges: int) -> Floats:
    """Return weights as float64; raise unless there is one for each edge."""
    if weights.shape != (edges,) or weights.dtype.kind not in "biuf":
        raise ValueError(f"edge_weight must hold {edges} numbers, got {weights.dtype} in {weights.shape}")
    return weights.astype(np.float64)


def check_size(num_nodes: int | None, size: int) -> None:
    """Raise if another number of nodes was asked for than there are."""
    if num_nodes is not None and num_nodes != size:
        raise ValueError(f"num_nodes must be {size}, the number of nodes of the graph, got {num_nodes}")
