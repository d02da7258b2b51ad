"""Maps in tangent coordinates equal the compositions they replace: values, gradients, batches."""

import math

import pytest
import torch

from cases import BETAS, SIGNATURES, generator
from qgcn import geometry
from tolerance import DTYPES

CLOSE = {torch.float32: {"rtol": 2e-4, "atol": 2e-4}, torch.float64: {"rtol": 1e-10, "atol": 1e-10}}
PLACES = ("near", "middle", "far", "antipode", "behind")


def tangents(s, t, beta, dtype, place, n=20, seed=0):
    """Return tangent vectors whose time part is short, ordinary, whole turns away, or almost half a turn."""
    root = math.sqrt(-beta)
    u = torch.randn(n, s + t, dtype=torch.float64, generator=generator(seed))
    turn = u[:, 1:t]
    turn = turn / turn.norm(dim=-1, keepdim=True) if t > 1 else turn
    share = torch.rand(n, 1, dtype=torch.float64, generator=generator(seed + 1))
    angle = {
        "near": 1e-3 * share,
        "middle": 0.9 * math.pi * share,
        "far": 2 * math.pi * torch.arange(1, n + 1).unsqueeze(1) + 2 * share,
        "antipode": math.pi - 1e-2 * (1 + share),
        "behind": math.pi + 1e-2 * (1 + share),
    }[place]
    space = 0.5 * u[:, t:] if place not in ("antipode", "behind") else 1e-2 * u[:, t:]
    return torch.cat((u[:, :1], root * angle * turn, root * space), dim=-1).to(dtype)


def composed(u, b, form):
    return geometry.logmap0(geometry.translate(geometry.expmap0(u, **form), b, **form), **form)


def same_tangent(u, v, form, **close):
    """Compare vectors of which those half a turn long stand for one point, whatever their direction."""
    root = math.sqrt(-form["beta"])
    t = form["time_dim"]
    torch.testing.assert_close(u[..., 1:t].norm(dim=-1) / root, v[..., 1:t].norm(dim=-1) / root, **close)
    torch.testing.assert_close(u[..., t:] / root, v[..., t:] / root, **close)
    x, y = (geometry.expmap0(each, **form) / root for each in (u, v))
    torch.testing.assert_close(x, y, **close)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_fold0_equals_the_logarithm_of_the_exponential_and_is_idempotent(s, t, beta, dtype):
    form = {"beta": beta, "time_dim": t}
    for place in PLACES:
        u = tangents(s, t, beta, dtype, place)
        folded = geometry.fold0(u, **form)
        # a hundred turns lose two of the digits of an angle
        loose = {key: (50 if place == "far" else 1) * value for key, value in CLOSE[dtype].items()}
        same_tangent(folded, geometry.logmap0(geometry.expmap0(u, **form), **form), form, **loose)
        torch.testing.assert_close(geometry.fold0(folded, **form), folded, rtol=0, atol=0)
        assert (folded[:, 0] == 0).all()
        assert (folded[:, 1:t].norm(dim=-1) <= math.pi * math.sqrt(-beta) * (1 + 1e-5)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_fold0_is_the_identity_within_half_a_turn(s, t, dtype):
    u = tangents(s, t, -2.0, dtype, "middle")
    u[:, 0] = 0
    assert torch.equal(geometry.fold0(u, beta=-2.0, time_dim=t), u)


def test_fold0_takes_whole_turns_off_by_hand():
    u = torch.tensor([[7.0, 5 * math.pi, 0.0, 3.0]], dtype=torch.float64)  # radius 2: a turn is 4 pi
    expected = torch.tensor([[0.0, math.pi, 0.0, 3.0]], dtype=torch.float64)
    torch.testing.assert_close(geometry.fold0(u, beta=-4.0, time_dim=3), expected)
    expected = torch.tensor([[0.0, -math.pi, 0.0, 3.0]], dtype=torch.float64)  # 2.75 turns: three come off
    u[0, 1] = 11 * math.pi
    torch.testing.assert_close(geometry.fold0(u, beta=-4.0, time_dim=3), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_translate0_equals_the_translation_of_points(s, t, beta, dtype):
    form = {"beta": beta, "time_dim": t}
    for place in ("near", "middle", "far"):
        u = tangents(s, t, beta, dtype, place)
        for size in (1e-3, 0.4):
            b = size * math.sqrt(-beta) * torch.randn(s + t, dtype=dtype, generator=generator(7))
            # where nothing joins a point to the pole for a hair's breadth, rounding decides the side
            x = geometry.expmap0(u.double(), **form)
            room = 1 + x[:, 0] / math.sqrt(-beta)
            kept = room.abs() > 1e-2
            assert kept.sum() >= 15
            loose = {key: (50 if place == "far" else 5) * value for key, value in CLOSE[dtype].items()}
            u_kept = u[kept]
            same_tangent(geometry.translate0(u_kept, b, **form), composed(u_kept, b, form), form, **loose)


@pytest.mark.parametrize(("s", "t"), [(2, 2), (3, 7), (0, 4), (1, 3)])
def test_translate0_equals_the_translation_around_the_antipode(s, t):
    for beta in BETAS:
        form = {"beta": beta, "time_dim": t}
        b = 0.4 * math.sqrt(-beta) * torch.randn(s + t, dtype=torch.float64, generator=generator(7))
        connected = []
        for place in ("antipode", "behind"):
            u = tangents(s, t, beta, torch.float64, place)
            x = geometry.expmap0(u, **form)
            connected.append(geometry.is_connected(geometry.pole(s + t, beta=beta, like=x).expand_as(x), x, **form))
            same_tangent(geometry.translate0(u, b, **form), composed(u, b, form), form, rtol=1e-7, atol=1e-7)
        assert torch.cat(connected).any()
        assert s == 0 or not torch.cat(connected).all()  # both sides of the bias


def test_translate0_crosses_to_the_broken_side_by_hand():
    """Behind the pole, far out in space: no geodesic joins the two, and the bias goes along the mirrored path."""
    form = {"beta": -1.0, "time_dim": 2}
    u = torch.tensor([[0.0, math.pi, 2.0]], dtype=torch.float64)
    x = geometry.expmap0(u, **form)
    torch.testing.assert_close(x, torch.tensor([[-math.sqrt(5), 0.0, 2.0]], dtype=torch.float64))
    b = torch.tensor([0.0, 0.0, 0.3], dtype=torch.float64)
    # -x is a step of asinh(2) against the axis; the bias walks on by 0.3 there, and the result is mirrored back
    expected = torch.tensor([[0.0, math.pi, math.sinh(math.asinh(2) - 0.3)]], dtype=torch.float64)
    torch.testing.assert_close(geometry.translate0(u, b, **form), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_translate0_by_nothing_folds(s, t, dtype):
    form = {"beta": -0.7, "time_dim": t}
    zero = torch.zeros(s + t, dtype=dtype)
    zero[0] = 3.0  # not read
    for place in PLACES:
        u = tangents(s, t, -0.7, dtype, place)
        loose = {key: (50 if place == "far" else 1) * value for key, value in CLOSE[dtype].items()}
        same_tangent(geometry.translate0(u, zero, **form), geometry.fold0(u, **form), form, **loose)


@pytest.mark.parametrize(("s", "t"), [(3, 1), (2, 2), (0, 3), (1, 4)])
def test_translate0_from_the_pole_is_the_exponential_map(s, t):
    form = {"beta": -2.0, "time_dim": t}
    b = 0.5 * torch.randn(s + t, dtype=torch.float64, generator=generator(3))
    b[0] = 0
    pole = geometry.pole(s + t, beta=-2.0, like=b)
    expected = geometry.logmap0(geometry.expmap(pole, b, **form), **form)
    torch.testing.assert_close(geometry.translate0(torch.zeros_like(b), b, **form), expected)


@pytest.mark.parametrize("place", ["near", "middle", "far", "antipode", "behind"])
@pytest.mark.parametrize(("s", "t"), [(3, 1), (2, 2), (1, 4), (0, 3)])
def test_gradients_pass_gradcheck_and_equal_those_of_the_composition(s, t, place):
    u = tangents(s, t, -0.7, torch.float64, place, n=4)
    b = 0.3 * torch.randn(s + t, dtype=torch.float64, generator=generator(5))
    beta = torch.tensor(-0.7, dtype=torch.float64)
    leaves = [each.clone().requires_grad_() for each in (u, b, beta)]

    def fold(u, beta):
        return geometry.fold0(u, beta=beta, time_dim=t)

    def translate(u, b, beta):
        return geometry.translate0(u, b, beta=beta, time_dim=t)

    loose = {"rtol": 1e-3, "atol": 1e-4}
    assert torch.autograd.gradcheck(fold, (leaves[0], leaves[2]), **loose)
    assert torch.autograd.gradcheck(translate, leaves, **loose)
    weights = torch.randn(u.shape, dtype=u.dtype, generator=generator(6))
    found = torch.autograd.grad((translate(*leaves) * weights).sum(), leaves)
    expected = torch.autograd.grad((composed(*leaves[:2], {"beta": leaves[2], "time_dim": t}) * weights).sum(), leaves)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("s", "t"), [(3, 1), (2, 2), (1, 4), (0, 3)])
def test_second_derivatives_pass_gradgradcheck(s, t):
    u = tangents(s, t, -0.7, torch.float64, "middle", n=3)
    b = 0.3 * torch.randn(s + t, dtype=torch.float64, generator=generator(5))
    leaves = [each.clone().requires_grad_() for each in (u, b, torch.tensor(-0.7, dtype=torch.float64))]
    assert torch.autograd.gradgradcheck(lambda u, b, beta: geometry.translate0(u, b, beta=beta, time_dim=t), leaves, atol=1e-4)
    fold = (leaves[0], leaves[2])
    assert torch.autograd.gradgradcheck(lambda u, beta: geometry.fold0(u, beta=beta, time_dim=t), fold, atol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_values_and_gradients_are_finite_at_and_around_the_pole_and_the_antipode(s, t, dtype):
    for beta in BETAS:
        root = math.sqrt(-beta)
        rows = []
        for angle in (0.0, 1e-30, 1e-18, 1e-8, 1e-4, math.pi - 1e-4, math.pi - 1e-7, math.pi, math.pi + 1e-7, 2 * math.pi, 1e4):
            for reach in (0.0, 1e-18, 1.0, 1e4):
                row = torch.zeros(s + t, dtype=torch.float64)
                row[1:2] = angle * root if t > 1 else 0.0
                row[t:] = reach * root
                rows.append(row)
        u = torch.stack(rows).to(dtype)
        for scale in (0.0, 1e-10, 0.5):
            b = scale * root * torch.randn(s + t, dtype=dtype, generator=generator(1))
            leaves = [u.clone().requires_grad_(), b.requires_grad_(), torch.tensor(beta, dtype=dtype, requires_grad=True)]
            for result in (
                geometry.translate0(*leaves[:2], beta=leaves[2], time_dim=t),
                geometry.fold0(leaves[0], beta=leaves[2], time_dim=t),
            ):
                assert result.isfinite().all(), (beta, scale)
                for gradient in torch.autograd.grad(result.sum(), leaves, allow_unused=True):
                    assert gradient is None or gradient.isfinite().all(), (beta, scale)


@pytest.mark.parametrize("dtype", DTYPES)
def test_translate0_to_the_antipode_has_the_fixed_direction_of_logmap0_and_no_gradient(dtype):
    u = torch.zeros(1, 4, dtype=dtype, requires_grad=True)
    b = torch.tensor([0.0, 2 * math.pi, 0.0, 0.0], dtype=dtype)  # half a turn at radius 2
    moved = geometry.translate0(u, b, beta=-4.0, time_dim=4)
    torch.testing.assert_close(moved.norm(), torch.tensor(2 * math.pi, dtype=dtype))
    from qgcn.geometry.tangent import _SphereLog

    ahead, rest = torch.tensor([[-2.0]], dtype=dtype), torch.zeros(1, 3, dtype=dtype)
    leaves = [ahead.requires_grad_(), rest.requires_grad_()]
    log = _SphereLog.apply(*leaves)
    torch.testing.assert_close(log, torch.tensor([[math.pi, 0.0, 0.0]], dtype=dtype))
    for gradient in torch.autograd.grad(log.sum(), leaves):
        assert (gradient == 0).all()


# --- batches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("s", "t"), [(3, 1), (2, 2), (0, 3), (1, 4)])
def test_batches_of_beta_and_of_biases_broadcast(s, t):
    u = tangents(s, t, -1.0, torch.float64, "middle", n=5)
    beta = torch.tensor(BETAS, dtype=torch.float64).reshape(-1, 1, 1)
    b = 0.3 * torch.randn(len(BETAS), 1, s + t, dtype=torch.float64, generator=generator(2))
    folded = geometry.fold0(u, beta=beta, time_dim=t)
    moved = geometry.translate0(u, b, beta=beta, time_dim=t)
    shared = geometry.translate0(u, b[0, 0], beta=beta, time_dim=t)
    assert folded.shape == moved.shape == shared.shape == (len(BETAS), 5, s + t)
    for k, value in enumerate(BETAS):
        form = {"beta": value, "time_dim": t}
        torch.testing.assert_close(folded[k], geometry.fold0(u, **form))
        torch.testing.assert_close(moved[k], geometry.translate0(u, b[k, 0], **form))
        torch.testing.assert_close(shared[k], geometry.translate0(u, b[0, 0], **form))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batched", [(True, True, True), (True, False, False), (False, True, False), (False, False, True)])
@pytest.mark.parametrize(("s", "t"), [(3, 1), (2, 2), (0, 3), (1, 4)])
def test_vmap_agrees_with_a_loop_gradients_included(s, t, batched, dtype):
    """A tensor under vmap does not say that it requires a gradient: what it computes must be recorded all the same."""
    count = 3
    u = torch.stack([tangents(s, t, -1.0, dtype, "middle", n=4, seed=seed) for seed in range(count)])
    u[:, 0] = 0  # at the pole only the functions' own derivatives are finite, not those of their formulas
    b = 0.3 * torch.randn(count, s + t, dtype=dtype, generator=generator(2))
    beta = torch.tensor([-0.5, -1.0, -2.0], dtype=dtype)
    given = [each if many else each[0] for each, many in zip((u, b, beta), batched, strict=True)]
    in_dims = tuple(0 if many else None for many in batched)
    weights = torch.randn(count, 4, s + t, dtype=dtype, generator=generator(3))

    def function(u, b, beta):
        form = {"beta": beta, "time_dim": t}
        return geometry.translate0(u, b, **form) + 2 * geometry.fold0(3 * u, **form)

    leaves = [each.clone().requires_grad_() for each in given]
    result = torch.vmap(function, in_dims=in_dims)(*leaves)
    assert result.requires_grad
    gradients = torch.autograd.grad((result * weights).sum(), leaves)
    twins = [each.clone().requires_grad_() for each in given]
    one_by_one = torch.stack(
        [function(*(each[k] if many else each for each, many in zip(twins, batched, strict=True))) for k in range(count)]
    )
    expected = torch.autograd.grad((one_by_one * weights).sum(), twins)
    loose = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 1e-10, "atol": 1e-10}
    torch.testing.assert_close(result, one_by_one, **loose)
    torch.testing.assert_close(gradients, expected, **loose)


@pytest.mark.parametrize(("s", "t"), [(3, 1), (2, 2), (0, 3)])
def test_gradients_inside_vmap_agree_with_a_loop(s, t):
    u = tangents(s, t, -0.7, torch.float64, "middle", n=4)
    b = 0.3 * torch.randn(s + t, dtype=torch.float64, generator=generator(2))
    inner = torch.vmap(torch.func.grad(lambda u: geometry.translate0(u, b, beta=-0.7, time_dim=t).square().sum()))(u)
    leaf = u.clone().requires_grad_()
    (outer,) = torch.autograd.grad(geometry.translate0(leaf, b, beta=-0.7, time_dim=t).square().sum(), leaf)
    torch.testing.assert_close(inner, outer)


# --- what does not fit -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda u: geometry.fold0(u, beta=1.0, time_dim=1), ValueError, "beta must be negative"),
        (lambda u: geometry.fold0(u, beta=1.0, time_dim=2), ValueError, "beta must be negative"),
        (lambda u: geometry.fold0(u, beta=-1.0, time_dim=5), ValueError, r"time_dim must be in \[1, 4\]"),
        (lambda u: geometry.translate0(u, u[0], beta=0.0, time_dim=2), ValueError, "beta must be negative"),
        (lambda u: geometry.translate0(u, u[0, 1:], beta=-1.0, time_dim=2), ValueError, "coordinates"),
        (lambda u: geometry.translate0(u, u[0].double(), beta=-1.0, time_dim=2), TypeError, "one type"),
        (lambda u: geometry.fold0(u.long(), beta=-1.0, time_dim=2), TypeError, "float32"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call(torch.randn(3, 4, generator=generator(0)))
