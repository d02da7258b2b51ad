"""Subjects of reports: made-up graphs in any space, with names that are hard to show."""

import numpy as np
import torch

from qgcn.data import read_graph
from qgcn.manifolds import parse_space
from qgcn.tasks.insights import Column
from qgcn.training.metrics_log import Curve
from qgcn.viz.report import Score, Subject, embed

HOSTILE = [
    "<script>window.hacked = true</script>",
    '"><img src=x onerror="window.hacked = true">',
    "</script><script>window.hacked = true</script>",
    "quotes \" ' ` and \\ back",
    "emoji \N{GRINNING FACE} \N{FAMILY}\N{ZERO WIDTH JOINER}",
    "line\u2028separator\u2029 and {{data}} and <!--",
    "long " + "x" * 10_000,
]


def points_of(space, count, seed=0):
    """Points of a space, rounded to float32 as a run writes them."""
    generator = torch.Generator().manual_seed(seed)
    drawn = space.random(count, space.ambient_dim, std=0.8, dtype=torch.float64, generator=generator)
    return drawn.as_subclass(torch.Tensor).float()


def subject_of(space_name="Q3,2", count=40, names=None, seed=0, directed=False, **known):
    """A report's subject without UMAP, whose layouts are drawn at random; if directed, with a time of its nodes."""
    space = parse_space(space_name)
    points = points_of(space, count, seed)
    rng = np.random.default_rng(seed)
    ring = np.stack((np.arange(count), (np.arange(count) + 1) % count))
    data = read_graph(torch.from_numpy(np.concatenate((ring, rng.integers(0, count, (2, count))), axis=1)), num_nodes=count)
    ids = np.array([*(names or []), *(f"node {k}" for k in range(len(names or []), count))], dtype=str)
    column = Column.of_categories("kind", np.arange(count) % 3, ["even", "odd", "<b>bold</b>"])
    extra = [column, *([Column("time", rng.normal(size=count))] if directed else [])]
    embedded, notices = embed(points, space, data, ids, extra=extra, umap=False, directed=directed)
    plane = rng.normal(size=(count, 2))
    directions = rng.normal(size=(count, 3))
    embedded.layouts["sphere"] = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    embedded.layouts["hyperboloid"] = np.column_stack((plane, np.sqrt(1 + (plane**2).sum(axis=1))))
    settings = {"task": "links", "data": "made-up", "model": "qgcn", "space": space_name, "seeds": 2}
    curves = [Curve(k, [1, 2, 3], [1.0, 0.5, 0.4 + k / 10], [0.5, 0.7, 0.8]) for k in range(2)]
    about = {"metric": "roc_auc", "scores": [Score("roc_auc", 0.9, 0.01)], "curves": curves, "shown": 0}
    about["seeds"] = [{"seed": k, "best_epoch": 3, "test": {"roc_auc": 0.9 + k / 100}} for k in range(2)]
    about |= {"name": f"run {space_name}", "words": ["It was made up."], "notices": notices, "embedded": embedded}
    return Subject(settings=settings, **(about | known))
