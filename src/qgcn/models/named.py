"""The models by name: Q-GCN, its relatives over other spaces, and the Euclidean baselines of PyTorch Geometric."""

import difflib
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.nn import GAT, GCN, MLP, GraphSAGE, SGConv

from qgcn.manifolds import Space, parse_space
from qgcn.models.shallow import Coordinates
from qgcn.models.tangent import TangentNetwork
from qgcn.nn import adjacency

__all__ = ["MODELS", "QGCN", "QNN", "Encoder", "EuclideanNetwork", "build", "default_space", "lives_in"]


class QGCN(TangentNetwork):
    """Pseudo-Riemannian graph convolutional network: :class:`TangentNetwork` with convolutions.

    Args:
        in_features: Number of Euclidean features.
        space: Any space, or its name.
        options: As for :class:`TangentNetwork`.
    """

    def __init__(self, in_features: int, space: Space | str = "Q15,1", **options: Any) -> None:
        super().__init__(in_features, space, convolve=True, **options)


class QNN(TangentNetwork):
    """Pseudo-Riemannian network without a graph: :class:`TangentNetwork` with linear layers.

    Args:
        in_features: Number of Euclidean features.
        space: Any space, or its name.
        options: As for :class:`TangentNetwork`.
    """

    def __init__(self, in_features: int, space: Space | str = "Q15,1", **options: Any) -> None:
        super().__init__(in_features, space, convolve=False, **options)


class EuclideanNetwork(nn.Module):
    """A network of PyTorch Geometric, with the constructor and the methods of :class:`TangentNetwork`.

    Args:
        kind: ``gcn``, ``gat``, ``sage``, ``sgc`` or ``mlp``.
        in_features: Number of features.
        space: A Euclidean space, whose size is that of the outputs.
        layers: Number of layers.
        hidden: A Euclidean space, whose size is that of all layers but the last; ``space`` if none is given.
        activation: Name of the activation between layers.
        dropout: Share of coordinates dropped between layers, in training.
        feature_dropout: Share of the input features dropped, in training.

    Shapes:
        - **input:** features ``(N, in_features)``, sparse CSR only for ``gcn`` and ``gat``; ``edge_index`` of shape ``(2, E)``,
          or for ``gcn`` a normalised sparse CSR adjacency
        - **output:** points ``(N, d)``
    """

    KINDS: ClassVar[dict[str, Any]] = {"gcn": GCN, "gat": GAT, "sage": GraphSAGE, "mlp": None, "sgc": None}

    def __init__(
        self,
        kind: str,
        in_features: int,
        space: Space | str,
        *,
        layers: int = 2,
        hidden: Space | str | None = None,
        activation: str = "relu",
        dropout: float = 0.0,
        feature_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if kind not in self.KINDS:
            raise ValueError(f"kind must be one of {', '.join(self.KINDS)}, got {kind!r}")
        if layers < 1:
            raise ValueError(f"layers must be at least 1, got {layers}")
        space, inner = _euclidean(space, kind), _euclidean(hidden or space, kind)
        self.kind = kind
        self.in_features = in_features
        self.space = space
        self.convolve = kind != "mlp"
        self.feature_dropout = nn.Dropout(feature_dropout)
        act = None if activation == "identity" else activation
        if kind == "sgc":
            self.network: nn.Module = SGConv(in_features, space.dim, K=layers)
        elif kind == "mlp":
            sizes = [in_features, *[inner.dim] * (layers - 1), space.dim]
            self.network = MLP(sizes, act=act, dropout=dropout, norm=None)
        else:
            arguments = (in_features, inner.dim, layers, space.dim)
            given = {"normalize": False} if kind == "gcn" else {}  # the adjacency is normalised already
            self.network = self.KINDS[kind](*arguments, dropout=dropout, act=act, **given)

    @property
    def takes_sparse(self) -> bool:
        """Whether features may be a sparse CSR matrix: those networks multiply them with weights before anything else."""
        return self.kind in ("gcn", "gat")

    @property
    def takes_matrix(self) -> bool:
        """Whether the graph may be a matrix of adjacency, which saves normalising it and is several times faster."""
        return self.kind == "gcn"

    def forward(self, x: Tensor, edge_index: Tensor | None = None) -> Tensor:
        """Map features to points."""
        return self.tangent(x, edge_index)

    def tangent(self, x: Tensor, edge_index: Tensor | None = None) -> Tensor:
        """Map features to tangent vectors at the origin, which are the points themselves."""
        if self.takes_matrix and edge_index is not None and edge_index.layout == torch.strided:
            edge_index = adjacency(edge_index, x.shape[0]).to(x.dtype)
        if x.layout == torch.sparse_csr:  # dropping the zeros too would change nothing but the time
            x = torch.sparse_csr_tensor(
                x.crow_indices(), x.col_indices(), self.feature_dropout(x.values()), x.shape, check_invariants=False
            )
        else:
            x = self.feature_dropout(x)
        result: Tensor = self.network(x, edge_index) if self.convolve else self.network(x)
        return result

    def extra_repr(self) -> str:
        """Show the spaces."""
        return f"{self.in_features} -> {self.space}"


Encoder = TangentNetwork | EuclideanNetwork | Coordinates
"""What embeds a graph."""


def _euclidean(space: Space | str, kind: str) -> Space:
    space = parse_space(space) if isinstance(space, str) else space
    if not _flat(space):
        raise ValueError(f"{kind} lives in a Euclidean space such as E16, got {space}")
    return space


def _anywhere(_: Space) -> bool:
    return True


def _flat(space: Space) -> bool:
    return space.kind == "E"


def _hyperbolic(space: Space) -> bool:
    return space.kind == "H"


def _constant_curvature(space: Space) -> bool:
    return all(part.kind in ("H", "S", "K", "E") for part in space.parts)


def _flat_or_sphere(space: Space) -> bool:
    return space.kind in ("E", "S")


# name: whether it convolves, where it lives, in words, and where by default
MODELS: dict[str, tuple[bool, Callable[[Space], bool], str, str]] = {
    "qgcn": (True, _anywhere, "any space", "Q15,1"),
    "qnn": (False, _anywhere, "any space", "Q15,1"),
    "hgcn": (True, _hyperbolic, "a hyperbolic space such as H16", "H16"),
    "hnn": (False, _hyperbolic, "a hyperbolic space such as H16", "H16"),
    "kappa-gcn": (True, _constant_curvature, "H, S, K, E or a product of them such as H8xS8", "H8xS8"),
    "gcn": (True, _flat_or_sphere, "a Euclidean space or a sphere such as E16, S16", "E16"),
    "gat": (True, _flat, "a Euclidean space such as E16", "E16"),
    "sage": (True, _flat, "a Euclidean space such as E16", "E16"),
    "sgc": (True, _flat, "a Euclidean space such as E16", "E16"),
    "mlp": (False, _flat, "a Euclidean space such as E16", "E16"),
    "shallow": (False, _anywhere, "any space", "Q8,2"),
}


def default_space(name: str) -> str:
    """Return the space in which a model lives if none is asked for."""
    return _entry(name)[3]


def lives_in(name: str, space: str) -> bool:
    """Tell whether a model can be built in a space."""
    return _entry(name)[1](parse_space(space))


def build(name: str, in_features: int, space: Space | str | None = None, **options: Any) -> Encoder:
    """Build a model by its name.

    ============  ================================================  =========================
    name          network                                           space
    ============  ================================================  =========================
    ``qgcn``      convolutions in the tangent space                 any
    ``qnn``       the same without a graph                          any
    ``hgcn``      convolutions in the tangent space                 ``H16``
    ``hnn``       the same without a graph                          ``H16``
    ``kappa-gcn`` convolutions in the tangent space                 ``H8xS8``, ``K16``, ...
    ``gcn``       PyG's GCN; over a sphere, the tangent network     ``E16`` or ``S16``
    ``gat``       PyG's GAT                                         ``E16``
    ``sage``      PyG's GraphSAGE                                   ``E16``
    ``sgc``       PyG's SGConv                                      ``E16``
    ``mlp``       PyG's MLP                                         ``E16``
    ``shallow``   coordinates of every node, for reconstruction     any
    ============  ================================================  =========================

    Args:
        name: The model's name.
        in_features: Number of Euclidean features; for ``shallow``, of nodes.
        space: The space of the embeddings, or its name; the table's if none is given.
        options: As for :class:`TangentNetwork`; PyG's networks take ``layers``, ``hidden``, ``activation``, ``dropout`` and
            ``feature_dropout`` of them, ``shallow`` takes those of :class:`Coordinates`; both refuse the others unless they
            have their default.

    Raises:
        ValueError: Unknown name, or the model does not live in that space.
    """
    convolve, lives_in, where, default = _entry(name)
    space = default if space is None else space
    given = parse_space(space) if isinstance(space, str) else space
    if not lives_in(given):
        raise ValueError(f"{name} lives in {where}, got {given}")
    if name == "shallow":
        taken = {"beta", "learnable", "confine"}
        _refuse(name, options, taken | {"layers"}, "it learns coordinates, not layers")
        return Coordinates(in_features, space, **{key: options[key] for key in taken & options.keys()})
    options = {key: value for key, value in options.items() if key != "confine"}
    if name in EuclideanNetwork.KINDS and _flat(given):
        taken = {"layers", "hidden", "activation", "dropout", "feature_dropout"}
        _refuse(name, options, taken, "it is PyTorch Geometric's own")
        return EuclideanNetwork(name, in_features, space, **{key: options[key] for key in taken & options.keys()})
    return TangentNetwork(in_features, space, convolve=convolve, **options)


def _refuse(name: str, options: dict[str, Any], taken: set[str], why: str) -> None:
    """Raise if an option is given that a model does not have."""
    refused = [key for key, value in options.items() if key not in taken and value != _TANGENT_DEFAULTS.get(key)]
    if refused:
        raise ValueError(f"{name} has no option {refused[0]!r}: {why}")


_TANGENT_DEFAULTS: dict[str, Any] = TangentNetwork.__init__.__kwdefaults__ or {}


def _entry(name: str) -> tuple[bool, Callable[[Space], bool], str, str]:
    if name not in MODELS:
        near = difflib.get_close_matches(str(name), MODELS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"no model {name!r}{hint} (known: {', '.join(MODELS)})")
    return MODELS[name]
