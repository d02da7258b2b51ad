"""The objective of ordered pairs: its definition, its laws, and every path that computes it."""

import itertools
import math

import pytest
import torch

from cases import generator
from qgcn import parse_space
from qgcn.kernels import Neighbourhoods, ordered_loss, reconstruction_loss
from qgcn.kernels.sampled import cpu
from qgcn.kernels.sampled import ordered as module
from sampling import case, close_ordered, ordered

SPACES = ("E9", "H9", "S9", "H3xE2", "Q2,2")
compiled = pytest.mark.skipif(cpu.obstacle() is not None, reason=str(cpu.obstacle()))


def events(name="H3", n=12, seed=0):
    """Return a space, places and times in float64, and a graph whose edges lead one way, both ways, from some nodes to some."""
    space = parse_space(name)
    x = space.random(n, space.ambient_dim, dtype=torch.float64, std=0.6, generator=generator(seed)).as_subclass(torch.Tensor)
    edges = torch.randint(0, n - 2, (2, 2 * n), generator=generator(seed + 1))
    edges[1] += 2  # the first two have no sources, the last two no targets
    return space, x.detach(), torch.randn(n, dtype=torch.float64, generator=generator(seed + 2)), Neighbourhoods.of(edges, n)


def by_definition(space, x, times, graph, tau, squared=False, balance=False):
    """Return the objective term by term."""
    dist = space.pairwise_dist(x)
    margin = (dist.square() if squared else dist) - (times[None] - times[:, None])
    near = {(u, v) for u, v in zip(graph.source.tolist(), graph.target.tolist(), strict=True)}
    costs = {}
    for u, v in near:
        others = [w for w in range(len(x)) if w != u and (u, w) not in near]
        terms = (-tau * margin[u, [v, *others]]).exp()
        costs.setdefault(u, []).append(-(terms[0] / terms.sum()).log())
    if balance:
        return torch.stack([torch.stack(each).mean() for each in costs.values()]).mean()
    return torch.stack([cost for each in costs.values() for cost in each]).mean()


@pytest.mark.parametrize("options", [{}, {"squared": True}, {"balance": True}])
@pytest.mark.parametrize("name", SPACES)
def test_it_is_its_definition_with_its_gradients(name, options):
    space, x, times, graph = events(name)
    for given, way in ((times, graph), (-times, graph.turned)):
        x.requires_grad_()
        given = given.clone().requires_grad_()
        found = ordered_loss(x, given, way, space, temperature=2.5, **options)
        truth = by_definition(space, x, given, way, 2.5, **options)
        torch.testing.assert_close(found, truth)
        pairs = zip(*(torch.autograd.grad(each, (x, given)) for each in (found, truth)), strict=True)
        for mine, theirs in pairs:
            torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("name", ["E3", "H3", "S3"])
def test_it_is_that_of_the_margins_of_light(name):
    spacetime = parse_space(f"M1x{name}")
    events = spacetime.random(9, spacetime.ambient_dim, dtype=torch.float64, generator=generator(0)).as_subclass(torch.Tensor)
    times, places = spacetime.times_and_places(events)
    graph = Neighbourhoods.of(torch.tensor([[0, 0, 3, 4], [1, 2, 5, 3]]), 9)
    margin = spacetime.light_margin(events[:, None], events[None])
    costs = []
    for u, v in ((0, 1), (0, 2), (3, 5), (4, 3)):
        others = [w for w in range(9) if w != u and (u, w) not in {(0, 1), (0, 2), (3, 5), (4, 3)}]
        costs.append((-margin[u, [v, *others]]).softmax(0)[0].log().neg())
    found = ordered_loss(places, times, graph, spacetime.spatial)
    torch.testing.assert_close(found, torch.stack(costs).mean())


@pytest.mark.parametrize("name", ["E3", "H3", "S3"])
def test_isometries_shifts_of_time_and_the_order_of_nodes_change_nothing(name):
    space, x, times, graph = events(name)
    truth = ordered_loss(x, times, graph, space, temperature=3.0, balance=True)
    torch.testing.assert_close(ordered_loss(x, times + 7.0, graph, space, temperature=3.0, balance=True), truth)
    turned = x.clone()  # a rotation of the last two coordinates, which keeps the pole
    cos, sin = math.cos(0.7), math.sin(0.7)
    turned[:, -2], turned[:, -1] = cos * x[:, -2] - sin * x[:, -1], sin * x[:, -2] + cos * x[:, -1]
    torch.testing.assert_close(ordered_loss(turned, times, graph, space, temperature=3.0, balance=True), truth)
    order = torch.randperm(len(x), generator=generator(5))
    place = order.argsort()
    renamed = Neighbourhoods.of(torch.stack((place[graph.source], place[graph.target])), len(x))
    torch.testing.assert_close(ordered_loss(x[order], times[order], renamed, space, temperature=3.0, balance=True), truth)
    assert not torch.allclose(ordered_loss(x, -times, graph, space, temperature=3.0, balance=True), truth)


@pytest.mark.parametrize("name", SPACES)
def test_equal_times_give_the_objective_of_distances(name):
    space, x, _, graph = events(name)
    found = ordered_loss(x, torch.full((12,), 0.4, dtype=x.dtype), graph, space, temperature=1.7, squared=True)
    torch.testing.assert_close(found, reconstruction_loss(x, graph, space, temperature=1.7))


def test_all_drawn_is_the_same_as_none_given_with_weights_and_without():
    space, x, times, graph = events()
    columns, ones = torch.randperm(12, generator=generator(3)), torch.ones(12)
    truth = ordered_loss(x, times, graph, space)
    torch.testing.assert_close(ordered_loss(x, times, graph, space, columns), truth)
    torch.testing.assert_close(ordered_loss(x, times, graph, space, columns, weights=ones), truth)


def test_sums_over_two_kinds_of_nodes_are_unbiased():
    """Of every draw of two from the first five nodes and of three from the other seven, by enumeration."""
    space, x, times, _ = events()
    edge = Neighbourhoods.of(torch.tensor([[0], [6]]), 12)
    weights = torch.tensor([5 / 2] * 2 + [7 / 3] * 3, dtype=x.dtype)

    def total(columns, given):  # of one edge, the cost tells the sum
        score = times[6] - space.dist(x[0], x[6])
        return (ordered_loss(x, times, edge, space, columns, weights=given).exp() - 1) * score.exp()

    draws = [
        torch.tensor(a + b)
        for a, b in itertools.product(itertools.combinations(range(5), 2), itertools.combinations(range(5, 12), 3))
    ]
    mean = torch.stack([total(columns, weights) for columns in draws]).mean()
    torch.testing.assert_close(mean, total(None, None))


def test_parts_of_rows_are_put_together(monkeypatch):
    space, points, graph = case("E4", 150)
    times = torch.randn(150, generator=generator(0))
    truth = ordered("eager", torch.float64, space, points, times, graph, balance=True)
    monkeypatch.setattr(module, "MOST_WORDS", 5 * 40)  # rows by 40
    found = ordered("eager", torch.float64, space, points, times, graph, balance=True)
    for mine, theirs in zip(found, truth, strict=True):
        torch.testing.assert_close(mine, theirs)


@compiled
@pytest.mark.parametrize("options", [{}, {"squared": True}, {"balance": True}])
@pytest.mark.parametrize("count", [None, 7, 45])
@pytest.mark.parametrize("name", SPACES)
def test_compiled_equals_plain_in_float64(name, count, options):
    space, points, graph = case(name, 50)
    times = 2 * torch.randn(50, generator=generator(2))
    columns = None if count is None else torch.randperm(50, generator=generator(count))[:count]
    found = ordered("native", torch.float32, space, points, times, graph, columns, **options)
    close_ordered(found, ordered("eager", torch.float64, space, points, times, graph, columns, **options))


@compiled
def test_weights_reach_the_compiled_sums():
    space, points, graph = case("H5xS5", 50)
    times, columns = torch.randn(50, generator=generator(2)), torch.arange(0, 50, 3)
    weights = 1 + torch.rand(len(columns), generator=generator(4))
    found = ordered("native", torch.float32, space, points, times, graph, columns, weights=weights)
    close_ordered(found, ordered("eager", torch.float64, space, points, times, graph, columns, weights=weights))


@compiled
def test_runs_and_threads_do_not_change_a_bit(monkeypatch):
    space, points, graph = case("H5xS5", 300)
    times, columns = torch.randn(300, generator=generator(2)), torch.randperm(300, generator=generator(1))[:70]
    monkeypatch.setattr(cpu, "_PAIRS", 96 * 64)  # runs of 64 rows
    found = []
    for threads in (1, 2):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        found.append(ordered("native", torch.float32, space, points, times, graph, columns))
        torch.set_num_threads(before)
    assert all(torch.equal(one, two) for one, two in zip(*found, strict=True))


@compiled
def test_a_time_that_is_no_number_gives_none():
    space, x, graph = case("E3", 10)
    times = torch.zeros(10)
    times[3] = math.nan
    assert ordered_loss(x, times, graph, space, torch.arange(5)).isnan()


def test_other_shapes_are_refused():
    space, x, times, graph = events()
    with pytest.raises(ValueError, match=r"times must have shape \(12,\) on a graph of 12 nodes, got \(11,\)"):
        ordered_loss(x, times[:11], graph, space)
    with pytest.raises(ValueError, match=r"places must have shape \(12, 4\) on a graph of 12 nodes, got \(11, 4\)"):
        ordered_loss(x[:11], times[:11], graph, space)
    with pytest.raises(ValueError, match="temperature must be positive"):
        ordered_loss(x, times, graph, space, temperature=0.0)
