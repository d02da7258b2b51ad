"""Attention written down with all pairs in memory, in float64: what every implementation is held against."""

import torch

from cases import generator
from qgcn import geometry, parse_space

SPACES = ("E4", "H3", "S3", "Q3,1", "Q2,2", "Q2,3", "Q0,4", "H2xS2", "Q2,2xE2")
KINDS = ("distance", "chord")
BETA, TAU = -1.5, 0.7
EDGES = torch.tensor([[0, 1, 5, 69, 3, 3], [2, 2, 0, 44, 40, 2]])  # keys, queries


def energy(x, y, space, kind="distance"):
    """Return the energies of all pairs, from inner products alone."""
    total, first = 0, 0
    for factor in space.factors:
        here = slice(first, first + factor.size)
        first += factor.size
        a, b, t = x[:, None, here], y[None, :, here], factor.time_dim
        if factor.beta is None:
            total = total + (a - b).square().sum(-1)
            continue
        size = -factor.beta
        c = -geometry.inner(a, b, time_dim=t) / size
        round_ = t == factor.size
        if kind == "chord":
            total = total + size * 2 * (c - 1) * (-1 if round_ else 1)
            continue
        time = c.clamp(-1 + 1e-15, 1 - 1e-15).arccos().square()
        space_like = torch.where(c > 1, c.clamp_min(1 + 1e-15), 2).arccosh().square()
        past = torch.where(c < -1, (-c).clamp_min(1 + 1e-15), 2).arccosh().square() - torch.pi**2
        value = time if round_ else torch.where(c > 1, space_like, torch.where(c < -1, past, -time))
        total = total + size * value
    return total


def attention(x, y, v, space, tau, kind="distance"):
    """Return means and logarithms, from energies of all pairs."""
    score = -energy(x, y, space, kind) / tau
    return score.softmax(-1) @ v, score.logsumexp(-1)


def case(name, dtype=torch.float64, seed=0):
    """Return a space that learns its curvature; vectors of queries and keys, values, temperature; and what comes back."""
    space = parse_space(name, beta=BETA, learnable=True)
    source = generator(seed)
    u, w = (torch.randn(n, space.ambient_dim, dtype=torch.float64, generator=source) for n in (45, 70))
    v, grad, to_log = (torch.randn(*n, dtype=torch.float64, generator=source) for n in ((70, 5), (45, 5), (45,)))
    given = [each.to(dtype).requires_grad_() for each in (u, w, v, torch.tensor(TAU))]
    return space, given, (grad.to(dtype), to_log.to(dtype))


def solved(function, space, given, back):
    """Return the results of a function and its gradients by vectors, values, temperature and curvatures."""
    u, w, v, tau = given
    x, y = (space.expmap0(space.fold0(each)) for each in (u, w))
    mean, log = function(x, y, v, space, tau)
    total = (mean * back[0]).sum() + (log * back[1]).sum()
    return [mean, log, *torch.autograd.grad(total, [*given, *space.parameters()])]


def close(found, expected, tolerance):
    """Compare results, each relative to its largest number."""
    for one, two in zip(found, expected, strict=True):
        scale = 1 + two.abs().max()
        torch.testing.assert_close(one.double() / scale, two.double() / scale, rtol=0, atol=tolerance)
