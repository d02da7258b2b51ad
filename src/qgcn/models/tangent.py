"""One tangent-space network for every space: its layers come from a factory."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import BeforeValidator, Field
from torch import Tensor, nn

from qgcn.manifolds import Space, parse_space
from qgcn.models.encoder import Capabilities, Encoder, Options
from qgcn.models.layers import Activation, fresh_space, hidden_space
from qgcn.nn import Adjacency, Aggregation, DoubleProjection, Dropout, QLinear, SparseMatrix, TangentActivation, tangent_mean

__all__ = ["QGAT", "QGCN", "QNN", "AttentionOptions", "ConvolutionOptions", "TangentNetwork", "TangentOptions"]


LayerFactory = Callable[[Space | int, Space], nn.Module]
"""Builds a layer from the space (or number of features) of its inputs and the space of its outputs."""


class TangentOptions(Options):
    """Options of every tangent-space network."""

    layers: int = Field(2, ge=1, le=64, description="Number of layers, the classifier's convolution included.")
    hidden: str | None = Field(None, description="Space of all layers but the last; the same as the last if not given.")
    activation: Activation = Field("relu", description="Tangential activation between layers.")
    bias: bool = Field(True, description="Translate by a learned bias in each layer.")
    skip: bool = Field(False, description="Return the mean of all layers' outputs.")
    beta: float | None = Field(
        None,
        lt=0,
        description="Initial beta of each layer; the curvature is 1/beta. By default -16 on spheres and with two or more time "
        "dimensions, -1 elsewhere.",
    )
    learnable: bool = Field(True, description="Learn the curvature of each layer.")
    projection: bool = Field(False, description="Enter the space by the double projection of the paper's Algorithm 1.")
    perturbation: float = Field(0.0, ge=0, description="Noise of that projection; the paper takes 0.02.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Share of tangent coordinates dropped.")
    feature_dropout: float = Field(0.0, ge=0, lt=1, description="Share of input features dropped.")


class ConvolutionOptions(TangentOptions):
    """Options of a network of graph convolutions."""

    aggregation: Literal["sum", "mean", "sym"] = Field("sym", description="Aggregation of neighbours.")
    attention: Annotated[Literal["none", "gat", "gatv2", "distance"], BeforeValidator(lambda given: _attention(given))] = Field(
        "none", description="Learn the weights of the neighbours: as GAT or GATv2 do, or by the signed squared distance."
    )
    heads: int = Field(1, ge=1, le=64, description="Number of heads of attention by distance.")


class AttentionOptions(ConvolutionOptions):
    """Options of a network of convolutions that attend to distances unless asked otherwise."""

    attention: Annotated[Literal["none", "gat", "gatv2", "distance"], BeforeValidator(lambda given: _attention(given))] = Field(
        "distance", description="Learn the weights of the neighbours: as GAT or GATv2 do, or by the signed squared distance."
    )


def _attention(given: Any) -> Any:
    """Read yes and no, as settings were once written, as ``gat`` and ``none``."""
    return ("gat" if given else "none") if isinstance(given, bool) else given


class TangentNetwork(Encoder):
    r"""A stack of convolutions or linear layers over one space, computed in tangent coordinates at the pole.

    Each layer has a curvature of its own. Between layers, points are never formed: the logarithm of an exponential is the
    identity (up to whole turns in time, which are removed), and translations have a closed form in tangent coordinates.

    .. math:: u^{l+1} = \sigma\Bigl(\sum_j a_{ij}\, \widehat\log_o\bigl(\widehat\exp_o(W u_j^l) \oplus b\bigr)\Bigr),
        \qquad x = \widehat\exp_o(u^L)

    Args:
        in_features: Number of Euclidean features.
        space: The space of the embeddings, or its name.
        layer: Builds a layer from the space of its inputs and that of its outputs.
        layers: Number of layers, at least 1.
        hidden: The space of all layers but the last, or its name; ``space`` if none is given. Each layer has a copy of its own.
        activation: Tangential activation between layers.
        dropout: Share of tangent coordinates dropped before each layer, in training.
        feature_dropout: Share of the input features dropped, in training.
        skip: Return the mean of all layers' outputs, in the tangent space; all layers must have the same coordinates.
        beta: Where the curvature ``1 / beta`` of every layer starts (default: each space's own, see
            :attr:`~qgcn.manifolds.Space.start_beta`).
        learnable: Learn the curvature of every layer.
        projection: Enter the space by the double projection of Algorithm 1 instead of the tangent space of the pole.
        perturbation: Noise of that projection.

    Shapes:
        - **input:** features ``(N, in_features)``, dense or sparse; ``edge_index`` or an :class:`~qgcn.nn.Adjacency`
        - **output:** points ``(N, d)``
    """

    options_type: ClassVar[type[Options]] = TangentOptions
    reads_graph: ClassVar[bool] = True
    """Whether its layers aggregate neighbours."""

    def __init__(
        self,
        in_features: int,
        space: Space | str,
        layer: LayerFactory,
        *,
        layers: int = 2,
        hidden: Space | str | None = None,
        activation: str = "relu",
        dropout: float = 0.0,
        feature_dropout: float = 0.0,
        skip: bool = False,
        beta: float | None = None,
        learnable: bool = True,
        projection: bool = False,
        perturbation: float = 0.0,
    ) -> None:
        super().__init__()
        if layers < 1:
            raise ValueError(f"layers must be at least 1, got {layers}")
        if in_features < 1:
            raise ValueError(f"in_features must be at least 1, got {in_features}")
        spaces = _spaces(space, hidden, layers, beta, learnable)
        if skip:
            _check_skip(spaces)
        self.in_features = in_features
        self.skip = skip
        self.features = _projection(in_features, spaces[0], beta, learnable, perturbation) if projection else None
        # an activation carries points to the next curvature; to a space of another kind the next layer does
        carried = [outer if str(outer) == str(inner) else inner for inner, outer in pairwise(spaces)]
        sources: list[Space | int] = [in_features if self.features is None else self.features.space, *carried]
        self.layers = nn.ModuleList(layer(source, target) for source, target in zip(sources, spaces, strict=True))
        self.activations = nn.ModuleList(
            TangentActivation(activation, inner, outer) for inner, outer in zip(spaces[:-1], carried, strict=True)
        )
        self.dropouts = nn.ModuleList(Dropout(feature_dropout if i == 0 else dropout) for i in range(layers))

    @classmethod
    def capabilities(cls, space: Space, options: Mapping[str, Any]) -> Capabilities:
        """Return what a network with these options can do."""
        noisy = bool(options.get("projection")) and options.get("perturbation", 0) > 0
        # attention asks how many edges there are, and waits for the answer
        attention = _attention(options.get("attention", False)) != "none"
        traceable = all(each.traceable for each in (space, hidden_space(space, options)))
        local = not (options.get("skip") or options.get("projection") or attention)
        return Capabilities(
            graph="matrix" if cls.reads_graph else "none",
            stacked=cls.reads_graph,
            hops=int(options.get("layers", 2)) if cls.reads_graph and local else None,
            reach=None if noisy else int(options.get("layers", 2)) if cls.reads_graph else 0,
            batchable=traceable and not noisy,
            recordable=traceable and not attention,
        )

    @classmethod
    def check(cls, space: Space, options: Mapping[str, Any]) -> None:
        """Raise if the spaces of the layers do not go together."""
        inside = hidden_space(space, options)
        if options.get("heads", 1) > 1 and options.get("attention") != "distance":
            raise ValueError(f"several heads are for attention by distance, got attention {options.get('attention')}")
        if options.get("skip"):
            _check_skip([inside] * (options.get("layers", 2) - 1) + [space])

    @classmethod
    def width(cls, space: Space, options: Mapping[str, Any]) -> int:
        """Return the number of coordinates of a node in all layers together."""
        return hidden_space(space, options).ambient_dim * int(options.get("layers", 2))

    @property
    def space(self) -> Space:  # type: ignore[override]
        """The space of the embeddings."""
        last: Space = self.layers[-1].space  # type: ignore[assignment]
        return last

    def forward(
        self,
        x: Tensor | SparseMatrix,
        edge_index: Tensor | Adjacency | None = None,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Map features to points of the last layer's space."""
        return self.space.expmap0(self.tangent(x, edge_index, edge_weight))

    @property
    def restrictable(self) -> bool:
        """Whether the graph may be restricted to what some nodes see: each layer then has rows of its own."""
        return self.reads_graph and not self.skip and self.features is None and not self._attends

    def tangent(
        self,
        x: Tensor | SparseMatrix,
        edge_index: Tensor | Adjacency | None = None,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Map features to tangent coordinates at the pole of the last layer's space, shape ``(N, d)``.

        Args:
            x: Features; those that a restricted graph reads, see :meth:`qgcn.nn.Adjacency.gather`.
            edge_index: The graph.
            edge_weight: Weights of the edges.
        """
        if x.shape[-1] != self.in_features:
            raise ValueError(f"expected {self.in_features} features, got shape {tuple(x.shape)}")
        self._check_graph(edge_index)
        attends = self._attends
        blocks = self._blocks(edge_index)
        u: Any = x if self.features is None else self.features.space.logmap0(self.features(x))
        outputs: list[Tensor] = []
        for index, (layer, dropout) in enumerate(zip(self.layers, self.dropouts, strict=True)):
            if blocks is not None and isinstance(edge_index, Adjacency):
                u = self._in_blocks(index, u, edge_index.hop(index).matrix, blocks)
                outputs = [*outputs, u] if self.skip else [u]
                continue
            u = self.activations[index - 1].from_tangent(u) if index else u  # type: ignore[operator]
            if not self.reads_graph:
                part = edge_index.sources if isinstance(edge_index, Adjacency) else None
                u = layer.from_tangent(dropout(u, part))  # type: ignore[operator]
            elif isinstance(edge_index, Adjacency):
                hop = edge_index.hop(index)
                graph = edge_index if attends else hop.matrix
                u = layer.from_tangent(dropout(u, hop.sources), graph, edge_weight)  # type: ignore[operator]
            else:
                u = layer.from_tangent(dropout(u), edge_index, edge_weight)  # type: ignore[operator]
            outputs.append(u)
        return tangent_mean(outputs) if self.skip else outputs[-1]

    def _blocks(self, graph: Tensor | Adjacency | None) -> int | None:
        """Return how many nodes to compute at a time, if that is asked for and possible: without gradient and attention."""
        if not isinstance(graph, Adjacency) or graph.nodes is not None or torch.is_grad_enabled() or self.training:
            return None
        plain = self.reads_graph and not self._attends and not any(layer.observed for layer in self.layers)
        return graph.rows_at_once if plain else None

    def _in_blocks(self, index: int, u: Any, matrix: SparseMatrix, rows: int) -> Tensor:
        """Return the outputs of a layer, computed some nodes at a time."""
        before = self.activations[index - 1].from_tangent if index else lambda part: part
        outputs: Tensor = self.layers[index].in_blocks(u, before, matrix, rows)  # type: ignore[operator]
        return outputs

    @property
    def _attends(self) -> bool:
        return any(getattr(layer, "attention", None) is not None for layer in self.layers)

    def _check_graph(self, graph: Tensor | Adjacency | None) -> None:
        if isinstance(graph, Adjacency) and graph.nodes is not None and not self.restrictable:
            raise ValueError("a restricted graph is for convolutions without attention, skip connection and projection")
        if self.reads_graph and graph is None:
            raise ValueError("a convolution needs edge_index, got None")

    def extra_repr(self) -> str:
        """Show the path through the spaces."""
        spaces = [str(layer.space) for layer in self.layers]
        return f"{self.in_features} -> {' -> '.join(spaces)}"


def _projection(in_features: int, space: Space, beta: float | None, learnable: bool, perturbation: float) -> DoubleProjection:
    """Choose the pseudo-hyperboloid of the features: the times of the first layer, all other features in space."""
    time = min(max(1, space.time_dim), in_features)  # one where the layer's space has none to count
    return DoubleProjection(parse_space(f"Q{in_features - time},{time}", beta=beta, learnable=learnable), perturbation)


def _spaces(space: Space | str, hidden: Space | str | None, layers: int, beta: float | None, learnable: bool) -> list[Space]:
    """Return the space of each layer; only the last is the one that was given, if it was given as an object."""
    fresh = partial(fresh_space, beta=beta, learnable=learnable)
    inside = space if hidden is None else hidden
    return [fresh(inside) for _ in range(layers - 1)] + [space if isinstance(space, Space) else fresh(space)]


def _check_skip(spaces: list[Space]) -> None:
    if len({each.ambient_dim for each in spaces}) > 1:
        path = " -> ".join(str(each) for each in spaces)
        raise ValueError(f"a skip connection needs layers of one size, got {path}")


class QGCN(TangentNetwork):
    """Pseudo-Riemannian graph convolutional network: a :class:`TangentNetwork` of convolutions.

    Args:
        in_features: Number of Euclidean features.
        space: Any space, or its name.
        aggregation: ``sum``, ``mean`` or ``sym``.
        attention: Learn the weights of the neighbours: ``gat`` (or true), ``gatv2``, ``distance``, or ``none`` (or false).
        heads: Number of heads of attention by distance.
        bias: Translate by a learned bias.
        options: As for :class:`TangentNetwork`.
    """

    options_type: ClassVar[type[Options]] = ConvolutionOptions

    def __init__(
        self,
        in_features: int,
        space: Space | str = "Q15,1",
        *,
        aggregation: Aggregation = "sym",
        attention: bool | Literal["none", "gat", "gatv2", "distance"] = False,
        heads: int = 1,
        bias: bool = True,
        **options: Any,
    ) -> None:
        from qgcn.nn.conv import QGCNConv  # here: PyTorch Geometric takes seconds to import

        learned: Any = False if attention == "none" else attention
        layer = partial(QGCNConv, aggregation=aggregation, attention=learned, heads=heads, bias=bias, own_in_space=False)
        super().__init__(in_features, space, layer, **options)


class QGAT(QGCN):
    """Pseudo-Riemannian graph attention network: a :class:`QGCN` that weighs neighbours by signed squared distances.

    Args:
        in_features: Number of Euclidean features.
        space: Any space, or its name.
        attention: As for :class:`QGCN` (default: ``distance``).
        options: As for :class:`QGCN`.
    """

    options_type: ClassVar[type[Options]] = AttentionOptions

    def __init__(
        self,
        in_features: int,
        space: Space | str = "Q15,1",
        *,
        attention: bool | Literal["none", "gat", "gatv2", "distance"] = "distance",
        **options: Any,
    ) -> None:
        super().__init__(in_features, space, attention=attention, **options)

    @classmethod
    def capabilities(cls, space: Space, options: Mapping[str, Any]) -> Capabilities:
        """Return what a network with these options can do."""
        return super().capabilities(space, {"attention": "distance", **options})

    @classmethod
    def check(cls, space: Space, options: Mapping[str, Any]) -> None:
        """Raise if options and spaces do not go together."""
        super().check(space, {"attention": "distance", **options})


class QNN(TangentNetwork):
    """Pseudo-Riemannian network without a graph: a :class:`TangentNetwork` of linear layers.

    Args:
        in_features: Number of Euclidean features.
        space: Any space, or its name.
        bias: Translate by a learned bias.
        options: As for :class:`TangentNetwork`.
    """

    options_type: ClassVar[type[Options]] = TangentOptions
    reads_graph: ClassVar[bool] = False

    def __init__(self, in_features: int, space: Space | str = "Q15,1", *, bias: bool = True, **options: Any) -> None:
        super().__init__(in_features, space, partial(QLinear, bias=bias, own_in_space=False), **options)
