import pytest
import torch

from cases import BETAS, SIGNATURES, generator
from qgcn import geometry
from tolerance import DTYPES, ROUNDING


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_sample_lies_on_the_manifold_and_scales_with_beta(s, t, beta, dtype):
    x = geometry.sample((3, 40, s + t), beta=beta, time_dim=t, dtype=dtype, generator=generator(0))
    assert x.shape == (3, 40, s + t)
    assert x.dtype == dtype
    assert ((geometry.inner(x, x, time_dim=t) - beta).abs() <= 20 * ROUNDING[dtype] * x.square().sum(-1)).all()
    unit = geometry.sample((3, 40, s + t), beta=-1.0, time_dim=t, dtype=dtype, generator=generator(0))
    torch.testing.assert_close(x, unit * (-beta) ** 0.5, rtol=1e-5, atol=1e-5)


def test_sample_is_reproducible_and_reaches_disconnected_points():
    x, again = (geometry.sample((500, 6), beta=-1.0, time_dim=3, generator=generator(7)) for _ in range(2))
    assert (x == again).all()
    connected = geometry.is_connected(x[:250], x[250:], beta=-1.0, time_dim=3)
    assert connected.any()
    assert not connected.all()


def test_sample_refuses_a_spread_that_is_not_positive():
    with pytest.raises(ValueError, match="std must be positive, got 0"):
        geometry.sample((2, 3), beta=-1.0, time_dim=1, std=0)
