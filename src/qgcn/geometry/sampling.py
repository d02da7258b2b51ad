r"""Random points of the manifold."""

from collections.abc import Sequence

import torch
from torch import Tensor

from qgcn.geometry.ambient import magnitude
from qgcn.geometry.diffeomorphic import expmap0

__all__ = ["sample"]


def sample(
    shape: Sequence[int],
    *,
    beta: Tensor | float,
    time_dim: int,
    std: float = 1.0,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""Draw points by wrapping a normal distribution around the manifold: :math:`\widehat\exp_o(\sigma\sqrt{|\beta|}\,n)`.

    No uniform distribution exists (the volume is infinite for ``s > 0``); this one has full support and is centred at
    the pole. Laws: on the manifold; scales with :math:`\sqrt{|\beta|}`.

    Example:
        >>> from qgcn import geometry
        >>> geometry.sample((4, 5), beta=-1.0, time_dim=2).shape
        torch.Size([4, 5])

    Args:
        shape: Shape of the result, ``(..., d)``.
        beta: The value of :math:`\langle x, x\rangle`; negative.
        time_dim: Number of leading negative coordinates, ``1 <= time_dim <= d``.
        std: Standard deviation of the tangent coordinates, in units of :math:`\sqrt{|\beta|}`.
        dtype: Type of the result; PyTorch's default if none is given.
        device: Device of the result.
        generator: Source of randomness.
    """
    if not std > 0:
        raise ValueError(f"std must be positive, got {std}")
    u = torch.randn(*shape, dtype=dtype, device=device, generator=generator)
    return expmap0(std * magnitude(beta, u).sqrt() * u, beta=beta, time_dim=time_dim)
