"""Cones: what lies in them, against the formulas of their papers."""

import math

import mpmath as mp
import pytest
import torch

from cases import generator
from oracle import vectors
from qgcn import parse_space
from qgcn.nn import CONES, HyperbolicCone, LightCone, OrderCone, ShadowCone, cone
from tolerance import DTYPES

F64 = torch.float64
HOMES = {"light": "M1xH4", "order": "E5", "hyperbolic": "H2", "shadow": "H3"}


def draw(name, n=200, seed=0, dtype=F64, beta=-1.0):
    space = parse_space(name, beta=beta)
    x = space.random(n, space.ambient_dim, dtype=F64, generator=generator(seed))
    return space, x.detach().as_subclass(torch.Tensor).to(dtype)


@pytest.mark.parametrize("name", CONES)
def test_cones_are_transitive(name):
    space, x = draw(HOMES[name], 150)
    made = cone(name, space).double()
    with torch.no_grad():
        inside = made.margin(x[:, None], x[None], space) <= 0
    inside = inside & ~torch.eye(150, dtype=torch.bool)
    assert inside.sum() > 20
    chains = (inside.double() @ inside.double()) > 0
    if name == "hyperbolic":  # near the origin cones are half-spaces, and nothing is promised
        radius = space.dist0(x)
        kept = (radius[:, None] > 0.3) & (radius[None] > 0.3)
        inside_far = inside & kept
        chains = (inside_far.double() @ inside_far.double()) > 0
    assert bool((inside | ~chains).all())


@pytest.mark.parametrize("name", CONES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_margins_and_slopes_are_finite_everywhere(name, dtype):
    space, x = draw(HOMES[name], 20, dtype=dtype)
    made = cone(name, space).to(dtype)
    origin = space.origin(20, space.ambient_dim, dtype=dtype).as_subclass(torch.Tensor)
    far = space.expmap0(30 * space.logmap0(x) / space.logmap0(x).norm(dim=-1, keepdim=True)) if dtype == F64 else x.flip(0)
    for a, b in ((x, x), (x, origin), (origin, x), (origin, origin), (x, far), (far, x)):
        a, b = a.clone().requires_grad_(), b.clone().requires_grad_()
        value = made(a, b, space)
        slopes = torch.autograd.grad(value.sum(), (a, b), allow_unused=True)
        assert bool(value.isfinite().all())
        assert all(bool(each.isfinite().all()) for each in slopes if each is not None)


@pytest.mark.parametrize("beta", [-1.0, -3.0])
def test_the_angle_of_hyperbolic_cones_is_that_of_the_paper(beta):
    space, x = draw("H4", 30, beta=beta)
    _, y = draw("H4", 30, seed=1, beta=beta)
    found = HyperbolicCone().double().margin(x, y, space).detach()
    root = mp.sqrt(-beta)
    for value, p, q in zip(found.tolist(), vectors(x), vectors(y), strict=True):
        a, b = ([c / (v[0] + root) for c in v[1:]] for v in (p, q))
        aa, bb, ab = (mp.fsum(u * v for u, v in zip(s, t, strict=True)) for s, t in ((a, a), (b, b), (a, b)))
        gap = mp.sqrt(aa - 2 * ab + bb)
        cosine = (ab * (1 + aa) - aa * (1 + bb)) / (mp.sqrt(aa) * gap * mp.sqrt(1 + aa * bb - 2 * ab))
        sine = mp.mpf("0.1") * (1 - aa) / mp.sqrt(aa)
        half = mp.asin(sine) if sine < 1 else mp.pi / 2
        assert value == pytest.approx(float(mp.acos(cosine) - half), abs=1e-9)


@pytest.mark.parametrize("beta", [-1.0, -3.0])
def test_shadows_are_balls_under_vertical_light(beta):
    space, x = draw("H4", 30, beta=beta)
    _, y = draw("H4", 30, seed=1, beta=beta)
    found = ShadowCone().double().margin(x, y, space).detach()
    root = math.sqrt(-beta)
    for value, p, q in zip(found.tolist(), vectors(x), vectors(y), strict=True):
        heights = [root / (v[0] - v[-1]) for v in (p, q)]
        places = [[c / (v[0] - v[-1]) for c in v[1:-1]] for v in (p, q)]
        gap = mp.sqrt(mp.fsum((a - b) ** 2 for a, b in zip(*places, strict=True)))
        assert value == pytest.approx(float(mp.log((gap + heights[1]) / heights[0])), abs=1e-9)
    assert bool((ShadowCone().double().margin(x[:, None], y[None], space) < 0).any())


def test_the_order_of_coordinates():
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 3.0], [0.0, 0.0], [-2.0, -2.0]])
    assert OrderCone().margin(x, y, parse_space("E2")).tolist() == [0.0, 5.0, 0.0]


def test_light_is_that_of_the_space():
    space, x = draw("dS4")
    logits = LightCone().double()(x, x.flip(0), space)
    torch.testing.assert_close(logits, -4 * space.light_margin(x, x.flip(0)))


@pytest.mark.parametrize(
    ("name", "space", "where"), [("light", "H10", "spacetimes"), ("order", "M10", "Euclidean"), ("shadow", "E3", "hyperbolic")]
)
def test_a_cone_has_its_spaces(name, space, where):
    with pytest.raises(ValueError, match=rf"the cone {name} is defined in {where}.*, got {space}"):
        cone(name, parse_space(space))
    with pytest.raises(ValueError, match="cone must be one of light, order, hyperbolic, shadow, got 'round'"):
        cone("round", parse_space(space))
