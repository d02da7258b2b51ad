"""Triton's separation: on a GPU where there is one, and under Triton's interpreter, in a process of its own."""

import math

import pytest
import torch

import oracle
from cases import awkward_pairs, generator, points_at_radius
from interpreter import DEVICE, INTERPRETED, interpret, runs
from qgcn import geometry
from qgcn.geometry import chord
from qgcn.kernels import use_backend
from qgcn.kernels.separation import _LEAST_PAIRS, _triton_takes
from qgcn.numerics import limits
from tolerance import DTYPES

triton = pytest.importorskip("triton")

from qgcn.kernels.separation import gpu  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:(divide by zero|invalid value|overflow) encountered:RuntimeWarning")

SIGNATURES = [(15, 1), (4, 1), (0, 1), (14, 2), (3, 2), (1, 15), (0, 16), (17, 3)]


def test_all_of_this_under_the_interpreter():
    interpret(__file__)


def plain(x, y, size, t):
    return chord._round(x, y, size) if t == x.shape[-1] else chord._separate(x, y, size, t)


def mixed_pairs(s, t, dtype):
    """Return pairs near and far apart, coincident ones and antipodes."""
    x, y = (torch.cat([points_at_radius(9, s, t, -0.7, radius, dtype, seed) for radius in radii])
            for seed, radii in ((1, (0.3, 1.0, 2.0, 0.5)), (2, (0.3, 2.0, 0.5, 6.0))))  # fmt: skip
    return torch.cat((x, x, x)).to(DEVICE), torch.cat((y, x, -x)).to(DEVICE), torch.tensor(0.7, dtype=dtype, device=DEVICE)


@runs
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_separate_equals_the_plain_function(s, t, dtype):
    x, y, size = mixed_pairs(s, t, dtype)
    value, residual, side, *rest = gpu.separate(x, y, size, t)
    expected = plain(x, y, size, t)
    eps = torch.finfo(dtype).eps
    assert torch.equal(side, expected[2])
    assert torch.equal(value == 0, expected[0] == 0)
    reach = (1 + x.norm(dim=-1, keepdim=True)) * (1 + y.norm(dim=-1, keepdim=True))
    assert ((value - expected[0]).abs() <= 64 * eps * (reach + value.abs())).all()
    scale = (x.norm(dim=-1) + rest[2].squeeze(-1) * y.norm(dim=-1)).unsqueeze(-1)
    assert ((residual - expected[1]).abs() <= 16 * eps * scale).all()
    for mine, theirs in zip(rest, expected[3:], strict=True):
        torch.testing.assert_close(mine, theirs, rtol=16 * eps, atol=16 * eps)
    only = gpu.separate(x, y, size, t, whole=False)
    assert torch.equal(only[0], value)
    assert torch.equal(only[2], side)
    assert all(only[k].numel() == 0 for k in (1, 3, 4, 5))


@runs
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), [(15, 1), (7, 3), (1, 2), (0, 4)])
def test_separations_are_exact_far_out_and_close_together(s, t, dtype):
    """Against 50 digits: the error is rounding, times how far out the points are."""
    B = oracle.mp.mpf(torch.tensor(0.7, dtype=dtype).item())
    for radius in (0.0, 2.0, 8.0) if s else (0.0,):
        x = points_at_radius(6, s, t, -0.7, radius, dtype)
        v = torch.randn(x.shape, dtype=dtype, generator=generator(3))
        v = geometry.project_tangent(x, v / v.norm(dim=-1, keepdim=True), beta=-0.7, time_dim=t)
        for apart in (1e-3, 1.0):
            y = geometry.project(x + apart * v, beta=-0.7, time_dim=t)
            size = torch.tensor(0.7, dtype=dtype, device=DEVICE)
            found = gpu.separate(x.to(DEVICE), y.to(DEVICE), size, t)
            value, residual, side, lever, drop, ratio = (each.cpu() for each in found)
            parts = ratio * (drop.square() + lever.square() * residual.square().sum(-1, keepdim=True) / 0.7)
            for k, (one, two) in enumerate(zip(oracle.vectors(x), oracle.vectors(y), strict=True)):
                gap = oracle.add(oracle.project(one, B, t), oracle.project(two, B, t), -int(side[k]))
                error = abs(oracle.mp.mpf(value[k].item()) - oracle.inner(gap, gap, t) / B)
                assert error <= 16 * torch.finfo(dtype).eps * math.cosh(radius) * parts[k].item(), (radius, apart)


@runs
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [0, 1, 7, 65])
@pytest.mark.parametrize("dim", [2, 7, 16, 17, 300])
def test_separate_takes_any_number_of_pairs_and_coordinates(dim, count, dtype):
    x, y = (points_at_radius(count, dim - 1, 1, -1.0, 1.0, dtype, seed).to(DEVICE) for seed in (1, 2))
    size = torch.ones((), dtype=dtype, device=DEVICE)
    found = gpu.separate(x, y, size, 1)
    assert found[1].shape == (count, dim)
    for mine, theirs in zip(found, plain(x, y, size, 1), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)
    to_x, to_y, to_size = gpu.gradient(size, found, found[0], found[1], 1, to_size=True)
    assert (to_x.shape, to_y.shape, to_size.shape) == (x.shape, x.shape, size.shape)


@runs
def test_separate_keeps_leading_axes_and_takes_what_is_not_contiguous():
    x = points_at_radius(12, 3, 2, -1.0, 1.0, torch.float64).reshape(3, 4, 5).to(DEVICE)
    size = torch.ones((1, 1), dtype=torch.float64, device=DEVICE)
    found = gpu.separate(x[:, None].expand(3, 3, 4, 5), x[None].expand(3, 3, 4, 5), size, 2)
    assert found[0].shape == (3, 3, 4, 1)
    torch.testing.assert_close(found[0][0, 1], gpu.separate(x[0], x[1], size, 2)[0])
    grad = torch.ones((), dtype=torch.float64, device=DEVICE).expand(3, 3, 4, 1)
    to_x, _, to_size = gpu.gradient(size, found, grad, None, 2, to_size=True)
    assert to_x.shape == (3, 3, 4, 5)
    assert to_size.shape == (1, 1)


@runs
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("by_value", "by_residual"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize(("s", "t"), [(15, 1), (3, 2), (0, 16)])
def test_the_gradient_is_that_of_the_plain_function(s, t, by_value, by_residual, dtype):
    x, y, size = mixed_pairs(s, t, dtype)
    weights = [torch.randn(shape, dtype=dtype, generator=generator(k)).to(DEVICE)
               for k, shape in enumerate(((*x.shape[:-1], 1), x.shape))]  # fmt: skip
    results = []
    for path in ("triton", "eager"):
        leaves = [each.clone().requires_grad_() for each in (x, y, size)]
        with use_backend(path):
            found, _ = chord.separation(*leaves, time_dim=t)
            total = sum((part * weight).sum() for part, weight, wanted in
                        zip((found.raw, found.residual), weights, (by_value, by_residual), strict=True) if wanted)  # fmt: skip
            results.append(torch.autograd.grad(total, leaves, allow_unused=True))
    eps = torch.finfo(dtype).eps
    assert (results[0][2] is None) == (not by_value)
    for mine, theirs in zip(*results, strict=True):
        if mine is not None:
            torch.testing.assert_close(mine, theirs, rtol=2e3 * eps, atol=2e3 * eps * max(1.0, theirs.abs().max().item()))


@runs
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), [(4, 1), (7, 3), (0, 4)])
def test_maps_are_the_same_with_and_without_it_and_their_gradients_finite(s, t, dtype):
    """At null, coincident and antipodal pairs, the pole and far out."""
    x, y = (each.to(DEVICE) for each in awkward_pairs(200, s, t, -0.7, dtype))
    tight = torch.finfo(dtype).eps ** 0.5
    results = []
    for path in ("triton", "eager"):
        beta = torch.tensor(-0.7, dtype=dtype, device=DEVICE, requires_grad=True)
        leaves = [each.clone().requires_grad_() for each in (x, y)]
        with use_backend(path):
            value = geometry.sqdist(*leaves, beta=beta, time_dim=t)
            gradients = torch.autograd.grad(value.sum(), (*leaves, beta))
            distance = geometry.dist(*leaves, beta=beta, time_dim=t)
            gradients += torch.autograd.grad(distance.sum(), (*leaves, beta))
        assert all(each.isfinite().all() for each in gradients)
        results.append((value.detach(), distance.detach()))
    moderate = (x.norm(dim=-1) < 30) & (y.norm(dim=-1) < 30)
    for mine, theirs in zip(*results, strict=True):
        settled = moderate & (results[1][0] > tight) & ((results[1][0] / 0.7 - torch.pi**2).abs() > tight)
        torch.testing.assert_close(mine[settled], theirs[settled], rtol=10 * tight, atol=10 * tight)


@runs
@pytest.mark.parametrize(("s", "t"), [(3, 1), (2, 2), (0, 3)])
def test_second_derivatives_and_transforms_go_through_the_plain_function(s, t):
    x, y = (points_at_radius(3, s, t, -1.0, radius, torch.float64, seed).to(DEVICE) for seed, radius in ((1, 0.5), (2, 1.0)))

    def function(a, b):
        return geometry.sqdist(a, b, beta=-1.0, time_dim=t)

    with use_backend("triton"):
        leaves = [each.clone().requires_grad_() for each in (x, y)]
        first = torch.autograd.grad(function(*leaves).sum(), leaves, create_graph=True)
        mine = torch.autograd.grad(sum(each.square().sum() for each in first), leaves)
        slopes = torch.vmap(torch.func.grad(function))(x, y)
    with use_backend("eager"):
        leaves = [each.clone().requires_grad_() for each in (x, y)]
        first = torch.autograd.grad(function(*leaves).sum(), leaves, create_graph=True)
        theirs = torch.autograd.grad(sum(each.square().sum() for each in first), leaves)
    torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(slopes, first[0].detach(), rtol=1e-9, atol=1e-9)


@runs
def test_it_is_taken_for_enough_pairs_and_one_size_alone():
    size = torch.ones((), device=DEVICE)
    few, many = (torch.ones(count, 4, device=DEVICE) for count in (_LEAST_PAIRS - 1, _LEAST_PAIRS))
    with use_backend("triton"):
        assert _triton_takes(few, size)
        assert not _triton_takes(few, torch.ones(_LEAST_PAIRS - 1, 1, device=DEVICE))
        assert not _triton_takes(torch.ones(2, 513, device=DEVICE), size)
    with use_backend("native"):
        assert not _triton_takes(many, size)
    assert not _triton_takes(few, size)
    assert _triton_takes(many, size) == (DEVICE == "cuda")


@pytest.mark.skipif(INTERPRETED, reason="the interpreter compiles nothing")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("d", "t"), [(4, 1), (4, 2), (4, 4)])
def test_it_compiles_for_a_gpu_and_rounds_as_it_should(d, t, dtype):
    """Also where there is no GPU: the interpreter is more lenient than the compiler."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    name = "*fp32" if dtype == torch.float32 else "*fp64"
    shape = {"TIME": t, "D": d, "WIDTH": 4, "ROWS": 256}
    for kernel, flags in (
        (gpu._separate_kernel, {"CANCELLED": limits(dtype).cancelled, "WHOLE": True}),
        (gpu._gradient_kernel, {"BY_VALUE": True, "BY_RESIDUAL": True, "TO_SIZE": True}),
    ):
        fixed = shape | flags
        kinds = {each: "constexpr" if each in fixed else "i32" if each == "pairs" else name for each in kernel.arg_names}
        values = {(kernel.arg_names.index(each),): value for each, value in fixed.items()}
        source = ASTSource(fn=kernel, signature=kinds, constexprs=values)
        text = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"enable_fp_fusion": True}).asm["ptx"]
        assert "div.full" not in text
        assert "approx" not in text
