"""Multinomial logistic regression by the hyperplanes of a space."""

import torch
from torch import Tensor, nn

from qgcn.manifolds import Space

__all__ = ["IntrinsicClassifier"]


class IntrinsicClassifier(nn.Module):
    r"""Score classes by signed distances to hyperplanes: logistic regression that needs no tangent space of its own.

    .. math:: \ell_k(x) = \|a_k\|\; d\bigl(x, \{y : y \perp a_k \text{ at } p_k\}\bigr)

    Class ``k`` has a hyperplane through the point :math:`p_k = \exp_o(b_k)` with normal :math:`a_k = P_{o\to p_k}(w_k)`. In
    flat space this is ``torch.nn.Linear``. In a product the scores of the factors are added. On ``Q`` hyperplanes with a
    time-like normal count too; see :func:`qgcn.geometry.plane_dist`.

    Example:
        >>> import torch
        >>> import qgcn
        >>> space = qgcn.parse_space("Q4,3")
        >>> classifier = qgcn.nn.IntrinsicClassifier(space, 5)
        >>> classifier(space.random(10, 7)).shape
        torch.Size([10, 5])

    Args:
        space: The space of the points.
        classes: Number of classes.

    Shapes:
        - **input:** points ``(..., d)``
        - **output:** logits ``(..., classes)``
    """

    def __init__(self, space: Space, classes: int) -> None:
        super().__init__()
        if classes < 1:
            raise ValueError(f"classes must be at least 1, got {classes}")
        self.space = space
        self.normals = nn.Parameter(torch.empty(classes, space.ambient_dim))
        self.offsets = nn.Parameter(torch.empty(classes, space.ambient_dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw normals of about unit length, and put every hyperplane through the origin."""
        nn.init.normal_(self.normals, std=self.space.dim**-0.5)
        nn.init.zeros_(self.offsets)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits of points, shape ``(..., classes)``."""
        sizes = [part.ambient_dim for part in self.space.parts]
        shares = zip(*(each.split(sizes, dim=-1) for each in (x, self.normals, self.offsets)), strict=True)
        scores = [self._scores(part, *share) for part, share in zip(self.space.parts, shares, strict=True)]
        return torch.stack(scores).sum(0)

    @staticmethod
    def _scores(space: Space, x: Tensor, normals: Tensor, offsets: Tensor) -> Tensor:
        x = x.as_subclass(Tensor).unsqueeze(-2)
        normals, offsets = normals.to(x), offsets.to(x)
        points = space.expmap0(offsets)
        origin = space.expmap0(torch.zeros_like(offsets))
        return space.dist2plane(x, points, space.transp0(points, space.proju(origin, normals)), signed=True, scaled=True)

    def extra_repr(self) -> str:
        """Name the space and the number of classes."""
        return f"{self.space}, classes={len(self.normals)}"
