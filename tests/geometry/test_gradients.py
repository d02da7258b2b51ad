"""Gradients: right where they exist, finite everywhere."""

import math

import pytest
import torch

from cases import SIGNATURES, awkward_pairs, generator, points_at_radius, tangent
from qgcn import geometry
from tolerance import DTYPES


def curves(d, rows=8):
    """Return points as functions of free coordinates and beta: the only way to move them that stays on the manifold."""
    u, w = (0.4 * torch.randn(rows, d, dtype=torch.float64, generator=generator(seed)) for seed in (3, 4))
    w = 3 * w  # further out than the other: the two are scaled before they are subtracted
    beta = torch.tensor(-0.7, dtype=torch.float64)
    return tuple(tensor.requires_grad_() for tensor in (u, w, beta))


def at(u, w, beta, t):
    return (geometry.expmap0(each, beta=beta, time_dim=t) for each in (u, w))


FUNCTIONS = {
    "dist": lambda x, y, v, form: geometry.dist(x, y, **form),
    "sqdist": lambda x, y, v, form: geometry.sqdist(x, y, **form),
    "signed_sqdist": lambda x, y, v, form: geometry.signed_sqdist(x, y, **form).nan_to_num(),
    "logmap": lambda x, y, v, form: geometry.logmap(x, y, **form).nan_to_num(),
    "expmap": lambda x, y, v, form: geometry.expmap(x, v, **form),
    "transport": lambda x, y, v, form: geometry.transport(x, y, v, **form),
    "translate": lambda x, y, v, form: geometry.translate(x, torch.nn.functional.pad(v[0, 1:], (1, 0)), **form),
    "logmap0": lambda x, y, v, form: geometry.logmap0(y, **form),
    "expmap0": lambda x, y, v, form: x,
    "project": lambda x, y, v, form: geometry.project(x + v, **form),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("s", "t"), [(2, 1), (3, 2), (1, 4), (0, 3)])
def test_gradients_in_points_and_in_beta_pass_gradcheck(s, t, name):
    u, w, beta = curves(s + t)

    def function(u, w, beta):
        form = {"beta": beta, "time_dim": t}
        x, y = at(u, w, beta, t)
        v = geometry.project_tangent(x, 0.3 * u.roll(1, -1), **form)
        return FUNCTIONS[name](x, y, v, form)

    assert torch.autograd.gradcheck(function, (u, w, beta), check_undefined_grad=False)
    assert torch.autograd.gradgradcheck(function, (u, w, beta), check_undefined_grad=False, atol=1e-4)


def test_pairwise_dist_passes_gradcheck_through_the_points():
    u, w, beta = curves(5)

    def function(u, w, beta):
        x, y = at(u, w, beta, 2)
        return geometry.pairwise_dist(x, y, beta=beta, time_dim=2)

    assert torch.autograd.gradcheck(function, (u, w, beta))


@pytest.mark.parametrize(("s", "t"), [(2, 1), (3, 2), (0, 3)])
def test_gradients_agree_with_func_transforms(s, t):
    form = {"beta": -0.7, "time_dim": t}
    x, y = (points_at_radius(4, s, t, -0.7, 0.8, torch.float64, seed) for seed in (0, 1))
    leaf = x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(geometry.dist(leaf, y, **form).sum(), leaf)
    gradient = torch.func.vmap(torch.func.grad(lambda a, b: geometry.dist(a, b, **form)))(x, y)
    torch.testing.assert_close(gradient, expected)
    jacobian = torch.func.vmap(torch.func.jacrev(lambda a, b: geometry.logmap(a, b, **form)))(x, y)
    for row, point, other in zip(jacobian, x, y, strict=True):
        expected = torch.autograd.functional.jacobian(lambda a, b=other: geometry.logmap(a, b, **form), point)
        torch.testing.assert_close(row, expected, equal_nan=not geometry.is_connected(point, other, **form))


def test_gradient_does_not_vanish_between_orthogonal_points():
    """At c = 0 the two chords are equally long, and rounding must not cut the gradient off."""
    x = torch.linalg.qr(torch.randn(500, 5, 2, dtype=torch.float64, generator=generator(0))).Q.mT.contiguous()
    for dtype in DTYPES:
        a, b = (x[:, i].to(dtype).requires_grad_() for i in (0, 1))
        (gradient,) = torch.autograd.grad(geometry.dist(a, b, beta=-1.0, time_dim=5).sum(), a)
        tangential = geometry.project_tangent(a, gradient, beta=-1.0, time_dim=5)
        torch.testing.assert_close(tangential.norm(dim=-1), torch.ones(500, dtype=dtype), rtol=1e-4, atol=0)


@pytest.mark.parametrize(("s", "t", "sign"), [(3, 1, 1), (0, 4, 1)])
def test_sqdist_has_the_right_second_derivative_at_coincidence(s, t, sign):
    o = geometry.pole(s + t, beta=-1.0, like=torch.empty(0, dtype=torch.float64))

    def function(v):
        u = torch.nn.functional.pad(v, (1, 0))
        return geometry.sqdist(geometry.expmap(o, u, beta=-1.0, time_dim=t), o, beta=-1.0, time_dim=t)

    hessian = torch.func.jacrev(torch.func.jacrev(function))(torch.zeros(s + t - 1, dtype=torch.float64))
    torch.testing.assert_close(hessian, sign * 2 * torch.eye(s + t - 1, dtype=torch.float64))


@pytest.mark.parametrize("start", [[2.0, 0.0, 0.0, 0.0], [-2.0, 0.0, 0.0, 0.0]])
def test_logmap0_has_finite_second_derivatives_at_the_pole_and_the_antipode(start):
    x = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    value = geometry.logmap0(x, beta=-4.0, time_dim=3).square().sum()
    (first,) = torch.autograd.grad(value, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert torch.isfinite(first).all()
    assert torch.isfinite(second).all()


def check_finite(name, function, inputs, beta, may_be_nan=None):
    inputs = [each.detach().clone().requires_grad_() for each in inputs]
    beta = torch.tensor(beta, dtype=torch.float64, requires_grad=True)
    result = function(*inputs, beta)
    allowed = torch.zeros_like(result, dtype=torch.bool)
    if may_be_nan is not None:
        allowed |= may_be_nan.reshape(may_be_nan.shape + (1,) * (result.ndim - may_be_nan.ndim))
        assert (result.isnan() == allowed).all(), name
    assert (result.isfinite() | allowed).all(), name
    weights = torch.randn(result.shape, dtype=result.dtype, generator=generator(9))
    gradients = torch.autograd.grad((torch.where(allowed, 0, result) * weights).sum(), [*inputs, beta], allow_unused=True)
    for index, gradient in enumerate(gradients):
        assert gradient is None or gradient.isfinite().all(), (name, index)
    return result.shape[0]


@pytest.mark.parametrize("name", ["logmap", "signed_sqdist", "geodesic_dist"])
def test_gradients_are_zero_where_no_geodesic_joins_the_points(name):
    x, y = awkward_pairs(500, 3, 3, -0.7, torch.float64)
    form = {"beta": -0.7, "time_dim": 3}
    leaves = [each.clone().requires_grad_() for each in (x, y)]
    result = getattr(geometry, name)(*leaves, **form)
    broken = ~geometry.is_connected(x, y, **form)
    assert broken.sum() > 50
    for gradient in torch.autograd.grad(result, leaves, torch.ones_like(result)):
        assert (gradient[broken] == 0).all()
        assert gradient.isfinite().all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_value_and_no_gradient_is_nan_or_infinite_over_a_million_inputs(dtype):
    """Random and adversarial: coincident, null, antipodal, nearly so, at the pole, far out; ten signatures, three betas."""
    rows = 0
    betas = (-0.05, -1.0, -20.0)
    each = math.ceil(1_000_000 / (11 * len(SIGNATURES) * len(betas)))
    for s, t in SIGNATURES:
        for beta in betas:
            x, y = awkward_pairs(each, s, t, beta, dtype, seed=s + 31 * t)
            root = (-beta) ** 0.5
            u = tangent(x, beta, t)
            u = root * u / (1 + u.norm(dim=-1, keepdim=True))
            bias = 0.3 * root * torch.randn(s + t, dtype=dtype, generator=generator(1))
            bias[0] = 0
            broken = ~geometry.is_connected(x, y, beta=beta, time_dim=t)

            def run(name, *inputs, nan=None, t=t, beta=beta):
                def function(*arguments):
                    *tensors, size = arguments
                    return getattr(geometry, name)(*tensors, beta=size, time_dim=t)

                return check_finite((name, t, beta), function, inputs, beta, nan)

            rows += run("dist", x, y) + run("sqdist", x, y)
            rows += run("logmap", x, y, nan=broken) + run("signed_sqdist", x, y, nan=broken)
            rows += run("geodesic_dist", x, y, nan=broken)
            rows += run("expmap", x, u) + run("transport", x, y, u) + run("translate", x, bias.expand(1, -1))
            rows += run("expmap0", u) + run("logmap0", x) + run("project", u)
    assert rows >= 1_000_000
