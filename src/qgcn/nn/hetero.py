"""Graphs with several types of nodes and edges: what comes from several relations is combined without leaving the space.

PyTorch Geometric's ``HeteroConv`` and ``to_hetero`` add up the results of all relations that end at a node type. The sum of two
points of a curved space is no point of it; these add up tangent vectors at the pole instead.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.fx import GraphModule, Node
from torch_geometric.nn import HeteroConv
from torch_geometric.nn.fx import get_submodule
from torch_geometric.nn.to_hetero_transformer import ToHeteroTransformer, key2str

from qgcn.manifolds import Space
from qgcn.nn.conv import QGCNConv

__all__ = ["Combination", "QHeteroConv", "combined", "to_hetero"]

Combination = Literal["sum", "mean", "max", "min"]


def combined(points: Sequence[Tensor], spaces: Sequence[Space], aggr: Combination = "sum") -> Tensor:
    r"""Combine points of several relations, one of each for every node.

    .. math:: y = \widehat\exp_o\bigl(\rho_r\, \widehat\log_o(x_r)\bigr)

    where :math:`\rho` is the sum, the mean, or the coordinatewise extremum. Curvatures may differ: the result is a point of the
    first space, as after an activation.

    Laws: stays in the first space; of one relation it is the identity; does not depend on the order of those after the first,
    nor, if the curvatures agree, on that of the first.

    Args:
        points: Shapes ``(..., N, d)``.
        spaces: Their spaces, with the same number of coordinates.
        aggr: ``sum``, ``mean``, ``max`` or ``min`` (default: ``sum``).
    """
    if aggr not in get_args(Combination):
        raise ValueError(f"aggr must be one of {', '.join(get_args(Combination))}, got {aggr!r}")
    if len({space.ambient_dim for space in spaces}) != 1:
        raise ValueError(f"relations that end at one node type need spaces of one size, got {', '.join(map(str, spaces))}")
    if len(points) == 1:
        return points[0]
    tangents = torch.stack([space.logmap0(each) for each, space in zip(points, spaces, strict=True)])
    if aggr in ("max", "min"):
        total = tangents.amax(0) if aggr == "max" else tangents.amin(0)
    else:
        total = tangents.sum(0) if aggr == "sum" else tangents.mean(0)
    return spaces[0].expmap0(total)


class QHeteroConv(HeteroConv):  # type: ignore[misc]
    """PyTorch Geometric's ``HeteroConv``, whose results stay in the space; see :func:`combined`.

    Args:
        convs: A :class:`~qgcn.nn.QGCNConv` for each edge type; those that end at the same node type have spaces of one size.
        aggr: ``sum``, ``mean``, ``max`` or ``min`` (default: ``sum``).
    """

    def __init__(self, convs: dict[tuple[str, str, str], QGCNConv], aggr: Combination = "sum") -> None:
        if aggr not in get_args(Combination):
            raise ValueError(f"aggr must be one of {', '.join(get_args(Combination))}, got {aggr!r}")
        super().__init__(convs, aggr=None)
        self.combination: Combination = aggr

    def forward(self, *given: dict[Any, Any], **named: dict[Any, Any]) -> dict[str, Tensor]:
        """Return the points of each node type that edges end at; arguments are those of PyG's ``HeteroConv``.

        Raises:
            ValueError: A node type that edges start at has no features.
        """
        edges = [each for each in (*given, *named.values()) if any(isinstance(key, tuple) for key in each)]
        nodes = [each for each in (*given, *named.values()) if any(isinstance(key, str) for key in each)]
        spaces: dict[str, list[Space]] = defaultdict(list)
        for key, conv in self.convs.items():
            if any(key in each for each in edges):
                if all(each.get(key[0]) is None for each in nodes):
                    known = ", ".join(kind for kind, x in nodes[0].items() if x is not None) if nodes else ""
                    raise ValueError(f"edges {key} start at {key[0]!r}, which has no features; got those of {known or 'none'}")
                spaces[key[-1]].append(conv.space)
        found = super().forward(*given, **named)  # (N, relations, d)
        return {kind: combined(each.unbind(1), spaces[kind], self.combination) for kind, each in found.items()}


class _Combined(nn.Module):
    """The node of a converted model that combines relations; the layers own their spaces."""

    def __init__(self, layers: Sequence[QGCNConv], aggr: Combination) -> None:
        super().__init__()
        self._layers = tuple(layers)  # a tuple: they are in the model already
        self.aggr: Combination = aggr

    def forward(self, *points: Tensor) -> Tensor:
        return combined(points, [layer.space for layer in self._layers], self.aggr)


def to_hetero(
    module: nn.Module,
    metadata: tuple[list[str], list[tuple[str, str, str]]],
    aggr: Combination = "sum",
    input_map: dict[str, str] | None = None,
) -> GraphModule:
    """Convert a model for graphs with one type of nodes and edges, as PyTorch Geometric's ``to_hetero`` does.

    What comes from several relations is combined by :func:`combined` after a :class:`~qgcn.nn.QGCNConv`, and as PyG does after
    any other layer.

    Args:
        module: The model; layers that read several node types take pairs, such as ``QGCNConv((-1, -1), "Q7,3")``.
        metadata: Node types and edge types, such as ``HeteroData.metadata()`` returns.
        aggr: ``sum``, ``mean``, ``max`` or ``min`` (default: ``sum``).
        input_map: Whether arguments of ``forward`` belong to nodes or edges, if their names do not say so.
    """
    made: GraphModule = _Transformer(module, metadata, aggr, input_map).transform()
    return made


class _Transformer(ToHeteroTransformer):  # type: ignore[misc]
    """PyG's transformer, with another combination of relations after our layers."""

    def __init__(self, module: nn.Module, metadata: Any, aggr: Combination, input_map: dict[str, str] | None) -> None:
        super().__init__(module, metadata, aggr, input_map)

    def call_message_passing_module(self, node: Node, target: Any, name: str) -> None:
        """Call a layer for every edge type, then combine what ends at each node type."""
        if not isinstance(get_submodule(self.module, target), QGCNConv):
            super().call_message_passing_module(node, target, name)
            return
        ending = defaultdict(list)
        for key in self.metadata[1]:
            ending[key[-1]].append(key)
        self.graph.inserting_after(node)
        for kind, keys in ending.items():
            found = []
            for place, key in enumerate(keys, start=1):
                args, kwargs = self.map_args_kwargs(node, key)
                called = f"{name}__{kind}" if len(keys) == 1 else f"{name}__{kind}{place}"
                out = self.graph.create_node("call_module", f"{target}.{key2str(key)}", args, kwargs, name=called)
                self.graph.inserting_after(out)
                found.append(out)
            if len(keys) > 1:
                joint = f"{target}.combined__{key2str(kind)}"
                out = self.graph.create_node("call_module", joint, tuple(found), {}, name=f"{name}__{kind}")
                self.graph.inserting_after(out)

    def init_submodule(self, module: nn.Module, target: str) -> nn.Module:
        """Copy a layer for every edge type; those that end at the same node type share what combines them."""
        made: nn.Module = super().init_submodule(module, target)
        if isinstance(module, QGCNConv) and isinstance(made, nn.ModuleDict):
            for kind in self.metadata[0]:
                layers = [made[key2str(key)] for key in self.metadata[1] if key[-1] == kind]
                if len(layers) > 1:
                    made[f"combined__{key2str(kind)}"] = _Combined(layers, self.aggr)  # type: ignore[arg-type]
        return made
