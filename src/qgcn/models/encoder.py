"""Encoders: networks that embed a graph, and the options and capabilities that they declare before one is built."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from qgcn.manifolds import Space
from qgcn.nn import SparseMatrix

__all__ = ["Capabilities", "Encoder", "Options"]


class Options(BaseModel):
    """Options of an encoder; each is a key of a config and a flag of the command line under the same name.

    An option whose ``json_schema_extra`` has a ``search`` is searched by ``qgcn sweep`` among these values, whatever the task.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Capabilities:
    """Capabilities of an encoder with given options.

    Attributes:
        graph: Form in which it reads the graph: a ``matrix`` of adjacency, ``edges`` without weights, or ``none``.
        sparse_features: Whether features may be a sparse matrix.
        hops: Number of aggregations, if what it computes of some nodes can be had from what those see of the graph.
        batchable: Whether several seeds can be trained as one batch: ``torch.vmap`` knows every operation,
            and it does not change with time.
        keyed: Whether all its randomness is keyed; otherwise it draws from PyTorch's global generator.
        recordable: Whether a training step is the same computation every time and never waits for the device.
        stacked: Whether it is a stack of convolutions, with options ``layers``, ``activation`` and ``dropout``, whose last one
            a task may replace by one of its own.
        classifies: Whether its last layer can be the classifier itself.
        learns_nodes: Whether it learns coordinates of the nodes alone, and neither reads features nor a graph.
        directed: Whether it tells an edge from its reverse: a task may give it the arrows instead of both directions.
        reach: Number of aggregations that the output of a node depends on; ``None`` if it depends on all nodes, or that is not
            known: there are no mini-batches then.
    """

    graph: Literal["matrix", "edges", "none"] = "matrix"
    sparse_features: bool = True
    hops: int | None = None
    batchable: bool = True
    keyed: bool = True
    recordable: bool = False
    stacked: bool = False
    classifies: bool = False
    learns_nodes: bool = False
    directed: bool = False
    reach: int | None = None


class Encoder(nn.Module, ABC):
    """A network that maps features and a graph to points of a space.

    A subclass takes ``in_features`` (the number of features, or of nodes), a space, and the fields of its :attr:`options_type`
    as keyword arguments. :func:`~qgcn.models.register_model` gives it a name.
    """

    options_type: ClassVar[type[Options]] = Options
    space: Space
    """The space of the embedding."""

    @abstractmethod
    def tangent(self, x: Tensor | SparseMatrix, graph: Any) -> Tensor:
        """Map features to tangent vectors at the origin of the space, shape ``(N, d)``.

        Args:
            x: Features of the nodes, dense or sparse, shape ``(N, in_features)``.
            graph: The graph, an :class:`~qgcn.nn.Adjacency`; encoders may take PyG's ``edge_index`` too.
        """

    @classmethod
    def capabilities(cls, space: Space, options: Mapping[str, Any]) -> Capabilities:
        """Return what an encoder with these options can do; nothing is built."""
        return Capabilities()

    @classmethod
    def check(cls, space: Space, options: Mapping[str, Any]) -> None:
        """Raise ``ValueError`` if the options do not go together or with the space."""

    @classmethod
    def width(cls, space: Space, options: Mapping[str, Any]) -> int:
        """Return the number of coordinates of a node that a training step keeps, in all layers together."""
        return space.ambient_dim

    def forward(self, x: Tensor | SparseMatrix, graph: Any = None) -> Tensor:
        """Map features to points, shape ``(N, d)``."""
        return self.space.expmap0(self.tangent(x, graph))

    def advance(self, epoch: int, epochs: int) -> None:
        """Prepare for an epoch; most encoders do not change with time."""

    def settled(self, epochs: int) -> int:
        """Return the epoch from which the encoder does not change with time any more."""
        return 0
