"""Far out and close together: no digit of a apart is lost to how far out the points are."""

import itertools
import math

import pytest
import torch

import oracle
from cases import _boosted_frame, awkward_pairs, generator, points_at_radius
from qgcn import geometry
from qgcn.geometry.chord import chord, separation
from qgcn.kernels import use_backend
from tolerance import DTYPES

BETA = -0.7
RADII = (0.0, 2.0, 5.0, 8.0, 12.0)
SEPARATIONS = (1e-4, 1e-2, 1.0, 10.0)


def pairs(s, t, radius, apart, dtype, count=6, seed=0):
    """Return pairs about a length apart, space-like and time-like where both exist, none nearly null, and tangent vectors.

    Rounding can make a pair nearly null: then its two parts are known to rounding, and their difference is not.
    """
    x, v, u = _boosted_frame(60 * count, s, t, radius, seed)
    square = geometry.inner(v, v, time_dim=t, keepdim=True)
    y = geometry.expmap(x, apart * v / square.abs().sqrt(), beta=-1.0, time_dim=t)
    rows = torch.cat([(square * sign >= 0.5).squeeze(-1).nonzero().flatten()[:count] for sign in (1, -1)])
    form = {"beta": BETA, "time_dim": t}
    x, y, u = (math.sqrt(-BETA) * each[rows].to(dtype) for each in (x, y, u))
    x, y = (geometry.project(each, **form) for each in (x, y))
    found, _ = separation(x.double(), y.double(), torch.tensor(-BETA, dtype=torch.float64), time_dim=t)
    parts = found.ratio * (found.drop.square() + found.lever.square() * found.residual.square().sum(-1, keepdim=True) / -BETA)
    plain = (found.raw.abs() > 0.3 * parts).squeeze(-1)
    return x[plain], y[plain], geometry.project_tangent(x, u, **form)[plain]


def truths(x, y, t, dtype):
    """Return the points as they are read, in 50 digits, and the size."""
    B = oracle.mp.mpf(torch.tensor(-BETA, dtype=dtype).item())
    return [oracle.project(row, B, t) for row in oracle.vectors(x)], [oracle.project(row, B, t) for row in oracle.vectors(y)], B


def slack(radius, dtype):
    """Return the error that is allowed: rounding, times how far out the points are."""
    return 16 * torch.finfo(dtype).eps * math.cosh(radius)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), [(1, 1), (15, 1), (7, 3), (3, 7), (1, 2), (0, 4)])
def test_separations_are_exact_at_every_radius_and_separation(s, t, dtype):
    for radius, apart in itertools.product(RADII if s else (0.0,), SEPARATIONS):
        x, y, _ = pairs(s, t, radius, apart, dtype)
        form = {"beta": BETA, "time_dim": t}
        a, b, B = truths(x, y, t, dtype)
        found = chord(x, y, torch.tensor(-BETA, dtype=dtype), time_dim=t)
        signs = torch.where(found.across, -1, 1).flatten().tolist()
        gaps = [oracle.add(one, two, -sign) for one, two, sign in zip(a, b, signs, strict=True)]
        limit = slack(radius, dtype)
        assert oracle.worst_error(found.raw.flatten(), [oracle.inner(w, w, t) / B for w in gaps]) < limit, (radius, apart)
        exact = [oracle.dist(one, two, B, t) for one, two in zip(a, b, strict=True)]
        assert oracle.worst_error(geometry.dist(x, y, **form), exact) < limit, (radius, apart)
        connected = [-oracle.inner(one, two, t) / B > -1 for one, two in zip(a, b, strict=True)]
        assert geometry.is_connected(x, y, **form).tolist() == connected


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), [(1, 1), (15, 1), (7, 3), (3, 7), (1, 2), (0, 4)])
def test_logarithms_and_transports_are_exact_at_every_radius_and_separation(s, t, dtype):
    for radius, apart in itertools.product(RADII if s else (0.0,), SEPARATIONS):
        x, y, u = pairs(s, t, radius, apart, dtype)
        form = {"beta": BETA, "time_dim": t}
        rows = list(zip(*truths(x, y, t, dtype)[:2], oracle.vectors(u), strict=True))
        B = truths(x, y, t, dtype)[2]
        limit = slack(radius, dtype)
        connected = geometry.is_connected(x, y, **form)
        logs = [oracle.logmap(a, b, B, t) for a, b, _ in rows]
        logs = [log for log, joined in zip(logs, connected.tolist(), strict=True) if joined]
        found = geometry.logmap(x, y, **form)[connected]
        # the logarithm is the residual and a part of x, which far out may be longer than their sum
        assert oracle.worst_error(found, logs) < 16 * limit * (1 + apart), (radius, apart)
        moved = [oracle.transport(a, b, w, B, t) for a, b, w in rows]
        assert oracle.worst_error(geometry.transport(x, y, u, **form), moved) < limit, (radius, apart)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), [(15, 1), (7, 3), (3, 7), (0, 4)])
def test_gradients_of_the_distance_are_exact_far_out(s, t, dtype):
    """The slope along a tangent vector, against mpmath: what an optimiser in any coordinates makes of the gradient."""
    for radius, apart in itertools.product((0.0, 5.0, 8.0) if s else (0.0,), (1e-3, 1.0)):
        x, y, u = pairs(s, t, radius, apart, dtype)
        form = {"beta": BETA, "time_dim": t}
        x.requires_grad_()
        (gradient,) = torch.autograd.grad(geometry.dist(x, y, **form).sum(), x)
        a, b, B = truths(x.detach(), y, t, dtype)
        for one, two, w, found in zip(a, b, oracle.vectors(u), oracle.vectors(gradient), strict=True):
            missing = oracle.inner(w, one, t) / oracle.mp.fsum(value * value for value in one[:t])
            w = oracle.add(w[:t], one[:t], missing) + w[t:]  # tangent
            c = -oracle.inner(one, two, t) / B
            exact = -oracle.inner(w, two, t) / B * oracle.mp.sqrt(B) / oracle.mp.sqrt(abs(c * c - 1)) * (1 if c > 1 else -1)
            slope = oracle.mp.fsum(p * q for p, q in zip(found, w, strict=True))
            size = sum(abs(p * q) for p, q in zip(found, w, strict=True)) + oracle.mp.sqrt(abs(oracle.inner(w, w, t)))
            assert abs(slope - exact) < slack(radius, dtype) * size, (radius, apart)


def outwards(x, t, B):
    """Return the tangent vector of length ``sqrt B`` that points away from the origin, in 50 digits."""
    time, space = oracle.length(x[:t]), oracle.length(x[t:])
    return oracle.scale(space / time, x[:t]) + oracle.scale(time / space, x[t:])


@pytest.mark.parametrize("path", ["native", "eager"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), [(1, 1), (15, 1), (7, 3), (3, 7), (1, 2)])
def test_the_slope_outwards_is_exact_far_out(s, t, dtype, path):
    """At both points. Tangent vectors that point outwards are long: what is left of the residual along them is short."""
    for radius, apart, aside in itertools.product((2.0, 5.0, 8.0, 10.0), (1e-2, 0.3, 2.0), (0.0, 0.3, 0.6)):
        time, space = (torch.randn(8, 2, n, generator=generator(1), dtype=torch.float64) for n in (t, s))
        (n, m), (time_aside, space_aside) = (
            [each[:, i] / each[:, i].norm(dim=-1, keepdim=True) for each in (time, space)] for i in (0, 1)
        )
        x = torch.cat((math.cosh(radius) * n, math.sinh(radius) * m), dim=-1)
        v = math.sqrt(1 - aside**2) * torch.cat((math.sinh(radius) * n, math.cosh(radius) * m), dim=-1)
        turn = space_aside - (space_aside * m).sum(-1, keepdim=True) * m if s > 1 else torch.zeros_like(m)
        wheel = time_aside - (time_aside * n).sum(-1, keepdim=True) * n if t > 1 else torch.zeros_like(n)
        v = v + aside * torch.cat((wheel / 2, turn), dim=-1)
        y = geometry.expmap(x, apart * v, beta=-1.0, time_dim=t)
        form = {"beta": BETA, "time_dim": t}
        x, y = (geometry.project(math.sqrt(-BETA) * each.to(dtype), **form).requires_grad_() for each in (x, y))
        with use_backend(path):
            found = torch.autograd.grad(geometry.dist(x, y, **form).sum(), (x, y))
        a, b, B = truths(x.detach(), y.detach(), t, dtype)
        for here, there, gradient in ((a, b, found[0]), (b, a, found[1])):
            for one, two, row in zip(here, there, oracle.vectors(gradient), strict=True):
                w = outwards(one, t, B)
                c = -oracle.inner(one, two, t) / B
                exact = -oracle.inner(w, two, t) / oracle.mp.sqrt(B) / oracle.mp.sqrt(abs(c * c - 1)) * (1 if c > 1 else -1)
                slope = oracle.mp.fsum(p * q for p, q in zip(row, w, strict=True))
                assert abs(slope - exact) < slack(radius + apart, dtype), (radius, apart, aside)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), [(0, 1), (0, 4), (1, 1), (15, 1), (7, 3), (1, 2)])
def test_separations_are_symmetric_to_the_last_bit(s, t, dtype):
    x, y = awkward_pairs(400, s, t, BETA, dtype)
    form = {"beta": BETA, "time_dim": t}
    assert torch.equal(geometry.dist(x, y, **form), geometry.dist(y, x, **form))
    assert torch.equal(geometry.is_connected(x, y, **form), geometry.is_connected(y, x, **form))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), [(15, 1), (7, 3)])
def test_points_that_have_drifted_are_read_as_their_space_part_says(s, t, dtype):
    """The length of the time part counts relative to itself only: far out it may be off by many times beta."""
    x, y, _ = pairs(s, t, 8.0, 0.1, dtype)
    form = {"beta": BETA, "time_dim": t}
    drift = 1 + 100 * torch.finfo(dtype).eps * torch.linspace(-1, 1, len(x), dtype=dtype).unsqueeze(-1)
    off = torch.cat((x[:, :t] * drift, x[:, t:]), dim=1)
    assert geometry.inner(off, off, time_dim=t).sub(BETA).abs().max() > 100 * torch.finfo(dtype).eps * 1000
    torch.testing.assert_close(geometry.dist(off, y, **form), geometry.dist(x, y, **form), rtol=slack(8.0, dtype), atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), [(15, 1), (7, 3), (0, 4)])
def test_all_pairs_have_the_error_of_rounded_points(s, t, dtype):
    """However far out and close together: absolute, and no more than rounding the points moves them."""
    for radius in (0.0, 5.0, 8.0, 12.0) if s else (0.0,):
        x, y, _ = pairs(s, t, radius, 1e-3, dtype)
        a, b, B = truths(x, y, t, dtype)
        exact = torch.tensor([float(oracle.dist(one, two, B, t)) for one, two in zip(a, b, strict=True)], dtype=torch.float64)
        found = geometry.pairwise_dist(x, y, beta=BETA, time_dim=t).diagonal().double()
        moved = 4 * torch.finfo(dtype).eps * math.cosh(radius)
        square = (found.square() - exact.square()).abs()
        assert (square <= 2 * exact * moved + moved**2).all(), radius


@pytest.mark.parametrize("dtype", DTYPES)
def test_null_pairs_are_null_within_rounding(dtype):
    """Equal steps along time and space, wherever they lead: space-like and time-like parts cancel to nothing."""
    x = points_at_radius(50, 3, 3, -1.0, 1.0, dtype)
    pole = geometry.pole(6, beta=-1.0, like=x)
    for size in (1e-3, 0.1, 1.7, 30.0):
        step = torch.zeros(6, dtype=dtype)
        step[1] = step[3] = size
        assert geometry.dist(pole, pole + step, beta=-1.0, time_dim=3) == 0
        assert geometry.signed_sqdist(pole, pole + step, beta=-1.0, time_dim=3) == 0
    near = geometry.project(x + 1e-3 * torch.randn(50, 6, dtype=dtype), beta=-1.0, time_dim=3)
    assert (geometry.dist(x, near, beta=-1.0, time_dim=3) > 0).all()
