"""The objective of entailment in C++: values and gradients against the plain one, for every cone and space."""

import pytest
import torch

from cases import generator
from qgcn import parse_space
from qgcn.kernels import use_backend
from qgcn.kernels.cones import KINDS, among, cpu
from qgcn.nn import Adjacency, cone
from qgcn.tasks import Config
from qgcn.tasks.entailment import EntailmentPredictor

HOMES = [
    ("light", "M10", "straight"),
    ("light", "M1xE3", "straight"),
    ("light", "M1xS4", "arc"),
    ("light", "AdS10", "arc"),
    ("light", "dS10", "ball"),
    ("light", "M1xH9", "reach"),
    ("order", "E10", "order"),
    ("hyperbolic", "H10", "cone"),
    ("shadow", "H5", "shadow"),
]
needs_compiler = pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")


class Placed(torch.nn.Module):
    """Points given by coordinates at the pole: what a shallow encoder is."""

    def __init__(self, space, size):
        super().__init__()
        self.space = space
        self.coordinates = torch.nn.Parameter(size * torch.randn(40, space.ambient_dim, generator=generator(1)))

    def forward(self, x, graph):
        return self.space.expmap0(self.coordinates)


def predictor(name, home, size, weight=0.3):
    space = parse_space(home) if home[0] == "E" or home in ("M10", "M1xE3") else parse_space(home, beta=-2.0, learnable=True)
    config = Config.checked({"task": "entailment", "data": "tree", "space": home, "cone": name, "negative_weight": weight})
    made = EntailmentPredictor(Placed(space, size), cone(name, space), config)
    with torch.no_grad():
        made.log_sharpness.fill_(0.4)
        made.cone.threshold.fill_(0.2)
    return made


def targets(pairs=37, negatives=3):
    """Draw pairs of different nodes."""
    source = generator(2)
    above, steps = (
        torch.randint(40, (pairs,), generator=source),
        torch.randint(1, 40, (1 + 2 * negatives, pairs), generator=source),
    )
    below = (above + steps[0]) % 40
    ends = torch.stack(
        [(end + step) % 40 for end, step in ((above, steps[1 : negatives + 1]), (below, steps[negatives + 1 :]))]
    )
    return torch.stack((above, below)), ends, torch.rand(2, negatives, pairs, generator=source) < 0.8


@needs_compiler
def test_every_kind_of_margin_is_tested():
    assert {kind for _, _, kind in HOMES} == set(KINDS)


@needs_compiler
@pytest.mark.parametrize("size", [0.03, 0.5])
@pytest.mark.parametrize(("name", "home", "kind"), HOMES)
def test_values_and_gradients_are_those_of_the_plain_objective(name, home, kind, size):
    found = {}
    for path in ("native", "eager"):
        made = predictor(name, home, size)
        rows = made.cone.rows(made.encoder(None, None), made.space)
        assert rows.kind == kind
        with use_backend(path):
            assert rows.fits() == (path == "native")
            value = made.loss(None, Adjacency(torch.empty(2, 0, dtype=torch.long), 40), *targets())
            (1.5 * value).backward()
        found[path] = {"value": value} | {key: each.grad for key, each in made.named_parameters() if each.grad is not None}
    assert found["native"].keys() == found["eager"].keys()
    for key, value in found["eager"].items():
        given, near = found["native"][key].detach(), 1e-7 + 2e-4 * float(value.detach().abs().max())  # a sum may cancel
        torch.testing.assert_close(given, value.detach(), rtol=2e-4, atol=near, msg=lambda text, key=key: f"{key}: {text}")


@needs_compiler
@pytest.mark.parametrize(("name", "home", "kind"), HOMES)
def test_coincident_points_have_finite_gradients(name, home, kind):
    made = predictor(name, home, 0.0)
    value = made.loss(None, None, *targets())
    value.backward()
    assert bool(value.isfinite())
    assert all(bool(each.grad.isfinite().all()) for each in made.parameters() if each.grad is not None)


@pytest.mark.parametrize("path", ["native", "eager"])
def test_among_finds_the_seconds_of_the_firsts(path):
    if path == "native" and cpu.obstacle() is not None:
        pytest.skip("needs a C++ compiler")
    known = {0: [1, 4], 2: [0, 3, 5], 5: [5]}
    begin = torch.tensor([0, 2, 2, 5, 5, 5, 6])
    seconds = torch.tensor([1, 4, 0, 3, 5, 5])
    first = torch.arange(6).repeat_interleave(6)
    second = torch.arange(6).repeat(6)
    with use_backend(path):
        found = among(begin, seconds, first, second.flip(0)[None].repeat(2, 1).flip(1))
        nothing = among(torch.zeros(7, dtype=torch.long), seconds[:0], first, second[None])
    expected = torch.tensor([b in known.get(a, []) for a, b in zip(first.tolist(), second.tolist(), strict=True)])
    assert torch.equal(found, expected.expand(2, -1))
    assert not bool(nothing.any())


def test_among_asks_no_device_how_much_there_is():
    nodes, seconds, asked = (torch.empty(size, dtype=torch.long, device="meta") for size in (7, 6, 9))
    assert among(nodes, seconds, asked, asked.expand(2, -1)).shape == (2, 9)  # what has no values can be asked for none


@pytest.mark.parametrize("path", ["native", "eager"])
@pytest.mark.parametrize("most", [1, 2, 3, 7, 8, 9, 200])
def test_among_finds_the_seconds_of_lists_of_every_length(most, path):
    if path == "native" and cpu.obstacle() is not None:
        pytest.skip("needs a C++ compiler")
    source = generator(4)
    known = torch.rand(300, 300, generator=source) < most / 300
    known[::3] = False
    begin = torch.nn.functional.pad(known.sum(1).cumsum(0), (1, 0))
    first = torch.randint(300, (500,), generator=source)
    second = torch.randint(300, (4, 500), generator=source)
    with use_backend(path):
        found = among(begin, known.nonzero()[:, 1].contiguous(), first, second)
    assert torch.equal(found, known[first, second])
