"""The analytic families in mpmath, derivatives included."""

import mpmath as mp
import torch

from oracle import relative_error
from tolerance import ROUNDING

# both sides of the joint, the switch between series and closed form, and far away
SAMPLES = [0.0, 1e-30, 1e-12, 1e-6, 1e-3, 0.1, 0.3, 0.499, 0.501, 0.8, 1.3, 1.99, 3.99, 4.01, 5.0, 30.0, 900.0]

RADIUS, POINTS = mp.mpf("0.02"), 20


def exact_cosh_root(z):
    return mp.cosh(mp.sqrt(mp.mpc(z)))


def exact_arc_squared(q):
    return 4 * mp.asinh(mp.sqrt(mp.mpc(q)) / 2) ** 2


def exact_derivative(function, at, order):
    """Differentiate by Cauchy's integral over a circle.

    Equally spaced points make an error of ``(RADIUS / R) ** POINTS``; ``R``, at least 2, is how far the function is analytic.
    """
    if order == 0:
        return mp.re(function(mp.mpf(at)))
    turns = [mp.expjpi(mp.mpf(2 * k) / POINTS) for k in range(POINTS)]
    total = sum(function(mp.mpf(at) + RADIUS * turn) / turn**order for turn in turns)
    return mp.re(total) * mp.factorial(order) / (POINTS * RADIUS**order)


def families_agree(family, exact, largest_negative, order, dtype):
    """Assert that a family's derivative of an order equals that of the exact function, on both sides of 0."""
    samples = SAMPLES + [-value for value in SAMPLES if 0 < value <= largest_negative]
    points = torch.tensor(samples, dtype=dtype)
    for point, result in zip(points.tolist(), family.apply(points, order).tolist(), strict=True):
        # each order of the recurrence next to the joint costs about a decimal digit
        limit = ROUNDING[dtype] * (1 if order < 3 else 10 ** (order - 2))
        assert relative_error(result, exact_derivative(exact, point, order)) < limit, point
