r"""Decoders of arrows: the logit of an edge from the points of its source and of its target, which may differ in the reverse.

The tangent coordinates of a point at the origin, :math:`u`, are read in two halves: :math:`a`, what a node is as a source, and
:math:`b`, what it is as a target.
"""

import math
from abc import abstractmethod
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from qgcn.manifolds import Space
from qgcn.nn.pair_decoders import PairDecoder, metric_signs
from qgcn.nn.pair_networks import rows_of_pairs, small_network

__all__ = [
    "ARROW_DECODERS",
    "ArrowDecoder",
    "ArrowNetwork",
    "IntervalAndTime",
    "OrientedForm",
    "SourceTarget",
    "TripleFermiDirac",
    "arrow_decoder",
    "free_coordinates",
    "halves_of",
]

START: Final = 4.0
"""Logit at which the largest probability of a triple Fermi-Dirac decoder starts."""


def free_coordinates(space: Space) -> Tensor:
    """Return which coordinates of tangent vectors at the origin are free, int64, shape ``(dim,)``; the others are 0."""
    kept = space.proju0(torch.eye(space.ambient_dim)).detach().diagonal()
    return kept.nonzero().squeeze(1)


def halves_of(space: Space) -> Tensor:
    """Return the free coordinates in two halves, of sources and of targets, shape ``(2, h)``; of an odd number one is neither.

    Raises:
        ValueError: The space has a single dimension.
    """
    free = free_coordinates(space)
    if len(free) < 2:
        raise ValueError(f"a source and a target need at least 2 dimensions, got {space}")
    half = len(free) // 2
    return torch.stack((free[:half], free[half : 2 * half]))


class ArrowDecoder(PairDecoder):
    """A decoder of ordered pairs.

    Args:
        space: The space of the points.

    Shapes:
        - **input:** points of sources ``(P, d)`` and of targets ``(P, d)``
        - **output:** logits ``(P,)``
    """

    halves: Tensor

    def __init__(self, space: Space) -> None:
        super().__init__()
        self.register_buffer("halves", halves_of(space), persistent=False)

    @abstractmethod
    def read(self, first: Tensor, second: Tensor, interval: Tensor | None) -> Tensor:
        """Return the logits of arrows from what :meth:`of_nodes` says of both ends, and from intervals if they are needed."""

    def of_nodes(self, u: Tensor) -> Tensor:
        """Return what is read of each node, from tangent coordinates: themselves, if nothing is to be computed but once."""
        return u

    needs_interval: bool = True
    """Whether it reads the interval between two points."""

    def pairs(self, x: Tensor, y: Tensor, space: Space) -> Tensor:
        """Return the logits of arrows from ``x`` to ``y``, row by row."""
        interval = space.interval(x, y) if self.needs_interval else None
        return self.read(self.of_nodes(space.logmap0(x)), self.of_nodes(space.logmap0(y)), interval)

    def decode(self, points: Tensor, pairs: Tensor, space: Space) -> Tensor:
        """Return the logits of ordered pairs of nodes, shape ``(P,)``."""
        table = self.of_nodes(space.logmap0(points))
        first, second = (table.index_select(0, end) for end in pairs)
        interval = None
        if self.needs_interval:
            interval = space.interval(*(points.index_select(0, end) for end in pairs))
        return self.read(first, second, interval)

    @torch.no_grad()
    def rows(self, points: Tensor, nodes: Tensor, space: Space) -> Tensor:
        """Return the logits of arrows from some points to all of them."""
        return rows_of_pairs(self, points, nodes, space)

    def sources(self, u: Tensor) -> Tensor:
        """Return what points are as sources, shape ``(..., h)``."""
        return u.index_select(-1, self.halves[0])

    def targets(self, u: Tensor) -> Tensor:
        """Return what points are as targets, shape ``(..., h)``."""
        return u.index_select(-1, self.halves[1])


class SourceTarget(ArrowDecoder):
    r"""The inner product of what one node is as a source and the other as a target, as in source-target autoencoders.

    .. math:: \operatorname{logit} P(u \to v) = c\, a_u \cdot b_v + d, \qquad c > 0

    Args:
        space: The space of the points.
    """

    needs_interval = False

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.values = nn.Parameter(torch.zeros(2))  # logarithm of the scale, and the bias

    def read(self, first: Tensor, second: Tensor, interval: Tensor | None) -> Tensor:
        """Return the logits of arrows."""
        scale, bias = self.values
        logits: Tensor = scale.exp() * (self.sources(first) * self.targets(second)).sum(-1) + bias
        return logits

    @torch.no_grad()
    def rows(self, points: Tensor, nodes: Tensor, space: Space) -> Tensor:
        """Return the logits of arrows from some points to all of them."""
        u = space.logmap0(points)
        scale, bias = self.values.to(u.dtype)
        return torch.addmm(bias, scale.exp() * self.sources(u[nodes]), self.targets(u).mT)


class OrientedForm(ArrowDecoder):
    r"""The inner product of tangent coordinates, time counted negative, and a form that changes its sign with the direction.

    .. math:: \operatorname{logit} P(u \to v) = c\,\bigl(\cos\theta\,\langle u, v\rangle
        + \sin\theta\,(a_u \cdot b_v - b_u \cdot a_v)\bigr) + d

    In a Euclidean space it is the real part of a Hermitian product of complex vectors :math:`a + ib`, turned by a phase: what
    magnetic networks read. With as many times as space coordinates, at :math:`\theta = 45^\circ`, where it starts, it is the
    product of sources :math:`t + s` and targets :math:`s - t`: an indefinite inner product with an orientation contains
    :class:`SourceTarget`.

    Args:
        space: The space of the points.
    """

    needs_interval = False
    signs: Tensor

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.register_buffer("signs", metric_signs(space), persistent=False)
        self.values = nn.Parameter(torch.tensor([0.0, 0.0, math.pi / 4]))  # logarithm of the scale, the bias, the angle

    def turned(self, u: Tensor) -> Tensor:
        """Return the linear form of the second vector of a pair that the first one stands for, shape ``(..., d)``."""
        angle = self.values[2]
        symmetric = angle.cos() * self.signs.to(u.dtype) * u
        both = torch.cat((-self.targets(u), self.sources(u)), dim=-1)
        return symmetric.index_add(-1, self.halves.flatten(), angle.sin() * both)

    def read(self, first: Tensor, second: Tensor, interval: Tensor | None) -> Tensor:
        """Return the logits of arrows."""
        return self.values[0].exp() * (self.turned(first) * second).sum(-1) + self.values[1]

    @torch.no_grad()
    def rows(self, points: Tensor, nodes: Tensor, space: Space) -> Tensor:
        """Return the logits of arrows from some points to all of them."""
        u = space.logmap0(points)
        return torch.addmm(self.values[1].to(u.dtype), self.values[0].exp() * self.turned(u[nodes]), u.mT)


class IntervalAndTime(ArrowDecoder):
    r"""The interval between two points, and a learned potential of each: one time if they are opposite.

    .. math:: \operatorname{logit} P(u \to v) = \frac{r - q(x_u, x_v)}{\tau} + w \cdot u + w' \cdot v

    The best that a metric alone can say, as it is symmetric: an arrow from near points, from the past to the future, and to
    what attracts many.

    Args:
        space: The space of the points.
    """

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.values = nn.Parameter(torch.tensor([2.0, 0.0]))  # boundary, and logarithm of its softness
        self.potential = nn.Linear(space.ambient_dim, 2, bias=False)

    def read(self, first: Tensor, second: Tensor, interval: Tensor | None) -> Tensor:
        """Return the logits of arrows."""
        assert interval is not None  # noqa: S101 (for the type checker)
        near = (self.values[0] - interval) * (-self.values[1]).exp()
        return near + first[..., 0] + second[..., 1]

    def of_nodes(self, u: Tensor) -> Tensor:
        """Return both potentials, shape ``(N, 2)``."""
        found: Tensor = self.potential(u)
        return found


class TripleFermiDirac(ArrowDecoder):
    r"""Three Fermi-Dirac functions: of the interval, of the difference of times, and of its opposite.

    .. math:: P(u \to v) = k\,\bigl(F(q - r, \tau_1)\,F(-\Delta t, \tau_2)\,F(\alpha\Delta t, \tau_2)\bigr)^{1/3},
        \qquad F(z, \tau) = \frac{1}{e^{z/\tau} + 1}

    An arrow is likely to what is near, later, and not much later. Times are a learned linear function of tangent coordinates.
    The decoder of pseudo-Riemannian embeddings of directed graphs (Sim et al., 2021).

    Args:
        space: The space of the points.
    """

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        # boundary, logarithms of both softnesses, logits of alpha and of the factor k
        self.values = nn.Parameter(torch.tensor([2.0, 0.0, 0.0, 0.0, START]))
        self.time = nn.Linear(space.ambient_dim, 1, bias=False)

    def read(self, first: Tensor, second: Tensor, interval: Tensor | None) -> Tensor:
        """Return the logits of arrows."""
        assert interval is not None  # noqa: S101 (for the type checker)
        boundary, soft, slow, backward, most = self.values
        lapse = (second - first).squeeze(-1) * (-slow).exp()
        near = logsigmoid((boundary - interval) * (-soft).exp())
        # never near 0, where a probability has no logit: of the last two factors one is at most a half
        log_p = logsigmoid(most) + (near + logsigmoid(lapse) + logsigmoid(-backward.sigmoid() * lapse)) / 3
        logits: Tensor = log_p - (-torch.expm1(log_p)).log()
        return logits

    def of_nodes(self, u: Tensor) -> Tensor:
        """Return times, shape ``(N, 1)``."""
        found: Tensor = self.time(u)
        return found


class ArrowNetwork(ArrowDecoder):
    r"""A network of one hidden layer that joins a source-target product, the interval and times.

    .. math:: \operatorname{logit} P(u \to v) = f\bigl(a_u \odot b_v,\; \pm\log(1 + |q(x_u, x_v)|),\; w \cdot (v - u),\;
        w' \cdot u,\; w'' \cdot v\bigr)

    Args:
        space: The space of the points.
        dropout: Share of hidden units dropped, in training.
    """

    def __init__(self, space: Space, *, dropout: float = 0.0) -> None:
        super().__init__(space)
        self.potential = nn.Linear(space.ambient_dim, 3, bias=False)
        self.network = small_network(self.halves.shape[1] + 4, dropout)

    def read(self, first: Tensor, second: Tensor, interval: Tensor | None) -> Tensor:
        """Return the logits of arrows."""
        assert interval is not None  # noqa: S101 (for the type checker)
        half = self.halves.shape[1]
        products = first[..., :half] * second[..., half : 2 * half]
        lapse = second[..., -1] - first[..., -1]
        numbers = (interval.abs().log1p() * interval.sign(), lapse, first[..., -3], second[..., -2])
        logits: Tensor = self.network(torch.cat((products, torch.stack(numbers, dim=-1)), dim=-1))
        return logits.squeeze(-1)

    def of_nodes(self, u: Tensor) -> Tensor:
        """Return what nodes are as sources and as targets, and three potentials, the last one time, shape ``(N, 2h + 3)``."""
        return torch.cat((self.sources(u), self.targets(u), self.potential(u)), dim=-1)


ARROW_DECODERS: Final[dict[str, type[ArrowDecoder]]] = {
    "joint": ArrowNetwork,
    "source-target": SourceTarget,
    "oriented": OrientedForm,
    "interval": IntervalAndTime,
    "triple": TripleFermiDirac,
}
"""Decoders of arrows by name."""


def arrow_decoder(name: str, space: Space, *, dropout: float = 0.0) -> ArrowDecoder:
    """Build a decoder of arrows by its name.

    Args:
        name: One of :data:`ARROW_DECODERS`.
        space: The space of the points.
        dropout: Share of hidden units that a network drops.

    Raises:
        ValueError: Unknown name, or the space has a single dimension.

    Example:
        >>> from qgcn.manifolds import parse_space
        >>> space = parse_space("E4")
        >>> points = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0]])
        >>> forth_and_back = torch.tensor([[0, 1], [1, 0]])
        >>> arrow_decoder("source-target", space).decode(points, forth_and_back, space).tolist()
        [3.0, 0.0]
    """
    if name not in ARROW_DECODERS:
        raise ValueError(f"unknown decoder {name!r}: expected one of {', '.join(ARROW_DECODERS)}")
    kind = ARROW_DECODERS[name]
    return kind(space, dropout=dropout) if issubclass(kind, ArrowNetwork) else kind(space)
