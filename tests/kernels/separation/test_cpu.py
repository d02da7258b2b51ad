"""The compiled separation against the plain one; without a compiler there is nothing to test."""

import sys

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from cases import awkward_pairs, generator, points_at_radius
from qgcn import geometry
from qgcn.geometry import chord
from qgcn.kernels import separate, use_backend
from qgcn.kernels.separation import cpu
from tolerance import DTYPES
from walls import stays_inside

pytestmark = pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")

SIGNATURES = [(15, 1), (4, 1), (0, 1), (14, 2), (3, 2), (1, 15), (0, 16), (0, 2), (17, 3), (54, 10), (30, 1)]


def plain(x, y, size, t):
    return chord._round(x, y, size) if t == x.shape[-1] else chord._separate(x, y, size, t)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_separate_equals_the_plain_function(s, t, dtype):
    x, y = (torch.cat([points_at_radius(33, s, t, -0.7, radius, dtype, seed) for radius in radii])
            for seed, radii in ((1, (0.3, 1.0, 2.0, 0.5)), (2, (0.3, 2.0, 0.5, 6.0))))  # fmt: skip
    x, y = torch.cat((x, x, x)), torch.cat((y, x, -x))
    size = torch.tensor(0.7, dtype=dtype)
    found, expected = cpu.separate(x, y, size, t), plain(x, y, size, t)
    eps = torch.finfo(dtype).eps
    value, residual, side, lever, drop, ratio = found
    assert torch.equal(side, expected[2])
    assert all(torch.equal(*both) for both in ((value == 0, expected[0] == 0),))
    reach = (1 + x.norm(dim=-1, keepdim=True)) * (1 + y.norm(dim=-1, keepdim=True))
    assert ((value - expected[0]).abs() <= 64 * eps * (reach + value.abs())).all()
    scale = (x.norm(dim=-1) + ratio.squeeze(-1) * y.norm(dim=-1)).unsqueeze(-1)
    assert ((residual - expected[1]).abs() <= 16 * eps * scale).all()
    for mine, theirs in zip((lever, drop, ratio), expected[3:], strict=True):
        torch.testing.assert_close(mine, theirs, rtol=16 * eps, atol=16 * eps)
    # all numbers together: raw values and sides alone
    only = cpu.separate(x, y, size, t, whole=False)
    assert torch.equal(only[0], value)
    assert torch.equal(only[2], side)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [0, 1, 7, 16, 17, 300])
@pytest.mark.parametrize("dim", [2, 7, 8, 16, 17, 64])
def test_separate_takes_any_number_of_pairs_and_coordinates(dim, count, dtype):
    x, y = (points_at_radius(count, dim - 1, 1, -1.0, 1.0, dtype, seed) for seed in (1, 2))
    found = cpu.separate(x, y, torch.ones((), dtype=dtype), 1)
    expected = plain(x, y, torch.ones((), dtype=dtype), 1)
    assert found[1].shape == (count, dim)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


INSIDE = """
from qgcn.kernels.separation import cpu
for dtype in (torch.float32, torch.float64):
    for count, dim in ((1, 1), (1, 5), (3, 7), (17, 5), (9, 19)):
        x = walled(torch.ones(count, dim, dtype=dtype))
        cpu.separate(x, walled(x), torch.ones((), dtype=dtype), 1)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="walls are built by mprotect")
def test_separate_reads_nothing_beyond_the_last_point():
    assert stays_inside(INSIDE)


def test_separate_keeps_leading_axes_and_takes_what_is_not_contiguous():
    x = points_at_radius(12, 3, 2, -1.0, 1.0, torch.float64).reshape(3, 4, 5)
    size = torch.ones((), dtype=torch.float64)
    found = cpu.separate(x[:, None].expand(3, 3, 4, 5), x[None].expand(3, 3, 4, 5), size, 2)
    assert found[0].shape == (3, 3, 4, 1)
    torch.testing.assert_close(found[0][0, 1], cpu.separate(x[0], x[1], size, 2)[0])


def test_separate_refuses_what_is_not_for_it():
    x, size = points_at_radius(3, 3, 2, -1.0, 1.0, torch.float32), torch.ones(())
    assert separate(x, x, size, 2, True) is not None
    assert separate(x, x, torch.ones(3, 1), 2, True) is None
    wide = points_at_radius(3, 63, 2, -1.0, 1.0, torch.float32)
    assert separate(wide, wide, size, 2, True) is None
    with use_backend("eager"):
        assert separate(x, x, size, 2, True) is None
    with FakeTensorMode():
        assert separate(torch.empty(3, 5), torch.empty(3, 5), torch.ones(()), 2, True) is None


@pytest.mark.parametrize(("s", "t"), [(15, 1), (7, 3), (0, 4)])
def test_maps_are_the_same_with_and_without_it(s, t):
    x, y = awkward_pairs(200, s, t, -0.7, torch.float64)
    moderate = (x.norm(dim=-1) < 30) & (y.norm(dim=-1) < 30)
    x, y = x[moderate], y[moderate]
    form = {"beta": -0.7, "time_dim": t}
    results = []
    for path in ("native", "eager"):
        leaves = [each.clone().requires_grad_() for each in (x, y)]
        with use_backend(path):
            value = geometry.sqdist(*leaves, **form)
            weights = torch.randn(value.shape, dtype=value.dtype, generator=generator(1))
            results.append((value, geometry.is_connected(x, y, **form), *torch.autograd.grad((value * weights).sum(), leaves)))
    assert torch.equal(results[0][1], results[1][1])
    torch.testing.assert_close(results[0][0], results[1][0], rtol=1e-9, atol=1e-9)
    settled = (results[0][0] > 1e-6) & ((results[0][0] / 0.7 - torch.pi**2).abs() > 1e-3)
    for mine, theirs in zip(results[0][2:], results[1][2:], strict=True):
        torch.testing.assert_close(mine[settled], theirs[settled], rtol=1e-6, atol=1e-6)
