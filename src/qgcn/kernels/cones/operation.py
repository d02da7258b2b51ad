"""The objective of entailment as an operation with a gradient."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from qgcn.kernels.backends import forced
from qgcn.kernels.cones import cpu

__all__ = ["Rows", "among", "entailed"]


class Rows(NamedTuple):
    """What compiled code reads margins off.

    Attributes:
        kind: The formula, see :data:`~qgcn.kernels.cones.cpu.KINDS`.
        values: What it needs of each point, shape ``(N, k)``.
        root: Radius of curvature.
    """

    kind: str
    values: Tensor
    root: Tensor | float = 1.0

    def fits(self, *learned: Tensor) -> bool:
        """Tell whether compiled code takes these rows and numbers."""
        if torch.compiler.is_compiling():
            return False
        return self.values.shape[-1] <= cpu.WIDTH and cpu.takes(self.values, *learned)


def entailed(
    rows: Rows,
    targets: tuple[Tensor, Tensor, Tensor],
    learned: tuple[Tensor, Tensor, Tensor],
    weight: float,
) -> Tensor:
    r"""Return the logistic objective of entailment and the fit of its logits, for margins :math:`m` read off rows.

    .. math:: \frac1E \sum_{\text{pairs}} \bigl(\sigma(s m) + \sigma(a m - b)\bigr)
        + \frac1{(2K+1)E} \sum_{\text{negatives}} \bigl(w\,\sigma(-s m) + \sigma(b - a m)\bigr),
        \qquad \sigma(z) = \log(1 + e^z)

    The negatives of a pair are :math:`K` pairs with another descendant, :math:`K` with another ancestor, and the pair turned
    round. Logits are fitted to the margins, which they do not move.

    Args:
        rows: What is known of points, and how margins are read off it.
        targets: Pairs ``(2, E)``, other descendants and ancestors ``(2, K, E)``, and which of these count ``(2, K, E)``.
        learned: The sharpness :math:`s`, the steepness :math:`a` and the threshold :math:`b`.
        weight: That of negatives, :math:`w`.
    """
    pairs, ends, counted = (each.contiguous() for each in targets)
    value: Tensor = _Entailed.apply(rows.values, *learned, rows.root, rows.kind, pairs, ends, counted, weight)  # type: ignore[no-untyped-call]
    return value


class _Entailed(torch.autograd.Function):
    """Value and gradient at once: the gradient of a number is known but for a factor."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, *given: Any) -> Tensor:
        learned, (root, kind, pairs, ends, counted, weight) = given[:3], given[3:]
        count, negatives = pairs.shape[1], (2 * ends.shape[1] + 1) * pairs.shape[1]
        rule = [*torch.stack(learned).tolist(), 1 / count, weight / negatives, 1 / negatives]
        found = cpu.objective(values.detach(), kind, float(root), pairs, ends, counted, torch.tensor(rule, dtype=torch.float32))
        ctx.curved = isinstance(root, Tensor)
        ctx.save_for_backward(found[0], found[1].to(values.dtype))
        return found[1][0].to(values.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        to_values, sums = ctx.saved_tensors
        to_root = grads[0] * sums[4] if ctx.curved else None
        return grads[0] * to_values, *(grads[0] * each for each in sums[1:4]), to_root, *[None] * 5


def among(begin: Tensor, seconds: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Tell which second nodes are among those of the first, bool, shape ``(K, E)``.

    Args:
        begin: Where the seconds of each node begin, int64, shape ``(N + 1,)``.
        seconds: Those of all nodes, sorted for each, shape ``(C,)``.
        first: Shape ``(E,)``.
        second: Shape ``(K, E)``.
    """
    if begin.device.type == "cpu" and forced() in (None, "native") and cpu.obstacle() is None:
        return cpu.among(begin, seconds, first.contiguous(), second.contiguous())
    if len(seconds) == 0:
        return torch.zeros_like(second, dtype=torch.bool)
    nodes = len(begin) - 1
    firsts = torch.arange(nodes, device=begin.device).repeat_interleave(begin.diff(), output_size=len(seconds))
    keys = firsts * nodes + seconds
    order = first.argsort()  # so that searches next to each other read what is next to each other
    wanted = (first * nodes + second)[:, order]
    found = keys[torch.searchsorted(keys[:-1], wanted)] == wanted  # the last one, if all are smaller
    out = torch.empty_like(found)
    out[:, order] = found
    return out
