"""Tangential maps between layers: activation, skip connection, and how Euclidean features enter a space."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from qgcn.kernels.product import SparseMatrix
from qgcn.manifolds import Space

__all__ = ["ACTIVATIONS", "DoubleProjection", "TangentActivation", "tangent_mean"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "elu": nn.functional.elu,
    "leaky_relu": nn.functional.leaky_relu,
    "identity": lambda u: u,
}

_MOVES_ZERO = ("sigmoid",)  # what these return is not tangent at the pole, and has to be put back


class TangentActivation(nn.Module):
    r"""Activate in the tangent space of the pole, and carry the point from one curvature to the next (Eq. 6).

    .. math:: \sigma^\otimes(x) = \widehat\exp^{\beta'}_o\bigl(\sigma(\widehat\log^\beta_o(x))\bigr)

    Args:
        name: One of ``relu``, ``tanh``, ``sigmoid``, ``elu``, ``leaky_relu``, ``identity``.
        space: The space of the inputs, with curvature :math:`1/\beta`.
        out_space: The space of the outputs, with curvature :math:`1/\beta'`; ``space`` if none is given.

    Shapes:
        - **input:** points of ``space``, ``(N, d)``
        - **output:** points of ``out_space``, ``(N, d)``
    """

    def __init__(self, name: str, space: Space, out_space: Space | None = None) -> None:
        super().__init__()
        if name not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {name!r}")
        out_space = space if out_space is None else out_space
        if out_space.ambient_dim != space.ambient_dim:
            raise ValueError(f"an activation keeps the number of coordinates, got {space} and {out_space}")
        self.name = name
        self._spaces = (space, out_space)  # a tuple: the layers before and after own them

    def forward(self, x: Tensor) -> Tensor:
        """Map points to points."""
        space, out_space = self._spaces
        return out_space.expmap0(self.from_tangent(space.logmap0(x)))

    def from_tangent(self, u: Tensor) -> Tensor:
        """Do the same in tangent coordinates."""
        v = ACTIVATIONS[self.name](u)
        return self._spaces[1].fold0(v) if self.name in _MOVES_ZERO else v

    def extra_repr(self) -> str:
        """Show the function and the spaces."""
        return f"{self.name}, {self._spaces[0]} -> {self._spaces[1]}"


class DoubleProjection(nn.Module):
    r"""Map Euclidean features onto the manifold: :math:`\psi^{-1}\circ\psi`, Algorithm 1.

    The first ``t`` features become time coordinates and are scaled onto the manifold, the others are kept. Features whose time
    part is zero have no direction there; the paper moves them by a small random amount. That amount is drawn for a layer, not
    for a step: it is the same in every call on features of one shape, in training and after.

    Args:
        space: A pseudo-hyperboloid with as many coordinates as there are features.
        perturbation: Half the width of the uniform noise; the paper takes 0.02.

    Shapes:
        - **input:** features ``(N, d)``
        - **output:** points ``(N, d)``
    """

    def __init__(self, space: Space, perturbation: float = 0.0) -> None:
        super().__init__()
        if not perturbation >= 0:
            raise ValueError(f"perturbation must not be negative, got {perturbation}")
        self.space = space
        self.perturbation = perturbation
        self._key = int(torch.randint(2**31, ())) if perturbation > 0 else 0
        self._noise: Tensor | None = None

    def forward(self, features: Tensor | SparseMatrix) -> Tensor:
        """Map features to points; a sparse matrix is made dense."""
        dense = features.to_dense()
        points: Tensor = self.space.projx(dense + self._noise_like(dense) if self.perturbation > 0 else dense)
        return points

    def _noise_like(self, dense: Tensor) -> Tensor:
        """Return the noise for features of a shape; it is drawn once."""
        kept = self._noise
        if kept is None or (kept.shape, kept.dtype, kept.device) != (dense.shape, dense.dtype, dense.device):
            drawn = torch.rand(dense.shape, generator=torch.Generator().manual_seed(self._key))
            kept = self._noise = ((2 * drawn - 1) * self.perturbation).to(dense)
        return kept


def tangent_mean(tangents: Sequence[Tensor]) -> Tensor:
    """Average tangent vectors of several layers, shapes ``(N, d)``: the skip connection of a tangent-space network."""
    return torch.stack(tuple(tangents)).mean(0)
