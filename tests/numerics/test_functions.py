"""Functions with a gradient of their own, under autograd, vmap and torch.func."""

import torch

from qgcn import numerics
from qgcn.numerics.functions import apply, transformed, under_transform


class Doubled(torch.autograd.Function):
    """Twice its argument, with a gradient that could not be autograd's own."""

    generate_vmap_rule = True
    recorded = 0

    @staticmethod
    def forward(x):
        return 2 * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        Doubled.recorded += 1

    @staticmethod
    def backward(ctx, grad):
        return 7 * grad


def test_apply_takes_the_gradient_of_the_function_and_records_nothing_if_none_is_asked_for():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    result = apply(Doubled, x)
    assert torch.equal(torch.autograd.grad(result.sum(), x)[0], torch.full((2,), 7.0))
    before = Doubled.recorded
    assert torch.equal(apply(Doubled, x.detach()), result)
    with torch.no_grad():
        assert torch.equal(apply(Doubled, x), result)
    assert Doubled.recorded == before > 0


def test_apply_takes_the_gradient_of_the_function_under_transforms():
    x = torch.arange(3.0)
    assert torch.equal(torch.func.vmap(torch.func.grad(lambda value: apply(Doubled, value)))(x), torch.full((3,), 7.0))


def test_a_transform_is_seen_inside_it_alone():
    seen = []
    torch.func.vmap(lambda value: seen.append((under_transform(), transformed())) or value)(torch.zeros(2))
    assert seen == [(True, True)]
    assert not under_transform()
    assert not transformed()


def test_functions_work_under_vmap_and_func_grad():
    z = torch.linspace(-2, 2, 9, dtype=torch.float64)
    slope = torch.func.vmap(torch.func.grad(numerics.cosh_root))(z)
    torch.testing.assert_close(slope, numerics.sinhc_root(z) / 2)


def test_recorded_tells_whether_a_derivative_may_be_asked_for():
    plain, leaf = torch.zeros(2), torch.zeros(2, requires_grad=True)
    assert not numerics.recorded(plain, 1.0)
    assert numerics.recorded(plain, leaf)
    with torch.no_grad():
        assert not numerics.recorded(plain, leaf)
    seen = []
    torch.func.vmap(lambda value: seen.append(numerics.recorded(value)) or value)(plain)
    assert seen == [True]
