"""Cones: how far one point is from being entailed by another."""

import math
from abc import ABC, abstractmethod
from typing import Final

import torch
from torch import Tensor, nn

from qgcn.geometry.causality import angle_between
from qgcn.kernels.cones import Rows
from qgcn.manifolds import Space
from qgcn.numerics import safe_norm, unit_or_axis

__all__ = ["CONES", "Cone", "HyperbolicCone", "LightCone", "OrderCone", "ShadowCone", "cone"]


class Cone(nn.Module, ABC):
    r"""Tells by a margin whether the second point of a pair lies in the cone of the first.

    .. math:: \operatorname{logit} = b - a\,m(x, y), \qquad a > 0

    with learned steepness :math:`a` and threshold :math:`b`.

    Args:
        steepness: Where the steepness starts.

    Shapes:
        - **input:** points ``(..., d)`` and ``(..., d)`` of one space, which broadcast
        - **output:** logits ``(...)``
    """

    lives_in: str = ""
    """Spaces in which the cone is defined, in words."""

    def __init__(self, steepness: float = 4.0) -> None:
        super().__init__()
        self.log_steepness = nn.Parameter(torch.tensor(math.log(steepness)))
        self.threshold = nn.Parameter(torch.tensor(0.0))

    @classmethod
    @abstractmethod
    def fits(cls, space: Space) -> bool:
        """Tell whether the cone is defined in a space."""

    def margin(self, x: Tensor, y: Tensor, space: Space) -> Tensor:
        """Return how far ``y`` is from the cone of ``x``; not positive inside."""
        return self.seen_margin(self.as_seen(x, space), self.as_seen(y, space), space)

    def as_seen(self, x: Tensor, space: Space) -> Tensor:
        """Return what :meth:`seen_margin` needs of points, whatever their pairs, shape ``(..., k)``: here the points."""
        return x

    @abstractmethod
    def seen_margin(self, a: Tensor, b: Tensor, space: Space) -> Tensor:
        """Return :meth:`margin` of points given by :meth:`as_seen`: for many pairs of few points."""

    @abstractmethod
    def rows(self, x: Tensor, space: Space) -> Rows | None:
        """Return what compiled code reads margins off; nothing if it knows no such margins."""

    def forward(self, x: Tensor, y: Tensor, space: Space) -> Tensor:
        """Return the logits of pairs."""
        return self.logits(self.margin(x, y, space))

    def logits(self, margin: Tensor) -> Tensor:
        """Return the logits of pairs from their margins."""
        return self.threshold - self.log_steepness.exp() * margin


class LightCone(Cone):
    """The future of a point of a spacetime, see :meth:`Space.light_margin <qgcn.manifolds.Space.light_margin>`.

    In ``M10`` these are the balls of a Euclidean disk embedding: one ball lies in another. In ``M1xH9`` and ``M1xS9`` they are
    the balls of hyperbolic and spherical disk embeddings. In ``dS10`` they are balls of a sphere, measured by logarithms.
    """

    lives_in = "spacetimes such as M10, AdS10, dS10 or M1xH9"

    @classmethod
    def fits(cls, space: Space) -> bool:
        """Tell whether points of the space are ordered."""
        return space.is_spacetime

    def as_seen(self, x: Tensor, space: Space) -> Tensor:
        """Return what light knows of points."""
        return space.as_seen(x)

    def seen_margin(self, a: Tensor, b: Tensor, space: Space) -> Tensor:
        """Return the margin of light."""
        return space.seen_margin(a, b)

    def rows(self, x: Tensor, space: Space) -> Rows | None:
        """Return the rows of the spacetime."""
        return space.light_rows(x)


class OrderCone(Cone):
    r"""The order of coordinates: :math:`m = |\max(0, x - y)|^2`, zero where no coordinate of ``y`` is smaller.

    The coordinates are taken without their signs, as in order embeddings.
    """

    lives_in = "Euclidean spaces such as E10"

    @classmethod
    def fits(cls, space: Space) -> bool:
        """Tell whether the space is Euclidean."""
        return space.kind == "E"

    def as_seen(self, x: Tensor, space: Space) -> Tensor:
        """Return coordinates without their signs."""
        return x.abs()

    def seen_margin(self, a: Tensor, b: Tensor, space: Space) -> Tensor:
        """Return the square of what is missing."""
        return (a - b).relu().square().sum(-1)

    def rows(self, x: Tensor, space: Space) -> Rows:
        """Return coordinates without their signs."""
        return Rows("order", self.as_seen(x, space))


class HyperbolicCone(Cone):
    r"""The entailment cones of hyperbolic space: geodesics that leave ``x`` within an angle of the ray from the origin.

    .. math:: m = \Xi(x, y) - \psi(x), \qquad \sin\psi(x) = \kappa\,\frac{1 - |x|^2}{|x|}

    in the Poincaré ball, with :math:`\kappa = 0.1`. Cones become narrower away from the origin, and those of points in a cone
    lie in it. Near the origin, where the sine would exceed 1, the cone is a half-space.
    """

    lives_in = "hyperbolic spaces such as H10"
    width: Final = 0.1

    @classmethod
    def fits(cls, space: Space) -> bool:
        """Tell whether the space is hyperbolic."""
        return space.kind == "H"

    def as_seen(self, x: Tensor, space: Space) -> Tensor:
        """Return half the apertures of cones, the norms of points in the ball, and directions, shape ``(..., d + 2)``."""
        a = _ball(x, _beta(space, x))
        size = (a * a).sum(-1, keepdim=True)
        norm = safe_norm(a)
        sine = self.width * (1 - size) / torch.where(size > 0, norm, 1)
        narrow = (sine < 1) & (size > 0)
        aperture = torch.where(narrow, torch.where(narrow, sine, 0).asin(), math.pi / 2)
        return torch.cat((aperture, norm, unit_or_axis(a)), dim=-1)

    def seen_margin(self, a: Tensor, b: Tensor, space: Space) -> Tensor:
        """Return the angle to the axis of the cone, less half its aperture."""
        (aperture, near), (far,) = a[..., :2].split(1, -1), b[..., 1:2].split(1, -1)
        turn = angle_between(a[..., 2:], b[..., 2:]).unsqueeze(-1)  # all lies in a plane
        along, across = far * turn.cos(), far * turn.sin()
        ahead = (1 - near * near) * along - (1 - 2 * near * along + far * far) * near  # direction of the geodesic at x
        course = unit_or_axis(torch.cat((ahead, (1 - near * near) * across), dim=-1))
        margin: Tensor = angle_between(course, torch.eye(1, 2).to(course)[0]) - aperture.squeeze(-1)
        return margin

    def rows(self, x: Tensor, space: Space) -> Rows:
        """Return apertures, norms and directions."""
        return Rows("cone", self.as_seen(x, space))


class ShadowCone(Cone):
    r"""Shadows of balls under light that falls from a point at infinity, in the half-space model of hyperbolic space.

    .. math:: m = \log\frac{|p - p'| + k\,h'}{k\,h}

    for points at heights :math:`h` over places :math:`p`, with a learned radius of the balls, :math:`\operatorname{arsinh} k`.
    It is negative where the ball of ``y`` lies in the shadow of that of ``x``.
    """

    lives_in = "hyperbolic spaces such as H10"

    def __init__(self, steepness: float = 4.0) -> None:
        super().__init__(steepness)
        self.log_radius = nn.Parameter(torch.tensor(0.0))

    @classmethod
    def fits(cls, space: Space) -> bool:
        """Tell whether the space is hyperbolic."""
        return space.kind == "H" and space.dim > 1

    def as_seen(self, x: Tensor, space: Space) -> Tensor:
        """Return the radii of shadows and the places below them, shape ``(..., d)``."""
        place, height = _half_space(x, _beta(space, x))
        return torch.cat((self.log_radius.exp() * height, place), dim=-1)

    def seen_margin(self, a: Tensor, b: Tensor, space: Space) -> Tensor:
        """Return the logarithm of the reach of one shadow over the radius of the other."""
        reach = safe_norm(a[..., 1:] - b[..., 1:]) + b[..., :1]
        return (reach / a[..., :1]).log().squeeze(-1)

    def rows(self, x: Tensor, space: Space) -> Rows:
        """Return radii and places of shadows."""
        return Rows("shadow", self.as_seen(x, space))


def _beta(space: Space, like: Tensor) -> Tensor:
    """Return beta of a hyperbolic space, in the type of points."""
    beta: Tensor = space.beta  # type: ignore[attr-defined]
    return beta.to(like)


def _ball(x: Tensor, beta: Tensor) -> Tensor:
    """Return points of the Poincaré ball, of radius 1."""
    return x[..., 1:] / (x[..., :1] + (-beta).sqrt())


def _half_space(x: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
    """Return places and heights in the half-space model, in units of the radius of curvature."""
    time, last, rest = x[..., :1], x[..., -1:], x[..., 1:-1]
    product = (rest * rest).sum(-1, keepdim=True) - beta
    gap = torch.where(last > 0, product / (time + last.relu()), time - last)  # time - last, without cancellation
    return rest / gap, (-beta).sqrt() / gap


CONES: Final[dict[str, type[Cone]]] = {
    "light": LightCone,
    "order": OrderCone,
    "hyperbolic": HyperbolicCone,
    "shadow": ShadowCone,
}
"""Cones by name."""


def cone(name: str, space: Space) -> Cone:
    """Build a cone by its name.

    Raises:
        ValueError: There is no such cone, or it is not defined in the space.
    """
    if name not in CONES:
        raise ValueError(f"cone must be one of {', '.join(CONES)}, got {name!r}")
    kind = CONES[name]
    if not kind.fits(space):
        raise ValueError(f"the cone {name} is defined in {kind.lives_in}, got {space}")
    return kind()
