"""Features and edges of a problem, laid out as models take them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from qgcn.data import one_way
from qgcn.nn import Adjacency, Aggregation, SparseMatrix
from qgcn.tasks.features import laid_out

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from qgcn.tasks.config import Config

__all__ = ["Inputs", "check_one_way", "check_part", "check_unchanged"]


def check_one_way(data: "Data", advice: str) -> None:
    """Raise ``ValueError`` with a piece of advice if every edge of a graph is there in both directions."""
    edges = data.edge_index
    if edges.shape[1] and not bool(one_way(edges, edges, int(data.num_nodes or 0)).any()):
        raise ValueError(
            f"the graph is undirected, each edge being there in both directions: expected edges that lead one way; {advice}"
        )


def check_unchanged(config: "Config", names: tuple[str, ...], why: str) -> None:
    """Raise ``ValueError`` if one of these settings, which have no effect, is not the default."""
    for name in names:
        if getattr(config, name) != type(config).model_fields[name].default:
            raise ValueError(f"{name} has no effect on {config.data}, {why}")


def check_part(split: Mapping[str, Tensor], name: str, dtype: torch.dtype, shape: tuple[int | None, ...]) -> None:
    """Raise unless a split has a tensor of this name, type and shape; ``None`` is any length.

    Raises:
        ValueError: It has not; one line says what it has.
    """
    wanted = f"{_plain(dtype)} in ({', '.join('*' if size is None else str(size) for size in shape)})"
    if name not in split:
        raise ValueError(f"the split has no {name}, expected {wanted}")
    found = split[name]
    fits = found.ndim == len(shape) and all(size in (None, length) for size, length in zip(shape, found.shape, strict=True))
    if found.dtype != dtype or not fits:
        raise ValueError(f"the split has {_plain(found.dtype)} in {tuple(found.shape)} for {name}, expected {wanted}")


def _plain(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


class Inputs:
    """Features and edges of a problem, and the layouts of them that models have asked for, each made once."""

    def __init__(self, edges: Tensor, weights: Tensor | None, x: Tensor, num_nodes: int) -> None:
        self.edges, self.weights, self.x, self.num_nodes = edges, weights, x, num_nodes
        self._made: dict[tuple[Any, ...], Any] = {}
        self.oriented: Inputs = self
        """The same with edges as they were given."""

    def turned(self, way: str) -> "Inputs":
        """Return the same with edges ``forward``, as they are, ``backward``, or in ``both`` directions; weights are dropped."""
        if way == "forward":
            return self
        key = ("turned", way)
        if key not in self._made:
            back = self.edges.flip(0)
            edges = back if way == "backward" else torch.unique(torch.cat((self.edges, back), dim=1), dim=1)
            made = Inputs(edges, None, self.x, self.num_nodes)
            made.oriented = self
            self._made[key] = made
        found: Inputs = self._made[key]
        return found

    def features(self, sparse: bool, device: torch.device, dtype: torch.dtype) -> Tensor | SparseMatrix:
        """Return the features, dense or sparse."""
        key = ("features", sparse, device, dtype)
        if key not in self._made:
            self._made[key] = laid_out(self.x, sparse).to(device=device, dtype=dtype)
        found: Tensor | SparseMatrix = self._made[key]
        return found

    def graph(self, loops: bool, aggregation: Aggregation, device: torch.device, dtype: torch.dtype) -> Adjacency:
        """Return the graph under an aggregation, with a loop at each node or without."""
        key = ("graph", loops, aggregation, device, dtype)
        if key not in self._made:
            made = Adjacency.of(self.edges, self.num_nodes, self.weights, aggregation=aggregation, self_loops=loops)
            self._made[key] = made.to(device, dtype)
        found: Adjacency = self._made[key]
        return found
