import copy

import geoopt
import pytest
import torch

from cases import generator
from qgcn import PseudoHyperboloid, geometry, parse_space
from qgcn.data import ring_of_trees
from qgcn.optim import PseudoRiemannianAdam


def embed(direction, steps=150, lr=1e-3):
    """Embed a ring of trees in Q3,3 by plain descent along a direction; return the losses."""
    manifold = PseudoHyperboloid(3, 3)
    edges = ring_of_trees(ring=6, depth=2)
    nodes = int(edges.max()) + 1
    x = manifold.random(nodes, 6, dtype=torch.float64, std=0.3, generator=generator(0)).as_subclass(torch.Tensor)
    losses = []
    for _ in range(steps):
        leaf = x.clone().requires_grad_()
        loss = reconstruction(manifold, leaf, edges)
        (gradient,) = torch.autograd.grad(loss, leaf)
        losses.append(loss.item())
        x = manifold.retr(x, -lr * direction(manifold, x, gradient))
    return losses


def reconstruction(manifold, x, edges):
    nearness = -2 * manifold.pairwise_dist(x).square()
    nearness = nearness - torch.diag(torch.full((len(x),), torch.inf, dtype=x.dtype))
    return -(nearness.log_softmax(dim=1)[edges[0], edges[1]]).sum()


def naive(manifold, x, gradient):
    return manifold.proju(x, geometry.flip_time(gradient, time_dim=manifold.time_dim))


def test_descent_converges_on_a_shallow_embedding_where_the_naive_gradient_does_not():
    ours = embed(lambda manifold, x, gradient: manifold.egrad2rgrad(x, gradient))
    theirs = embed(naive)
    assert ours[-1] < 0.6 * ours[0]
    assert not theirs[-1] < theirs[0]


def test_adam_converges_on_the_same_embedding():
    manifold = PseudoHyperboloid(3, 3, learnable=True)
    edges = ring_of_trees(ring=6, depth=2)
    points = geoopt.ManifoldParameter(manifold.random(42, 6, dtype=torch.float64, std=0.3, generator=generator(0)))
    optimiser = PseudoRiemannianAdam([{"params": [points]}, {"params": manifold.parameters(), "lr": 1e-3}], lr=0.03)
    losses = []
    for _ in range(200):
        optimiser.zero_grad()
        loss = reconstruction(manifold, points, edges)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    assert manifold.beta.item() != -1
    manifold.assert_check_point_on_manifold(points, atol=1e-9, rtol=1e-9)


def test_parameters_that_are_no_points_take_the_steps_of_adamw():
    start = torch.randn(4, 3, dtype=torch.float64, generator=generator(0))
    ours, theirs = (torch.nn.Parameter(start.clone()) for _ in range(2))
    options = {"lr": 0.05, "betas": (0.8, 0.95), "weight_decay": 0.1}
    optimisers = PseudoRiemannianAdam([ours], **options), torch.optim.AdamW([theirs], **options)
    for step in range(20):
        for parameter, optimiser in zip((ours, theirs), optimisers, strict=True):
            optimiser.zero_grad()
            (parameter - step / 10).square().sum().backward()
            optimiser.step()
    torch.testing.assert_close(ours, theirs)


def test_points_follow_a_beta_that_is_learned_with_or_without_a_gradient_of_their_own():
    manifold = PseudoHyperboloid(2, 2, learnable=True)
    moved, still = (geoopt.ManifoldParameter(manifold.random(5, 4, dtype=torch.float64)) for _ in range(2))
    optimiser = PseudoRiemannianAdam([moved, still, *manifold.parameters()], lr=0.1)
    (moved.square().sum() + manifold.beta.square()).backward()
    optimiser.step()
    assert manifold.beta.item() != -1
    for points in (moved, still):
        manifold.assert_check_point_on_manifold(points, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("name", ["Q3,2", "H4", "S4", "K4", "H2xS2"])
def test_state_can_be_saved_and_loaded_in_the_middle(name):
    space = parse_space(name)
    start = space.random(6, space.ambient_dim, dtype=torch.float64, std=0.3, generator=generator(1))
    target = space.random(6, space.ambient_dim, dtype=torch.float64, std=0.3, generator=generator(2))

    def steps(points, optimiser, count):
        for _ in range(count):
            optimiser.zero_grad()
            space.dist2(points, target).sum().backward()
            optimiser.step()

    straight = geoopt.ManifoldParameter(start.clone(), manifold=space)
    optimiser = PseudoRiemannianAdam([straight], lr=0.05)
    steps(straight, optimiser, 5)
    resumed = geoopt.ManifoldParameter(straight.detach().clone(), manifold=space)
    second = PseudoRiemannianAdam([resumed], lr=0.05)
    second.load_state_dict(copy.deepcopy(optimiser.state_dict()))  # loading shares tensors
    steps(straight, optimiser, 5)
    steps(resumed, second, 5)
    assert (straight == resumed).all()


def test_closure_is_called_and_its_loss_returned():
    parameter = torch.nn.Parameter(torch.ones(2))
    optimiser = PseudoRiemannianAdam([parameter], lr=0.1)

    def closure():
        optimiser.zero_grad()
        loss = parameter.square().sum()
        loss.backward()
        return loss

    assert optimiser.step(closure) == 2
    assert (parameter < 1).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": -1.0}, "lr must not be negative, got -1.0"),
        ({"betas": (0.9, 1.0)}, r"betas must lie in \[0, 1\), got \(0.9, 1.0\)"),
        ({"eps": 0.0}, "eps must be positive, got 0.0"),
        ({"weight_decay": -0.1}, "weight_decay must not be negative, got -0.1"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        PseudoRiemannianAdam([torch.nn.Parameter(torch.ones(1))], **options)
