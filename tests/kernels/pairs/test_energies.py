import math
import os
import subprocess
import sys

import pytest
import torch

from cases import awkward_pairs, generator, points_at_radius, settled_points
from qgcn import geometry, parse_space
from qgcn.kernels import Neighbourhoods, backend, reconstruction_loss, use_backend
from qgcn.kernels.pairs.energies import energies

NAMES = ("Q7,3", "Q9,1", "Q3,7", "Q0,10", "Q1,1", "E10", "H10", "S10", "H5xS5", "H5xH5", "Q4,2xE4")
DENOMINATORS = ("negatives", "others", "paper")
VALUE, SLOPE = 2e-6, 2e-5  # relative, in norm; slopes are steep next to the margin that settled points keep


def ring(n):
    ends = torch.arange(n)
    there = torch.stack((ends, ends.roll(1)))
    return torch.cat((there, there.flip(0)), dim=1)


def edges_of(kind, n):
    """Return edges: a ring and two nodes without edges; with a node joined to all; or directed ones, with both."""
    if kind == "symmetric":
        return ring(n - 2)
    star = torch.stack((torch.zeros(n - 1, dtype=torch.long), torch.arange(1, n)))
    if kind == "hub":
        return torch.cat((ring(n), star, star.flip(0)), dim=1)
    some = torch.randint(0, n - 2, (2, 3 * n), generator=generator(n))
    return torch.cat((some, star), dim=1)


def run(path, dtype, points, edges, space, **options):
    """Return the loss and its gradients by points along the manifold, by temperature, and by every beta, in float64."""
    x = points.to(dtype, copy=True).requires_grad_()
    temperature = torch.tensor(1.3, dtype=dtype, requires_grad=True)
    with use_backend(path):
        loss = reconstruction_loss(space.projx(x), edges, space, temperature=temperature, **options)
        assert backend() == path
    gradients = torch.autograd.grad(loss, (x, temperature, *space.parameters()))
    return [each.double() for each in (loss, *gradients)]


def assert_alike(found, truth, slack=1):
    """Compare losses, slopes by points in norm, and slopes by numbers against the size of all of them."""
    assert (found[0] - truth[0]).abs() <= VALUE * truth[0].abs().clamp(min=1)
    assert (found[1] - truth[1]).norm() <= slack * SLOPE * truth[1].norm()
    scale = max(1.0, *(each.abs().item() for each in truth[2:]))
    for mine, theirs in zip(found[2:], truth[2:], strict=True):
        assert (mine - theirs).abs() <= SLOPE * scale


@pytest.mark.parametrize("balance", [False, True])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("denominator", DENOMINATORS)
@pytest.mark.parametrize("kind", ["symmetric", "hub", "directed"])
@pytest.mark.parametrize("name", NAMES)
def test_native_equals_eager_in_float64(name, kind, denominator, squared, balance):
    space = parse_space(name, learnable=True)
    points = settled_points(space, 45 if name != "Q1,1" else 20)
    edges = edges_of(kind, len(points))
    options = {"squared": squared, "denominator": denominator, "balance": balance}
    truth = run("eager", torch.float64, points, edges, space, **options)
    assert_alike(run("native", torch.float32, points, edges, space, **options), truth)


@pytest.mark.parametrize("n", [3, 31, 32, 33, 64, 150])
def test_native_of_any_number_of_points(n):
    space = parse_space("Q2,2xH2")
    points = settled_points(space, n, margin=1e-3)
    for kind in ("hub", "directed"):
        truth = run("eager", torch.float64, points, edges_of(kind, n), space)
        assert_alike(run("native", torch.float32, points, edges_of(kind, n), space), truth)


@pytest.mark.parametrize("beta", [-0.05, -20.0])
@pytest.mark.parametrize("name", ["Q7,3", "H10", "S10", "H5xS5"])
def test_native_at_other_curvatures(name, beta):
    space = parse_space(name, beta=beta)
    points = settled_points(space, 40)
    truth = run("eager", torch.float64, points, edges_of("directed", 40), space)
    assert_alike(run("native", torch.float32, points, edges_of("directed", 40), space), truth)


@pytest.mark.parametrize("name", ["Q7,3", "Q9,1", "H10", "Q4,2xE4"])
def test_native_of_points_at_different_radii(name):
    # points are scaled before they are subtracted, which rounds them once more
    space = parse_space(name, learnable=True)
    points = torch.cat((settled_points(space, 20, std=0.2), settled_points(space, 20, std=2.5, seed=1)))
    options = {"denominator": "others", "squared": False}
    truth = run("eager", torch.float64, points, edges_of("directed", 40), space, **options)
    assert_alike(run("native", torch.float32, points, edges_of("directed", 40), space, **options), truth, slack=2)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("denominator", DENOMINATORS)
@pytest.mark.parametrize(("s", "t"), [(0, 4), (4, 1), (2, 2), (1, 3), (1, 1)])
def test_gradients_are_finite_at_coincident_null_antipodal_and_distant_pairs(s, t, denominator, squared):
    x, y = awkward_pairs(20, s, t, -1.0, torch.float32)
    points = torch.cat((x, y))
    edges = torch.stack((torch.arange(len(points)), torch.arange(len(points)).roll(len(x))))
    space = parse_space(f"Q{s},{t}", learnable=True)
    options = {"squared": squared, "denominator": denominator}
    # two points far out may be anywhere as to each other: what float32 has left of them says little of their distance
    assert all(each.isfinite().all() for each in run("native", torch.float32, points, edges, space, **options))


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize(("s", "t"), [(0, 4), (4, 1), (2, 2), (1, 3)])
def test_values_agree_at_coincident_null_and_antipodal_pairs(s, t, squared):
    form = {"beta": -1.0, "time_dim": t}
    x = geometry.sample((8, s + t), std=0.5, dtype=torch.float32, generator=generator(0), **form)
    null = x.clone()[:0]
    if s and t > 1:
        pole = geometry.pole(s + t, beta=-1.0, like=x)
        step = torch.zeros_like(pole)
        step[1] = step[t] = 0.5
        null = torch.stack((pole, pole + step, pole + 2 * step, -pole))
    points = torch.cat((x, x, -x, null))
    edges = edges_of("directed", len(points))
    native, truth = (
        run(path, dtype, points, edges, parse_space(f"Q{s},{t}"), squared=squared)[0]
        for path, dtype in (("native", torch.float32), ("eager", torch.float64))
    )
    torch.testing.assert_close(native, truth, rtol=2e-4, atol=0)  # the root of a rounded zero


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_finite_if_all_points_coincide(name, squared):
    space = parse_space(name, learnable=True)
    points = space.origin(40, space.ambient_dim).as_subclass(torch.Tensor)
    loss, *gradients = run("native", torch.float32, points, ring(40), space, squared=squared)
    assert loss.item() == pytest.approx(math.log(1 + 37), rel=1e-6)  # a neighbour against 37 others, all at distance 0
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_a_sum_of_nothing_is_minus_infinity_and_depends_on_nothing():
    space = parse_space("Q2,2")
    complete = torch.cartesian_prod(torch.arange(5), torch.arange(5)).T
    x = settled_points(space, 5).requires_grad_()
    for path in ("native", "eager"):
        with use_backend(path):
            result, _ = energies(x, Neighbourhoods.of(complete, 5), space, torch.ones(()), squared=True, others=False)
        assert (result == -math.inf).all()
        assert (torch.autograd.grad(result, x, torch.ones(5))[0] == 0).all()
        for denominator in ("negatives", "paper"):
            loss, *gradients = run(path, torch.float32, x.detach(), complete, space, denominator=denominator)
            assert loss == 0
            assert all((gradient == 0).all() for gradient in gradients)


def test_a_node_without_edges_is_a_negative_of_all_others():
    space = parse_space("E2")
    x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    expected = math.log(1 + math.exp(1 - 4))
    for path in ("native", "eager"):
        with use_backend(path):
            assert reconstruction_loss(x, torch.tensor([[0], [1]]), space).item() == pytest.approx(expected, rel=1e-6)


def test_energies_beyond_the_range_of_the_exponential_do_not_vanish():
    # 2^-126 is the smallest number the terms could be: each is taken relative to the largest
    space = parse_space("E1")
    x = torch.linspace(0, 100, 70)[torch.randperm(70, generator=generator(0))].view(-1, 1)
    edges = torch.stack((torch.arange(70), torch.arange(70).roll(1)))
    truth = run("eager", torch.float64, x, edges, space, denominator="paper")
    assert_alike(run("native", torch.float32, x, edges, space, denominator="paper"), truth)


def test_points_that_are_no_numbers_give_none():
    space = parse_space("Q2,2")
    x = settled_points(space, 40)
    graph = Neighbourhoods.of(ring(40), 40)
    huge = points_at_radius(40, 2, 2, -1.0, 60.0, torch.float32)  # their squares are beyond float32
    for bad in (torch.where(torch.arange(40).view(-1, 1) == 7, math.nan, x), 1e10 * huge):
        for denominator in DENOMINATORS:
            with use_backend("native"):
                assert reconstruction_loss(bad, graph, space, denominator=denominator).isnan()


def test_points_whose_sum_overflows_are_still_points():
    space = parse_space("Q2,2")
    far = points_at_radius(40, 2, 2, -1.0, 40.0, torch.float32)
    graph = Neighbourhoods.of(ring(40), 40)
    with use_backend("native"):
        assert reconstruction_loss(far, graph, space).isfinite()
        assert reconstruction_loss(torch.full((40, 1), 3e37), graph, parse_space("E1"), squared=False).isfinite()


@pytest.mark.parametrize("name", ["Q3,3", "H3xS3"])
def test_native_is_deterministic(name):
    space = parse_space(name, learnable=True)
    points = settled_points(space, 150, margin=1e-4)
    first = run("native", torch.float32, points, edges_of("directed", 150), space)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        again = run("native", torch.float32, points, edges_of("directed", 150), space)
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


def test_what_is_kept_for_the_gradient_does_not_grow_with_pairs():
    space = parse_space("Q2,2")

    def kept(n):
        sizes = []

        def keep(tensor):
            sizes.append(tensor.numel())
            return tensor

        x = space.random(n, 4, generator=generator(0)).as_subclass(torch.Tensor).requires_grad_()
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), use_backend("native"):
            reconstruction_loss(x, ring(n), space)
        return sum(sizes)

    assert kept(400) <= 4.1 * kept(100)


def test_gradients_of_gradients_are_refused():
    x = settled_points(parse_space("Q2,2"), 10).requires_grad_()
    with use_backend("native"):
        loss = reconstruction_loss(x, ring(10), parse_space("Q2,2"))
    (gradient,) = torch.autograd.grad(loss, x, create_graph=True)
    with pytest.raises(RuntimeError, match="trying to differentiate twice"):
        gradient.sum().backward()


def test_isometries_do_not_matter():
    space = parse_space("Q3,3")
    x = settled_points(space, 45)
    turn = geometry.random_isometry(3, 3, dtype=torch.float64, generator=generator(3))
    moved = geometry.apply_isometry(turn, x.double(), time_dim=3).float()
    with use_backend("native"):
        losses = [reconstruction_loss(points, ring(45), space) for points in (x, moved)]
    torch.testing.assert_close(*losses, rtol=1e-5, atol=0)


# --- several processes -------------------------------------------------------------------------------------------------

WORKER = """
import sys
import torch
import torch.distributed as distributed
from qgcn import parse_space
from qgcn.kernels import reconstruction_loss, use_backend

rank, meeting, given, results = int(sys.argv[1]), *sys.argv[2:]
torch.set_num_threads(1)
distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
found = []
for path, dtype, name, points, edges, options in torch.load(given):
    space = parse_space(name, learnable=True)
    x, tau = points.to(dtype).requires_grad_(), torch.tensor(1.3, dtype=dtype, requires_grad=True)
    with use_backend(path):
        loss = reconstruction_loss(x, edges, space, temperature=tau, group=distributed.group.WORLD, **options)
    found.append((loss.detach(), *torch.autograd.grad(loss, (x, tau, *space.parameters()))))
torch.save(found, f"{results}{rank}")
distributed.barrier()
distributed.destroy_process_group()
"""


def test_two_processes_give_the_loss_and_the_gradients_of_one(tmp_path):
    cases = []
    for name, n, kind, path, dtype in [
        ("Q3,3", 45, "directed", "native", torch.float32),
        ("H3xS3", 33, "hub", "native", torch.float32),
        ("E4", 3, "directed", "native", torch.float32),
        ("Q2,2", 20, "symmetric", "eager", torch.float64),
    ]:
        points = settled_points(parse_space(name), n)
        choices = ({"denominator": "others", "squared": False}, {"balance": True})
        cases += [(path, dtype, name, points, edges_of(kind, n), options) for options in choices]
    torch.save(cases, tmp_path / "given")
    arguments = [str(tmp_path / name) for name in ("meeting", "given", "results")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "GLOO_SOCKET_IFNAME": "lo"}
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(rank), *arguments], env=environment, stderr=subprocess.PIPE)
        for rank in range(2)
    ]
    for worker in workers:
        _, said = worker.communicate(timeout=120)
        assert worker.returncode == 0, said.decode()
    first, second = (torch.load(tmp_path / f"results{rank}") for rank in range(2))
    for (path, dtype, name, points, edges, options), mine, theirs in zip(cases, first, second, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True))
        space = parse_space(name, learnable=True)
        x, tau = points.to(dtype).requires_grad_(), torch.tensor(1.3, dtype=dtype, requires_grad=True)
        with use_backend(path):
            loss = reconstruction_loss(x, edges, space, temperature=tau, **options)
        alone = (loss.detach(), *torch.autograd.grad(loss, (x, tau, *space.parameters())))
        assert torch.equal(mine[0], alone[0])
        assert torch.equal(mine[1], alone[1])
        torch.testing.assert_close(mine, alone, rtol=1e-5, atol=1e-6)  # sums over rows are added in another order
