"""Small graphs with drawn negatives, and both objectives with their gradients, for the tests of kernels."""

import torch

from cases import generator, settled_points
from qgcn import parse_space
from qgcn.kernels import Neighbourhoods, backend, ordered_loss, reconstruction_loss, sampled_reconstruction_loss, use_backend

SPACES = ("Q7,3", "Q3,7", "Q9,1", "Q0,10", "Q1,1", "E10", "H10", "S10", "H5xS5", "Q4,2xE4")


def directed(n, seed=None):
    """Return edges of which one node has all and the last has none."""
    star = torch.stack((torch.zeros(n - 1, dtype=torch.long), torch.arange(1, n)))
    return torch.cat((star, torch.randint(0, n - 1, (2, 2 * n), generator=generator(n if seed is None else seed))), dim=1)


def case(name, n):
    """Return a space with learnable curvatures, points in float32, and a graph on them."""
    space = parse_space(name, learnable=True)
    return space, settled_points(space, n), Neighbourhoods.of(directed(n), n)


def solved(path, dtype, space, points, graph, columns=None, device="cpu", **options):
    """Return the objective, over all pairs if there are no columns, and its gradients, float64."""
    x = points.to(device, dtype, copy=True).requires_grad_()
    temperature = torch.tensor(1.3, dtype=dtype, device=device, requires_grad=True)
    options = {"temperature": temperature, **options}
    graph = graph if device == "cpu" else Neighbourhoods.of(torch.stack((graph.source, graph.target)).to(device), len(x))
    y = space.to(device).projx(x)
    with use_backend(path):
        if columns is None:
            loss = reconstruction_loss(y, graph, space, **options)
        else:
            loss = sampled_reconstruction_loss(y, graph, space, columns.to(device), **options)
        assert backend() == path
    gradients = torch.autograd.grad(loss, (x, temperature, *space.parameters()))
    space.cpu()
    return [each.double().cpu() for each in (loss, *gradients)]


def ordered(path, dtype, space, points, times, graph, columns=None, device="cpu", **options):
    """Return the objective of ordered pairs and its gradients by points, temperature, curvatures and times, float64."""
    x = points.to(device, dtype, copy=True).requires_grad_()
    times = times.to(device, dtype, copy=True).requires_grad_()
    temperature = torch.tensor(1.3, dtype=dtype, device=device, requires_grad=True)
    options = {"temperature": temperature, **options}
    graph = graph if device == "cpu" else Neighbourhoods.of(torch.stack((graph.source, graph.target)).to(device), len(x))
    y, drawn = space.to(device).projx(x), None if columns is None else columns.to(device)
    with use_backend(path):
        loss = ordered_loss(y, times, graph, space, drawn, **options)
        assert backend() == path
    gradients = torch.autograd.grad(loss, (x, temperature, *space.parameters(), times))
    space.cpu()
    return [each.double().cpu() for each in (loss, *gradients)]


def close(found, truth):
    """Compare a loss and its gradients in float32 with those in float64."""
    assert (found[0] - truth[0]).abs() <= 2e-6 * max(1, truth[0].abs().item())
    assert (found[1] - truth[1]).norm() <= 2e-5 * truth[1].norm()
    scale = max(1.0, *(each.abs().item() for each in truth[2:]))
    for mine, theirs in zip(found[2:], truth[2:], strict=True):
        assert (mine - theirs).abs() <= 2e-5 * scale


def close_ordered(found, truth):
    """The same of ordered pairs, whose last gradient is by times."""
    close(found[:-1], truth[:-1])
    assert (found[-1] - truth[-1]).norm() <= 2e-5 * truth[-1].norm()
