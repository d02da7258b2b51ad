"""The objective of entailment on the CPU, in C++."""

from ctypes import c_float, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from qgcn.kernels.compiled import Library, threads_for

__all__ = ["KINDS", "WIDTH", "among", "objective", "obstacle", "takes"]

KINDS: Final = {"straight": 0, "arc": 1, "ball": 2, "reach": 3, "order": 4, "cone": 5, "shadow": 6}  # as in the source
"""Formulas of margins, by what rows hold of a point:

``straight``
    time and place: light in flat spacetime.
``arc``
    time and a unit vector: light where space is a sphere, or half of one.
``ball``
    radius and a unit vector: balls on a sphere, measured by logarithms.
``reach``
    time, :math:`1 - |p|^2`, and the place :math:`p` in the Poincaré ball: light where space is hyperbolic.
``order``
    coordinates that are not negative.
``cone``
    half the aperture, the norm in the Poincaré ball and a unit vector: entailment cones.
``shadow``
    radius and place of a shadow.
"""
WIDTH: Final = 16
"""Numbers that a row may have."""
_SUMS: Final = 5  # as in the source
_LIBRARY: Final = Library(
    Path(__file__).with_name("cones.cpp"),
    "-fopenmp",
    objective=[
        *(c_void_p, c_int64, c_int32, c_int32, c_float, c_void_p, c_void_p, c_void_p, c_int64, c_int32, c_void_p, c_int32),
        *(c_void_p, c_void_p),
    ],
    among=[*[c_void_p] * 4, *[c_int64] * 2, c_void_p],
)
obstacle, takes = _LIBRARY.obstacle, _LIBRARY.takes


def objective(
    rows: Tensor, kind: str, root: float, pairs: Tensor, ends: Tensor, counted: Tensor, rule: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradient of the objective by rows, and the objective with other derivatives.

    Args:
        rows: What is known of points, float32, shape ``(N, k)``, at most :data:`WIDTH` numbers each.
        kind: One of :data:`KINDS`.
        root: Radius of curvature.
        pairs: Ancestors and descendants, int64, shape ``(2, E)``, contiguous, as the next two.
        ends: Other descendants and other ancestors, int64, shape ``(2, K, E)``.
        counted: Which of these count, bool, shape ``(2, K, E)``.
        rule: Sharpness, steepness and threshold; weights of a pair, of a negative, and of a negative where logits are fitted.

    Returns:
        Shapes ``(N, k)`` and ``(5,)``, the second in float64: the objective, and its derivatives by sharpness, steepness,
        threshold and radius.
    """
    nodes, width = rows.shape
    _check(nodes, pairs, ends)
    wide = torch.nn.functional.pad(rows, (0, WIDTH - width)).contiguous()
    (negatives, count), parts = ends.shape[1:], threads_for(2 * ends.numel())
    to_rows, sums = rows.new_zeros(parts, nodes, WIDTH), torch.zeros(parts, _SUMS, dtype=torch.float64)
    _LIBRARY.call(
        "objective",
        wide.data_ptr(),
        *(nodes, width, KINDS[kind], root),
        *(each.data_ptr() for each in (pairs, ends, counted)),
        *(count, negatives, rule.data_ptr(), parts),
        *(to_rows.data_ptr(), sums.data_ptr()),
    )
    return to_rows.sum(0)[:, :width] if parts > 1 else to_rows[0, :, :width], sums.sum(0)


def among(begin: Tensor, seconds: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Tell which second nodes are among those of the first, bool, shape ``(K, E)``.

    Args:
        begin: Where the seconds of each node begin, int64, shape ``(N + 1,)``, contiguous, as everything that is given.
        seconds: Those of all nodes, sorted for each, shape ``(C,)``.
        first: Shape ``(E,)``.
        second: Shape ``(K, E)``.
    """
    _check(len(begin) - 1, first)
    out = torch.empty(second.shape, dtype=torch.bool)
    given = (begin, seconds, first, second)
    _LIBRARY.call("among", *(each.data_ptr() for each in given), *second.shape[::-1], out.data_ptr())
    return out


def _check(nodes: int, *ends: Tensor) -> None:
    """Raise if an end is no node: compiled code has not asked before."""
    for each in ends:
        low, high = each.aminmax() if each.numel() else (torch.tensor(0), torch.tensor(0))
        if low < 0 or high >= nodes:
            raise ValueError(f"ends of pairs must lie in [0, {nodes}), got {int(low)} to {int(high)}")
