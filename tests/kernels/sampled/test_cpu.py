"""Compiled sums over drawn negatives against plain ones in float64; the same with any number of threads."""

import math

import pytest
import torch

from cases import generator, points_at_radius, settled_points
from qgcn import parse_space
from qgcn.kernels import Neighbourhoods, sampled_reconstruction_loss, use_backend
from qgcn.kernels.sampled import cpu
from sampling import SPACES, case, close, directed, solved

pytestmark = pytest.mark.skipif(cpu.obstacle() is not None, reason=str(cpu.obstacle()))


@pytest.mark.parametrize("options", [{}, {"squared": False}, {"balance": True}])
@pytest.mark.parametrize("count", [7, 32, 45])
@pytest.mark.parametrize("name", SPACES)
def test_compiled_equals_plain_in_float64(name, count, options):
    space, points, graph = case(name, 50)
    columns = torch.randperm(50, generator=generator(count))[:count]
    found = solved("native", torch.float32, space, points, graph, columns, **options)
    close(found, solved("eager", torch.float64, space, points, graph, columns, **options))


@pytest.mark.parametrize("name", ["Q2,2", "Q3,1", "Q0,4"])
def test_gradients_are_finite_at_coincident_antipodal_null_and_distant_pairs(name):
    space = parse_space(name, learnable=True)
    x = settled_points(space, 4)
    parts = [x, x, -x, space.origin(1, 4).as_subclass(torch.Tensor)]
    if name == "Q2,2":  # exactly null to the pole; then far out
        parts += [torch.tensor([[1.0, 0.5, 0.5, 0.0]]), points_at_radius(3, 2, 2, -1.0, 15.0, torch.float32)]
    points = torch.cat(parts)
    graph = Neighbourhoods.of(directed(len(points)), len(points))
    for squared in (False, True):
        found = solved("native", torch.float32, space, points, graph, torch.arange(len(points)), squared=squared)
        assert all(each.isfinite().all() for each in found)


def test_a_row_without_negatives_costs_nothing():
    space = parse_space("Q2,2", learnable=True)
    points = settled_points(space, 5)
    complete = Neighbourhoods.of(torch.cartesian_prod(torch.arange(5), torch.arange(5)).T, 5)
    for columns in (torch.arange(5), torch.tensor([3])):
        assert all((each == 0).all() for each in solved("native", torch.float32, space, points, complete, columns))


def test_points_that_are_no_numbers_give_none():
    space, x, graph = case("Q2,2", 10)
    x[3] = math.nan
    with use_backend("native"):
        assert sampled_reconstruction_loss(x, graph, space, torch.arange(5)).isnan()


def test_runs_and_threads_do_not_change_a_bit(monkeypatch):
    space, points, graph = case("H5xS5", 300)
    columns = torch.randperm(300, generator=generator(1))[:70]
    monkeypatch.setattr(cpu, "_PAIRS", 96 * 64)  # runs of 64 rows
    found = []
    for threads in (1, 2):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        found.append(solved("native", torch.float32, space, points, graph, columns))
        torch.set_num_threads(before)
    assert all(torch.equal(one, two) for one, two in zip(*found, strict=True))
    close(found[0], solved("eager", torch.float64, space, points, graph, columns))
