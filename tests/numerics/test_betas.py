"""The value of beta."""

import pytest
import torch

from qgcn import numerics
from tolerance import DTYPES


@pytest.mark.parametrize("beta", [-1e-5, -0.05, -1.0, -20.0, -1e5])
def test_bounded_negative_inverts_free_parameter(beta):
    free = torch.tensor(numerics.free_parameter(beta), dtype=torch.float64)
    torch.testing.assert_close(numerics.bounded_negative(free).item(), beta, rtol=1e-12, atol=0)


@pytest.mark.parametrize("free", [-1e30, -50.0, 0.0, 50.0, 1e30])
def test_bounded_negative_is_negative_and_bounded_wherever_an_optimiser_goes(free):
    for dtype in DTYPES:
        beta = numerics.bounded_negative(torch.tensor(free, dtype=dtype)).item()
        assert -1.001e6 <= beta <= -0.999e-6


def test_free_parameter_refuses_what_a_learnable_beta_cannot_be():
    with pytest.raises(ValueError, match=r"must lie in \(-1e\+06, -1e-06\), got -1e\+07"):
        numerics.free_parameter(-1e7)


def test_positive_or_nan_marks_a_wrong_sign():
    result = numerics.positive_or_nan(torch.tensor([1.0, 0.0, -1.0]))
    assert result[0] == 1
    assert result[1:].isnan().all()


@pytest.mark.parametrize("beta", [-1.1e6, -1e7, -0.9e-6, -1e-7])
def test_free_parameter_refuses_what_lies_outside_on_either_side(beta):
    with pytest.raises(ValueError, match="a learnable beta must lie in"):
        numerics.free_parameter(beta)
