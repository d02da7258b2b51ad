"""Series at the joint."""

import math

import torch

from qgcn.numerics import limits
from qgcn.numerics.series import ARC_SERIES_RADIUS, COSH_SERIES_RADIUS, horner
from tolerance import DTYPES


def test_horner_is_the_polynomial():
    x = torch.tensor([0.0, 1.0, -2.0], dtype=torch.float64)
    assert horner(x, [3.0, -1.0, 0.5]).tolist() == [3.0, 2.5, 7.0]


def test_terms_left_out_are_below_rounding_within_the_radii():
    for dtype in DTYPES:
        terms, eps = limits(dtype).series, torch.finfo(dtype).eps
        assert COSH_SERIES_RADIUS**terms / math.factorial(2 * terms) < eps
        assert 2 * ARC_SERIES_RADIUS ** (terms - 1) / (terms**2 * math.comb(2 * terms, terms)) < eps
