"""Powers of two."""

import pytest
import torch

from qgcn.numerics import nearest_power_of_two
from tolerance import DTYPES


@pytest.mark.parametrize("dtype", DTYPES)
def test_nearest_power_of_two_is_nearest_by_ratio_and_keeps_the_sign(dtype):
    x = torch.tensor([1.0, 1.4, 1.5, -3.0, 0.3, 2.0**-20, 1000.0], dtype=dtype)
    expected = [1.0, 1.0, 2.0, -4.0, 0.25, 2.0**-20, 1024.0]  # the root of 2 stands between 1 and 2
    assert nearest_power_of_two(x).tolist() == expected
    assert torch.func.vmap(nearest_power_of_two)(x).tolist() == expected


def test_nearest_power_of_two_has_no_gradient():
    x = torch.tensor([3.0], requires_grad=True)
    (gradient,) = torch.autograd.grad((x * nearest_power_of_two(x.detach())).sum(), x)
    assert gradient.item() == 4
