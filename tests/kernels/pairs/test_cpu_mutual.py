"""Pairs computed once for both their rows: the plain path in float64, the rows one by one, and any number of threads."""

import math

import pytest
import torch

from cases import generator, settled_points
from qgcn import parse_space
from qgcn.kernels import Neighbourhoods, reconstruction_loss, use_backend
from qgcn.kernels.metric import factors_of
from qgcn.kernels.pairs import cpu, cpu_mutual
from qgcn.kernels.pairs.points import Energy, Points, layout_of, sizes_of

pytestmark = pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Cut few points into several blocks."""
    monkeypatch.setattr(cpu_mutual, "_SMALL_BLOCK", 32)
    monkeypatch.setattr(cpu_mutual, "_FEWEST", 1)


def directed(n):
    """Return edges of which one node has all and the last has none."""
    star = torch.stack((torch.zeros(n - 1, dtype=torch.long), torch.arange(1, n)))
    return torch.cat((star, torch.randint(0, n - 1, (2, 2 * n), generator=generator(n))), dim=1)


def run(path, dtype, points, edges, space, **options):
    """Return the loss and its gradients by points along the manifold, by temperature, and by every beta, in float64."""
    x = points.to(dtype, copy=True).requires_grad_()
    temperature = torch.tensor(1.3, dtype=dtype, requires_grad=True)
    with use_backend(path):
        loss = reconstruction_loss(space.projx(x), edges, space, temperature=temperature, **options)
    return [each.double() for each in (loss, *torch.autograd.grad(loss, (x, temperature, *space.parameters())))]


def arguments(name, n, squared=True):
    space = parse_space(name)
    x = space.random(n, space.ambient_dim, std=0.5, generator=generator(n)).as_subclass(torch.Tensor)
    factors = factors_of(space)
    points = Points.of(x, sizes_of(factors, x).detach(), layout_of(factors))
    words = Neighbourhoods.of(directed(n), n).itself_and_neighbours
    return points, Energy(torch.tensor(0.7), squared), words


@pytest.mark.parametrize(
    ("name", "n", "symmetric", "options"),
    [
        ("Q7,3", 100, True, {"balance": True}),
        ("Q7,3", 65, False, {"denominator": "others", "squared": False}),
        ("Q3,7", 160, False, {"squared": False}),
        ("Q9,1", 33, True, {"denominator": "others"}),
        ("Q0,10", 97, False, {"denominator": "paper", "squared": False}),
        ("Q1,1", 129, True, {}),
        ("E10", 64, False, {"squared": False, "denominator": "others"}),
        ("H10", 31, False, {"denominator": "paper"}),
        ("S10", 95, True, {}),
        ("H5xS5", 130, True, {"squared": False, "balance": True}),
        ("Q4,2xE4", 200, False, {}),
    ],
)
def test_it_equals_the_plain_path_in_float64(name, n, symmetric, options):
    space = parse_space(name, learnable=True)
    points, edges = settled_points(space, n), directed(n)
    edges = torch.cat((edges, edges.flip(0)), dim=1) if symmetric else edges
    truth = run("eager", torch.float64, points, edges, space, **options)
    found = run("native", torch.float32, points, edges, space, **options)
    assert (found[0] - truth[0]).abs() <= 2e-6 * max(1, truth[0].abs().item())
    assert (found[1] - truth[1]).norm() <= 2e-5 * truth[1].norm()
    scale = max(1.0, *(each.abs().item() for each in truth[2:]))
    for mine, theirs in zip(found[2:], truth[2:], strict=True):
        assert (mine - theirs).abs() <= 2e-5 * scale


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("name", ["Q2,2xE2", "H3", "S3"])
def test_it_equals_the_passes_row_by_row(name, squared):
    points, energy, words = arguments(name, 150, squared)
    rows, weight = range(len(points)), torch.rand(150, generator=generator(1))
    plain, mutual = cpu.log_sum(points, energy, words[0], rows), cpu.mutual_log_sum(points, energy, words)
    torch.testing.assert_close(mutual, plain, rtol=1e-6, atol=1e-6)
    shift = torch.where(plain > -math.inf, -plain, -math.inf)
    for one, other in zip(
        cpu.mutual_gradient(points, energy, shift, weight, words),
        cpu.log_sum_gradient(points, energy, shift, weight, words, rows),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=2e-5, atol=2e-6)


def test_sums_of_energies_far_apart_lose_nothing():
    """Clusters far from each other and from a lone point: the unit of a node's sum changes by hundreds of powers of two."""
    space = parse_space("E1")
    x = torch.cat((torch.linspace(0, 1, 40), torch.linspace(900, 905, 40), torch.tensor([-4000.0])))[:, None]
    x = x[torch.randperm(len(x), generator=generator(0))]
    factors = factors_of(space)
    points = Points.of(x, sizes_of(factors, x), layout_of(factors))
    words = (Neighbourhoods.of(torch.tensor([[0], [1]]), len(x)).itself,) * 2
    found = cpu.mutual_log_sum(points, Energy(torch.tensor(1.0), False), words).double()
    cost = torch.cdist(x.double(), x.double()).fill_diagonal_(math.inf)
    truth = (-cost * math.log(2)).logsumexp(1) / math.log(2)
    torch.testing.assert_close(found, truth, rtol=1e-6, atol=1e-5)


def test_a_sum_of_nothing_and_points_that_are_no_numbers():
    space = parse_space("Q2,2")
    x = settled_points(space, 70)
    complete = torch.cartesian_prod(torch.arange(70), torch.arange(70)).T
    with use_backend("native"):
        assert reconstruction_loss(x, complete, space) == 0
        x[50] = math.nan
        assert reconstruction_loss(x, Neighbourhoods.of(directed(70), 70), space).isnan()


@pytest.mark.parametrize("name", ["Q2,2", "Q3,1", "Q0,4"])
def test_gradients_are_finite_at_coincident_and_antipodal_pairs(name):
    space = parse_space(name, learnable=True)
    x = settled_points(space, 15)
    points = torch.cat((x, x, -x, space.origin(1, 4).as_subclass(torch.Tensor)))
    for squared in (False, True):
        assert all(each.isfinite().all() for each in run("native", torch.float32, points, directed(46), space, squared=squared))


def test_results_do_not_depend_on_threads_or_on_how_rounds_are_cut(monkeypatch):
    points, energy, words = arguments("Q3,3", 1500)
    weight = torch.rand(1500, generator=generator(1))

    def everything():
        log = cpu.mutual_log_sum(points, energy, words)
        return log, *cpu.mutual_gradient(points, energy, -log, weight, words)

    before = torch.get_num_threads()
    monkeypatch.setattr(cpu_mutual, "threads_of", lambda _: cpu_mutual.ctypes.c_int32(1))
    alone = everything()
    monkeypatch.setattr(cpu_mutual, "threads_of", lambda _: cpu_mutual.ctypes.c_int32(5))
    together = everything()
    monkeypatch.setattr(cpu_mutual, "blocks", lambda rounds, _: (range(k, k + 1) for k in rounds))
    cut = everything()
    assert before == torch.get_num_threads()
    for one, *others in zip(alone, together, cut, strict=True):
        assert all(torch.equal(one, other) for other in others)


def test_rounds_hold_every_pair_of_blocks_once():
    """Some rounds alone give parts of the sums: together they are the whole."""
    points, energy, words = arguments("E2", 150)
    rounds = cpu.rounds_of(150)
    assert rounds == 6  # five blocks: those alone, and five rounds of two pairs and one that is left over
    weight, log = torch.ones(150), cpu.mutual_log_sum(points, energy, words)
    parts = [cpu.mutual_gradient(points, energy, -log, weight, words, range(k, k + 1))[0] for k in range(rounds)]
    whole = cpu.mutual_gradient(points, energy, -log, weight, words)[0]
    torch.testing.assert_close(torch.stack(parts).sum(0), whole, rtol=1e-5, atol=1e-6)


def test_few_points_and_shares_of_rows_are_left_to_the_other_passes(monkeypatch):
    monkeypatch.setattr(cpu_mutual, "_FEWEST", 100)
    assert not cpu.is_mutual(arguments("E2", 99)[0])
    assert cpu.is_mutual(arguments("E2", 100)[0])
