"""The linear layer of a tangent-space network."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter, is_lazy

from qgcn.kernels.product import SparseMatrix
from qgcn.manifolds import Space, parse_space
from qgcn.numerics import FLOAT_TYPES

__all__ = ["QLinear"]


class QLinear(nn.Module):
    r"""Tangential transformation, then bias translation (Eqs. 7 and 8).

    .. math:: y = \widehat\exp_o\bigl(W \widehat\log_o(x)\bigr) \oplus b

    where :math:`\oplus` transports the bias from the pole to the point and follows it, along the broken path where no geodesic
    joins them. Under autocast, and with weights in half precision, the product runs in half precision, the geometry
    and the result are in float32: half precision cannot hold a point.

    Args:
        in_space: The space of the inputs, or its name; or a number of Euclidean features, which are tangent vectors at the pole
            as they are. ``-1``: as many as the first input has.
        space: The space of the outputs, or its name; the layer owns it, and with it the curvature that may be learned.
        bias: Translate by a learned tangent vector (default: true).
        own_in_space: Register ``in_space`` as a part of this layer, so that its curvature is among the parameters; false where
            another layer of the same model owns it (default: true).

    Shapes:
        - **input:** points of ``in_space``, ``(..., N, d_in)``; features may be a sparse matrix
        - **output:** points of ``space``, ``(..., N, d)``
    """

    def __init__(
        self, in_space: Space | str | int, space: Space | str, bias: bool = True, *, own_in_space: bool = True
    ) -> None:
        super().__init__()
        space = parse_space(space) if isinstance(space, str) else space
        in_space = parse_space(in_space) if isinstance(in_space, str) else in_space
        if not isinstance(space, Space):
            raise TypeError(f"space must be a space, such as parse_space('Q7,3'), or its name, got {space!r}")
        source = in_space if isinstance(in_space, Space) else None
        self.in_space: Space | None
        """The space of the inputs; ``None`` for Euclidean features."""
        if own_in_space and source is not space:
            self.in_space = source
        else:
            object.__setattr__(self, "in_space", source)  # past PyTorch, which would register it as a part of this layer
        self.space = space
        size = in_space.ambient_dim if isinstance(in_space, Space) else in_space
        if size < 1 and size != -1:
            raise ValueError(f"a layer takes at least 1 feature, or -1 for as many as there are, got {size}")
        self.weight = UninitializedParameter() if size == -1 else nn.Parameter(torch.empty(size, space.ambient_dim))
        self.bias = nn.Parameter(torch.empty(space.ambient_dim)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights as Glorot does; the bias is zero, the translation the identity."""
        if not is_lazy(self.weight):
            nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor | SparseMatrix) -> Tensor:
        """Map points to points."""
        return self.space.expmap0(self.from_tangent(self.tangent_of(x)))

    def tangent_of(self, x: Tensor | SparseMatrix) -> Tensor | SparseMatrix:
        """Return the tangent coordinates of the inputs: Euclidean features are tangent vectors as they are."""
        if self.in_space is None or isinstance(x, SparseMatrix):
            return x
        return self.in_space.logmap0(x if x.dtype in FLOAT_TYPES else x.float())

    def from_tangent(self, u: Tensor | SparseMatrix) -> Tensor:
        """Do the same from and to tangent coordinates at the poles, so that layers follow each other without exp and log.

        Args:
            u: Tangent vectors, shape ``(..., N, d_in)``, dense or sparse; also a sparse tensor of PyTorch.
        """
        if isinstance(self.weight, UninitializedParameter):
            self._materialize(u.shape[-1])
        if self.weight.dtype not in FLOAT_TYPES and isinstance(u, Tensor):
            u = u.to(self.weight.dtype)  # as under autocast: what comes from another layer is in float32
        v = u @ self.weight
        v = v if v.dtype in FLOAT_TYPES else v.float()
        return self.space.fold0(v) if self.bias is None else self.space.translate0(v, self.bias.to(v.dtype))

    def _materialize(self, features: int) -> None:
        weight: Any = self.weight
        with torch.no_grad():
            weight.materialize((features, self.space.ambient_dim))
            nn.init.xavier_uniform_(self.weight)

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Save a weight whose size is not known yet as it is."""
        if not is_lazy(self.weight):
            return super()._save_to_state_dict(destination, prefix, keep_vars)
        weight = self._parameters.pop("weight")
        super()._save_to_state_dict(destination, prefix, keep_vars)
        self._parameters = {"weight": weight, **self._parameters}
        destination[prefix + "weight"] = weight
        return None

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *arguments: Any) -> None:
        """Take the size of a weight from what is loaded."""
        given = state_dict.get(prefix + "weight")
        if is_lazy(self.weight) and given is not None and not is_lazy(given):
            self._materialize(given.shape[0])
        super()._load_from_state_dict(state_dict, prefix, *arguments)

    def extra_repr(self) -> str:
        """Show the spaces."""
        return f"{self.source} -> {self.space}, bias={self.bias is not None}"

    @property
    def source(self) -> Space | int:
        """The space of the inputs, or their number of Euclidean features; -1 if it is not known yet."""
        if self.in_space is not None:
            return self.in_space
        return -1 if is_lazy(self.weight) else self.weight.shape[0]
