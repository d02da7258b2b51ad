"""What encoders of several layers share: the spaces of their layers, and the activations between them."""

import copy
from collections.abc import Mapping
from typing import Any, Literal

from torch import Tensor

from qgcn.manifolds import Space, parse_space
from qgcn.nn import Adjacency, Aggregation, SparseMatrix

__all__ = ["Activation", "fresh_space", "hidden_space", "matrix_of"]

Activation = Literal["relu", "tanh", "sigmoid", "elu", "leaky_relu", "identity"]
"""Names of :data:`qgcn.nn.ACTIVATIONS`."""


def fresh_space(given: Space | str, beta: float | None, learnable: bool) -> Space:
    """Return a space of its own for a layer: a copy of one that was given, or the one of a name.

    Args:
        given: A space, or its name.
        beta: Where its curvature starts, for a name (default: the space's own start).
        learnable: Learn the curvature, for a name.
    """
    return copy.deepcopy(given) if isinstance(given, Space) else parse_space(given, beta=beta, learnable=learnable)


def hidden_space(space: Space, options: Mapping[str, Any]) -> Space:
    """Return the space of all layers but the last: the option ``hidden``, or else that of the last."""
    given = options.get("hidden")
    return parse_space(given) if isinstance(given, str) else given or space


def matrix_of(
    graph: Adjacency | Tensor | None, x: Tensor | SparseMatrix, in_features: int, aggregation: Aggregation
) -> Adjacency:
    """Return the graph as a matrix of adjacency, for an encoder that multiplies with it.

    Args:
        graph: The graph; of an ``edge_index`` the matrix is made.
        x: Features of its nodes, shape ``(N, in_features)``.
        in_features: Number of features that the encoder takes.
        aggregation: Aggregation of neighbours, for an ``edge_index``.

    Raises:
        ValueError: Another number of features, or no graph.
    """
    if x.shape[-1] != in_features:
        raise ValueError(f"expected {in_features} features, got shape {tuple(x.shape)}")
    if graph is None:
        raise ValueError("the encoder needs a graph, got None")
    return graph if isinstance(graph, Adjacency) else Adjacency.of(graph, x.shape[0], aggregation=aggregation)
