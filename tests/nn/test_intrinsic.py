import copy

import geoopt
import pytest
import torch

from cases import generator
from qgcn import parse_space
from qgcn.nn import IntrinsicClassifier

SPACES = ("E4", "H4", "S4", "Q3,2", "Q4,1", "Q0,5", "H2xS2", "Q2,2xE3")


def classifier_of(space, classes=3, seed=0):
    torch.manual_seed(seed)
    classifier = IntrinsicClassifier(space, classes).double()
    torch.nn.init.normal_(classifier.offsets, std=0.3)
    return classifier


@pytest.mark.parametrize("name", SPACES)
def test_points_are_told_apart_by_the_planes_that_are_learned(name):
    space = parse_space(name)
    centres = space.random(3, space.ambient_dim, std=0.6, dtype=torch.float64, generator=generator(1)).as_subclass(torch.Tensor)
    torch.manual_seed(0)
    x = space.wrapped_normal(centres, 0.05).sample((15,)).flatten(0, 1)
    y = torch.arange(3).repeat(15)
    classifier = IntrinsicClassifier(space, 3).double()
    optimiser = torch.optim.Adam(classifier.parameters(), lr=0.1)
    for _ in range(100):
        optimiser.zero_grad()
        logits = classifier(x)
        torch.nn.functional.cross_entropy(logits, y).backward()
        optimiser.step()
    assert (logits.argmax(-1) == y).double().mean() > 0.95


def test_in_flat_space_it_is_a_linear_layer():
    classifier = classifier_of(parse_space("E4"))
    linear = torch.nn.Linear(4, 3).double()
    with torch.no_grad():
        linear.weight.copy_(classifier.normals)
        linear.bias.copy_(-(classifier.normals * classifier.offsets).sum(-1))
    x = torch.randn(5, 2, 4, dtype=torch.float64, generator=generator(0))
    torch.testing.assert_close(classifier(x), linear(x))


def test_on_the_hyperboloid_it_is_geoopts_in_the_ball():
    space = parse_space("H3")
    x, p, a = (
        space.random(8, 4, std=0.4, dtype=torch.float64, generator=generator(k)).as_subclass(torch.Tensor) for k in (0, 1, 2)
    )
    a = space.proju(p, a)
    inside = geoopt.manifolds.lorentz.math.lorentz_to_poincare
    k = torch.ones((), dtype=torch.float64)
    at, toward = inside(p, k=k), inside(space.expmap(p, 1e-6 * a), k=k)
    normal = (toward - at) / 1e-6
    ours = space.dist2plane(x, p, a, signed=True)
    theirs = geoopt.PoincareBall().double().dist2plane(inside(x, k=k), at, normal, signed=True)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", SPACES)
def test_logits_follow_the_points_in_type_and_shape_and_every_parameter_has_a_gradient(name):
    space = parse_space(name)
    classifier = classifier_of(space)
    x = space.random(2, 6, space.ambient_dim, std=0.5)
    logits = classifier(x)
    assert logits.shape == (2, 6, 3)
    assert logits.dtype == torch.float32
    logits.square().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in classifier.parameters())
    twin = copy.deepcopy(classifier)
    torch.testing.assert_close(twin(x), logits)


def test_no_classes_are_refused():
    with pytest.raises(ValueError, match="classes must be at least 1, got 0"):
        IntrinsicClassifier(parse_space("H2"), 0)
