"""The linear layer of a tangent-space network."""

import torch
from torch import Tensor, nn

from qgcn.kernels.product import SparseMatrix
from qgcn.manifolds import Space

__all__ = ["QLinear"]


class QLinear(nn.Module):
    r"""Tangential transformation, then bias translation (Eqs. 7 and 8).

    .. math:: y = \widehat\exp_o\bigl(W \widehat\log_o(x)\bigr) \oplus b

    where :math:`\oplus` transports the bias from the pole to the point and follows it, along the broken path where no geodesic
    joins them.

    Args:
        in_space: The space of the inputs, or a number of Euclidean features, which are tangent vectors at the pole as they are.
        space: The space of the outputs; the layer owns it, and with it the curvature that may be learned.
        bias: Translate by a learned tangent vector.

    Shapes:
        - **input:** points of ``in_space``, ``(N, d_in)``; features may be a sparse matrix
        - **output:** points of ``space``, ``(N, d)``
    """

    def __init__(self, in_space: Space | int, space: Space, bias: bool = True) -> None:
        super().__init__()
        if not isinstance(space, Space):
            raise TypeError(f"space must be a space, such as parse_space('Q7,3'), got {space!r}")
        self._in_space = (in_space if isinstance(in_space, Space) else None,)  # a tuple: the layer before owns it
        self.space = space
        size = in_space.ambient_dim if isinstance(in_space, Space) else in_space
        self.weight = nn.Parameter(torch.empty(size, space.ambient_dim))
        self.bias = nn.Parameter(torch.empty(space.ambient_dim)) if bias else None
        self.reset_parameters()

    @property
    def in_space(self) -> Space | None:
        """The space of the inputs; ``None`` for Euclidean features."""
        return self._in_space[0]

    def reset_parameters(self) -> None:
        """Draw the weights as Glorot does; the bias is zero, the translation the identity."""
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor | SparseMatrix) -> Tensor:
        """Map points to points."""
        return self.space.expmap0(self.from_tangent(self.tangent_of(x)))

    def tangent_of(self, x: Tensor | SparseMatrix) -> Tensor | SparseMatrix:
        """Return the tangent coordinates of the inputs: Euclidean features are tangent vectors as they are."""
        return x if self.in_space is None or isinstance(x, SparseMatrix) else self.in_space.logmap0(x)

    def from_tangent(self, u: Tensor | SparseMatrix) -> Tensor:
        """Do the same from and to tangent coordinates at the poles, so that layers follow each other without exp and log.

        Args:
            u: Tangent vectors, shape ``(N, d_in)``, dense or sparse.
        """
        v = u @ self.weight
        return self.space.fold0(v) if self.bias is None else self.space.translate0(v, self.bias)

    def extra_repr(self) -> str:
        """Show the spaces."""
        source = self.weight.shape[0] if self.in_space is None else self.in_space
        return f"{source} -> {self.space}, bias={self.bias is not None}"
