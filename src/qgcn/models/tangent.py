"""One tangent-space network for every space."""

import copy
from itertools import pairwise

import torch
from torch import Tensor, nn

from qgcn.manifolds import Space, parse_space
from qgcn.nn import DoubleProjection, Dropout, Field, QGCNConv, QLinear, TangentActivation, tangent_mean
from qgcn.nn.sparse import Aggregation

__all__ = ["TangentNetwork"]


class TangentNetwork(nn.Module):
    r"""A stack of convolutions or linear layers over one space, computed in tangent coordinates at the pole.

    Each layer has a curvature of its own. Between layers, points are never formed: the logarithm of an exponential is the
    identity (but for whole turns of time, which are taken off), and what a translation does is known in tangent coordinates.

    .. math:: u^{l+1} = \sigma\Bigl(\sum_j a_{ij}\, \widehat\log_o\bigl(\widehat\exp_o(W u_j^l) \oplus b\bigr)\Bigr),
        \qquad x = \widehat\exp_o(u^L)

    Args:
        in_features: Number of Euclidean features.
        space: The space of the embeddings, or its name.
        layers: Number of layers, at least 1.
        hidden: The space of all layers but the last, or its name; ``space`` if none is given. Each layer has a copy of its own.
        convolve: Aggregate neighbours; without it the network looks at each node alone.
        aggregation: ``sum``, ``mean`` or ``sym``.
        attention: Learn the weights of the neighbours.
        activation: Tangential activation between layers.
        dropout: Share of tangent coordinates dropped before each layer, in training.
        feature_dropout: Share of the input features dropped, in training.
        bias: Translate by a learned bias.
        skip: Return the mean of all layers' outputs, in the tangent space; all layers must have the same coordinates.
        beta: Where the curvature ``1 / beta`` of every layer starts.
        learnable: Learn the curvature of every layer.
        projection: Enter the space by the double projection of Algorithm 1 instead of the tangent space of the pole.
        perturbation: Noise of that projection.

    Shapes:
        - **input:** features ``(N, in_features)``, dense or sparse CSR; ``edge_index`` or a sparse CSR adjacency
        - **output:** points ``(N, d)``
    """

    def __init__(
        self,
        in_features: int,
        space: Space | str,
        *,
        layers: int = 2,
        hidden: Space | str | None = None,
        convolve: bool = True,
        aggregation: Aggregation = "sym",
        attention: bool = False,
        activation: str = "relu",
        dropout: float = 0.0,
        feature_dropout: float = 0.0,
        bias: bool = True,
        skip: bool = False,
        beta: float = -1.0,
        learnable: bool = True,
        projection: bool = False,
        perturbation: float = 0.0,
    ) -> None:
        super().__init__()
        if layers < 1:
            raise ValueError(f"layers must be at least 1, got {layers}")
        if in_features < 1:
            raise ValueError(f"in_features must be at least 1, got {in_features}")

        def fresh(given: Space | str) -> Space:
            return copy.deepcopy(given) if isinstance(given, Space) else parse_space(given, beta=beta, learnable=learnable)

        inside = space if hidden is None else hidden
        spaces = [fresh(inside) for _ in range(layers - 1)] + [space if isinstance(space, Space) else fresh(space)]
        names = [str(each) for each in spaces]
        if skip and len({each.ambient_dim for each in spaces}) > 1:
            raise ValueError(f"a skip connection needs layers of one size, got {' -> '.join(names)}")
        self.in_features = in_features
        self.convolve = convolve
        self.skip = skip
        self.features = _projection(in_features, spaces[0], beta, learnable, perturbation) if projection else None
        # an activation carries points to the next curvature; to a space of another kind the next layer does
        carried = [outer if str(outer) == str(inner) else inner for inner, outer in pairwise(spaces)]
        sources: list[Space | int] = [in_features if self.features is None else self.features.space, *carried]
        self.layers = nn.ModuleList(
            QGCNConv(source, target, aggregation=aggregation, attention=attention, bias=bias)
            if convolve
            else QLinear(source, target, bias=bias)
            for source, target in zip(sources, spaces, strict=True)
        )
        self.activations = nn.ModuleList(
            TangentActivation(activation, inner, outer) for inner, outer in zip(spaces[:-1], carried, strict=True)
        )
        self.dropouts = nn.ModuleList(Dropout(feature_dropout if i == 0 else dropout) for i in range(layers))

    @property
    def space(self) -> Space:
        """The space of the embeddings."""
        last: Space = self.layers[-1].space  # type: ignore[assignment]
        return last

    def forward(self, x: Tensor, edge_index: Tensor | None = None, edge_weight: Tensor | None = None) -> Tensor:
        """Map features to points of the last layer's space."""
        return self.space.expmap0(self.tangent(x, edge_index, edge_weight))

    @property
    def takes_field(self) -> bool:
        """Whether the graph may be the field of some nodes: each layer then has rows of its own."""
        return self.convolve and not self.skip and self.features is None and all(layer.score is None for layer in self.layers)

    def tangent(self, x: Tensor, edge_index: Tensor | Field | None = None, edge_weight: Tensor | None = None) -> Tensor:
        """Map features to tangent coordinates at the pole of the last layer's space, shape ``(N, d)``.

        Args:
            x: Features.
            edge_index: The graph; or a field, whose features are ``x``, with a hop for every layer, or more for what follows.
            edge_weight: Weights of the edges.
        """
        if x.shape[-1] != self.in_features:
            raise ValueError(f"expected {self.in_features} features, got shape {tuple(x.shape)}")
        if self.convolve and edge_index is None:
            raise ValueError("a convolution needs edge_index, got None")
        field = edge_index if isinstance(edge_index, Field) else None
        if field is not None and not self.takes_field:
            raise ValueError("a field is for convolutions without attention, skip connection and projection")
        u = x if self.features is None else self.features.space.logmap0(self.features(x))
        outputs = []
        for index, (layer, dropout) in enumerate(zip(self.layers, self.dropouts, strict=True)):
            u = self.activations[index - 1].from_tangent(u) if index else u  # type: ignore[operator]
            sparse = u.layout == torch.sparse_csr
            part = None if field is None else field.hops[index].sources if index else field.part
            dropped = dropout(u.values() if sparse else u, part)
            values = dropped if sparse and dropout.drops else None  # constant ones have a transpose that is known
            u = u if sparse else dropped
            graph = (edge_index, edge_weight) if field is None else (field.hops[index].matrix,)
            u = layer.from_tangent(u, *graph if self.convolve else (), values=values)  # type: ignore[operator]
            outputs.append(u)
        return tangent_mean(outputs) if self.skip else u

    def extra_repr(self) -> str:
        """Show the path through the spaces."""
        spaces = [str(layer.space) for layer in self.layers]
        return f"{self.in_features} -> {' -> '.join(spaces)}"


def _projection(in_features: int, space: Space, beta: float, learnable: bool, perturbation: float) -> DoubleProjection:
    """Choose the pseudo-hyperboloid of the features: the times of the first layer, all other features in space."""
    time = min(max(1, space.time_dim), in_features)  # one where the layer's space has none to count
    return DoubleProjection(parse_space(f"Q{in_features - time},{time}", beta=beta, learnable=learnable), perturbation)
