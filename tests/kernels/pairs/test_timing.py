"""Estimates of how long a pass takes."""

import math

import pytest
import torch

from cases import settled_points
from qgcn import parse_space
from qgcn.kernels import Neighbourhoods, backend, pass_seconds, use_backend
from qgcn.kernels.pairs import cpu

N = 50


def ring(n, first=0):
    node = torch.arange(first, n)
    edges = torch.stack((node, torch.cat((node[1:], node[:1]))))
    return Neighbourhoods.of(torch.cat((edges, edges.flip(0)), dim=1), n)


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("path", ["native", "eager"])
def test_every_path_is_timed(path, squared):
    if path == "native" and cpu.obstacle() is not None:
        pytest.skip("needs a C++ compiler")
    space = parse_space("Q2,2", learnable=True)
    points = settled_points(space, N)
    before = points.clone()
    with use_backend(path):
        found = pass_seconds(points.requires_grad_(), ring(N), space, squared=squared)
        assert backend() == path
    assert all(0 < seconds < math.inf for seconds in found)
    assert torch.equal(points, before)


def test_a_space_without_a_kernel_is_timed():
    space = parse_space("K3")
    points = space.random(N, 3, generator=torch.Generator().manual_seed(0)).as_subclass(torch.Tensor)
    found = pass_seconds(points, ring(N), space)
    assert backend() == "eager"
    assert found.loss > 0
    assert found.precision > 0


def test_the_first_rows_may_have_no_edges():
    space = parse_space("E2")
    with use_backend("eager"):
        assert pass_seconds(settled_points(space, N), ring(N, first=40), space).precision > 0


def test_some_rows_stand_for_all(monkeypatch):
    """Rows that are enough for an answer are few of many: all of them would take much longer than the answer did."""
    from qgcn.kernels.pairs import timing

    asked = []
    monkeypatch.setattr(timing, "_ENOUGH", 0.0)

    def compute(rows):
        asked.append(len(rows))

    seconds = timing._scaled(compute, torch.zeros(10**6, 1))
    assert asked == [1, timing._FIRST_ROWS]
    assert seconds > 0
