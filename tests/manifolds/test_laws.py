"""One suite of laws for every space."""

import copy

import geoopt
import pytest
import torch

from cases import generator
from qgcn import parse_space
from qgcn.optim import PseudoRiemannianAdam
from tolerance import DTYPES

NAMES = ("E5", "H5", "S5", "K5", "Q7,3", "Q3,7", "Q0,6", "Q5,1", "H3xS3", "Q4,2xE4", "K3xH2", "M5", "AdS5", "dS5", "M1xH3")
CLOSE = {torch.float32: {"rtol": 2e-3, "atol": 2e-3}, torch.float64: {"rtol": 1e-8, "atol": 1e-8}}


def draw(space, dtype, n=30, seed=0, std=0.5):
    return (
        space.random(n, space.ambient_dim, dtype=dtype, std=std, generator=generator(seed)).detach().as_subclass(torch.Tensor)
    )


@pytest.fixture(params=NAMES)
def space(request):
    return parse_space(request.param)


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_and_origin_are_on_the_manifold(space, dtype):
    x = space.random((4, 6, space.ambient_dim), dtype=dtype)
    assert isinstance(x, geoopt.ManifoldTensor)
    assert x.manifold is space
    assert x.dtype == dtype
    assert x.shape == (4, 6, space.ambient_dim)
    space.assert_check_point_on_manifold(x)
    origin = space.origin(3, space.ambient_dim, dtype=dtype)
    space.assert_check_point_on_manifold(origin)
    torch.testing.assert_close(space.logmap0(origin), torch.zeros(3, space.ambient_dim, dtype=dtype))
    torch.testing.assert_close(space.expmap0(torch.zeros(3, space.ambient_dim, dtype=dtype)), origin.as_subclass(torch.Tensor))


@pytest.mark.parametrize("dtype", DTYPES)
def test_projections_keep_what_is_already_there(space, dtype):
    x, y = draw(space, dtype), draw(space, dtype, seed=1)
    torch.testing.assert_close(space.projx(x), x, **CLOSE[dtype])
    u = space.proju(x, y)
    space.assert_check_vector_on_tangent(x, u, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(space.proju(x, u), u, **CLOSE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_maps_at_the_origin_undo_each_other(space, dtype):
    x = draw(space, dtype)
    torch.testing.assert_close(space.expmap0(space.logmap0(x)), x, **CLOSE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_exponential_and_logarithm_undo_each_other(space, dtype):
    x, y = draw(space, dtype, std=0.2), draw(space, dtype, seed=1, std=0.2)
    v = space.logmap(x, y)
    assert not v.isnan().any()
    torch.testing.assert_close(space.expmap(x, v), y, **CLOSE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_distances_are_symmetric_agree_and_vanish_on_the_diagonal(space, dtype):
    x, y = draw(space, dtype), draw(space, dtype, seed=1)
    distance = space.dist(x, y)
    torch.testing.assert_close(space.dist(y, x), distance, **CLOSE[dtype])
    torch.testing.assert_close(space.dist2(x, y), distance.square(), **CLOSE[dtype])
    torch.testing.assert_close(space.dist(x, y, keepdim=True).squeeze(-1), distance)
    torch.testing.assert_close(space.pairwise_dist(x, y).diagonal(), distance, **CLOSE[dtype])
    torch.testing.assert_close(space.pairwise_dist(x), space.pairwise_dist(x, x))
    torch.testing.assert_close(space.dist(x, x), torch.zeros(30, dtype=dtype), rtol=0, atol=1e-3)


def test_transport_keeps_the_inner_product_and_starts_at_the_origin_as_transp0(space):
    y = draw(space, torch.float64, std=0.2)
    origin = space.origin(space.ambient_dim, dtype=torch.float64).as_subclass(torch.Tensor)
    u, v = (space.proju(origin.expand_as(y), draw(space, torch.float64, seed=seed)) for seed in (2, 3))
    moved, other = space.transp0(y, u), space.transp0(y, v)
    torch.testing.assert_close(moved, space.transp(origin, y, u), rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(space.inner(y, moved, other), space.inner(origin.expand_as(y), u, v), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fold0_is_the_logarithm_of_the_exponential_and_the_identity_near_the_origin(space, dtype):
    u = space.logmap0(draw(space, dtype))
    torch.testing.assert_close(space.fold0(u), u, **CLOSE[dtype])
    far = 4 * draw(parse_space(f"E{space.ambient_dim}"), dtype, std=1.0)
    if "K" in str(space) or "H" in str(space):
        far = far / 4  # further out geoopt's ball, and the exponential of hyperbolic space in float32, leave nothing to compare
    folded = space.fold0(far)
    torch.testing.assert_close(space.expmap0(folded), space.expmap0(far), **CLOSE[dtype])
    torch.testing.assert_close(folded, space.logmap0(space.expmap0(far)), **CLOSE[dtype])
    torch.testing.assert_close(space.fold0(folded), folded, **CLOSE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_translations_stay_on_the_manifold_start_at_the_origin_and_agree_with_the_tangent_coordinates(space, dtype):
    x = draw(space, dtype)
    origin = space.origin(30, space.ambient_dim, dtype=dtype).as_subclass(torch.Tensor)
    b = 0.3 * space.logmap0(draw(space, dtype, seed=1))[0]
    moved = space.translate(x, b)
    space.assert_check_point_on_manifold(moved, atol=1e-4, rtol=1e-4)
    assert (moved - x).abs().max() > 1e-2
    torch.testing.assert_close(space.translate(x, torch.zeros_like(b)), x, **CLOSE[dtype])
    torch.testing.assert_close(space.translate(origin, b), space.expmap(origin, b.expand_as(x)), **CLOSE[dtype])
    u = space.logmap0(x)
    torch.testing.assert_close(space.translate0(u, b), space.logmap0(moved), **CLOSE[dtype])
    torch.testing.assert_close(space.translate0(u, torch.zeros_like(b)), u, **CLOSE[dtype])
    torch.testing.assert_close(
        space.translate0(torch.zeros_like(u), b), space.logmap0(space.translate(origin, b)), **CLOSE[dtype]
    )


def test_a_translation_moves_by_the_length_of_its_bias(space):
    """Transport is an isometry; for an indefinite metric the length is that of the absolute square."""
    x = draw(space, torch.float64, std=0.2)
    origin = space.origin(space.ambient_dim, dtype=torch.float64).as_subclass(torch.Tensor)
    b = 0.3 * space.logmap0(draw(space, torch.float64, seed=1))[0]
    if any(letter in str(space) for letter in "xQ") and not str(space).startswith("Q0"):
        square = space.inner(origin, b)
        moved = space.logmap(x, space.translate(x, b))
        torch.testing.assert_close(space.inner(x, moved), square.expand(30), rtol=1e-6, atol=1e-6)
    else:
        torch.testing.assert_close(space.dist(x, space.translate(x, b)), space.norm(origin, b).expand(30), rtol=1e-6, atol=1e-6)


def test_gradients_of_folds_and_translations_are_those_of_the_compositions(space):
    learnable = parse_space(str(space), learnable=True)
    u = space.logmap0(draw(space, torch.float64)).requires_grad_()
    b = (0.3 * space.logmap0(draw(space, torch.float64, seed=1))[0]).requires_grad_()
    leaves = [u, b, *learnable.parameters()]
    pairs = (
        (learnable.fold0(u), learnable.logmap0(learnable.expmap0(u))),
        (learnable.translate0(u, b), learnable.logmap0(learnable.translate(learnable.expmap0(u), b))),
    )
    for short, long in pairs:
        weights = torch.randn(short.shape, dtype=short.dtype, generator=generator(2))
        found, expected = (
            torch.autograd.grad((each * weights).sum(), leaves, allow_unused=True, materialize_grads=True)
            for each in (short, long)
        )
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["dist2", "dist", "translate0", "fold0", "expmap0"])
@pytest.mark.parametrize(
    "written", [each for each in NAMES if "K" not in each]
)  # geoopt scripts the others: no vmap over kappa
def test_a_batch_of_curvatures_under_vmap_agrees_with_a_loop_gradients_included(written, name, dtype):
    space, learnable = parse_space(written), parse_space(written, learnable=True)
    u, v = (space.logmap0(draw(space, dtype, n=6, seed=seed)) for seed in (0, 1))
    u, v = (torch.stack((each, 0.5 * each, 0.7 * each)).requires_grad_() for each in (u, v))
    curvatures = {
        key: torch.stack((value, value + 0.2, value - 0.2)).detach().requires_grad_()
        for key, value in learnable.named_parameters()
    }

    class Method(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.space = learnable

        def forward(self, u, v):
            if name in ("dist", "dist2"):
                return getattr(self.space, name)(self.space.expmap0(u), self.space.expmap0(v))
            return getattr(self.space, name)(u, *([v[0]] if name == "translate0" else []))

    def one(curvatures, u, v):
        return torch.func.functional_call(Method(), {f"space.{key}": value for key, value in curvatures.items()}, (u, v))

    together = torch.vmap(one)(curvatures, u, v)
    alone = torch.stack([one({key: value[k] for key, value in curvatures.items()}, u[k], v[k]) for k in range(3)])
    torch.testing.assert_close(together, alone, **CLOSE[dtype])
    leaves = [u, v, *curvatures.values()]
    options = {"allow_unused": True, "materialize_grads": True}
    weights = torch.randn(together.shape, dtype=dtype, generator=generator(3))
    found, expected = (torch.autograd.grad((each * weights).sum(), leaves, **options) for each in (together, alone))
    torch.testing.assert_close(found, expected, rtol=10 * CLOSE[dtype]["rtol"], atol=10 * CLOSE[dtype]["atol"])


@pytest.mark.parametrize("dtype", DTYPES)
def test_squared_distances_under_vmap_agree_with_a_loop(space, dtype):
    x, y = (draw(space, dtype, n=12, seed=seed).view(3, 4, -1).requires_grad_() for seed in (0, 1))
    together = torch.vmap(space.dist2)(x, y)
    alone = torch.stack([space.dist2(x[k], y[k]) for k in range(3)])
    torch.testing.assert_close(together, alone, **CLOSE[dtype])
    found, expected = (torch.autograd.grad(each.sum(), (x, y)) for each in (together, alone))
    torch.testing.assert_close(found, expected, **CLOSE[dtype])


def test_norm_is_never_nan_and_has_a_finite_gradient_at_zero(space):
    x = draw(space, torch.float64)
    assert not space.norm(x, space.proju(x, draw(space, torch.float64, seed=1))).isnan().any()
    u = torch.zeros_like(x).requires_grad_()
    if "K" not in str(space):  # geoopt's own norm
        (gradient,) = torch.autograd.grad(space.norm(x, u).sum(), u)
        assert gradient.isfinite().all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_direction_of_egrad2rgrad_descends(space, dtype):
    x, y = draw(space, dtype), draw(space, dtype, seed=1)
    leaf = x.clone().requires_grad_()
    before = space.dist2(leaf, y)
    (gradient,) = torch.autograd.grad(before.sum(), leaf)
    direction = space.egrad2rgrad(x, gradient.clone())
    step = 1e-4 / (1 + direction.norm(dim=-1, keepdim=True))
    after = space.dist2(space.retr(x, -step * direction), y)
    slope = (gradient * direction).sum(-1)
    assert (slope >= 0).all()
    decided = slope > 1e-2 * (1 + before)  # the others change by less than rounding
    assert decided.any()
    assert (after <= before + 1e-6)[decided].all()


@pytest.mark.parametrize(
    "optimiser",
    [
        lambda points: geoopt.optim.RiemannianSGD(points, lr=0.05),
        lambda points: geoopt.optim.RiemannianSGD(points, lr=0.01, momentum=0.9),
        lambda points: geoopt.optim.RiemannianAdam(points, lr=0.02),
        lambda points: PseudoRiemannianAdam(points, lr=0.02),
    ],
    ids=["sgd", "momentum", "geoopt-adam", "adam"],
)
def test_optimisers_minimise_a_distance_and_stay_on_the_manifold(space, optimiser):
    target = draw(space, torch.float64, std=0.3)
    points = geoopt.ManifoldParameter(space.random(30, space.ambient_dim, dtype=torch.float64, std=0.3, generator=generator(5)))
    method = optimiser([points])
    # the Euclidean distance in the ambient space: a smooth goal with one minimum, whatever the metric
    losses = []
    for _ in range(400):
        method.zero_grad()
        loss = (points - target).square().sum()
        loss.backward()
        method.step()
        losses.append(loss.item())
    assert losses[-1] < 0.02 * losses[0]
    space.assert_check_point_on_manifold(points, atol=1e-9, rtol=1e-9)


def test_spaces_survive_copies_state_dicts_and_casts(space):
    learnable = parse_space(str(space), learnable=True)
    x, y = draw(space, torch.float64), draw(space, torch.float64, seed=1)
    with torch.no_grad():
        for parameter in learnable.parameters():
            parameter.add_(0.1)
    twin = parse_space(str(space), learnable=True)
    twin.load_state_dict(learnable.state_dict())
    for other in (copy.deepcopy(learnable), twin):
        assert str(other) == str(space)
        torch.testing.assert_close(other.dist(x, y), learnable.dist(x, y))
    assert copy.deepcopy(geoopt.ManifoldParameter(x, manifold=space)).manifold is not space
    assert learnable.float().dist(x.float(), y.float()).dtype == torch.float32


def test_learnable_curvature_receives_a_gradient(space):
    learnable = parse_space(str(space), learnable=True)
    u, w = draw(space, torch.float64), draw(space, torch.float64, seed=1)
    distance = learnable.dist(learnable.expmap0(u), learnable.expmap0(w)).sum()
    gradients = torch.autograd.grad(distance, list(learnable.parameters())) if list(learnable.parameters()) else []
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients)
    assert bool(gradients) == (str(space) not in ("E5", "M5"))


def test_scaled_by_geoopt_scales_every_length(space):
    scaled = geoopt.Scaled(space, 2.0)
    x, y = draw(space, torch.float32), draw(space, torch.float32, seed=1)
    torch.testing.assert_close(scaled.dist(x, y), 2 * space.dist(x, y))
    torch.testing.assert_close(scaled.pairwise_dist(x, y), 2 * space.pairwise_dist(x, y))
    torch.testing.assert_close(scaled.expmap0(scaled.logmap0(x)), x, rtol=2e-3, atol=2e-3)


def test_empty_batches_pass_through(space):
    x = torch.empty(0, space.ambient_dim)
    for name in ("projx", "expmap0", "logmap0"):
        assert getattr(space, name)(x).shape == x.shape
    for name in ("proju", "expmap", "logmap", "retr", "egrad2rgrad", "transp0"):
        assert getattr(space, name)(x, x).shape == x.shape
    assert space.transp(x, x, x).shape == x.shape
    assert space.dist(x, x).shape == space.inner(x, x).shape == (0,)
    assert space.pairwise_dist(x, x).shape == (0, 0)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda space, x: space.dist(x[..., 1:], x[..., 1:]), ValueError),
        (lambda space, x: space.expmap0(x[..., 1:]), ValueError),
        (lambda space, x: space.logmap0(torch.cat((x, x), dim=-1)), ValueError),
        (lambda space, x: space.pairwise_dist(x, x[..., 1:]), ValueError),
        (lambda space, x: space.dist(x, x.double()), TypeError),
        (lambda space, x: space.dist(x.long(), x.long()), TypeError),
        (lambda space, x: space.dist(x, x.to("meta")), TypeError),
        (lambda space, x: space.random(3, space.ambient_dim + 1), ValueError),
        (lambda space, x: space.random(3, space.ambient_dim, std=-1.0), ValueError),
        (lambda space, x: space.random(3, space.ambient_dim, dtype=torch.float16), TypeError),
    ],
)
def test_what_does_not_fit_is_refused_with_the_sizes(space, call, error):
    with pytest.raises(error, match=r"coordinates|float32|meta|std"):
        call(space, draw(space, torch.float32))
