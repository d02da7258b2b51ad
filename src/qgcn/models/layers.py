"""What encoders of several layers share: the spaces of their layers, and the activations between them."""

import copy
from collections.abc import Mapping
from typing import Any, Literal

from qgcn.manifolds import Space, parse_space

__all__ = ["Activation", "fresh_space", "hidden_space"]

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
