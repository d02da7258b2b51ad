"""Points, pairs and tangent vectors for the tests: ordinary ones, and the ones that break naive code."""

import math

import torch

from qgcn import geometry

SIGNATURES = ((0, 1), (1, 1), (2, 1), (15, 1), (7, 3), (1, 2), (2, 2), (3, 7), (0, 2), (0, 16))
BETAS = (-0.05, -1.0, -20.0)


def generator(seed):
    return torch.Generator().manual_seed(seed)


def tangent(x, beta, time_dim, seed=0):
    u = torch.randn(x.shape, dtype=x.dtype, generator=generator(seed))
    return geometry.project_tangent(x, u, beta=beta, time_dim=time_dim)


def points_at_radius(n, s, t, beta, radius, dtype, seed=0):
    """Return points a boost of the given rapidity away from the sphere at the centre, in every direction."""
    return (math.sqrt(-beta) * _boosted_frame(n, s, t, radius, seed)[0]).to(dtype)


def _boosted_frame(n, s, t, radius, seed):
    """Return points of the unit manifold and two tangent vectors at each, drawn at the centre and boosted outwards."""
    source = generator(seed)
    time = torch.randn(n, t, dtype=torch.float64, generator=source)
    time = time / time.norm(dim=-1, keepdim=True)
    axis = torch.randn(n, s, dtype=torch.float64, generator=source)
    axis = axis / axis.norm(dim=-1, keepdim=True) if s else axis
    rise, run = (math.cosh(radius), math.sinh(radius)) if s else (1.0, 0.0)

    def tangent_vector():
        turn, step = (torch.randn(n, k, dtype=torch.float64, generator=source) for k in (t, s))
        turn = turn - (turn * time).sum(-1, keepdim=True) * time
        length = (turn.square().sum(-1, keepdim=True) + step.square().sum(-1, keepdim=True)).sqrt()
        turn, step = turn / length, step / length
        along = (step * axis).sum(-1, keepdim=True)
        return torch.cat((turn + run * along * time, step + (rise - 1) * along * axis), dim=-1)

    return torch.cat((rise * time, run * axis), dim=-1), tangent_vector(), tangent_vector()


def pairs_at_separation(n, s, t, beta, radius, separation, dtype, seed=0):
    """Return about ``n`` pairs a given length apart, time-like and space-like ones where both exist, and a tangent vector.

    Radius and separation are in units of ``sqrt|beta|``; space-like pairs stay within the radius. Nearly null pairs are left
    out (seen from the centre, the two parts of the step differ by at least half of their sum), and so are pairs that rounding
    to ``dtype`` has moved apart or together by a quarter.
    """
    x, v, u = _boosted_frame(60 * n, s, t, max(radius - separation, 0.0), seed)
    square = geometry.inner(v, v, time_dim=t, keepdim=True)  # of a vector of length 1 seen from the centre
    v = separation * v / square.abs().sqrt()
    y = geometry.expmap(x, v, beta=-1.0, time_dim=t)
    x, y, u = ((math.sqrt(-beta) * each).to(dtype) for each in (x, y, u))
    form = {"beta": beta, "time_dim": t}
    x, y = (geometry.project(point, **form) for point in (x, y))
    # rounding the points must not have moved them by as much as they are apart
    gap = (x - y).double()
    chord = 2 * (torch.where(square > 0, math.cosh(separation), math.cos(separation)) - 1)
    kept = (geometry.inner(gap, gap, time_dim=t, keepdim=True) / -beta / chord - 1).abs() < 0.5
    kinds = [(kept & (square * sign >= 0.5)).squeeze(-1) for sign in (1, -1)]
    rows = torch.cat([kind.nonzero().flatten()[: n // 2] for kind in kinds])
    return x[rows], y[rows], geometry.project_tangent(x, u, **form)[rows]


def awkward_pairs(n, s, t, beta, dtype, seed=0):
    """Return about ``n`` pairs, ordinary and adversarial mixed: see the list in the body."""
    d, m, source = s + t, max(n // 20, 1), generator(seed)
    form = {"beta": beta, "time_dim": t}
    root = math.sqrt(-beta)

    def ordinary(std=1.0):
        return geometry.sample((m, d), std=std, dtype=dtype, generator=source, **form)

    def nudged(x, size):
        step = torch.randn(m, d, dtype=dtype, generator=source) * root * size
        return geometry.project(x + step, **form)

    pole = geometry.pole(d, beta=beta, like=torch.empty(0, dtype=dtype)).expand(m, d)
    pairs = [(ordinary(), ordinary()), (ordinary(3.0), ordinary(3.0)), (ordinary(1e-3), ordinary(1e-3))]
    for x in (ordinary(), pole, ordinary(3.0)):
        pairs += [(x, x), (x, -x), (x, nudged(x, 1e-3)), (x, nudged(-x, 1e-3))]
        pairs += [(x, nudged(x, 1e-7)), (x, nudged(-x, 1e-7))]
    distant = points_at_radius(m, s, t, beta, 30.0, dtype, seed)
    pairs += [(pole, distant), (distant, pole)]
    for radius in (8.0, 15.0, 20.0 if dtype == torch.float32 else 30.0):
        far = points_at_radius(m, s, t, beta, radius, dtype, seed + 1)
        other = points_at_radius(m, s, t, beta, radius, dtype, seed + 2)
        pairs += [(far, other), (far, far), (far, -far), (far, pole), (far, nudged(far, 1e-3))]
    if s >= 1 and t >= 2:  # exactly null: equal steps along a time and a space axis, at a right angle to x
        step = torch.zeros(m, d, dtype=dtype)
        step[:, 1] = step[:, t] = torch.randn(m, dtype=dtype, generator=source).exp() * root
        pairs += [(pole, pole + step), (pole, -(pole + step)), (pole + step, pole), (pole + step, pole + 2 * step)]
    x, y = (torch.cat(side) for side in zip(*pairs, strict=True))
    return x.contiguous(), y.contiguous()


def settled_points(space, n, *, std=0.7, seed=0, margin=0.01):
    """Return ``n`` float32 points of a space, none next to the null cone of another or to that of its antipode.

    There the slope of the distance jumps or is infinite, and a rounded point may lie on either side: gradients of two
    roundings of the same points agree elsewhere only.
    """
    kept = torch.empty(0, space.ambient_dim, dtype=torch.float64)
    for attempt in range(1000):
        drawn = space.random(n, space.ambient_dim, std=std, dtype=torch.float64, generator=generator(1000 * seed + attempt))
        for x in drawn.as_subclass(torch.Tensor):
            if len(kept) < n and _settled(space, x, kept, margin):
                kept = torch.cat((kept, x[None]))
        if len(kept) == n:
            return kept.float()
    raise AssertionError(f"{space} has no {n} such points")


def _settled(space, x, others, margin):
    first, fine = 0, torch.ones(len(others), dtype=torch.bool)
    for size, time_dim, beta in space.factors:
        part = slice(first, first + size)
        first += size
        if beta is None:
            continue
        cosine = geometry.inner(x[part], others[:, part], time_dim=time_dim) / beta
        fine &= (cosine + 1).abs() > margin
        if 1 < time_dim < size:
            fine &= (cosine - 1).abs() > margin
    return bool(fine.all())


PLAIN = {"model": "qgcn", "aggregation": "sym", "feature_dropout": 0.0, "edge_dropout": 0.0, "weight_decay": 0.0}


def problem(kind, data, **settings):
    """Return the problem of a task with plain settings: Q-GCN, symmetric aggregation, nothing dropped."""
    return kind.of(data, **PLAIN | settings)


def train(kind, data, seeds, **settings):
    """Train seeds of a task together with its own defaults; return the trainer and the losses of each validation."""
    from lightning_fabric import Fabric

    from qgcn.training import Trainer

    trainer = Trainer(kind.of(data, **settings), seeds, Fabric(accelerator="cpu", devices=1))
    losses = []
    trainer.run(lambda found: losses.append(found.loss))
    return trainer, losses


def batch_of(task, split="train", seed=0):
    """Return features, graph and arguments of a full batch, those drawn included, on the whole graph."""
    drawn = task.draw(generator(seed)) if split == "train" else ()
    return (task.x, task.graph, *task.targets(split), *drawn)


def two_communities(features=6, seed=0, dense=True):
    """Return a graph of two communities, with labels, masks and features."""
    from torch_geometric.data import Data

    from qgcn import data

    edge_index, y = data.stochastic_block((12, 12), 0.5, 0.05, seed=seed)
    train, val, test = data.split_nodes(y, train=0.5, val=0.2, seed=0)
    x = torch.randn(24, features, generator=generator(seed))
    x = x if dense else x * (torch.rand(24, features, generator=generator(9)) < 0.1)
    return Data(x=x, edge_index=edge_index, y=y, train_mask=train, val_mask=val, test_mask=test, num_nodes=24)


def ring(count=24, train=5):
    """Return a ring with labels, features and a few training nodes, which see few others."""
    given = two_communities()
    around = torch.stack((torch.arange(count), (torch.arange(count) + 1) % count))
    given.edge_index = torch.cat((around, around.flip(0)), dim=1)
    given.train_mask = torch.arange(count) < train
    given.val_mask = (torch.arange(count) >= 12) & (torch.arange(count) < 15)
    return given


def step_graph(task, epoch):
    """Return the graph of a training step, on the whole graph."""
    from qgcn.tasks import Randomness

    randomness = Randomness([0], 0, epoch, torch.device("cpu"))
    return task.graph.thinned(task.config.edge_dropout, randomness.of_edges())
