"""The compiled translation against the formula; without a compiler there is nothing to test."""

import math

import pytest
import torch

from cases import generator
from qgcn.geometry.tangent import bias_step, moved_by
from qgcn.kernels.translation import cpu

pytestmark = pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")


SIGNATURES = [(15, 1), (4, 1), (0, 1), (14, 2), (3, 2), (1, 15), (0, 16), (0, 2), (17, 3), (54, 10)]


def translations(s, t, scale, batch=3, count=150):
    """Return points, what is known of the bias, and a gradient, in float32 and in float64."""
    source = generator(0)
    d = s + t
    u = scale * torch.randn(batch, count, d, generator=source)
    b = 0.4 * torch.randn(batch, 1, d, generator=source)
    beta = -0.5 - torch.rand(batch, 1, 1, generator=source)
    grad = torch.randn(batch, count, d, generator=source)
    # at the cone of the antipode rounding decides the side
    size, time, space = -beta, u[..., 1:t].norm(dim=-1, keepdim=True), u[..., t:].square().sum(-1, keepdim=True)
    room = 1 + (1 + space / size).sqrt() * torch.cos(time / size.sqrt())
    u = torch.where(room.abs() > 1e-3, u, torch.zeros(()))
    wide = [each.double() for each in (u, b, beta)]
    return u, [each.float() for each in bias_step(*wide, t)], grad


@pytest.mark.parametrize("scale", [0.01, 0.5, 2.0])
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_translate_equals_the_formula_value_and_gradient(s, t, scale):
    u, known, grad = translations(s, t, scale)
    step, ahead, size = known
    flat = step.squeeze(1).contiguous(), ahead.flatten(), size.flatten()
    leaves = [each.double().requires_grad_() for each in (u, *known)]
    moved = moved_by(*leaves, time_dim=t)
    expected = torch.autograd.grad(moved, leaves, grad.double())
    torch.testing.assert_close(cpu.translate(u, *flat, t).double(), moved, rtol=1e-3, atol=1e-4)
    found = cpu.translate_gradient(u, grad, *flat, t)
    for here, there in zip(found, expected, strict=True):
        there = there.reshape(here.shape)
        assert (here - there).norm() <= 2e-4 * there.norm() + 1e-6


def test_translate_at_the_pole_behind_it_and_far_out():
    root = 1.5
    u = torch.zeros(1, 4, 6)
    u[0, 1, 1] = root * math.pi  # the antipode, or next to it on one side or the other, as rounding has it
    u[0, 2, 4] = 1e4
    u[0, 3, 2] = 2e4 * root * math.pi + 0.3  # many turns
    step, ahead, size = torch.zeros(1, 6), torch.ones(1), torch.tensor([root**2])
    moved = cpu.translate(u, step, ahead, size, 3)[0]
    torch.testing.assert_close(moved[[0, 2]], u[0, [0, 2]], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(moved[1].abs(), u[0, 1], rtol=1e-5, atol=1e-5)
    assert moved[3].norm() <= root * math.pi * 1.0001
    for each in cpu.translate_gradient(u, torch.ones_like(u), step, ahead, size, 3):
        assert each.isfinite().all()


def test_translate_to_the_antipode_has_the_fixed_direction_and_no_gradient_by_the_points():
    u, step, one = torch.zeros(1, 1, 4), torch.zeros(1, 4), torch.ones(1)
    grad = torch.ones(1, 1, 4)
    moved = cpu.translate(u, step, -one, 4 * one, 4)  # from the pole, ahead by minus one: exactly the antipode
    assert torch.equal(moved, torch.tensor([[[0.0, 2 * math.pi, 0.0, 0.0]]]))
    to_u, to_step, to_ahead, to_size = cpu.translate_gradient(u, grad, step, -one, 4 * one, 4)
    assert not any(each.any() for each in (to_u, to_step, to_ahead))
    torch.testing.assert_close(to_size, torch.tensor([math.pi / 4]))  # of 2 pi, which is pi times the root of the size


@pytest.mark.parametrize("t", [1, 3])
def test_translate_reads_no_first_coordinate_and_passes_on_what_is_no_number(t):
    u, (step, ahead, size), grad = translations(3, t, 0.5, batch=1, count=20)
    flat = step.squeeze(1).contiguous(), ahead.flatten(), size.flatten()
    other, other_grad = u.clone(), grad.clone()
    other[..., 0] = other_grad[..., 0] = torch.nan
    assert torch.equal(cpu.translate(other, *flat, t), cpu.translate(u, *flat, t))
    for here, there in zip(
        cpu.translate_gradient(other, other_grad, *flat, t), cpu.translate_gradient(u, grad, *flat, t), strict=True
    ):
        assert torch.equal(here, there)
    u[0, 5, -1] = torch.nan
    moved = cpu.translate(u, *flat, t)
    assert moved[0, 5, -1].isnan()
    assert moved[0, torch.arange(20) != 5].isfinite().all()


def test_the_number_of_threads_changes_nothing():
    u, (step, ahead, size), grad = translations(2, 3, 0.5, count=3000)
    flat = step.squeeze(1).contiguous(), ahead.flatten(), size.flatten()
    several = cpu.translate_gradient(u, grad, *flat, 3)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        one = cpu.translate_gradient(u, grad, *flat, 3)
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(here, there) for here, there in zip(several, one, strict=True))
