"""Embed a ring of trees without a network, by four optimisers, and print how far each gets.

    python benchmarks/optimisers.py [--space Q3,3] [--steps 300] [--seeds 5]

"naive" steps along the pseudo-Riemannian gradient, which does not descend when the metric is indefinite; "descent" along
the direction of `egrad2rgrad`; the last two are geoopt's RiemannianAdam and PseudoRiemannianAdam on the same manifold. Each
gets the best of the same five learning rates, chosen by its final loss averaged over the seeds.
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

RATES = (1e-4, 1e-3, 1e-2, 3e-2, 1e-1)


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


METHODS = {
    "naive": lambda params, lr: Plain(params, lr, naive),
    "descent": lambda params, lr: Plain(params, lr, lambda manifold, x, gradient: manifold.egrad2rgrad(x, gradient)),
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--space", default="Q3,3")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
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
