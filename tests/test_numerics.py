import math

import mpmath as mp
import pytest
import torch

from oracle import relative_error
from qgcn import numerics
from tolerance import DTYPES, ROUNDING

# both sides of the joint, the switch between series and closed form, and far away
SAMPLES = [0.0, 1e-30, 1e-12, 1e-6, 1e-3, 0.1, 0.3, 0.499, 0.501, 0.8, 1.3, 1.99, 3.99, 4.01, 5.0, 30.0, 900.0]


def both_sides(largest_negative):
    return SAMPLES + [-value for value in SAMPLES if 0 < value <= largest_negative]


def exact_cosh_root(z):
    return mp.cosh(mp.sqrt(mp.mpc(z)))


def exact_arc_squared(q):
    return 4 * mp.asinh(mp.sqrt(mp.mpc(q)) / 2) ** 2


def exact_derivative(function, at, order):
    if order == 0:
        return mp.re(function(mp.mpf(at)))
    coefficients = mp.taylor(function, mp.mpf(at), order, method="quad", radius=mp.mpf("0.02"))
    return mp.re(coefficients[order]) * mp.factorial(order)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("family", "exact", "largest_negative"),
    [(numerics._CoshRoot, exact_cosh_root, 9.0), (numerics._ArcSquared, exact_arc_squared, 2.0)],
)
def test_analytic_families_equal_their_derivatives_of_every_order(family, exact, largest_negative, order, dtype):
    points = torch.tensor(both_sides(largest_negative), dtype=dtype)
    results = family.apply(points, order).tolist()
    for point, result in zip(points.tolist(), results, strict=True):
        # each order of the recurrence next to the joint costs about a decimal digit
        limit = ROUNDING[dtype] * (1 if order < 3 else 10)
        assert relative_error(result, exact_derivative(exact, point, order)) < limit, point


@pytest.mark.parametrize("dtype", DTYPES)
def test_cosh_root_and_sinhc_root_lie_on_the_unit_hyperbola(dtype):
    z = torch.linspace(-9, 9, 1001, dtype=dtype)
    c, s = numerics.cosh_root(z), numerics.sinhc_root(z)
    scale = c.square() + z.abs() * s.square()
    assert ((c.square() - z * s.square() - 1).abs() <= 4 * ROUNDING[dtype] * scale).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_arc_squared_inverts_cosh_root(dtype):
    q = torch.linspace(-2, 50, 1001, dtype=dtype)
    torch.testing.assert_close(numerics.cosh_root(numerics.arc_squared(q)), 1 + q / 2, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arc_over_sine_inverts_sinhc_root(dtype):
    q = torch.linspace(-2, 50, 1001, dtype=dtype)
    product = numerics.sinhc_root(numerics.arc_squared(q)) * numerics.arc_over_sine(q)
    torch.testing.assert_close(product, torch.ones_like(q), rtol=0, atol=20 * ROUNDING[dtype])


def test_values_known_by_hand():
    z = torch.tensor([1.0, 0.0, -(math.pi**2), -(math.pi**2) / 4], dtype=torch.float64)
    torch.testing.assert_close(numerics.cosh_root(z), torch.tensor([math.cosh(1), 1, -1, 0], dtype=z.dtype), rtol=0, atol=1e-15)
    expected = torch.tensor([math.sinh(1), 1, 0, 2 / math.pi], dtype=z.dtype)
    torch.testing.assert_close(numerics.sinhc_root(z), expected, rtol=0, atol=1e-15)
    q = torch.tensor([0.0, -2.0, -1.0, 2 * math.cosh(1) - 2], dtype=z.dtype)
    expected = torch.tensor([0, -math.pi / 2, -math.pi / 3, 1], dtype=z.dtype)
    torch.testing.assert_close(numerics.arc(q), expected, rtol=1e-15, atol=0)


@pytest.mark.parametrize("function", [numerics.cosh_root, numerics.sinhc_root, numerics.arc_squared, numerics.arc_over_sine])
def test_first_and_second_derivatives_pass_gradcheck_through_the_joint(function):
    x = torch.tensor([-1.9, -0.6, -0.5, -1e-4, 0.0, 1e-4, 0.5, 0.6, 8.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function, x)
    assert torch.autograd.gradgradcheck(function, x)


@pytest.mark.parametrize("space_like", [False, True])
def test_arc_passes_gradcheck_on_each_side(space_like):
    values = [0.3, 5.0, 100.0] if space_like else [-1.9, -0.3, 0.3, 5.0, 100.0]
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda r: numerics.arc(r, space_like=space_like), x)
    assert torch.autograd.gradgradcheck(lambda r: numerics.arc(r, space_like=space_like), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arc_has_zero_gradient_at_zero_and_finite_gradient_beside_it(dtype):
    r = torch.tensor([0.0, 1e-37, -1e-37], dtype=dtype, requires_grad=True)
    (gradient,) = torch.autograd.grad(numerics.arc(r).sum(), r)
    assert gradient[0] == 0
    assert torch.isfinite(gradient).all()
    assert (gradient[1:] > 1e17).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_arc_space_like_equals_arc_where_no_chord_is_time_like(dtype):
    r = torch.logspace(-30, 20, 200, dtype=dtype)
    torch.testing.assert_close(numerics.arc(r, space_like=True), numerics.arc(r), rtol=0, atol=0)


def test_functions_work_under_vmap_and_func_grad():
    z = torch.linspace(-2, 2, 9, dtype=torch.float64)
    slope = torch.func.vmap(torch.func.grad(numerics.cosh_root))(z)
    torch.testing.assert_close(slope, numerics.sinhc_root(z) / 2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unit_or_axis_gives_the_first_axis_for_a_zero_vector_with_zero_gradient(dtype):
    x = torch.tensor([[0.0, 0.0], [3.0, 4.0], [1e-30 if dtype == torch.float32 else 1e-200, 0.0]], dtype=dtype)
    x.requires_grad_()
    unit = numerics.unit_or_axis(x)
    torch.testing.assert_close(unit[:2], torch.tensor([[1.0, 0.0], [0.6, 0.8]], dtype=dtype))
    (gradient,) = torch.autograd.grad(unit.sum(), x)
    assert torch.isfinite(gradient).all()
    assert (gradient[0] == 0).all()


@pytest.mark.parametrize("beta", [-1e-5, -0.05, -1.0, -20.0, -1e5])
def test_bounded_negative_inverts_free_parameter(beta):
    free = torch.tensor(numerics.free_parameter(beta), dtype=torch.float64)
    torch.testing.assert_close(numerics.bounded_negative(free).item(), beta, rtol=1e-12, atol=0)


@pytest.mark.parametrize("free", [-1e30, -50.0, 0.0, 50.0, 1e30])
def test_bounded_negative_is_negative_and_bounded_wherever_an_optimiser_goes(free):
    for dtype in DTYPES:
        beta = numerics.bounded_negative(torch.tensor(free, dtype=dtype)).item()
        assert -1.001e6 <= beta <= -0.999e-6


def test_free_parameter_refuses_what_a_learnable_beta_cannot_be():
    with pytest.raises(ValueError, match=r"must lie in \(-1e\+06, -1e-06\), got -1e\+07"):
        numerics.free_parameter(-1e7)


def test_limits_refuse_types_the_geometry_is_not_defined_for():
    with pytest.raises(TypeError, match=r"expected a float32 or float64 tensor, got torch\.float16"):
        numerics.limits(torch.float16)


def test_positive_or_nan_marks_a_wrong_sign():
    result = numerics.positive_or_nan(torch.tensor([1.0, 0.0, -1.0]))
    assert result[0] == 1
    assert result[1:].isnan().all()
