"""What is compiled for the layers of a network, against PyTorch; without a compiler there is nothing to test."""

import math

import pytest
import torch

from cases import generator
from qgcn.geometry.tangent import bias_step, moved_by
from qgcn.kernels import network, use_backend
from qgcn.nn import to_csr

pytestmark = pytest.mark.skipif(network.obstacle() is not None, reason="needs a C++ compiler")


def test_float32_on_the_cpu_is_taken_unless_something_else_is_asked_for():
    x = torch.ones(3)
    assert network.usable(x)
    assert not network.usable(x, x.double())
    assert not network.usable(x.to("meta"))
    with use_backend("eager"):
        assert not network.usable(x)
    with use_backend("native"):
        assert network.usable(x)


# --- products ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 3, 16, 20, 40])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("size", [(5, 7), (300, 90)])  # one thread's work, and more
def test_products_equal_dense_ones(size, batch, width):
    dense = torch.randn(size, generator=generator(0)) * (torch.rand(size, generator=generator(1)) < 0.3)
    matrix = to_csr(dense)
    structure = matrix.crow_indices(), matrix.col_indices()
    columns = torch.randn(batch, size[1], width, generator=generator(2))
    torch.testing.assert_close(network.products(*structure, matrix.values(), columns), dense @ columns, rtol=1e-4, atol=1e-5)

    own = torch.randn(batch, matrix.values().numel(), generator=generator(3))
    each = torch.zeros(batch, *size)
    each[:, dense != 0] = own
    torch.testing.assert_close(network.products(*structure, own, columns), each @ columns, rtol=1e-4, atol=1e-5)

    order = torch.randperm(own.shape[1], generator=generator(4)).int()
    shuffled = torch.empty_like(own)
    shuffled[:, order.long()] = own
    torch.testing.assert_close(
        network.products(*structure, shuffled, columns, order), network.products(*structure, own, columns)
    )


def test_products_with_rows_that_are_empty_are_zero():
    matrix = to_csr(torch.zeros(4, 3))
    found = network.products(matrix.crow_indices(), matrix.col_indices(), matrix.values(), torch.ones(2, 3, 16))
    assert torch.equal(found, torch.zeros(2, 4, 16))


# --- masks ---------------------------------------------------------------------------------------------------------------


def bits(key, count):
    words = torch.empty((count + 3) // 4, dtype=torch.int64)
    return words.random_(-(2**63), None, generator=torch.Generator().manual_seed(key)).view(torch.int16)[:count]


@pytest.mark.parametrize("count", [0, 1, 5, 1247, 1248, 1249, 100_000])
@pytest.mark.parametrize("most", [-(2**15), -7, 0, 2**15 - 1])
def test_masks_are_drawn_bit_for_bit_as_torch_draws(count, most):
    keys = [0, 3, 2**40 + 12345, 2**63 - 1]
    found = network.masks(keys, torch.empty(4, count), most, 2.5)
    expected = torch.stack([torch.where(bits(key, count) <= most, 2.5, 0.0) for key in keys])
    assert torch.equal(found, expected)


@pytest.mark.parametrize("width", [1, 5])
def test_masks_of_some_rows_are_those_rows_of_the_whole(width):
    rows = torch.tensor([900, 3, 3, 0, 41])
    whole = network.masks([7, 8], torch.empty(2, 1000, width), 0, 1.0)
    assert torch.equal(network.masks([7, 8], torch.empty(2, 5, width), 0, 1.0, rows, 1000), whole[:, rows])
    assert torch.equal(network.masks([7, 8], torch.empty(2, 5, width), 0, 1.0, rows.int(), 1000), whole[:, rows])


# --- the translation -------------------------------------------------------------------------------------------------------

SIGNATURES = [(15, 1), (4, 1), (0, 1), (14, 2), (3, 2), (1, 15), (0, 16), (0, 2), (17, 3), (54, 10)]


def translations(s, t, scale, batch=3, count=150):
    """Return points, what is known of the bias, and a gradient, in float32 and in float64."""
    source = generator(0)
    d = s + t
    u = scale * torch.randn(batch, count, d, generator=source)
    b = 0.4 * torch.randn(batch, 1, d, generator=source)
    beta = -0.5 - torch.rand(batch, 1, 1, generator=source)
    grad = torch.randn(batch, count, d, generator=source)
    # next to the cone of the antipode a translation is unbounded, and its rounding too
    size, time, space = -beta, u[..., 1:t].norm(dim=-1, keepdim=True), u[..., t:].square().sum(-1, keepdim=True)
    room = 1 + (1 + space / size).sqrt() * torch.cos(time / size.sqrt())
    u = torch.where(room.abs() > 0.1, u, torch.zeros(()))
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
    torch.testing.assert_close(network.translate(u, *flat, t).double(), moved, rtol=1e-3, atol=1e-4)
    found = network.translate_gradient(u, grad, *flat, t)
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
    moved = network.translate(u, step, ahead, size, 3)[0]
    torch.testing.assert_close(moved[[0, 2]], u[0, [0, 2]], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(moved[1].abs(), u[0, 1], rtol=1e-5, atol=1e-5)
    assert moved[3].norm() <= root * math.pi * 1.0001
    for each in network.translate_gradient(u, torch.ones_like(u), step, ahead, size, 3):
        assert each.isfinite().all()


def test_translate_to_the_antipode_has_the_fixed_direction_and_no_gradient_by_the_points():
    u, step, one = torch.zeros(1, 1, 4), torch.zeros(1, 4), torch.ones(1)
    grad = torch.ones(1, 1, 4)
    moved = network.translate(u, step, -one, 4 * one, 4)  # from the pole, ahead by minus one: exactly the antipode
    assert torch.equal(moved, torch.tensor([[[0.0, 2 * math.pi, 0.0, 0.0]]]))
    to_u, to_step, to_ahead, to_size = network.translate_gradient(u, grad, step, -one, 4 * one, 4)
    assert not any(each.any() for each in (to_u, to_step, to_ahead))
    torch.testing.assert_close(to_size, torch.tensor([math.pi / 4]))  # of 2 pi, which is pi times the root of the size


@pytest.mark.parametrize("t", [1, 3])
def test_translate_reads_no_first_coordinate_and_passes_on_what_is_no_number(t):
    u, (step, ahead, size), grad = translations(3, t, 0.5, batch=1, count=20)
    flat = step.squeeze(1).contiguous(), ahead.flatten(), size.flatten()
    other, other_grad = u.clone(), grad.clone()
    other[..., 0] = other_grad[..., 0] = torch.nan
    assert torch.equal(network.translate(other, *flat, t), network.translate(u, *flat, t))
    for here, there in zip(
        network.translate_gradient(other, other_grad, *flat, t), network.translate_gradient(u, grad, *flat, t), strict=True
    ):
        assert torch.equal(here, there)
    u[0, 5, -1] = torch.nan
    moved = network.translate(u, *flat, t)
    assert moved[0, 5, -1].isnan()
    assert moved[0, torch.arange(20) != 5].isfinite().all()


def test_the_number_of_threads_changes_nothing():
    u, (step, ahead, size), grad = translations(2, 3, 0.5, count=3000)
    flat = step.squeeze(1).contiguous(), ahead.flatten(), size.flatten()
    several = network.translate_gradient(u, grad, *flat, 3)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        one = network.translate_gradient(u, grad, *flat, 3)
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(here, there) for here, there in zip(several, one, strict=True))
