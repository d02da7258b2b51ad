"""A space written outside the package: named, trained, and shown, without a line of the package changed."""

import math

import geoopt
import numpy as np
import pytest
import torch

from qgcn.manifolds import Space, parse_space, register_space
from qgcn.manifolds import names as module
from qgcn.viz.report import render
from qgcn.viz.report.runs import read_run


class FlatTorus(Space, geoopt.Euclidean):
    """Angles of ``dim`` circles; the way is the shorter one round each of them."""

    kind = "T"

    def __init__(self, dim):
        super().__init__(ndim=1)
        self.dim = self.ambient_dim = dim

    def __str__(self):
        return f"T{self.dim}"

    def describe(self):
        return f"a flat torus ({self.dim} dimensions), which has room for cycles"

    def projx(self, x):
        return torch.remainder(x + math.pi, 2 * math.pi) - math.pi

    def expmap0(self, u):
        return u

    def logmap0(self, x):
        return self.projx(x)

    def transp0(self, y, u):
        return u.expand_as(y)

    def dist(self, x, y, *, keepdim=False):
        return torch.linalg.vector_norm(self.projx(x - y), dim=-1, keepdim=keepdim)

    def pairwise_dist(self, x, y=None):
        return self.dist(x.unsqueeze(-2), (x if y is None else y).unsqueeze(-3))


@pytest.fixture(autouse=True)
def torus(monkeypatch):
    monkeypatch.setattr(module, "_FORMS", dict(module._FORMS))
    register_space("T", lambda dim, **_: FlatTorus(dim))


def test_it_is_named():
    assert str(parse_space("t3xH2")) == "T3xH2"
    assert parse_space("T3xH2").with_curvatures((0.0, -0.5)).curvatures == (0.0, -0.5)
    with pytest.raises(ValueError, match="T10 or a product"):
        parse_space("R3")


@pytest.mark.parametrize("name", ["T2", "T2xH2"])
def test_a_graph_is_embedded_and_shown(command, here, show, keep, name):
    command.works("train", "reconstruction", "--data", "ring-of-trees", "--space", name, "--epochs", "60", "--out", "run")
    command.works("report", "run", "--no-umap", "--no-geometry")
    subject = read_run(here / "run", umap=False)
    space, points = subject.embedded.space, subject.embedded.points
    assert "a flat torus (2 dimensions), which has room for cycles" in subject.words[0]
    page = show((here / "run" / "report.html").read_text(encoding="utf-8"))
    assert page.locator("[role=tab]").all_inner_texts() == ["Exact"]
    page.evaluate("qgcn.explorer.select(3, true)")
    rows = page.locator("#nearest tbody tr").evaluate_all("all => all.map((row) => [+row.dataset.node, +row.dataset.distance])")
    distance = space.pairwise_dist(points)[3]
    distance[3] = torch.inf
    order = distance.argsort(stable=True)
    assert [node for node, _ in rows] == order[:10].tolist()
    np.testing.assert_allclose([length for _, length in rows], distance[order[:10]], rtol=1e-6)
    ranks = page.locator("#neighbours tbody tr").evaluate_all("all => all.map((row) => [+row.dataset.node, row.innerText])")
    ends = subject.embedded.edges
    assert {node for node, _ in ranks} == set(ends[1][ends[0] == 3]) | set(ends[0][ends[1] == 3])
    for node, text in ranks:
        assert str(order.tolist().index(node) + 1) in text.split()
    place = page.evaluate("qgcn.explorer.graph.exact(3)")
    np.testing.assert_allclose(place[:2], subject.embedded.exact.coordinates[3], rtol=1e-6)
    keep(page, f"own-space-{name}")


def test_links_are_predicted(command, here, show):
    command.works("train", "links", "--data", "stochastic-block", "--space", "T4", "--epochs", "10", "--out", "run")
    subject = read_run(here / "run", umap=False)
    assert math.isfinite(subject.scores[0].mean)
    page = show(render([subject, read_run(here / "run", umap=False)]))
    assert page.locator(".mini").count() == 2
