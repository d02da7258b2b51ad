"""The compiled exponential against the formula; without a compiler there is nothing to test."""

import math

import pytest
import torch

from cases import generator
from qgcn import geometry
from qgcn.kernels.exponential import cpu

pytestmark = pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")

SIGNATURES = [(15, 1), (4, 1), (0, 1), (14, 2), (3, 2), (1, 15), (0, 16), (0, 2), (17, 3), (54, 10)]


@pytest.mark.parametrize("scale", [1e-3, 0.5, 2.0])
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_exponential_equals_the_formula_value_and_gradient(s, t, scale):
    u = scale * torch.randn(150, s + t, generator=generator(0))
    grad = torch.randn(150, s + t, generator=generator(1))
    size = torch.tensor(0.7)
    leaves = [each.double().requires_grad_() for each in (u, size)]
    x = geometry.expmap0(leaves[0], beta=-leaves[1], time_dim=t)
    assert ((cpu.exponential(u, size, t) - x).abs() <= 2e-6 * (1 + u.norm(dim=-1, keepdim=True)) * x.abs().amax(-1, True)).all()
    expected = torch.autograd.grad(x, leaves, grad.double())
    for here, there in zip(cpu.exponential_gradient(u, grad, size, t), expected, strict=True):
        assert (here - there).norm() <= 1e-5 * (there.norm() + 1e-3)


@pytest.mark.parametrize("count", [1, 15, 16, 17, 129, 5000])
@pytest.mark.parametrize("dim", [2, 7, 16, 17, 64])
def test_exponential_takes_any_number_of_vectors_and_coordinates(dim, count):
    u, size = torch.randn(count, dim, generator=generator(0)), torch.ones(())
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        x = cpu.exponential(u, size, 2)
        to_u, to_size = cpu.exponential_gradient(u, x, size, 2)
    finally:
        torch.set_num_threads(threads)
    torch.testing.assert_close(x, geometry.expmap0(u, beta=-1.0, time_dim=2), rtol=1e-5, atol=1e-5)
    assert (to_u.shape, to_size.shape) == (u.shape, size.shape)
    assert (to_u[:, 0] == 0).all()


def test_exponential_at_the_pole_the_antipode_and_after_many_turns():
    u = torch.zeros(4, 6)
    u[1, 1] = 1.5 * math.pi
    u[2, 4] = 1e4
    u[3, 2] = 2e4
    x = cpu.exponential(u, torch.tensor(1.5**2), 3)
    torch.testing.assert_close(x, geometry.expmap0(u, beta=-(1.5**2), time_dim=3), rtol=1e-5, atol=1e-5)
    assert x[0].tolist() == [1.5, 0, 0, 0, 0, 0]
    to_u, to_size = cpu.exponential_gradient(u, torch.ones(4, 6), torch.tensor(1.5**2), 3)
    assert to_u.isfinite().all()
    assert to_size.isfinite()
