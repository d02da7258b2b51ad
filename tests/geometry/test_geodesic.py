import math

import geoopt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracle
from cases import BETAS, SIGNATURES, awkward_pairs, generator, pairs_at_separation, points_at_radius, tangent
from qgcn import geometry
from tolerance import DTYPES, PROMISED, ROUNDING

signatures = st.sampled_from(SIGNATURES)
betas = st.floats(0.05, 20.0).map(lambda size: -size)
separations = st.floats(-8, math.log10(30)).map(lambda power: 10.0**power)
seeds = st.integers(0, 2**16)


def exact_pair(s, t, B, radius, separation, seed):
    """Return two points of the manifold in 50 digits, on a geodesic of the given length, and their float64 values."""
    x = points_at_radius(1, s, t, -B, radius, torch.float64, seed)
    x = oracle.project(oracle.vectors(x)[0], oracle.mp.mpf(B), t)
    w = oracle.vectors(torch.randn(1, s + t, dtype=torch.float64, generator=generator(seed + 1)))[0]
    v = oracle.add(w, x, oracle.inner(w, x, t) / B)
    square = oracle.inner(v, v, t)
    if abs(square) < 1e-3 * oracle.length(v) ** 2:
        return None  # nearly null: no unit of length to measure by
    v = oracle.scale(separation * oracle.mp.sqrt(B) / oracle.mp.sqrt(abs(square)), v)
    return x, oracle.expmap(x, v, B, t), v


@given(signatures, betas, separations, st.floats(0, 3), seeds)
def test_maps_equal_mpmath_at_points_given_in_50_digits(signature, beta, separation, radius, seed):
    """The truth here knows nothing of rounded points: it checks the formulas, not only their arithmetic."""
    s, t = signature
    if s + t == 1:
        return
    B = oracle.mp.mpf(-beta)
    made = exact_pair(s, t, B, radius, separation, seed)
    if made is None:
        return
    x, y, v = made
    form = {"beta": beta, "time_dim": t}
    fx, fy, fv = (oracle.to_tensor([row], torch.float64) for row in (x, y, v))
    # the inputs are rounded, relative to their size; the maps pass that on, amplified by how far out the points are
    spread = float(oracle.length(x) * oracle.length(y) / B)
    slack = 2e-14 * (1 + spread)

    reached = oracle.vector(geometry.expmap(fx, fv, **form)[0].tolist())
    growth = float((oracle.length(y) + oracle.length(x) + oracle.length(v)) * (1 + oracle.length(v) / oracle.mp.sqrt(B)))
    assert float(oracle.length(oracle.add(reached, y, -1))) <= 1e-13 * growth * (1 + spread)

    c = -oracle.inner(x, y, t) / B
    distance = geometry.dist(fx, fy, **form).item()
    exact = float(oracle.mp.sqrt(B) * oracle.angle(c))
    nearest = float(min(abs(c - 1), abs(c + 1)))  # the slope of the distance is infinite at c = 1 and c = -1
    assert abs(distance - exact) <= (-beta) ** 0.5 * max(slack / math.sqrt(nearest), math.sqrt(slack) * (nearest < slack))

    if abs(c + 1) > 1e-3:
        w = oracle.vectors(torch.randn(1, s + t, dtype=torch.float64, generator=generator(seed + 2)))[0]
        u = oracle.add(w, x, oracle.inner(w, x, t) / B)
        target = y if c > -1 else oracle.scale(-1, y)
        truth = oracle.add(u, oracle.add(x, target), oracle.inner(u, target, t) / (B - oracle.inner(x, target, t)))
        moved = oracle.vector(geometry.transport(fx, fy, oracle.to_tensor([u], torch.float64), **form)[0].tolist())
        gap = float(oracle.length(oracle.add(moved, truth, -1)))
        assert gap <= 100 * slack * (1 + spread) * float(oracle.length(truth) + oracle.length(u)) / min(1.0, float(abs(c + 1)))

    if c > -0.999:
        velocity = oracle.vector(geometry.logmap(fx, fy, **form)[0].tolist())
        truth = oracle.logmap(x, y, B, t)
        gap = float(oracle.length(oracle.add(velocity, truth, -1)))
        assert gap <= 100 * slack * float(oracle.length(x) + oracle.length(y) + oracle.length(truth))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("separation", [1e-3, 1e-2, 0.3, 2.0])
@pytest.mark.parametrize("radius", [1.5, 5.0])
@pytest.mark.parametrize(("s", "t"), [(1, 1), (15, 1), (7, 3), (3, 7), (0, 16)])
def test_maps_keep_the_promised_accuracy(s, t, radius, separation, dtype):
    """Against mpmath at the same rounded inputs, for well-conditioned ones."""
    beta = -0.7
    x, y, u = pairs_at_separation(12, s, t, beta, radius, separation, dtype)
    form = {"beta": torch.tensor(beta, dtype=torch.float64), "time_dim": t}
    rows = list(zip(*map(oracle.vectors, (x, y, u)), strict=True))
    B = oracle.mp.mpf(torch.tensor(0.7, dtype=dtype).item())
    limit = PROMISED[dtype]
    assert len(rows) > 3
    assert oracle.worst_error(geometry.dist(x, y, **form), [oracle.dist(a, b, B, t) for a, b, _ in rows]) < limit
    assert oracle.worst_error(geometry.sqdist(x, y, **form), [oracle.dist(a, b, B, t) ** 2 for a, b, _ in rows]) < 2 * limit
    signed = [oracle.signed_sqdist(a, b, B, t) for a, b, _ in rows]
    assert oracle.worst_error(geometry.signed_sqdist(x, y, **form), signed) < 2 * limit
    velocity = geometry.logmap(x, y, **form)
    truths = [oracle.logmap(a, b, B, t) for a, b, _ in rows]
    connected = geometry.is_connected(x, y, **form)
    assert connected.tolist() == [truth is not None for truth in truths]
    assert oracle.worst_error(velocity[connected], [truth for truth in truths if truth is not None]) < limit
    assert oracle.worst_error(geometry.expmap(x, u, **form), [oracle.expmap(a, w, B, t) for a, _, w in rows]) < limit
    assert oracle.worst_error(geometry.transport(x, y, u, **form), [oracle.transport(*r, B, t) for r in rows]) < limit


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", [1e-5, 1e-3, 0.1])
@pytest.mark.parametrize(("s", "t"), [(0, 3), (3, 2), (7, 3), (4, 1)])
def test_dist_is_accurate_next_to_the_antipode(s, t, step, dtype):
    """A distance from the difference alone would be off by the root of the rounding error here."""
    form = {"beta": -1.0, "time_dim": t}
    x = points_at_radius(20, s, t, -1.0, 0.5, dtype)
    y = geometry.project(-x + step * torch.randn(20, s + t, dtype=dtype, generator=generator(1)), **form)
    truths = [oracle.dist(a, b, oracle.mp.mpf(1), t) for a, b in zip(*map(oracle.vectors, (x, y)), strict=True)]
    assert oracle.worst_error(geometry.dist(x, y, **form), truths) < 3 * ROUNDING[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_dist_is_symmetric_zero_on_the_diagonal_and_the_same_for_all_pairs(s, t, beta, dtype):
    form = {"beta": beta, "time_dim": t}
    x, y = awkward_pairs(200, s, t, beta, dtype)
    forth, back = geometry.dist(x, y, **form), geometry.dist(y, x, **form)
    torch.testing.assert_close(forth, back, rtol=5 * ROUNDING[dtype], atol=0)
    assert (geometry.dist(x, x, **form) == 0).all()
    torch.testing.assert_close(
        geometry.sqdist(x, y, **form), forth.square(), rtol=20 * ROUNDING[dtype], atol=ROUNDING[dtype] * -beta
    )
    near = slice(0, 20)  # further out, two orders of summing differ by more than rounding
    block = geometry.pairwise_dist(x[near], y[near], **form)
    loose = 1e3 * ROUNDING[dtype]
    torch.testing.assert_close(block.diagonal(), forth[near], rtol=loose, atol=loose)
    pole, distant = geometry.pole(s + t, beta=beta, like=x).unsqueeze(0), points_at_radius(20, s, t, beta, 12.0, dtype)
    apart = geometry.pairwise_dist(pole, distant, **form)[0]
    torch.testing.assert_close(apart, geometry.dist(pole, distant, **form), rtol=20 * ROUNDING[dtype], atol=ROUNDING[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_dist_of_exactly_null_separated_points_is_zero(dtype):
    x = torch.tensor([1.0, 0.0, 0.0], dtype=dtype)
    y = torch.tensor([1.0, 0.75, 0.75], dtype=dtype)
    form = {"beta": -1.0, "time_dim": 2}
    assert geometry.dist(x, y, **form) == 0
    assert geometry.is_connected(x, y, **form)
    torch.testing.assert_close(geometry.logmap(x, y, **form), y - x)
    assert geometry.dist(x, -y, **form) == torch.tensor(math.pi, dtype=dtype)
    assert not geometry.is_connected(x, -y, **form)


def test_dist_hand_computed_values_of_all_three_kinds():
    x = torch.tensor([2.0, 0.0, 0.0], dtype=torch.float64)
    y = 2 * torch.tensor(
        [[math.cosh(1), 0, math.sinh(1)], [math.cos(1), math.sin(1), 0], [-math.cosh(1), 0, math.sinh(1)]], dtype=x.dtype
    )
    expected = torch.tensor([2.0, 2.0, 2 * (math.pi + 1)], dtype=x.dtype)
    torch.testing.assert_close(geometry.dist(x, y, beta=-4.0, time_dim=2), expected, rtol=1e-15, atol=0)
    signed = geometry.signed_sqdist(x, y, beta=-4.0, time_dim=2)
    torch.testing.assert_close(signed[:2], torch.tensor([4.0, -4.0], dtype=x.dtype), rtol=1e-14, atol=0)
    assert signed[2].isnan()
    assert geometry.is_connected(x, y, beta=-4.0, time_dim=2).tolist() == [True, True, False]


@pytest.mark.parametrize("dtype", DTYPES)
def test_broken_distance_is_continuous_where_the_geodesic_ends(dtype):
    x = torch.tensor([1.0, 0.0, 0.0], dtype=dtype)
    offset = torch.tensor([-1e-3, -1e-5, 0.0, 1e-5, 1e-3], dtype=dtype)
    # y = -x + a null step, then pushed off the cone to either side
    y = geometry.project(torch.stack((torch.full_like(offset, -1), 0.5 + offset, torch.full_like(offset, 0.5)), dim=-1),
                         beta=-1.0, time_dim=2)  # fmt: skip
    distance = geometry.dist(x, y, beta=-1.0, time_dim=2)
    assert ((distance - math.pi).abs() <= 2 * offset.abs().sqrt() + 1e-3).all()
    assert (distance.diff() < 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_expmap_and_logmap_undo_each_other(s, t, beta, dtype):
    form = {"beta": beta, "time_dim": t}
    x, y = (points_at_radius(200, s, t, beta, 1.5, dtype, seed) for seed in (0, 1))
    connected = geometry.is_connected(x, y, **form)
    x, y = x[connected], y[connected]
    v = geometry.logmap(x, y, **form)
    moderate = v.norm(dim=-1) < 100 * (-beta) ** 0.5  # next to the antipode's cone the logarithm diverges
    assert moderate.any()
    reached = geometry.expmap(x, v, **form)
    gap = (reached - y).norm(dim=-1) / (y.norm(dim=-1) + v.norm(dim=-1) ** 2 / (-beta) ** 0.5)
    assert (gap[moderate] < 100 * ROUNDING[dtype]).all()
    slack = 100 * ROUNDING[dtype] * x.norm(dim=-1) * v.norm(dim=-1)
    assert (geometry.inner(x, v, time_dim=t).abs() <= slack)[moderate].all()
    torch.testing.assert_close(
        geometry.inner(v, v, time_dim=t)[moderate],
        geometry.signed_sqdist(x, y, **form)[moderate],
        rtol=1e-3 if dtype == torch.float32 else 1e-10,
        atol=200 * ROUNDING[dtype] * -beta * float(v[moderate].square().sum(-1).max() / -beta),
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_expmap_stays_on_the_manifold_and_keeps_the_point_for_a_zero_vector(s, t, dtype):
    form = {"beta": -0.7, "time_dim": t}
    x = points_at_radius(50, s, t, -0.7, 1.0, dtype)
    y = geometry.expmap(x, tangent(x, -0.7, t), **form)
    slack = 100 * ROUNDING[dtype] * (y * y).sum(-1)
    assert ((geometry.inner(y, y, time_dim=t) + 0.7).abs() <= slack).all()
    assert (geometry.expmap(x, torch.zeros_like(x), **form) == x).all()


def test_geodesic_has_constant_speed_and_the_right_ends():
    form = {"beta": -0.7, "time_dim": 3}
    x = points_at_radius(6, 4, 3, -0.7, 1.0, torch.float64)
    v = tangent(x, -0.7, 3)
    torch.testing.assert_close(geometry.geodesic(x, v, 0.0, **form), x)
    torch.testing.assert_close(geometry.geodesic(x, v, 1.0, **form), geometry.expmap(x, v, **form))
    tau = torch.linspace(0, 1, 5, dtype=torch.float64).requires_grad_()
    for point, velocity in zip(x, v, strict=True):
        curve = torch.autograd.functional.jacobian(
            lambda tau, p=point, w=velocity: geometry.geodesic(p, w, tau.unsqueeze(-1), **form), tau
        )
        speed = torch.diagonal(curve, dim1=0, dim2=2).T
        square = geometry.inner(speed, speed, time_dim=3)
        torch.testing.assert_close(square, geometry.inner(velocity, velocity, time_dim=3).expand(5))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_logmap_is_nan_exactly_where_no_geodesic_joins_the_points(s, t, dtype):
    form = {"beta": -1.0, "time_dim": t}
    x, y = awkward_pairs(1000, s, t, -1.0, dtype)
    connected = geometry.is_connected(x, y, **form)
    assert (geometry.logmap(x, y, **form).isnan().any(dim=-1) == ~connected).all()
    assert (geometry.signed_sqdist(x, y, **form).isnan() == ~connected).all()
    assert (geometry.geodesic_dist(x, y, **form).isnan() == ~connected).all()
    assert (connected == geometry.is_connected(y, x, **form)).all()
    assert (connected | geometry.is_connected(x, -y, **form)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("curvature", [0.05, 1.0, 20.0])
def test_maps_agree_with_geoopt_lorentz_where_it_is_accurate(curvature, dtype):
    lorentz = geoopt.Lorentz(k=torch.tensor(curvature, dtype=dtype))
    form = {"beta": -curvature, "time_dim": 1}
    x, y = (points_at_radius(100, 4, 1, -curvature, 1.0, dtype, seed).abs() for seed in (0, 1))
    u = tangent(x, -curvature, 1)
    rtol, atol = (2e-2, 2e-2) if dtype == torch.float32 else (1e-6, 1e-6)
    torch.testing.assert_close(geometry.dist(x, y, **form), lorentz.dist(x, y), rtol=rtol, atol=atol)
    torch.testing.assert_close(geometry.logmap(x, y, **form), lorentz.logmap(x, y), rtol=rtol, atol=atol)
    torch.testing.assert_close(geometry.expmap(x, u, **form), lorentz.expmap(x, u), rtol=rtol, atol=atol)
    torch.testing.assert_close(geometry.transport(x, y, u, **form), lorentz.transp(x, y, u), rtol=rtol, atol=atol)


def test_maps_agree_with_geoopt_sphere():
    sphere, form = geoopt.SphereExact(), {"beta": -1.0, "time_dim": 5}
    x, y = (points_at_radius(100, 0, 5, -1.0, 0.0, torch.float64, seed) for seed in (0, 1))
    u = tangent(x, -1.0, 5)
    torch.testing.assert_close(geometry.dist(x, y, **form), sphere.dist(x, y))
    torch.testing.assert_close(geometry.logmap(x, y, **form), sphere.logmap(x, y))
    torch.testing.assert_close(geometry.expmap(x, u, **form), sphere.expmap(x, u))


def test_maps_broadcast_over_leading_axes_and_over_beta():
    beta = torch.tensor([[[-0.5]], [[-2.0]]], dtype=torch.float64)
    u, w = (torch.randn(2, 6, 5, dtype=torch.float64, generator=generator(i)) for i in range(2))
    x, y = (geometry.expmap0(z, beta=beta, time_dim=2) for z in (u, w))
    table = geometry.dist(x.unsqueeze(-2), y.unsqueeze(-3), beta=beta.unsqueeze(-1), time_dim=2)
    torch.testing.assert_close(geometry.pairwise_dist(x, y, beta=beta, time_dim=2), table)
    for i, size in enumerate((-0.5, -2.0)):
        alone = geometry.pairwise_dist(x[i], y[i], beta=size, time_dim=2)
        torch.testing.assert_close(table[i], alone)
        torch.testing.assert_close(geometry.dist(x, y, beta=beta, time_dim=2)[i], alone.diagonal())


def test_maps_take_empty_batches():
    x = torch.empty(0, 5)
    form = {"beta": -1.0, "time_dim": 2}
    assert geometry.dist(x, x, **form).shape == (0,)
    assert geometry.logmap(x, x, **form).shape == (0, 5)
    assert geometry.pairwise_dist(x, torch.ones(3, 5), **form).shape == (0, 3)


def test_arguments_are_not_changed():
    x, y = awkward_pairs(100, 3, 2, -1.0, torch.float64)
    copies = x.clone(), y.clone()
    for name in ("dist", "sqdist", "logmap", "expmap", "is_connected", "signed_sqdist", "pairwise_dist"):
        getattr(geometry, name)(x, y, beta=-1.0, time_dim=2)
    assert (x == copies[0]).all()
    assert (y == copies[1]).all()


def outward(x, radius, t):
    """Return the unit tangent vector at points of the unit manifold that leads away from the centre."""
    return torch.cat((math.tanh(radius) * x[..., :t], x[..., t:] / math.tanh(radius)), dim=-1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sideways", [False, True])
@pytest.mark.parametrize("radius", [1.5, 5.0, 8.0, 12.0])
@pytest.mark.parametrize(("s", "t"), [(7, 3), (15, 1)])
def test_logmap_errs_by_no_more_than_its_condition_far_out(s, t, radius, sideways, dtype):
    """Sideways is worst: the vector is short there, and its ends are far away."""
    form, one = {"beta": -1.0, "time_dim": t}, oracle.mp.mpf(1)
    x = points_at_radius(15, s, t, -1.0, radius, torch.float64)
    v = geometry.project_tangent(x, torch.randn(15, s + t, dtype=torch.float64, generator=generator(1)), **form)
    ray = outward(x, radius, t)
    if sideways:
        v = v - geometry.inner(v, ray, time_dim=t, keepdim=True) * ray
    v = v / geometry.definite_inner(x, v, v, **form).sqrt()
    for separation in (0.01, 0.3, 2.0):
        y = geometry.expmap(x, separation * v, **form)
        near, far = (geometry.project(point.to(dtype), **form) for point in (x, y))
        found = geometry.logmap(near, far, **form)
        checked = 0
        for a, b, velocity in zip(*map(oracle.vectors, (near, far)), found.tolist(), strict=True):
            if oracle.cosine(a, b, one, t) < -0.5:
                continue
            condition = 1 + float(oracle.length(a) * oracle.length(oracle.add(a, b, -1)))
            truth = oracle.logmap(a, b, one, t)
            assert oracle.relative_error(velocity, truth) <= 4 * torch.finfo(dtype).eps * condition
            checked += 1
        assert checked >= 8


def moved_by_an_ulp(point, seed):
    """Return a point with every coordinate replaced by one of its neighbours, at random."""
    up = torch.rand(point.shape, generator=generator(seed)) < 0.5
    return torch.nextafter(point, torch.where(up, math.inf, -math.inf).to(point.dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sideways", [False, True])
@pytest.mark.parametrize("radius", [5.0, 8.0, 12.0])
@pytest.mark.parametrize(("s", "t"), [(7, 3), (15, 1), (3, 7)])
def test_logmap_errs_by_no_more_than_eight_ulps_of_the_points_make_far_out(s, t, radius, sideways, dtype):
    """Against the exact logarithm of points whose coordinates are their neighbours: what is lost is lost by the points."""
    form, one = {"beta": -1.0, "time_dim": t}, oracle.mp.mpf(1)
    x = points_at_radius(6, s, t, -1.0, radius, torch.float64)
    v = geometry.project_tangent(x, torch.randn(6, s + t, dtype=torch.float64, generator=generator(1)), **form)
    ray = outward(x, radius, t)
    if sideways:
        v = v - geometry.inner(v, ray, time_dim=t, keepdim=True) * ray
    v = v / geometry.definite_inner(x, v, v, **form).sqrt()
    for separation in (0.01, 0.3, 2.0):
        near, far = (geometry.project(p.to(dtype), **form) for p in (x, geometry.expmap(x, separation * v, **form)))
        neighbours = [[oracle.vectors(moved_by_an_ulp(p, seed)) for p in (near, far)] for seed in range(4)]
        found = geometry.logmap(near, far, **form).tolist()
        for k, (a, b) in enumerate(zip(*map(oracle.vectors, (near, far)), strict=True)):
            if oracle.cosine(a, b, one, t) < -0.5:
                continue
            truth = oracle.logmap(a, b, one, t)
            others = [oracle.logmap(c[k], d[k], one, t) for c, d in neighbours]
            moved = max(oracle.relative_error(other, truth) for other in others if other is not None)
            assert oracle.relative_error(found[k], truth) <= 8 * moved + 4 * torch.finfo(dtype).eps, (separation, k)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("separation", [1e-3, 0.3, 2.0])
@pytest.mark.parametrize("radius", [1.5, 5.0])
@pytest.mark.parametrize(("s", "t"), [(1, 1), (7, 3), (3, 7), (0, 16)])
def test_squared_chord_is_accurate(s, t, radius, separation, dtype):
    """Against mpmath at the same rounded points, which the difference of coordinates loses."""
    x, y, _ = pairs_at_separation(12, s, t, -0.7, radius, separation, dtype)
    truths = []
    for a, b in zip(*map(oracle.vectors, (x, y)), strict=True):
        a, b = (oracle.project(each, oracle.mp.mpf(torch.tensor(0.7, dtype=dtype).item()), t) for each in (a, b))
        gap = oracle.add(a, b, -1)
        truths.append(oracle.inner(gap, gap, t))
    found = geometry.squared_chord(x, y, beta=torch.tensor(-0.7, dtype=torch.float64), time_dim=t)
    assert oracle.worst_error(found, truths) < 2 * PROMISED[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_squared_chord_is_symmetric_and_that_of_any_two_points(s, t, dtype):
    form = {"beta": -1.3, "time_dim": t}
    x, y = (geometry.sample((200, s + t), std=1.0, dtype=dtype, generator=generator(k), **form) for k in (0, 1))
    found = geometry.squared_chord(x, y, **form)
    torch.testing.assert_close(found, geometry.squared_chord(y, x, **form), rtol=1e-3, atol=1e-4)
    gap = (x - y).double()
    torch.testing.assert_close(found.double(), geometry.inner(gap, gap, time_dim=t), rtol=1e-3, atol=1e-3)
    connected = geometry.is_connected(x, y, **form)
    assert torch.equal(found > -4 * 1.3, connected) or ((found + 4 * 1.3).abs() < 1e-3).any()
    x.requires_grad_()
    assert torch.autograd.grad(geometry.squared_chord(x, y, **form).sum(), x)[0].isfinite().all()
