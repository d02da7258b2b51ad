"""The laws of the estimate, by enumerating every draw: nothing here is itself estimated."""

import itertools

import pytest
import torch

from cases import generator
from qgcn import parse_space
from qgcn.kernels import Neighbourhoods, reconstruction_loss, sampled_reconstruction_loss
from qgcn.kernels.sampled.negatives import Negatives
from qgcn.kernels.sampled.operation import sampled_energies
from sampling import SPACES, case, solved

N = 8
EDGES = torch.tensor([[0, 0, 1, 2, 2, 3, 4, 5, 6, 1, 2], [1, 2, 0, 0, 3, 2, 5, 4, 4, 3, 6]])


@pytest.mark.parametrize("balance", [False, True])
@pytest.mark.parametrize("name", SPACES)
def test_all_nodes_drawn_give_the_exact_objective(name, balance):
    space, points, graph = case(name, 40)
    columns = torch.randperm(40, generator=generator(0))
    found = solved("eager", torch.float64, space, points, graph, columns, balance=balance)
    for mine, theirs in zip(found, solved("eager", torch.float64, space, points, graph, balance=balance), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-14)


def small(name="Q2,2"):
    space = parse_space(name)
    x = space.random(N, space.ambient_dim, dtype=torch.float64, std=0.6, generator=generator(3)).as_subclass(torch.Tensor)
    return space, x.detach(), Neighbourhoods.of(EDGES, N)


def draws(count):
    return [torch.tensor(each) for each in itertools.combinations(range(N), count)]


def sums(x, graph, space, columns):
    """Return the estimate of each row's sum, and how many of its non-neighbours were drawn."""
    edges, total = torch.stack((graph.source, graph.target)), (N - 1 - graph.degree).to(x.dtype)
    negatives = Negatives.of(columns, edges, range(N), N, total)
    log_sum, energy = sampled_energies(x, negatives, edges, space, torch.ones((), dtype=x.dtype), squared=True)
    return (log_sum + negatives.log_weight).exp(), (total / negatives.log_weight.exp()).round(), energy


@pytest.mark.parametrize("count", [2, 4, 7])
def test_the_sum_is_unbiased_for_every_number_of_negatives_that_are_left(count):
    space, x, graph = small()
    exact, _, _ = sums(x, graph, space, torch.arange(N))
    every = [sums(x, graph, space, columns)[:2] for columns in draws(count)]
    found, drawn = (torch.stack(each) for each in zip(*every, strict=True))
    for u in range(N):
        for k in drawn[:, u].unique().tolist():
            chosen = (drawn[:, u] == k) & (found[:, u] > 0)
            if chosen.any():
                torch.testing.assert_close(found[chosen, u].mean(), exact[u], rtol=1e-12, atol=0)


def bound(x, graph, space, columns):
    """Return the stated bound of the bias, for the numbers of negatives that a draw leaves to each row."""
    exact, _, energy = sums(x, graph, space, torch.arange(N))
    _, n, _ = sums(x, graph, space, columns)
    neighbours = torch.eye(N, dtype=torch.bool)
    neighbours[graph.source, graph.target] = True
    terms = (-space.pairwise_dist(x).square()).exp().masked_fill(neighbours, 0)
    total = (~neighbours).sum(1).double()
    mean = exact / total
    variance = ((terms - mean.unsqueeze(1)).square().masked_fill(neighbours, 0).sum(1)) / (total - 1)
    varying = variance / mean.square()
    p = exact[graph.source] / (exact[graph.source] + (-energy).exp())
    h = (-p - (1 - p).log()) / p.square()
    spread = (varying / n * (1 - n / total))[graph.source]
    return (h * p.square() * spread).mean()


@pytest.mark.parametrize("count", [5, 6, 7])  # every row keeps a negative
@pytest.mark.parametrize("name", ["Q2,2", "H4", "E2"])
def test_the_bias_is_not_positive_and_within_the_stated_bound(name, count):
    space, x, graph = small(name)
    exact = reconstruction_loss(x, graph, space)
    every = draws(count)
    mean = torch.stack([sampled_reconstruction_loss(x, graph, space, columns) for columns in every]).mean()
    most = torch.stack([bound(x, graph, space, columns) for columns in every]).mean()
    assert 0 < exact - mean <= most
    assert most < 0.2 * exact  # the bound says something


def test_the_estimate_and_its_gradient_converge_as_more_nodes_are_drawn():
    space, x, graph = small()
    x.requires_grad_()
    exact = reconstruction_loss(x, graph, space)
    (truth,) = torch.autograd.grad(exact, x)
    errors, angles = [], []
    for count in (5, 6, 7, 8):
        losses = torch.stack([sampled_reconstruction_loss(x, graph, space, columns) for columns in draws(count)])
        (gradient,) = torch.autograd.grad(losses.mean(), x)
        errors.append((exact - losses.mean()).item())
        angles.append(torch.cosine_similarity(gradient.flatten(), truth.flatten(), dim=0).item())
    assert errors == sorted(errors, reverse=True)
    assert abs(errors[-1]) < 1e-14
    assert angles == sorted(angles)
    assert angles[0] > 0.99
    assert angles[-1] == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("balance", [False, True])
def test_the_losses_of_parts_of_the_rows_add_up_and_so_do_their_gradients(balance):
    space, x, _ = small()
    edges = torch.tensor([[0, 1, 1, 2, 6, 7], [1, 0, 2, 1, 7, 6]])  # rows 3 to 5 have none
    graph, columns = Neighbourhoods.of(edges, N), torch.tensor([1, 4, 6, 2])
    for points in (x, x.float()):
        points = points.detach().requires_grad_()
        whole = sampled_reconstruction_loss(points, graph, space, columns, balance=balance)
        given = [{"balance": balance, "rows": rows} for rows in (range(3), range(3, 6), range(6, 8))]
        parts = [sampled_reconstruction_loss(points, graph, space, columns, **each) for each in given]
        assert parts[0] > 0 == parts[1] < parts[2]
        torch.testing.assert_close(sum(parts), whole)
        mine, theirs = (torch.autograd.grad(loss, points)[0] for loss in (sum(parts), whole))
        torch.testing.assert_close(mine, theirs)


def test_another_number_of_points_is_refused():
    space, x, graph = small()
    with pytest.raises(ValueError, match="x must have one point for each of the graph's 8 nodes, got 7"):
        sampled_reconstruction_loss(x[:7], graph, space, torch.arange(3))
    with pytest.raises(ValueError, match="temperature must be positive"):
        sampled_reconstruction_loss(x, graph, space, torch.arange(3), temperature=0.0)
