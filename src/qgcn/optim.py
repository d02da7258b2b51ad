"""Adam for points of a pseudo-Riemannian manifold."""

from collections.abc import Callable, Iterable
from typing import Any

import geoopt
import torch
from torch import Tensor

__all__ = ["PseudoRiemannianAdam"]


class PseudoRiemannianAdam(torch.optim.Optimizer):
    r"""Adam whose steps descend under an indefinite metric and never leave the manifold.

    For a point ``x`` with Euclidean gradient ``g`` the step is

    .. math:: \chi = \operatorname{egrad2rgrad}_x(g), \quad
        m \leftarrow \beta_1 m + (1-\beta_1)\chi, \quad v \leftarrow \beta_2 v + (1-\beta_2)\,|\chi|^2, \quad
        x \leftarrow \operatorname{retr}_x\bigl(-\eta\,\hat m/(\sqrt{\hat v} + \epsilon)\bigr), \quad
        m \leftarrow \Pi_x(m).

    ``v`` is one number for each point, the *Euclidean* square of its direction: the metric's own square can be negative,
    and its root, which a Riemannian Adam takes, NaN. The averaged direction is carried to the new point by projection: a
    step is small, and parallel transport, which projection equals to first order, is not defined for every pair of points.

    Parameters that are not points (weights, a learnable beta) take ordinary Adam steps, and take them first: points are
    then put back onto the manifold that beta describes *after* the step.

    Example:
        >>> import geoopt
        >>> import torch
        >>> import qgcn
        >>> space = qgcn.parse_space("Q4,2")
        >>> x = geoopt.ManifoldParameter(space.random(10, 6, std=0.3), manifold=space)
        >>> optimiser = qgcn.optim.PseudoRiemannianAdam([x], lr=0.1)
        >>> space.dist2(x, x.detach().flip(0)).sum().backward()
        >>> optimiser.step()
        >>> space.check_point_on_manifold(x)
        True

    Args:
        params: Parameters or groups of them; ``geoopt.ManifoldParameter`` are points of their manifold.
        lr: Learning rate.
        betas: Decay of the first and second moments.
        eps: Added to the root of the second moment.
        weight_decay: Decoupled decay, for parameters that are not points.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        if not lr >= 0:
            raise ValueError(f"lr must not be negative, got {lr}")
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"betas must lie in [0, 1), got {betas}")
        if not eps > 0:
            raise ValueError(f"eps must be positive, got {eps}")
        if not weight_decay >= 0:
            raise ValueError(f"weight_decay must not be negative, got {weight_decay}")
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step; ``closure``, if given, recomputes the loss and its gradients first."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        points = []
        for group in self.param_groups:
            for parameter in group["params"]:
                if isinstance(parameter, geoopt.ManifoldParameter):
                    points.append((parameter, group))
                elif parameter.grad is not None:
                    parameter.mul_(1 - group["lr"] * group["weight_decay"])
                    parameter.add_(self._direction(parameter, parameter.grad, parameter.grad.square(), group))
        for point, group in points:
            self._move(point, group)
        return loss

    def _move(self, point: "geoopt.ManifoldParameter", group: dict[str, Any]) -> None:
        manifold = point.manifold
        x = manifold.projx(point)  # beta may have changed
        if point.grad is None:
            point.copy_(x)
            return
        chi = manifold.egrad2rgrad(x, point.grad)
        target = manifold.retr(x, self._direction(point, chi, manifold.component_inner(x, chi), group))
        point.copy_(target)
        moment = self.state[point]["mean"]
        moment.copy_(manifold.proju(target, moment))

    def _direction(self, parameter: Tensor, gradient: Tensor, square: Tensor, group: dict[str, Any]) -> Tensor:
        """Update the moments and return the step, before it is applied."""
        state = self.state[parameter]
        if not state:
            state["step"] = 0
            state["mean"] = torch.zeros_like(gradient)
            state["square"] = torch.zeros_like(square)
        first, second = group["betas"]
        state["step"] += 1
        state["mean"].lerp_(gradient, 1 - first)
        state["square"].lerp_(square, 1 - second)
        mean = state["mean"] / (1 - first ** state["step"])
        root = (state["square"] / (1 - second ** state["step"])).sqrt()
        step: Tensor = -group["lr"] * mean / (root + group["eps"])
        return step
