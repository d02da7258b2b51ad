"""Triton's kernels: on a GPU where there is one, and under Triton's interpreter, which must be asked for before it is imported.

Without either the tests of this file run in a process of their own, under the interpreter.
"""

import math

import pytest
import torch

from cases import generator, points_at_radius, settled_points
from interpreter import DEVICE, INTERPRETED, interpret, runs
from qgcn import parse_space
from qgcn.kernels import Neighbourhoods, average_precision, backend, distances_from, reconstruction_loss, use_backend

triton = pytest.importorskip("triton")
from qgcn.kernels.pairs import gpu  # noqa: E402

# NumPy, in which the interpreter computes, warns of divisions whose result is then not chosen
pytestmark = pytest.mark.filterwarnings("ignore:(divide by zero|invalid value|overflow) encountered:RuntimeWarning")


def test_all_of_this_under_the_interpreter():
    interpret(__file__)


def directed(n):
    """Return edges of which one node has all and the last has none."""
    star = torch.stack((torch.zeros(n - 1, dtype=torch.long), torch.arange(1, n)))
    return torch.cat((star, torch.randint(0, n - 1, (2, 2 * n), generator=generator(n))), dim=1)


def run(path, dtype, points, edges, space, device="cpu", **options):
    """Return the loss and its gradients by points along the manifold, by temperature, and by every beta, in float64."""
    x = points.to(device, dtype, copy=True).requires_grad_()
    temperature = torch.tensor(1.3, dtype=dtype, device=device, requires_grad=True)
    with use_backend(path):
        loss = reconstruction_loss(space.to(device).projx(x), edges, space, temperature=temperature, **options)
        assert backend() == path
    gradients = torch.autograd.grad(loss, (x, temperature, *space.parameters()))
    space.cpu()
    return [each.double().cpu() for each in (loss, *gradients)]


CASES = [  # the interpreter takes half a second for each 32 columns
    ("Q7,3", 37, True, {"balance": True}),
    ("Q7,3", 20, False, {"denominator": "others", "squared": False}),
    ("Q3,7", 20, False, {"squared": False}),
    ("Q9,1", 20, True, {"denominator": "others"}),
    ("Q0,10", 20, False, {"denominator": "paper", "squared": False}),
    ("Q1,1", 12, True, {}),
    ("E10", 34, False, {"squared": False, "denominator": "others"}),
    ("H10", 20, False, {"denominator": "paper"}),
    ("S10", 20, True, {}),
    ("H5xS5", 20, True, {"squared": False, "balance": True}),
    ("H5xH5", 20, False, {}),
    ("Q4,2xE4", 34, False, {}),
]


@runs
@pytest.mark.parametrize(("name", "n", "symmetric", "options"), CASES)
def test_triton_equals_eager_in_float64(name, n, symmetric, options):
    space = parse_space(name, learnable=True)
    points, edges = settled_points(space, n), directed(n)
    edges = torch.cat((edges, edges.flip(0)), dim=1) if symmetric else edges
    truth = run("eager", torch.float64, points, edges, space, **options)
    found = run("triton", torch.float32, points, edges, space, DEVICE, **options)
    assert (found[0] - truth[0]).abs() <= 2e-6 * max(1, truth[0].abs().item())
    assert (found[1] - truth[1]).norm() <= 2e-5 * truth[1].norm()
    scale = max(1.0, *(each.abs().item() for each in truth[2:]))
    for mine, theirs in zip(found[2:], truth[2:], strict=True):
        assert (mine - theirs).abs() <= 2e-5 * scale


@runs
@pytest.mark.parametrize("name", ["Q2,2", "Q3,1", "Q0,4"])
def test_gradients_are_finite_at_coincident_antipodal_null_and_distant_pairs(name):
    space = parse_space(name, learnable=True)
    x = settled_points(space, 4)
    parts = [x, x, -x, space.origin(1, 4).as_subclass(torch.Tensor)]
    if name == "Q2,2":  # exactly null to the pole; then far out
        parts += [torch.tensor([[1.0, 0.5, 0.5, 0.0]]), points_at_radius(3, 2, 2, -1.0, 15.0, torch.float32)]
    points = torch.cat(parts)
    for squared in (False, True):
        results = run("triton", torch.float32, points, directed(len(points)), space, DEVICE, squared=squared)
        assert all(each.isfinite().all() for each in results)


@runs
def test_a_sum_of_nothing_costs_nothing():
    space = parse_space("Q2,2", learnable=True)
    complete = torch.cartesian_prod(torch.arange(5), torch.arange(5)).T
    for denominator in ("negatives", "paper"):
        results = run("triton", torch.float32, settled_points(space, 5), complete, space, DEVICE, denominator=denominator)
        assert all((each == 0).all() for each in results)


@runs
def test_points_that_are_no_numbers_give_none():
    space = parse_space("Q2,2").to(DEVICE)
    x = settled_points(space.cpu(), 10).to(DEVICE)
    graph = Neighbourhoods.of(directed(10).to(DEVICE), 10)
    x[3] = math.nan
    with use_backend("triton"):
        assert reconstruction_loss(x, graph, space.to(DEVICE)).isnan()


@runs
def test_triton_is_deterministic():
    space = parse_space("Q3,3", learnable=True)
    points, edges = settled_points(space, 33), directed(33)
    torch.use_deterministic_algorithms(True)  # PyTorch adds edges up in any order unless told not to
    try:
        first, second = (run("triton", torch.float32, points, edges, space, DEVICE) for _ in range(2))
    finally:
        torch.use_deterministic_algorithms(False)
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a, b)


@runs
@pytest.mark.parametrize("name", ["Q3,3", "H4", "S4", "E4", "Q2,2xE2"])
def test_distances_equal_eager_ones(name):
    space = parse_space(name)
    points = settled_points(space, 40)
    with use_backend("eager"):
        truth = distances_from(points.double(), range(7, 29), space)
    with use_backend("triton"):
        found = distances_from(points.to(DEVICE), range(7, 29), space.to(DEVICE)).cpu()
    torch.testing.assert_close(found.double(), truth, rtol=2e-5, atol=2e-6)


@runs
def test_average_precision_is_that_of_the_eager_path():
    space = parse_space("E3")
    points = torch.randint(0, 3, (40, 3), generator=generator(0)).float()  # many ties and coincident points
    edges = directed(40)
    with use_backend("eager"):
        truth = average_precision(points, Neighbourhoods.of(edges, 40), space)
    with use_backend("triton"):
        found = average_precision(points.to(DEVICE), Neighbourhoods.of(edges.to(DEVICE), 40), space)
    torch.testing.assert_close(found.cpu(), truth, rtol=1e-14, atol=0)


@pytest.mark.skipif(INTERPRETED or not torch.cuda.is_available(), reason="needs a GPU: many rows")
def test_a_pass_in_blocks_is_the_pass(monkeypatch):
    space = parse_space("Q2,2xE2", learnable=True)
    n = 1000
    points = space.random(n, space.ambient_dim, generator=generator(0)).as_subclass(torch.Tensor)
    whole = run("triton", torch.float32, points, directed(n), space, DEVICE)
    monkeypatch.setattr(gpu, "_PAIRS", 256 * n)
    monkeypatch.setattr(gpu, "_SHORT_PAIRS", 0)
    for one, other in zip(run("triton", torch.float32, points, directed(n), space, DEVICE), whole, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)
