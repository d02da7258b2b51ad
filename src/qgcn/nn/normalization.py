"""Batch normalisation in the tangent space."""

from torch import Tensor, nn

from qgcn.manifolds import Space, parse_space

__all__ = ["TangentBatchNorm"]


class TangentBatchNorm(nn.Module):
    r"""Batch normalisation of tangent coordinates at the pole.

    .. math:: y = \widehat\exp_o\Bigl(\gamma\,\frac{\widehat\log_o(x) - \mu}{\sigma} + \delta\Bigr)

    with mean :math:`\mu` and standard deviation :math:`\sigma` of each coordinate over the batch in training, and their running
    averages afterwards. The points are centred at the pole; no Fréchet mean is needed.

    Laws: stays in the space; in training, the tangent coordinates of the result have mean :math:`\delta` and standard deviation
    :math:`\gamma`, up to whole turns in time; in flat space it is ``torch.nn.BatchNorm1d``.

    Args:
        space: The space of the points, or its name; another layer owns it.
        momentum: Share of the batch in the running averages (default: 0.1).
        affine: Learn :math:`\gamma` and :math:`\delta` (default: true).

    Shapes:
        - **input:** points ``(N, d)``
        - **output:** points ``(N, d)``
    """

    def __init__(self, space: Space | str, momentum: float = 0.1, affine: bool = True) -> None:
        super().__init__()
        self._space = (parse_space(space) if isinstance(space, str) else space,)  # a tuple: the layer before owns it
        self.norm = nn.BatchNorm1d(self._space[0].ambient_dim, momentum=momentum, affine=affine)

    def reset_parameters(self) -> None:
        """Forget what was learned and seen."""
        self.norm.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        """Map points to points."""
        space = self._space[0]
        return space.expmap0(self.norm(space.logmap0(x)))

    def from_tangent(self, u: Tensor) -> Tensor:
        """Do the same from and to tangent coordinates."""
        return self._space[0].fold0(self.norm(u))

    def extra_repr(self) -> str:
        """Show the space."""
        return str(self._space[0])
