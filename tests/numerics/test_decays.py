"""What an exponential loses, against mpmath, and at zero."""

import mpmath
import pytest
import torch

from qgcn import numerics
from tolerance import DTYPES, ROUNDING


@pytest.mark.parametrize("dtype", DTYPES)
def test_decay_share_is_exact_for_numbers_of_any_size(dtype):
    x = torch.tensor([0.0, 1e-30, 1e-6, 0.5, 3.0, 50.0, 1e4], dtype=dtype)
    truth = [1.0, *(float(-mpmath.expm1(-mpmath.mpf(float(each))) / float(each)) for each in x[1:])]
    torch.testing.assert_close(numerics.decay_share(x), torch.tensor(truth, dtype=dtype), rtol=ROUNDING[dtype], atol=0)


def test_decay_share_has_a_gradient_that_is_zero_at_zero():
    x = torch.tensor([0.0, 0.5, 3.0, 1e4], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(numerics.decay_share(x).sum(), x)
    assert slope[0] == 0
    inner = x.detach()[1:]
    torch.testing.assert_close(slope[1:], (torch.exp(-inner) * (1 + inner) - 1) / inner**2)
