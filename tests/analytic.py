"""The analytic families in mpmath, derivatives included."""

import mpmath as mp
import torch

from oracle import relative_error
from tolerance import ROUNDING

# both sides of the joint, the switch between series and closed form, and far away
SAMPLES = [0.0, 1e-30, 1e-12, 1e-6, 1e-3, 0.1, 0.3, 0.499, 0.501, 0.8, 1.3, 1.99, 3.99, 4.01, 5.0, 30.0, 900.0]


def exact_cosh_root(z):
    return mp.cosh(mp.sqrt(mp.mpc(z)))


def exact_arc_squared(q):
    return 4 * mp.asinh(mp.sqrt(mp.mpc(q)) / 2) ** 2


def exact_derivative(function, at, order):
    if order == 0:
        return mp.re(function(mp.mpf(at)))
    coefficients = mp.taylor(function, mp.mpf(at), order, method="quad", radius=mp.mpf("0.02"))
    return mp.re(coefficients[order]) * mp.factorial(order)


def families_agree(family, exact, largest_negative, order, dtype):
    """Assert that a family's derivative of an order equals that of the exact function, on both sides of 0."""
    samples = SAMPLES + [-value for value in SAMPLES if 0 < value <= largest_negative]
    points = torch.tensor(samples, dtype=dtype)
    for point, result in zip(points.tolist(), family.apply(points, order).tolist(), strict=True):
        # each order of the recurrence next to the joint costs about a decimal digit
        limit = ROUNDING[dtype] * (1 if order < 3 else 10 ** (order - 2))
        assert relative_error(result, exact_derivative(exact, point, order)) < limit, point
