"""The limits of each floating-point type."""

import pytest
import torch

from qgcn import numerics


def test_limits_refuse_types_the_geometry_is_not_defined_for():
    with pytest.raises(TypeError, match=r"expected a float32 or float64 tensor, got torch\.float16"):
        numerics.limits(torch.float16)


@pytest.mark.parametrize("dtype", numerics.FLOAT_TYPES)
def test_limits_are_those_their_docstrings_state(dtype):
    info, found = torch.finfo(dtype), numerics.limits(dtype)
    assert found.antipode == info.eps**1.5
    assert found.norm**2 == pytest.approx(info.tiny, rel=1e-15)
    assert (torch.tensor(found.norm, dtype=dtype) ** -2).isfinite()  # the gradient of x / |x|, squared
    assert found.null == 64 * info.eps
    assert found.cancelled == 8 * info.eps
