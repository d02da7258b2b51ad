"""geoopt's optimisers and samplers, and ours, on every space, from ordinary and from far starts."""

import warnings

import geoopt
import pytest
import torch

from cases import generator
from qgcn import parse_space
from qgcn.optim import PseudoRiemannianAdam

SPACES = ("E4", "H4", "S4", "K3", "Q9,1", "Q7,3", "Q1,2", "Q2,6", "Q0,5", "H3xS3", "Q4,2xQ1,4")
OPTIMISERS = {
    "sgd": lambda points, lr: geoopt.optim.RiemannianSGD(points, lr=lr),
    "momentum": lambda points, lr: geoopt.optim.RiemannianSGD(points, lr=lr, momentum=0.9),
    "nesterov": lambda points, lr: geoopt.optim.RiemannianSGD(points, lr=lr, momentum=0.9, nesterov=True),
    "dampening": lambda points, lr: geoopt.optim.RiemannianSGD(points, lr=lr, momentum=0.9, dampening=0.1),
    "geoopt-adam": lambda points, lr: geoopt.optim.RiemannianAdam(points, lr=lr),
    "amsgrad": lambda points, lr: geoopt.optim.RiemannianAdam(points, lr=lr, amsgrad=True),
    "adam": lambda points, lr: PseudoRiemannianAdam(points, lr=lr),
}


@pytest.fixture(params=SPACES)
def space(request):
    return parse_space(request.param)


def starting_points(space, start, seed=0, n=20):
    source = generator(seed)
    if start == "random":
        return space.random(n, space.ambient_dim, dtype=torch.float64, generator=source).as_subclass(torch.Tensor)
    return space.projx(torch.randn(n, space.ambient_dim, dtype=torch.float64, generator=source))


def near_the_origin(space, start):
    """Targets where the loss is curved by less than 20, so that a rate of 0.1 is stable, on the sheet of the start."""
    target = space.random(start.shape, dtype=torch.float64, std=0.2, generator=generator(1)).as_subclass(torch.Tensor)
    if space.time_dim == 1:
        target = torch.cat((target[..., :1].copysign(start[..., :1]), target[..., 1:]), dim=-1)
    return target


RATES = {1e-3: (20, 0.995), 1e-2: (40, 0.9), 1e-1: (250, 5e-3)}
"""Steps at each learning rate, and the share of the loss that may be left of it."""


@pytest.mark.parametrize("optimiser", OPTIMISERS.values(), ids=OPTIMISERS)
def test_optimisers_converge_from_every_start_at_every_rate(space, optimiser):
    start = torch.cat([starting_points(space, kind) for kind in ("random", "projected")])
    target = near_the_origin(space, start)
    for lr, (steps, share) in RATES.items():
        points = geoopt.ManifoldParameter(start.clone(), manifold=space)
        method = optimiser([points], lr)
        first = (start - target).square().sum(-1).view(2, 20).sum(-1)
        for step in range(steps):
            method.zero_grad()
            losses = (points - target).square().sum(-1).view(2, 20).sum(-1)  # of either kind of start
            losses.sum().backward()
            method.step()
            assert points.isfinite().all(), (lr, step)
        assert (losses < share * first).all(), (lr, losses / first)
        space.assert_check_point_on_manifold(points.detach(), atol=1e-8, rtol=1e-8)


SPARSE = {
    "sgd": (geoopt.optim.SparseRiemannianSGD, 1e-1, {}),
    "nesterov": (geoopt.optim.SparseRiemannianSGD, 1e-2, {"momentum": 0.9, "nesterov": True}),
    "adam": (geoopt.optim.SparseRiemannianAdam, 2e-1, {}),
    "amsgrad": (geoopt.optim.SparseRiemannianAdam, 2e-1, {"amsgrad": True}),
}


@pytest.mark.parametrize("optimiser", SPARSE)
@pytest.mark.parametrize("name", ["H4", "S4", "K3", "Q9,1", "Q7,3", "Q2,6", "Q4,2xQ1,4"])
def test_rows_of_an_embedding_converge_by_sparse_gradients(name, optimiser):
    (kind, rate, options), space = SPARSE[optimiser], parse_space(name)
    start = starting_points(space, "random")
    target = near_the_origin(space, start)
    points = torch.nn.Embedding(*start.shape, sparse=True, dtype=start.dtype)
    points.weight = geoopt.ManifoldParameter(start.clone(), manifold=space)
    method = kind(points.parameters(), lr=rate, **options)
    for rows in torch.arange(20).view(2, 10).repeat(150, 1):
        method.zero_grad()
        (points(rows) - target[rows]).square().sum().backward()
        assert points.weight.grad.is_sparse
        method.step()
    found = points.weight.detach()
    assert (found - target).square().sum() < 0.02 * (start - target).square().sum()
    space.assert_check_point_on_manifold(found, atol=1e-8, rtol=1e-8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["H9", "Q9,1", "Q5,5", "Q1,9", "Q0,10"])
def test_plain_descent_converges_where_the_loss_is_far_out(name, dtype):
    """Twenty projected normal points, their targets too: a doubly projected gradient leads to NaN within 5 steps."""
    space = parse_space(name)
    points = geoopt.ManifoldParameter(starting_points(space, "projected").to(dtype), manifold=space)
    target = starting_points(space, "projected", seed=1).to(dtype)
    if space.time_dim == 1:
        target = torch.cat((target[..., :1].copysign(points.detach()[..., :1]), target[..., 1:]), dim=-1)
    method = geoopt.optim.RiemannianSGD([points], lr=1e-3, momentum=0.9)
    losses = []
    for _ in range(200):
        method.zero_grad()
        loss = (points - target).square().sum()
        loss.backward()
        method.step()
        losses.append(loss.item())
    assert losses[-1] < 0.02 * losses[0]


@pytest.mark.parametrize("optimiser", OPTIMISERS.values(), ids=OPTIMISERS)
@pytest.mark.parametrize("name", ["H9", "S9", "Q9,1", "Q5,5", "Q1,9"])
def test_no_rate_makes_a_point_nan(name, optimiser):
    """Beyond the rate that the curvature of the loss allows nothing converges, but points stay finite."""
    space = parse_space(name)
    points = geoopt.ManifoldParameter(starting_points(space, "random"), manifold=space)
    target = starting_points(space, "random", seed=1)
    method = optimiser([points], 10.0)
    for _ in range(40):
        method.zero_grad()
        (points - target).square().sum().backward()
        method.step()
    assert points.isfinite().all()


@pytest.mark.parametrize("method", ["armijo", "wolfe"])
@pytest.mark.parametrize("name", ["H4", "S4", "E4", "Q4,1", "H3xS3"])
def test_line_search_converges_where_the_metric_is_positive(name, method):
    """geoopt's line search takes the slope from ``inner``, which for an indefinite metric is not the slope."""
    space = parse_space(name)
    points = geoopt.ManifoldParameter(starting_points(space, "projected"), manifold=space)
    target = near_the_origin(space, points.detach().as_subclass(torch.Tensor))
    search = geoopt.optim.RiemannianLineSearch([points], line_search_method=method, cg_method="steepest")

    def closure():
        search.zero_grad()
        loss = (points - target).square().sum()
        loss.backward()
        return loss.item()

    before = closure()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(100):
            after = search.step(closure)
            if search.last_step_size is None or after < 1e-6 * before:
                break
    assert after < 1e-4 * before


class Density(torch.nn.Module):
    """A normal log-density around a target."""

    def __init__(self, space, target):
        super().__init__()
        self.target = target
        self.x = geoopt.ManifoldParameter(target.clone(), manifold=space)

    def forward(self):
        return -8 * (self.x - self.target).square().sum()


SAMPLERS = {
    "RHMC": {"epsilon": 0.02, "n_steps": 3},
    "SGRHMC": {"epsilon": 1e-3, "n_steps": 2, "alpha": 0.5},
    "RSGLD": {"epsilon": 1e-3},
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_run_where_the_retraction_can_be_undone_and_are_refused_elsewhere(space, name):
    """geoopt samples on flat space, and refuses its own Lorentz and Sphere as it does these."""
    torch.manual_seed(0)
    target = near_the_origin(space, starting_points(space, "random"))[:4]
    density = Density(space, target)
    if str(space) != "E4":
        with pytest.raises(ValueError, match="reversible"):
            getattr(geoopt.samplers, name)([density.x], **SAMPLERS[name])
        return
    sampler = getattr(geoopt.samplers, name)([density.x], **SAMPLERS[name])
    for _ in range(30):
        sampler.step(density)
    assert density.x.isfinite().all()
    assert (density.x - target).abs().max() > 1e-3


@pytest.mark.parametrize("optimiser", ["momentum", "nesterov"])
@pytest.mark.parametrize("name", ["Q9,1", "Q7,3", "Q5,5", "Q2,6"])
def test_momentum_does_not_grow_where_transport_is_a_boost(name, optimiser):
    """Parallel transport alone leaves 21 and 44 of 587 on Q7,3, since momentum becomes longer with each step."""
    space = parse_space(name)
    points = geoopt.ManifoldParameter(starting_points(space, "projected"), manifold=space)
    target = starting_points(space, "projected", seed=1)
    if space.time_dim == 1:
        target = torch.cat((target[..., :1].copysign(points.detach()[..., :1]), target[..., 1:]), dim=-1)
    method = OPTIMISERS[optimiser]([points], 1e-2)
    for _ in range(200):
        method.zero_grad()
        loss = (points - target).square().sum()
        loss.backward()
        method.step()
    assert loss < 1e-5


def test_points_of_one_time_dimension_stay_on_their_sheet():
    """Towards a target on the other sheet the nearest point of the own one is reached, and no other."""
    space = parse_space("Q9,1")
    start, target = starting_points(space, "projected"), starting_points(space, "projected", seed=1)
    points = geoopt.ManifoldParameter(start.clone(), manifold=space)
    method = OPTIMISERS["nesterov"]([points], 1e-2)
    for _ in range(200):
        method.zero_grad()
        losses = (points - target).square().sum(-1)
        losses.sum().backward()
        method.step()
    assert torch.equal(points.detach()[:, 0].sign(), start[:, 0].sign())
    apart = start[:, 0] * target[:, 0] < 0
    # the nearest point lies in the target's direction: its distance from the axis is found by search
    length = target[:, 1:].norm(dim=-1)
    inner = torch.linspace(0, 1, 100_001, dtype=torch.float64).unsqueeze(-1) * length
    least = ((1 + inner.square()).sqrt() + target[:, 0].abs()).square() + (length - inner).square()
    assert 0 < apart.sum() < 20
    torch.testing.assert_close(losses.detach()[apart], least.amin(0)[apart], rtol=1e-6, atol=1e-6)
    assert losses[~apart].max() < 1e-6
