"""Embed a ring of trees without a network, by four optimisers, and print how far each gets.

    python benchmarks/optimisers.py [--space Q3,3] [--steps 300] [--seeds 5]

"naive" steps along the pseudo-Riemannian gradient, which does not descend when the metric is indefinite; "projected twice"
flips time and projects again; "flat" projects the Euclidean gradient orthogonally; "descent" is the direction of
`egrad2rgrad`; the last two are geoopt's RiemannianAdam and PseudoRiemannianAdam on the same manifold. Each gets the best of
the same five learning rates, chosen by its final loss averaged over the seeds.

A second table has the length of each direction, measured in the positive metric of `egrad2rgrad`, for a random gradient at
points of a given norm, relative to what hyperbolic space does there.
"""

import argparse
import statistics

import geoopt
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table

import qgcn
from qgcn import geometry
from qgcn.data import ring_of_trees
from qgcn.optim import PseudoRiemannianAdam

RATES = (1e-3, 1e-2, 3e-2, 1e-1, 3e-1)


class Plain(torch.optim.SGD):
    """Step along a given direction and come back to the manifold."""

    def __init__(self, params, lr, direction):
        super().__init__(params, lr=lr)
        self.direction = direction

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for point in group["params"]:
                chi = self.direction(point.manifold, point, point.grad)
                point.copy_(point.manifold.retr(point, -group["lr"] * chi))


def naive(manifold, x, gradient):
    return manifold.proju(x, geometry.flip_time(gradient, time_dim=manifold.time_dim))


def twice(manifold, x, gradient):
    return naive(manifold, x, naive(manifold, x, gradient))


def flat(manifold, x, gradient):
    normal = geometry.flip_time(x, time_dim=manifold.time_dim)
    share = (gradient * normal).sum(-1, keepdim=True) / (x * x).sum(-1, keepdim=True)
    return gradient - share * normal


def descent(manifold, x, gradient):
    return manifold.egrad2rgrad(x, gradient)


DIRECTIONS = {"naive": naive, "projected twice": twice, "flat": flat, "descent": descent}
METHODS = {
    **{name: lambda params, lr, way=way: Plain(params, lr, way) for name, way in DIRECTIONS.items()},
    "geoopt RiemannianAdam": lambda params, lr: geoopt.optim.RiemannianAdam(params, lr=lr),
    "PseudoRiemannianAdam": lambda params, lr: PseudoRiemannianAdam(params, lr=lr),
}


def fit(space, method, lr, seed, steps):
    manifold = qgcn.parse_space(space)
    edges = ring_of_trees(ring=8, depth=2)
    nodes = int(edges.max()) + 1
    source = torch.Generator().manual_seed(seed)
    start = manifold.random(nodes, manifold.ambient_dim, dtype=torch.float64, std=0.3, generator=source)
    points = geoopt.ManifoldParameter(start)
    optimiser = METHODS[method]([points], lr)
    diagonal = torch.diag(torch.full((nodes,), torch.inf, dtype=torch.float64))
    losses = []
    for _ in range(steps):
        optimiser.zero_grad()
        nearness = -2 * manifold.pairwise_dist(points).square() - diagonal
        loss = -nearness.log_softmax(dim=1)[edges[0], edges[1]].mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        if not points.isfinite().all():
            return losses[0], float("nan")
    return losses[0], losses[-1]


def lengths(space, norms=(1.5, 3.0, 10.0, 30.0), count=2000):
    """Print the median length of each direction relative to the hyperbolic gradient at the same norm."""
    manifold = qgcn.parse_space(space)
    d = manifold.ambient_dim
    source = torch.Generator().manual_seed(0)
    table = Table(title=f"length of a direction in {space}, relative to H{d - 1} at the same norm")
    for column in ("direction", *(f"norm {norm:g}" for norm in norms)):
        table.add_column(column, justify="left" if column == "direction" else "right")

    def median(manifold, norm, way):
        time = manifold.time_dim
        x = torch.randn(count, d, dtype=torch.float64, generator=source)
        parts = [part / part.norm(dim=-1, keepdim=True) for part in (x[:, :time], x[:, time:])]
        x = torch.cat((((norm**2 + 1) / 2) ** 0.5 * parts[0], ((norm**2 - 1) / 2) ** 0.5 * parts[1]), dim=-1)
        chi = way(manifold, x, torch.randn(count, d, dtype=torch.float64, generator=source))
        return manifold.component_inner(x, chi).sqrt().median().item()

    hyperbolic = qgcn.parse_space(f"H{d - 1}")
    for name, way in DIRECTIONS.items():
        ratios = (median(manifold, norm, way) / median(hyperbolic, norm, descent) for norm in norms)
        table.add_row(name, *(f"{ratio:.3g}" for ratio in ratios))
    Console(width=110).print(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--space", default="Q3,3")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    lengths(options.space)
    table = Table(title=f"ring of trees (56 nodes) in {options.space}, {options.steps} steps, {options.seeds} seeds")
    for column in ("method", "learning rate", "loss at the start", "loss at the end"):
        table.add_column(column, justify="left" if column == "method" else "right")
    jobs = [(method, lr) for method in METHODS for lr in RATES]
    found = {}
    for method, lr in track(jobs, transient=True):
        runs = [fit(options.space, method, lr, seed, options.steps) for seed in range(options.seeds)]
        ends = [end for _, end in runs]
        score = statistics.mean(ends) if all(end == end for end in ends) else float("inf")
        if method not in found or score < found[method][0]:
            found[method] = (score, lr, runs)
    for method, (_, lr, runs) in found.items():
        start, end = zip(*runs, strict=True)
        cells = (f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}" for values in (start, end))
        table.add_row(method, f"{lr:g}", *cells)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
