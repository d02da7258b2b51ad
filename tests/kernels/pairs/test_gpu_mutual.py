"""Pairs computed once by Triton: on a GPU where there is one, and under Triton's interpreter in a process of its own."""

import pytest
import torch

from cases import generator, settled_points
from interpreter import DEVICE, interpret, runs
from qgcn import parse_space
from qgcn.kernels import Neighbourhoods, backend, reconstruction_loss, use_backend
from qgcn.kernels.metric import factors_of
from qgcn.kernels.pairs.points import Energy, Points, layout_of, sizes_of

triton = pytest.importorskip("triton")
from qgcn.kernels.pairs import gpu_mutual  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:(divide by zero|invalid value|overflow) encountered:RuntimeWarning")


def test_all_of_this_under_the_interpreter():
    interpret(__file__)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Cut few points into several launches, blocks and runs."""
    monkeypatch.setattr(gpu_mutual, "FEWEST", 1)
    monkeypatch.setattr(gpu_mutual, "_PARTNERS", 32)
    monkeypatch.setattr(gpu_mutual, "FORWARD", gpu_mutual.Tiling(16, 1))
    monkeypatch.setattr(gpu_mutual, "BACKWARD", gpu_mutual.Tiling(16, 1))


def directed(n):
    star = torch.stack((torch.zeros(n - 1, dtype=torch.long), torch.arange(1, n)))
    return torch.cat((star, torch.randint(0, n - 1, (2, 2 * n), generator=generator(n))), dim=1)


def run(path, dtype, points, edges, space, device="cpu", **options):
    x = points.to(device, dtype, copy=True).requires_grad_()
    temperature = torch.tensor(1.3, dtype=dtype, device=device, requires_grad=True)
    with use_backend(path):
        loss = reconstruction_loss(space.to(device).projx(x), edges, space, temperature=temperature, **options)
        assert backend() == path
    gradients = torch.autograd.grad(loss, (x, temperature, *space.parameters()))
    space.cpu()
    return [each.double().cpu() for each in (loss, *gradients)]


@runs
@pytest.mark.parametrize(
    ("name", "n", "symmetric", "options"),
    [
        ("Q7,3", 37, True, {"balance": True}),
        ("Q3,7", 20, False, {"squared": False, "denominator": "others"}),
        ("H5xS5", 34, False, {"denominator": "paper"}),
        ("E10", 20, False, {}),
        ("Q4,2xE4", 33, False, {"squared": False}),
    ],
)
def test_it_equals_eager_in_float64(name, n, symmetric, options):
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
def test_a_sum_of_nothing_costs_nothing():
    space = parse_space("Q2,2", learnable=True)
    complete = torch.cartesian_prod(torch.arange(5), torch.arange(5)).T
    results = run("triton", torch.float32, settled_points(space, 5), complete, space, DEVICE)
    assert all((each == 0).all() for each in results)


@runs
def test_rounds_together_are_the_whole_and_launches_make_no_difference(monkeypatch):
    space, n = parse_space("Q1,1xE1"), 70
    x = settled_points(space, n).to(DEVICE)
    factors = factors_of(space.to(DEVICE))
    points, energy = Points.of(x, sizes_of(factors, x), layout_of(factors)), Energy(torch.tensor(0.7, device=DEVICE), True)
    words = Neighbourhoods.of(directed(n).to(DEVICE), n).itself_and_neighbours
    log, weight = gpu_mutual.mutual_log_sum(points, energy, words), torch.rand(n, generator=generator(1)).to(DEVICE)
    plain = gpu_mutual.log_sum(points, energy, words[0], range(n))
    torch.testing.assert_close(log, plain, rtol=1e-6, atol=1e-6)
    whole = gpu_mutual.mutual_gradient(points, energy, -log, weight, words)
    assert gpu_mutual.rounds_of(n) == 3
    parts = [gpu_mutual.mutual_gradient(points, energy, -log, weight, words, range(k, k + 1)) for k in range(3)]
    for k in range(2):
        torch.testing.assert_close(sum(part[k] for part in parts), whole[k], rtol=1e-5, atol=1e-6)
    monkeypatch.setattr(gpu_mutual, "_BLOCKS", 2)
    torch.testing.assert_close(gpu_mutual.mutual_log_sum(points, energy, words), log, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(
        gpu_mutual.mutual_gradient(points, energy, -log, weight, words)[0], whole[0], rtol=1e-5, atol=1e-6
    )
