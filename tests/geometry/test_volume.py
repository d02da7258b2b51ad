import math

import pytest
import torch

from cases import generator
from qgcn import geometry


def jacobian_volume(function, u, x_form):
    """Return the volume that a map spans, measured by the inner product of the space it leads to."""
    jacobian = torch.autograd.functional.jacobian(function, u)
    gram = jacobian.T @ x_form @ jacobian
    return 0.5 * torch.linalg.slogdet(gram).logabsdet


@pytest.mark.parametrize("beta", [-0.4, -1.0, -3.0])
@pytest.mark.parametrize(("s", "t"), [(3, 1), (1, 2), (3, 2), (2, 4), (0, 4), (0, 2)])
def test_log_volume0_is_the_determinant_of_the_diffeomorphic_exponential(s, t, beta):
    d = s + t
    form = torch.diag(torch.tensor([-1.0] * t + [1.0] * s, dtype=torch.float64))
    for seed in range(5):
        u = torch.randn(d - 1, dtype=torch.float64, generator=generator(seed))
        padded = torch.nn.functional.pad(u, (1, 0))

        def mapped(u):
            return geometry.expmap0(torch.nn.functional.pad(u, (1, 0)), beta=beta, time_dim=t)

        expected = jacobian_volume(mapped, u, form)
        torch.testing.assert_close(geometry.log_volume0(padded, beta=beta, time_dim=t), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("s", "t"), [(3, 1), (2, 2), (0, 4)])
def test_log_volume_is_the_determinant_of_the_exponential_of_every_causal_type(s, t):
    d = s + t
    form = torch.diag(torch.tensor([-1.0] * t + [1.0] * s, dtype=torch.float64))
    pole = geometry.pole(d, beta=-1.0, like=form[0])
    for seed in range(5):
        u = torch.randn(d - 1, dtype=torch.float64, generator=generator(seed))

        def mapped(u):
            return geometry.expmap(pole, torch.nn.functional.pad(u, (1, 0)), beta=-1.0, time_dim=t)

        z = geometry.inner(*[torch.nn.functional.pad(u, (1, 0))] * 2, time_dim=t)
        expected = jacobian_volume(mapped, u, form)
        torch.testing.assert_close(geometry.log_volume(z, d - 1), expected, rtol=1e-9, atol=1e-9)


def test_log_volume_is_zero_at_zero_and_finite_far_out():
    z = torch.tensor([0.0, 1e6], dtype=torch.float32)
    found = geometry.log_volume(z, 3)
    assert found[0] == 0
    torch.testing.assert_close(found[1].item(), 2 * (1000 - math.log(2000)), rtol=1e-5, atol=0)


@pytest.mark.parametrize(("s", "t"), [(2, 1), (2, 2), (1, 4)])
def test_preimages0_lead_to_one_point(s, t):
    u = torch.randn(6, s + t, dtype=torch.float64, generator=generator(0))
    u[0, 1:t] = 0
    form = {"beta": -0.7, "time_dim": t}
    images = geometry.expmap0(geometry.preimages0(u, **form), **form)
    assert len(images) == (1 if t == 1 else 17)
    torch.testing.assert_close(images, geometry.expmap0(u, **form).expand_as(images), rtol=1e-9, atol=1e-9)
